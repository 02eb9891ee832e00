"""Limits with actions, soft start and soft stop: what stands between a wanted command and the actuator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rt_runtime import _core
from rt_runtime.checks import finite_array, one_of, positive, whole
from rt_runtime.engine.pacing import STATES
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from rt_runtime.engine.loop import Loop
    from rt_runtime.engine.records.record import Signal

ACTIONS = {"warn": _core.Action.warn, "hold": _core.Action.hold, "ramp": _core.Action.ramp, "trip": _core.Action.trip}
ORDER = ("host.order", "host.order_a", "host.order_b", "host.order_c")
"""An order of the operator, sequence << 8 | code, and its arguments."""
HOST = {"host.asked": "", "host.late": "", "host.lost": "", "host.elapsed": "s", **dict.fromkeys(ORDER, "")}
HOST_INPUTS = ("host.asked", "host.elapsed", *ORDER)
_BY_START, _BY_OPERATOR = -4, -5
LONGEST_WAY = 1e6
"""Of a command to its rest, in s: a stop that takes longer is none."""
QUANTITIES = {
    "value": _core.Quantity.value,
    "rate": _core.Quantity.rate,
    "difference": _core.Quantity.difference,
    "unchanged": _core.Quantity.unchanged,
    "acceleration": _core.Quantity.acceleration,
}


@dataclass(frozen=True)
class Rule:
    """A limit on a signal and what happens when it is broken for `ticks` ticks in a row (not before tick `grace`).

    quantity: "value" of `signal`, its "rate" (per s), its "difference" from the signal `other`, or "unchanged": the
    number of ticks it stayed the same although `other` moved (without `other`: at all), or "acceleration" (per s2).
    The quantity must lie in [lower, upper]; a nan never does. action: "warn", "hold" (the command stands still while
    the rule is broken), "ramp" (soft stop) or "trip". `reason` says why the rule is looser than the default whose
    name it has; it is kept in
    run.json.
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
    reason: str = ""

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

    def as_dict(self) -> dict[str, Any]:
        """Return what stands in run.json: the limits that exist, the action, the reason."""
        fields = {name: getattr(self, name) for name in ("name", "signal", "quantity", "other", "lower", "upper")}
        fields |= {"action": self.action, "ticks": self.ticks, "grace": self.grace, "reason": self.reason}
        return {k: v for k, v in fields.items() if v is not None and v != "" and v not in (math.inf, -math.inf)}


@dataclass(frozen=True)
class Command:
    """A command and where it may go: `wanted` comes in, `name` goes out with lower <= c <= upper and |dc/dt| <= rate.

    The command starts where the signal `measured` says that the actuator stands, and goes from there to the wanted one
    within its limits; a stop and a trip end at `rest`. A drive of a real actuator needs `measured`, or in
    `starts_at_rest` the reason why it is known to stand at rest. `action` is what happens when the wanted command
    leaves [lower, upper] (it is held at the limit anyway); `rate_action` likewise for its rate and for a jump of its
    speed, None: it is slowed down and noted.
    `force` names the measured force of the specimen at this command (by default the only one with a unit of force),
    `stiffness` declares its initial stiffness, against which sign and gain of the force are checked.
    """

    wanted: str
    name: str
    lower: float
    upper: float
    rate: float
    rest: float = 0.0
    action: str = "warn"
    rate_action: str | None = None
    measured: str | None = None
    starts_at_rest: str = ""
    force: str | None = None
    stiffness: float | None = None

    def __post_init__(self) -> None:
        of = f"command '{self.name}'"
        finite_array([self.lower, self.upper, self.rest], "lower, upper and rest", of, (3,))
        positive(self.rate, "rate", of)
        if not self.lower <= self.rest <= self.upper:
            raise ConfigError(
                f"rest of {of} must lie between lower and upper, got {self.rest:g} with [{self.lower:g}, "
                f"{self.upper:g}]."
            )
        if not 1.5 * (self.upper - self.lower) / self.rate <= LONGEST_WAY:
            raise ConfigError(
                f"rate of {of} must take it through its range within {LONGEST_WAY:g} s, got {self.rate:g} for "
                f"[{self.lower:g}, {self.upper:g}]."
            )
        if self.measured is not None and self.starts_at_rest:
            raise ConfigError(f"{of.capitalize()} must have measured or starts_at_rest, got both.")
        if self.stiffness is not None and not (math.isfinite(self.stiffness) and self.stiffness != 0.0):
            raise ConfigError(f"stiffness of {of} must be finite and not 0, got {self.stiffness!r}.")
        if (self.force is not None or self.stiffness is not None) and self.measured is None:
            raise ConfigError(f"{of.capitalize()} must name measured, the position that belongs to its force.")


@dataclass(frozen=True)
class StartStop:
    """How a test begins and ends, times in s.

    The test begins after `arm` seconds without a broken rule; the wanted command is faded in over `soft_start`; a stop
    takes `soft_stop`, a trip `trip` (all longer when the rate limit needs it), unless `on_trip` is "hold", not "ramp".
    A hold of more than `hold_limit` becomes a soft stop, and ends `release` after the rules hold again. A hold takes
    the speed v out of the command within `brake` (it moves on by v `brake` / 3), and so does a soft stop, within half
    of its time at most; a trip stops at once. At rest the loop goes on for `settle`. The test clock runs from the start
    of the test on; in a hold it does what `hold_clock` says, "run" or "stop" (slow tests).
    """

    arm: float = 0.0
    soft_start: float = 0.5
    soft_stop: float = 1.0
    trip: float = 0.5
    on_trip: str = "ramp"
    hold_limit: float = 5.0
    release: float = 0.05
    settle: float = 0.0
    hold_clock: str = "run"
    brake: float = 0.05

    def __post_init__(self) -> None:
        one_of(self.hold_clock, "hold_clock", "StartStop", ("run", "stop"))
        one_of(self.on_trip, "on_trip", "StartStop", ("ramp", "hold"))
        for name in ("arm", "soft_start", "soft_stop", "trip", "hold_limit", "release", "settle", "brake"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0.0 <= value <= 3600.0):
                raise ConfigError(f"{name} of StartStop must lie between 0 and 3600 s, got {value!r}.")


class Monitor(_core.Monitor):
    """The block that decides; `protect` builds it.

    Inputs: wanted commands, host.asked, host.elapsed, the operator's order, watched signals.

    Parameters
    ----------
    rules, manners
        The rules; how tests start and stop.
    dt
        Tick in s.
    start
        "at_once", or "operator" where somebody arms and starts the test.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        watched: Sequence[str],
        rules: Sequence[Rule],
        manners: StartStop,
        *,
        dt: float,
        start: str = "at_once",
    ) -> None:
        if not commands:
            raise ConfigError("commands of Monitor must name at least one command, got none.")
        self.commands, self.watched, self.rules, self.manners = tuple(commands), tuple(watched), tuple(rules), manners
        self.written = frozenset(rule.name for rule in rules)
        at = {name: i for i, name in enumerate([*(c.wanted for c in commands), *HOST_INPUTS, *watched])}

        def built(rule: Rule) -> _core.Rule:
            other = -1 if rule.other is None else at[rule.other]
            quantity, action = QUANTITIES[rule.quantity], ACTIONS[rule.action]
            return _core.Rule(quantity, at[rule.signal], other, rule.lower, rule.upper, action, rule.ticks, rule.grace)

        def ticks(seconds: float) -> int:
            return round(seconds / dt)

        super().__init__(
            [
                _core.CommandLimit(c.lower, c.upper, c.rate, c.rest, -1 if c.measured is None else at[c.measured])
                for c in commands
            ],
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
            by_operator=one_of(start, "start", "Monitor", ("at_once", "operator")) == "operator",
            hold_stops_clock=manners.hold_clock == "stop",
            brake=ticks(manners.brake),
        )

    def described(self) -> list[dict[str, Any]]:
        """Return the rules in force as they stand in run.json; `default` marks those that nobody wrote."""
        return [rule.as_dict() | {"default": rule.name not in self.written} for rule in self.rules]

    def sentence(self, rate: float, signals: Mapping[str, Signal]) -> str:
        """Say in one sentence why the monitor ended the test; empty when nobody but the clock or a signal did."""
        if self.tripped_by == _BY_OPERATOR:
            ways = {_core.Action.trip: "Tripped", _core.Action.hold: "Ramped down after a long hold"}
            words = ways.get(self.ended_with, "Stopped")
            return f"{words} by the operator at tick {self.tripped_at} ({self.tripped_at / rate:.6g} s)."
        if self.tripped_by == _BY_START:
            return "Tripped at tick 0 (0 s): " + self.out_of_reach({}, self.tripped_value)
        if self.tripped_by < 0:
            return ""
        rule, value = self.rules[self.tripped_by], self.tripped_value
        at = f"at tick {self.tripped_at} ({self.tripped_at / rate:.6g} s)"
        did = "Tripped" if self.ended_with == _core.Action.trip else "Ramped down"
        unit = signals[rule.signal].unit if rule.signal in signals else ""
        unit = {
            "rate": f" {unit}/s" if unit else " per s",
            "acceleration": f" {unit}/s2" if unit else " per s2",
            "unchanged": " ticks",
        }.get(rule.quantity, f" {unit}" if unit else "")
        of = {
            "value": rule.signal,
            "rate": f"rate of {rule.signal}",
            "difference": f"{rule.signal} - {rule.other}",
            "acceleration": f"acceleration of {rule.signal}",
            "unchanged": f"time without a change of {rule.signal}",
        }[rule.quantity]
        lower, upper = self.shown()[self.tripped_by][3:5]  # the operator may have tightened them
        if value < lower:
            what = f"{of} {value:.6g}{unit} is below its limit {lower:g}{unit}"
        elif value > upper:
            what = f"{of} {value:.6g}{unit} exceeds its limit {upper:g}{unit}"
        else:
            what = f"{of} is {value}"
        return f"{did} {at}: {what} (rule '{rule.name}')."

    def out_of_reach(self, positions: Mapping[str, float], value: float = math.nan) -> str:
        """Say which command cannot start from the measured `positions`, or from `value`; empty when all can."""
        for c in self.commands:
            if c.measured is None:
                continue
            position = positions.get(c.measured, value if not positions else c.rest)
            if not c.lower <= position <= c.upper:
                return (
                    f"Command '{c.name}' cannot start: {c.measured} stands at {position:g}, outside its limits "
                    f"[{c.lower:g}, {c.upper:g}]; bring the actuator within them by its own controls."
                )
        return ""

    def events(self, rate: float) -> list[dict[str, Any]]:
        """Return the events of the last run in order: rules that began to be broken and changes of state."""
        names = {-1: "", -2: "a block is broken", -3: "overruns", -4: "start", -5: "operator"}
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


class HostStatus(_core.HostStatus):
    """What comes from the host as signals.

    A stop that was asked for, wake-up times missed in a row, frames lost, real time since the last tick in s.
    """


def protect(
    loop: Loop,
    commands: Sequence[Command],
    rules: Sequence[Rule] = (),
    *,
    manners: StartStop | None = None,
    start: str = "at_once",
) -> Monitor:
    """Add host and monitor to a loop: declares each command's signal, which only the monitor writes.

    Call it after the blocks that write the wanted commands and before the one that sends the commands. A rule on a
    signal that is written later in the tick sees last tick's value. The default rules (docs/safety.md) hold too, with
    the detectors they need (`add_watches`); a rule of the same name takes the place of one, and needs a reason if it is
    looser and the actuator is not simulated. `start`: "at_once", or the "operator" arms and starts the test. Adds the
    signals host.asked, host.late, host.lost, host.elapsed,
    host.order with its arguments, monitor.state (0 idle, 1 checked, 2 armed, 3 running, 4 holding, 5 ramping,
    6 tripped), monitor.rule, monitor.action, monitor.test_tick (tick of the test clock, -1 before the start).

    Parameters
    ----------
    manners
        How the test starts and stops; the defaults of `StartStop` when left out.
    """
    from rt_runtime.engine.loop import previous
    from rt_runtime.safety.defaults import rules_in_force
    from rt_runtime.safety.watches import add_watches, responses_of, watch_signals, watched_actuators

    manners = manners or StartStop()
    actuators = watched_actuators(loop)
    responses = responses_of(loop, commands, actuators)
    full = rules_in_force(rules, commands, actuators, responses, loop.rate, loop.reduced_models())
    own = watch_signals(actuators, responses)
    names = [rule.name for rule in full]
    double = [name for name in names if names.count(name) > 1]
    known = {signal.name: signal for signal in loop.signals}
    problems = [f"Rule '{name}' must have a name of its own, but it is there twice." for name in dict.fromkeys(double)]
    for kind, signal in [(f"command '{c.name}'", c.wanted) for c in commands] + [
        (f"rule '{r.name}'", s) for r in full for s in (r.signal, r.other) if s is not None
    ]:
        declared = signal in known or signal in own or signal.startswith("host.")
        if not declared and signal not in [c.name for c in commands]:
            problems.append(f"Signal '{signal}' of {kind} is unknown; declare it with loop.signal first.")
    for c in commands:
        if c.measured is not None and not loop.is_written(c.measured):
            problems.append(
                f"Signal '{c.measured}', measured of command '{c.name}', must be written before the monitor; add its "
                "sensor before protect."
            )
    if problems:
        raise ConfigError.from_problems("Safety", list(dict.fromkeys(problems)))
    for name, unit in HOST.items():
        loop.signal(name, unit=unit)
    loop.step_always([c.measured for c in commands if c.measured is not None])  # where the actuator stands
    loop.add("host", HostStatus(), outputs=list(HOST))
    for c in commands:
        loop.signal(c.name, unit=known[c.wanted].unit, initial=c.rest)
    add_watches(loop, commands, actuators, responses)
    for name in ("state", "rule", "action", "test_tick"):
        loop.signal(f"monitor.{name}", initial=-1.0 if name in ("rule", "test_tick") else 0.0)
    wanted = [c.wanted for c in commands]
    seen = [c.measured for c in commands] + [s for rule in full for s in (rule.signal, rule.other)]
    watched = [s for s in dict.fromkeys(seen) if s is not None and s not in (*wanted, *HOST_INPUTS)]
    monitor = Monitor(commands, watched, full, manners, dt=1.0 / loop.rate, start=start)
    monitor.written = frozenset(rule.name for rule in rules)
    inputs = [*wanted, *HOST_INPUTS, *watched]
    outputs = [*(c.name for c in commands), "monitor.state", "monitor.rule", "monitor.action", "monitor.test_tick"]
    loop.add(
        "monitor",
        monitor,
        inputs=[name if loop.is_written(name) else previous(name) for name in inputs],
        outputs=outputs,
    )
    return monitor
