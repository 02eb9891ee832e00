"""Limits with actions, soft start and soft stop: what stands between a wanted command and the actuator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.checks import finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError
from rt_runtime.pacing import STATES

if TYPE_CHECKING:
    from rt_runtime.loop import Loop
    from rt_runtime.record import Signal

ACTIONS = {"warn": _core.Action.warn, "hold": _core.Action.hold, "ramp": _core.Action.ramp, "trip": _core.Action.trip}
QUANTITIES = {
    "value": _core.Quantity.value,
    "rate": _core.Quantity.rate,
    "difference": _core.Quantity.difference,
    "unchanged": _core.Quantity.unchanged,
}


@dataclass(frozen=True)
class Rule:
    """A limit on a signal and what happens when it is broken for `ticks` ticks in a row (not before tick `grace`).

    quantity: "value" of `signal`, its "rate" (per s), its "difference" from the signal `other`, or "unchanged": the
    number of ticks it stayed the same although `other` moved (without `other`: at all). The quantity must lie in
    [lower, upper]; a nan never does. action: "warn", "hold" (the command stands still while the rule is broken),
    "ramp" (soft stop) or "trip".
    """

    name: str
    signal: str
    lower: float = -math.inf
    upper: float = math.inf
    action: str = "trip"
    quantity: str = "value"
    other: str | None = None
    ticks: int = 1
    grace: int = 0

    def __post_init__(self) -> None:
        of = f"rule '{self.name}'"
        one_of(self.action, "action", of, tuple(ACTIONS))
        one_of(self.quantity, "quantity", of, tuple(QUANTITIES))
        whole(self.ticks, "ticks", of, 1)
        whole(self.grace, "grace", of, 0)
        if not self.lower <= self.upper or self.lower == math.inf or self.upper == -math.inf:
            raise ConfigError(f"lower of {of} must not exceed upper, got {self.lower:g} and {self.upper:g}.")
        if math.isinf(self.lower) and math.isinf(self.upper):
            raise ConfigError(f"lower or upper of {of} must be finite, got neither.")
        if (self.quantity == "difference") != (self.other is not None) and self.quantity != "unchanged":
            raise ConfigError(f"other of {of} must name a signal with quantity 'difference' and only there.")

    @classmethod
    def within(cls, name: str, signal: str, most: float, *, action: str = "trip") -> Rule:
        """Limit |signal| <= most."""
        return cls(name, signal, -positive(most, "most", f"rule '{name}'"), most, action)

    @classmethod
    def tracking(cls, name: str, measured: str, target: str, most: float, *, action: str = "trip") -> Rule:
        """Limit |measured - target| <= most."""
        most = positive(most, "most", f"rule '{name}'")
        return cls(name, measured, -most, most, action, "difference", target)

    @classmethod
    def stale(cls, name: str, age: str, ticks: int, *, action: str = "trip") -> Rule:
        """Act when the measurement is older than `ticks` ticks; `age` is the age output of a sensor."""
        return cls(name, age, upper=whole(ticks, "ticks", f"rule '{name}'", 0), action=action)

    @classmethod
    def stuck(cls, name: str, measured: str, command: str, ticks: int, *, action: str = "trip") -> Rule:
        """Act when `measured` has stayed the same for `ticks` ticks in which `command` moved."""
        upper = whole(ticks, "ticks", f"rule '{name}'", 1) - 1
        return cls(name, measured, upper=upper, action=action, quantity="unchanged", other=command)


@dataclass(frozen=True)
class Command:
    """A command and where it may go: `wanted` comes in, `name` goes out with lower <= c <= upper and |dc/dt| <= rate.

    `rest` is where it starts, and where a stop and a trip end. `action` is what happens when the wanted command leaves
    [lower, upper] (it is held at the limit anyway); `rate_action` likewise for its rate, None: it is slowed down
    quietly.
    """

    wanted: str
    name: str
    lower: float
    upper: float
    rate: float
    rest: float = 0.0
    action: str = "warn"
    rate_action: str | None = None

    def __post_init__(self) -> None:
        of = f"command '{self.name}'"
        finite_array([self.lower, self.upper, self.rest], "lower, upper and rest", of, (3,))
        positive(self.rate, "rate", of)
        if not self.lower <= self.rest <= self.upper:
            raise ConfigError(
                f"rest of {of} must lie between lower and upper, got {self.rest:g} with [{self.lower:g}, "
                f"{self.upper:g}]."
            )


@dataclass(frozen=True)
class Manners:
    """How a test begins and ends, times in s.

    The test begins after `arm` seconds without a broken rule; the wanted command is faded in over `soft_start`; a stop
    takes `soft_stop`, a trip `trip` (both longer when the rate limit needs it). `on_trip`: "ramp" to rest or "hold".
    A hold of more than `hold_limit` becomes a soft stop, and ends `release` after the rules hold again. At rest the
    loop goes on for `settle`.
    """

    arm: float = 0.0
    soft_start: float = 0.5
    soft_stop: float = 1.0
    trip: float = 0.5
    on_trip: str = "ramp"
    hold_limit: float = 5.0
    release: float = 0.05
    settle: float = 0.0

    def __post_init__(self) -> None:
        one_of(self.on_trip, "on_trip", "Manners", ("ramp", "hold"))
        for name in ("arm", "soft_start", "soft_stop", "trip", "hold_limit", "release", "settle"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0.0 <= value <= 3600.0):
                raise ConfigError(f"{name} of Manners must lie between 0 and 3600 s, got {value!r}.")


class Monitor(_core.Monitor):
    """The block that decides; `protect` builds it. Inputs: wanted commands, host.asked, watched signals."""

    def __init__(
        self, commands: Sequence[Command], watched: Sequence[str], rules: Sequence[Rule], manners: Manners, *, dt: float
    ) -> None:
        if not commands:
            raise ConfigError("commands of Monitor must name at least one command, got none.")
        self.commands, self.watched, self.rules, self.manners = tuple(commands), tuple(watched), tuple(rules), manners
        at = {name: i for i, name in enumerate([*(c.wanted for c in commands), "", *watched])}

        def built(rule: Rule) -> _core.Rule:
            other = -1 if rule.other is None else at[rule.other]
            quantity, action = QUANTITIES[rule.quantity], ACTIONS[rule.action]
            return _core.Rule(
                quantity, at[rule.signal], other, rule.lower, rule.upper, action, rule.ticks, rule.grace
            )

        def ticks(seconds: float) -> int:
            return round(seconds / dt)

        super().__init__(
            [_core.CommandLimit(c.lower, c.upper, c.rate, c.rest) for c in commands],
            len(watched),
            [built(rule) for rule in rules],
            positive(dt, "dt", "Monitor"),
            arm_ticks=ticks(manners.arm),
            soft_start=ticks(manners.soft_start),
            soft_stop=ticks(manners.soft_stop),
            trip_ticks=ticks(manners.trip),
            hold_limit=max(1, ticks(manners.hold_limit)),
            release=max(1, ticks(manners.release)),
            settle=ticks(manners.settle),
            trip_holds=manners.on_trip == "hold",
        )

    def sentence(self, rate: float, signals: Mapping[str, Signal]) -> str:
        """Say in one sentence why the monitor ended the test; empty when no rule did."""
        if self.tripped_by < 0:
            return ""
        rule, value = self.rules[self.tripped_by], self.tripped_value
        at = f"at tick {self.tripped_at} ({self.tripped_at / rate:.6g} s)"
        did = "Tripped" if self.ended_with == _core.Action.trip else "Ramped down"
        unit = signals[rule.signal].unit if rule.signal in signals else ""
        unit = {"rate": f" {unit}/s" if unit else " per s", "unchanged": " ticks"}.get(
            rule.quantity, f" {unit}" if unit else ""
        )
        of = {
            "value": rule.signal,
            "rate": f"rate of {rule.signal}",
            "difference": f"{rule.signal} - {rule.other}",
            "unchanged": f"time without a change of {rule.signal}",
        }[rule.quantity]
        if value < rule.lower:
            what = f"{of} {value:.6g}{unit} is below its limit {rule.lower:g}{unit}"
        elif value > rule.upper:
            what = f"{of} {value:.6g}{unit} exceeds its limit {rule.upper:g}{unit}"
        else:
            what = f"{of} is {value}"
        return f"{did} {at}: {what} (rule '{rule.name}')."

    def events(self, rate: float) -> list[dict[str, Any]]:
        """Return the events of the last run in order: rules that began to be broken and changes of state."""
        names = {-1: "", -2: "a block is broken", -3: "overruns"}
        actions = ("none", "warn", "hold", "ramp", "trip")
        return [
            {
                "tick": tick,
                "time": tick / rate,
                "rule": self.rules[rule].name if rule >= 0 else names[rule],
                "action": actions[action],
                "state": STATES[state],
                "value": value if math.isfinite(value) else str(value),
            }
            for tick, rule, action, state, value in self.logged
        ]


class Host(_core.Host):
    """What comes from the host as signals: a stop that was asked for, deadlines missed in a row, frames lost."""


class StabilityWarning(_core.StabilityWarning):
    """Work of the feedback force over dissipated energy, SW; 1 and more means the loop gains energy.

    damping (n, n) of the numerical structure, interface (m, n) picks the coordinates the feedback force acts on, margin
    in J (about 1 % of the expected input work). Inputs: x (n), v (n), feedback force (m). Outputs: SW, W_F, E_d.
    """

    def __init__(self, damping: ArrayLike, interface: ArrayLike, *, margin: float) -> None:
        of = "StabilityWarning"
        c = finite_array(damping, "damping", of, (None, None))
        c = finite_array(c, "damping", of, (len(c), len(c)))
        g = finite_array(np.atleast_2d(np.asarray(interface, dtype=float)), "interface", of, (None, len(c)))
        super().__init__(c, g, positive(margin, "margin", of))


class EnergyError(_core.EnergyError):
    """Energy error indicator of the loop, for comparison with `StabilityWarning`.

    mass, damping, stiffness (n, n) of the numerical structure; `n_interface` feedback forces; `e_most` in J. Inputs: x
    (n), excitation force (n), feedback force (m), measured displacement (m). Outputs: EEI, input work in J.
    """

    def __init__(
        self, mass: ArrayLike, damping: ArrayLike, stiffness: ArrayLike, *, n_interface: int, e_most: float, dt: float
    ) -> None:
        of = "EnergyError"
        m = finite_array(mass, "mass", of, (None, None))
        square = (len(m), len(m))
        c, k = finite_array(damping, "damping", of, square), finite_array(stiffness, "stiffness", of, square)
        m = finite_array(m, "mass", of, square)
        n = whole(n_interface, "n_interface", of, 1)
        super().__init__(m, c, k, n, positive(e_most, "e_most", of), positive(dt, "dt", of))


def protect(
    loop: Loop, commands: Sequence[Command], rules: Sequence[Rule] = (), *, manners: Manners | None = None
) -> Monitor:
    """Add host and monitor to a loop: declares each command's signal, which only the monitor writes.

    Call it after the blocks that write the wanted commands and before the one that sends the commands. A rule on a
    signal that is written later in the tick sees last tick's value. Adds the signals host.asked, host.late, host.lost,
    monitor.state (0 idle, 1 checked, 2 armed, 3 running, 4 holding, 5 ramping, 6 tripped), monitor.rule,
    monitor.action.
    """
    from rt_runtime.loop import previous

    manners = manners or Manners()
    full = [*rules]
    for c in commands:
        full.append(Rule(f"{c.name}_range", c.wanted, c.lower, c.upper, c.action))
        if c.rate_action is not None:
            full.append(replace(Rule.within(f"{c.name}_rate", c.wanted, c.rate, action=c.rate_action), quantity="rate"))
    names = [rule.name for rule in full]
    double = [name for name in names if names.count(name) > 1]
    known = {signal.name: signal for signal in loop.signals}
    problems = [f"Rule '{name}' must have a name of its own, but it is there twice." for name in dict.fromkeys(double)]
    for kind, signal in [(f"command '{c.name}'", c.wanted) for c in commands] + [
        (f"rule '{r.name}'", s) for r in full for s in (r.signal, r.other) if s is not None
    ]:
        if signal not in known and not signal.startswith("host.") and signal not in [c.name for c in commands]:
            problems.append(f"Signal '{signal}' of {kind} is unknown; declare it with loop.signal first.")
    if problems:
        raise ConfigError.from_problems("Safety", list(dict.fromkeys(problems)))
    for name, unit in (("host.asked", ""), ("host.late", ""), ("host.lost", "")):
        loop.signal(name, unit=unit)
    loop.add("host", Host(), outputs=["host.asked", "host.late", "host.lost"])
    for c in commands:
        loop.signal(c.name, unit=known[c.wanted].unit, initial=c.rest)
    for name in ("state", "rule", "action"):
        loop.signal(f"monitor.{name}", initial=0.0 if name == "state" else -1.0 if name == "rule" else 0.0)
    wanted = [c.wanted for c in commands]
    seen = [s for rule in full for s in (rule.signal, rule.other) if s is not None]
    watched = [s for s in dict.fromkeys(seen) if s not in wanted]
    monitor = Monitor(commands, watched, full, manners, dt=1.0 / loop.rate)
    inputs = [*wanted, "host.asked", *watched]
    outputs = [*(c.name for c in commands), "monitor.state", "monitor.rule", "monitor.action"]
    loop.add(
        "monitor",
        monitor,
        inputs=[name if loop.is_written(name) else previous(name) for name in inputs],
        outputs=outputs,
    )
    return monitor
