"""A rig simulator: any loop as the physical side of a test, driven over UDP, with faults on purpose."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rt_runtime import _core
from rt_runtime.actuators import checked_key
from rt_runtime.errors import ConfigError
from rt_runtime.loop import Loop


@dataclass(frozen=True)
class Faults:
    """What a rig does wrong on purpose, for tests of the other side.

    loss, late, repeat, reorder, forge, replay: fraction of the answers that are dropped, delayed by `late_by` s, sent
    twice, sent after their successors, accompanied by a forged one, accompanied by an old one. `nan_at`, `stuck_at`:
    from this tick on the first measured signal is nan, all measured signals stand still.
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

    def __post_init__(self) -> None:
        for name in ("loss", "late", "repeat", "reorder", "forge", "replay"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} of a rig's faults must lie between 0 and 1, got {getattr(self, name):g}.")

    def core(self) -> _core.RigFaults:
        """Return the same for the core."""
        faults = _core.RigFaults()
        for name in ("loss", "late", "repeat", "reorder", "forge", "replay", "nan_at", "stuck_at", "seed"):
            setattr(faults, name, getattr(self, name))
        faults.late_ns = round(self.late_by * 1e9)
        return faults


class Rig:
    """Serve a loop as a rig: constants named in `commands` are set by each command, signals in `measured` sent back.

    The loop takes one tick per command. `port` 0 takes any free one; `address` says which.
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
        faults: Faults | None = None,
    ) -> None:
        loop.check()
        self._core_loop, names = loop.build()
        for name in (*commands, *measured):
            if name not in names:
                raise ConfigError(f"Signal '{name}' of the rig is unknown; its loop has {', '.join(names)}.")
        for name in commands:
            if not loop.is_constant(name):
                raise ConfigError(f"Command '{name}' of the rig must be declared with loop.constant in its loop.")
        self.host = host
        ins, outs = ([names.index(name) for name in group] for group in (commands, measured))
        faulty = (faults or Faults()).core()
        try:
            self._rig = _core.Rig(self._core_loop, ins, outs, host, port, checked_key(key, "Rig"), faulty)
        except RuntimeError as error:
            raise ConfigError(str(error)) from None

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._rig.port

    @property
    def traffic(self) -> dict[str, int]:
        """What it saw of the other side's messages."""
        return self._rig.traffic

    def serve(
        self, *, seconds: float = 3.2e7, sessions: int = 0, tell: Callable[[str], None] | None = None
    ) -> int:
        """Answer commands for `seconds`, or until `sessions` tests have said goodbye (0: any number); return the ticks.

        `tell` gets a sentence when a test begins, goes silent or ends.
        """
        until, ticks, begun, ended, silent = time.monotonic() + seconds, 0, 0, 0, False
        while (left := until - time.monotonic()) > 0 and not (sessions and self._rig.byes >= sessions):
            ticks = self._rig.serve(min(left, 0.1))
            if tell is None:
                continue
            if self._rig.sessions > begun:
                begun = self._rig.sessions
                tell(f"Test {begun} began.")
            if self._rig.byes > ended:
                ended = self._rig.byes
                tell(f"A test ended after {ticks} ticks.")
            if (now_silent := self._rig.silent_for > 0.5 and ended < begun) != silent:
                silent = now_silent
                tell("No command for 0.5 s; the last one holds." if silent else "Commands come again.")
        return ticks

    def stop(self) -> None:
        """End `serve` from another thread or a signal handler."""
        self._rig.ask_to_stop()
