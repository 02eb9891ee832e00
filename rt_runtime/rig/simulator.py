"""A rig simulator: any loop as the physical side of a test, driven over UDP, with faults on purpose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rt_runtime import _core
from rt_runtime.checks import positive, whole
from rt_runtime.engine.loop import Loop
from rt_runtime.errors import ConfigError
from rt_runtime.rig.actuators import RIG_STATES, checked_key, most_of


@dataclass(frozen=True)
class Faults:
    """What a rig does wrong on purpose, for tests of the other side.

    loss, late, repeat, reorder, forge, replay, twin: fraction of the answers that are dropped, delayed by `late_by` s,
    sent twice, sent after their successors, accompanied by a forged one, by an old one, by that of a second rig with
    the same key. `creep`: s by which answers come later with every s. `nan_at`, `stuck_at`: from this tick on the first
    measured signal is nan, all measured signals stand still.

    Parameters
    ----------
    seed
        Seed of the draws.
    """

    loss: float = 0.0
    late: float = 0.0
    late_by: float = 0.005
    repeat: float = 0.0
    reorder: float = 0.0
    forge: float = 0.0
    replay: float = 0.0
    nan_at: int = -1
    stuck_at: int = -1
    seed: int = 0
    twin: float = 0.0
    creep: float = 0.0

    def __post_init__(self) -> None:
        for name in ("loss", "late", "repeat", "reorder", "forge", "replay", "twin"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} of a rig's faults must lie between 0 and 1, got {getattr(self, name):g}.")

        if not 0.0 <= self.creep < math.inf:
            raise ConfigError(f"creep of a rig's faults must not be negative, got {self.creep:g}.")

    def core(self, rate: float) -> _core.RigFaults:
        """Return the same for the core of a rig with `rate` ticks per s."""
        faults = _core.RigFaults()
        for name in ("loss", "late", "repeat", "reorder", "forge", "replay", "twin", "nan_at", "stuck_at", "seed"):
            setattr(faults, name, getattr(self, name))
        faults.creep_ns = self.creep * 1e9 / rate
        faults.late_ns = round(self.late_by * 1e9)
        return faults


class InProcessRig(_core.InProcessRig):
    """A rig in this process: a loop that takes one tick per command, for rehearsals as fast as the machine can.

    A guarded loop watches it as it watches a real one.

    Parameters
    ----------
    loop
        The specimen; it must have the rate of the test.
    commands, measured
        Names of its constants that are set, and of its signals that are measured.
    """

    def __init__(self, loop: Loop, commands: Sequence[str], measured: Sequence[str]) -> None:
        core, names = _built(loop, commands, measured, 2)
        super().__init__(core, [names.index(name) for name in commands], [names.index(name) for name in measured])
        self.loop = loop  # its blocks must live as long


def _built(loop: Loop, commands: Sequence[str], measured: Sequence[str], protocol: int) -> tuple[_core.Loop, list[str]]:
    """Check the loop of a rig and build it; return it with the names on its bus."""
    loop.check()
    core, names = loop.build()
    for name in (*commands, *measured):
        if name not in names:
            raise ConfigError(f"Signal '{name}' of the rig is unknown; its loop has {', '.join(names)}.")
    for name in commands:
        if not loop.is_constant(name):
            raise ConfigError(f"Command '{name}' of the rig must be declared with loop.constant in its loop.")
    most = most_of(protocol, "Rig")
    for what, group, n in zip(("commands", "measured"), (commands, measured), most, strict=True):
        if not 1 <= len(group) <= n:
            raise ConfigError(f"{what} of Rig must be 1 to {n} signals in protocol {protocol}, got {len(group)}.")
    return core, names


SAID = {
    "holding": "Commands are missing; the last one holds.",
    "ramping": "The way to rest began.",
    "off": "At rest, power off.",
}


class Rig:
    """Serve a loop as a rig: constants named in `commands` are set by each command, signals in `measured` sent back.

    The loop takes one tick per command. One session at a time owns the rig; another one is told that it is busy. When
    commands stop coming, the watchdog acts on the rig's own clock: after `hold_after` missing ones it holds the last,
    after `lease` s the owner has lost the rig and the commands go to rest in `ramp` s, then it is off.

    Parameters
    ----------
    loop
        The specimen.
    commands, measured
        Names of its constants that are set, and of its signals that are told; at most 32 each. The initial values of
        the commands are their rest.
    host, port
        Address to listen on; port 0 takes any free one.
    key, insecure
        As for `UdpRig`.
    hold_after, lease, ramp
        The watchdog: missing commands, s, s. `lease` is by default 2 s, or three times the time to hold.
    reset
        Start every session with the specimen as built; otherwise it stays as the last session left it.
    faults
        What it does wrong on purpose.
    protocol
        Version of the protocol it speaks: 2, or 1 for a loop of before. Only this one; as for `UdpRig`.
    """

    def __init__(
        self,
        loop: Loop,
        commands: Sequence[str],
        measured: Sequence[str],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        key: bytes = b"",
        insecure: bool = False,
        hold_after: int = 10,
        lease: float | None = None,
        ramp: float = 2.0,
        reset: bool = False,
        faults: Faults | None = None,
        protocol: int = 2,
    ) -> None:
        of = "Rig"
        self._core_loop, names = _built(loop, commands, measured, protocol)
        hold = whole(hold_after, "hold_after", of, 1) / loop.rate
        lease = max(2.0, 3.0 * hold) if lease is None else positive(lease, "lease", of)
        if lease <= hold:
            raise ConfigError(
                f"lease of {of} must be longer than hold_after ({hold_after} commands, {hold:g} s), got {lease:g} s."
            )
        self.host = host
        ins, outs = ([names.index(name) for name in group] for group in (commands, measured))
        faulty = (faults or Faults()).core(loop.rate)
        key = checked_key(key, of, host=host, insecure=insecure)
        try:
            self._rig = _core.Rig(
                self._core_loop,
                ins,
                outs,
                host,
                port,
                key,
                hold,
                lease,
                positive(ramp, "ramp", of),
                reset,
                faulty,
                protocol,
            )
        except RuntimeError as error:
            raise ConfigError(str(error)) from None

    @property
    def state(self) -> str:
        """What it does: one of `RIG_STATES`."""
        return RIG_STATES[self._rig.state]

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._rig.port

    @property
    def traffic(self) -> dict[str, int]:
        """What it saw of the other side's messages."""
        return self._rig.traffic

    def serve(self, *, seconds: float = 3.2e7, sessions: int = 0, tell: Callable[[str], None] | None = None) -> int:
        """Answer commands for `seconds`, until `sessions` tests are over (0: any number) or `stop`; return the ticks.

        `tell` gets a sentence when a test begins or ends and when the watchdog acts. A rig on its way to rest arrives
        there before it ends, unless it is stopped.
        """
        until, ticks, begun, ended, state = time.monotonic() + seconds, 0, 0, 0, "idle"
        while not self._rig.asked_to_stop and (left := until - time.monotonic()) > 0:
            if sessions and self._rig.byes >= sessions and self.state != "ramping":
                break
            ticks = self._rig.serve(min(left, 0.1))
            if tell is None:
                continue
            if self._rig.sessions > begun:
                begun = self._rig.sessions
                tell(f"Test {begun} began.")
            if state != (state := self.state) and state in SAID:
                tell(SAID[state])
            if self._rig.byes > ended:
                ended = self._rig.byes
                tell(f"A test ended after {ticks} ticks.")
        if self._rig.asked_to_stop:
            self._rig.serve(0.0)  # stopped between two calls: the owner is told all the same
        return ticks

    def stop(self) -> None:
        """End `serve` from another thread or a signal handler; the owner of a session is told."""
        self._rig.ask_to_stop()
