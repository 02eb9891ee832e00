"""Detectors of lying sensors: blocks that learn in the run itself how the rig answers, and notice a change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rt_runtime import _core
from rt_runtime.blocks.basic import Filter
from rt_runtime.checks import positive
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from rt_runtime.engine.loop import Loop
    from rt_runtime.safety.monitor import Command

LAGS = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Bounds in s of the pieces of the learned impulse response, which is constant on each."""

LEARN = 1.0
"""Nothing is judged before, in s."""

TOLERANCE = 0.05
"""Allowed residual as a part of the largest response, on top of three times the learned misfit."""

OF_SPECIMEN = 2.0
"""Caution of the detector of forces."""

EXPERIENCE = 0.4
"""Motion as large as the largest so far that must have been learned before it is judged, in s."""

RECENT = 1.0
"""Time constant of counts of recent events, in s."""

OF_RESPONSE = ("doubt", "drift", "lag", "gain", "frozen", "quiet")
FORCE_OF = {"m": ("N", "kN"), "mm": ("N", "kN"), "rad": ("Nm", "N m")}
"""Units of the force that belongs to a motion, by the unit of the motion."""


class ResponseWatch(_core.ResponseWatch):
    """Tell whether a response still follows its cause as it did before.

    A linear model of the response (an impulse response that is constant between `LAGS`) is learned by least squares
    from the run itself; what is doubted is not learned. The equations stand above the class in
    core/safety/response_watch.hpp.
    Inputs: cause, response, and the age of the response in ticks when `aged`. Outputs: doubt (1 and more: not the
    response to this cause), drift and lag (the same for what stays, and for what comes late), gain over `nominal` (1
    without one), frozen (part of the largest response that was missed
    by a sensor that stands still), quiet (noise learned at first over noise now).

    Parameters
    ----------
    dt
        Time between two ticks, in s.
    aged
        Whether the age of the response is the third input; the cause is then taken so much earlier.
    together
        The cause came with the response and has its age.
    nominal
        Declared gain, for example the initial stiffness; 0: none.
    tolerance
        Allowed residual as a part of the largest response.
    caution
        Weight of the misfit; a specimen is less like a linear model than an actuator.
    learn
        Least time before it judges, in s.
    """

    def __init__(
        self,
        *,
        dt: float,
        aged: bool = False,
        together: bool = False,
        nominal: float = 0.0,
        tolerance: float = TOLERANCE,
        caution: float = 1.0,
        learn: float = LEARN,
    ) -> None:
        of = "ResponseWatch"
        dt = positive(dt, "dt", of)
        if not math.isfinite(nominal):
            raise ConfigError(f"nominal of {of} must be finite, got {nominal!r}.")
        every = max(1, round(0.001 / dt))
        super().__init__(
            lags=sorted({round(lag / dt) for lag in LAGS}),
            every=every,
            learn=max(1, round(positive(learn, "learn", of) / dt)),
            tolerance=positive(tolerance, "tolerance", of),
            caution=positive(caution, "caution", of),
            nominal=nominal,
            window=max(20, round(0.05 / dt)),
            experience=EXPERIENCE / (every * dt),
            memory=max(20, round(0.25 / dt)),
            oldest=max(2, round(0.05 / dt)) if aged else 0,
            together=together,
            dt=dt,
        )


class EnergyWatch(_core.EnergyWatch):
    """Work taken out of a specimen in the last `fade` s over the elastic energy of its largest motion.

    A passive specimen gives back what it got; a force of the wrong sign comes near 1. Inputs: position, force.

    Parameters
    ----------
    dt
        Time between two ticks, in s.
    fade
        Time constant of the window, in s.
    """

    def __init__(self, *, dt: float, fade: float = 0.5) -> None:
        super().__init__(positive(fade, "fade", "EnergyWatch"), positive(dt, "dt", "EnergyWatch"))


def recent(dt: float) -> Filter:
    """Turn a count into the number of events of the last second or so: y_k = a y_{k-1} + n_k - n_{k-1}."""
    return Filter([[1.0, -1.0, 0.0, 1.0, -math.exp(-dt / RECENT), 0.0]])


@dataclass(frozen=True)
class Watched:
    """What is watched of one actuator: the signals of its sensor and, if there is one, of its link."""

    prefix: str
    measured: tuple[str, ...]
    age: str
    status: str
    sent: str | None
    linked: bool
    protocol: int | None = None


def watched_actuators(loop: Loop) -> list[Watched]:
    """Return the actuators of a loop that move something, or stand in for such: all but `SimulatedActuator`."""
    declared = {signal.name for signal in loop.signals}
    found = []
    for actuator, outputs in loop.sensors().values():
        if isinstance(actuator, _core.SimulatedActuator):
            continue
        *measured, age, status = outputs
        prefix = age.removesuffix(".age")
        sent = f"{prefix}.sent" if f"{prefix}.sent" in declared else None
        linked = loop.is_written(f"{prefix}.conflicting")
        protocol = actuator.protocol if isinstance(actuator, _core.UdpRig) else None
        found.append(Watched(prefix, tuple(measured), age, status, sent, linked, protocol))
    return found


def force_of(loop: Loop, command: Command, commands: Sequence[Command], measured: Sequence[str]) -> str | None:
    """Name the force that belongs to a command: as declared, or the only measured signal with the unit of one."""
    if command.force is not None:
        return command.force
    units = {signal.name: signal.unit for signal in loop.signals}
    alike = [c for c in commands if units.get(c.wanted) == units.get(command.wanted)]
    forces = [name for name in measured if units[name] in FORCE_OF.get(units.get(command.wanted, ""), ())]
    return forces[0] if len(forces) == len(alike) == 1 else None


def responses_of(loop: Loop, commands: Sequence[Command], actuators: Sequence[Watched]) -> dict[str, str | None]:
    """Return the position of every watched command with its force, where that is known."""
    return {
        c.measured: force_of(loop, c, commands, rig.measured)
        for rig in actuators
        for c in commands
        if c.measured is not None and c.measured in rig.measured
    }


def watch_signals(actuators: Sequence[Watched], responses: Mapping[str, str | None]) -> list[str]:
    """Name the signals that `add_watches` declares."""
    counts = [f"{rig.prefix}.{count}_recently" for rig in actuators if rig.linked for count in ("lost", "repeated")]
    forces = [force for force in responses.values() if force is not None]
    of_responses = [f"{signal}.{name}" for signal in (*responses, *forces) for name in OF_RESPONSE]
    return [*counts, *of_responses, *(f"{force}.energy" for force in forces)]


def add_watches(
    loop: Loop, commands: Sequence[Command], actuators: Sequence[Watched], responses: Mapping[str, str | None]
) -> None:
    """Add the detectors of a guarded loop.

    For the position of each command and its force: <signal>.doubt, .gain, .frozen, .quiet, and .energy of the force.
    For a rig with a link: <prefix>.lost_recently and .repeated_recently.
    """
    from rt_runtime.engine.loop import previous

    dt = 1.0 / loop.rate
    for rig in actuators:
        for count in ("lost", "repeated") if rig.linked else ():
            name = f"{rig.prefix}.{count}_recently"
            loop.signal(name)
            loop.add(name, recent(dt), inputs=[f"{rig.prefix}.{count}"], outputs=[name], timed=False)
        for c in commands:
            x = c.measured
            if x is None or x not in rig.measured:
                continue
            _add_response(loop, x, ResponseWatch(dt=dt, aged=True, nominal=1.0), [previous(c.name), x, rig.age])
            f = responses[x]
            if f is not None:
                nominal = c.stiffness or 0.0
                force = ResponseWatch(dt=dt, aged=True, together=True, caution=OF_SPECIMEN, nominal=nominal)
                _add_response(loop, f, force, [x, f, rig.age])
                loop.signal(f"{f}.energy")
                loop.add(f"{f}.energy", EnergyWatch(dt=dt), inputs=[x, f], outputs=[f"{f}.energy"], timed=False)


def _add_response(loop: Loop, response: str, block: ResponseWatch, inputs: Sequence[object]) -> None:
    outputs = [f"{response}.{name}" for name in OF_RESPONSE]
    for name in outputs:
        loop.signal(name, initial=1.0 if name.endswith(".gain") else 0.0)
    loop.add(f"{response}.watch", block, inputs=list(inputs), outputs=outputs, timed=False)  # type: ignore[arg-type]


def unwatched(loop: Loop) -> list[str]:
    """Say in words what no rule of a guarded loop watches."""
    from rt_runtime.safety.monitor import Monitor

    monitor = next((block for block in loop.blocks.values() if isinstance(block, Monitor)), None)
    if monitor is None:
        return ["anything: the loop has no monitor; call protect."]
    actuators = watched_actuators(loop)
    responses = responses_of(loop, monitor.commands, actuators)
    watched = {signal for rule in monitor.rules for signal in (rule.signal, rule.other)}
    watched |= {signal.rsplit(".", 1)[0] for signal in watched if signal is not None}
    words = [
        f"measured signal '{name}': no rule and no detector looks at it; add a rule."
        for rig in actuators
        for name in rig.measured
        if name not in watched
    ]
    for c in monitor.commands:
        if actuators and c.measured is None:
            words.append(f"what command '{c.name}' leads to: it names no measured signal.")
        elif c.measured in responses and responses[c.measured] is None:
            words.append(f"the force at command '{c.name}': name it with force = ..., if there is one.")
        elif c.measured in responses and c.stiffness is None:
            words.append(
                f"sign and unit of '{responses[c.measured]}' at first: a lie from the first tick is learned "
                f"as the truth; declare stiffness of command '{c.name}'."
            )
    words += [f"link of rig '{rig.prefix}': add a Link block." for rig in actuators if not rig.linked]
    return [
        *words,
        *(
            f"what rig '{rig.prefix}' does when this process dies: protocol 1 has no watchdog, the last command holds."
            for rig in actuators
            if rig.protocol == 1
        ),
    ]
