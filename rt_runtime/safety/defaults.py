"""Rules that every guarded loop has. A study may tighten them; to loosen one it must say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rt_runtime import _core
from rt_runtime.errors import ConfigError
from rt_runtime.safety.monitor import ACTIONS, Command, Rule
from rt_runtime.safety.watches import Watched

STALL_PERIODS = 10
SILENCE = 0.1
"""Longest age of an answer, in s."""


def default_rules(rate: float) -> tuple[Rule, ...]:
    """Return the default rules of a guarded loop at `rate` Hz.

    stall: no tick began for more than `STALL_PERIODS` periods of real time, so nobody watched the specimen; trip.
    lost_frames: a frame did not reach the disk (full, too slow), so the test is no longer recorded; soft stop.
    """
    return (
        Rule("stall", "host.elapsed", upper=STALL_PERIODS / rate, action="trip"),
        Rule("lost_frames", "host.lost", upper=0.0, action="ramp"),
    )


def command_rules(c: Command, rate: float) -> list[Rule]:
    """Return the rules on a wanted command: its range, its rate, and a change of speed by the whole rate in a tick."""
    speed = Rule.within(f"{c.name}_rate", c.wanted, c.rate, action=c.rate_action or "warn")
    jump = Rule.within(f"{c.name}_acceleration", c.wanted, c.rate * rate, action=c.rate_action or "warn")
    return [
        Rule(f"{c.name}_range", c.wanted, c.lower, c.upper, c.action),
        replace(speed, quantity="rate"),
        replace(jump, quantity="acceleration"),
    ]


def actuator_rules(rig: Watched, rate: float, *, alone: bool) -> list[Rule]:
    """Return the rules on an actuator and its connection; their names carry its prefix unless it is `alone`."""
    at = "" if alone else f"{rig.prefix}_"
    rules = [
        Rule(f"{at}stale", rig.age, upper=round(SILENCE * rate)),
        Rule(f"{at}status", rig.status, lower=0.0),
    ]
    if rig.sent is not None:
        rules.append(Rule(f"{at}sent", rig.sent, lower=0.0, ticks=3))
    if rig.linked:
        p = rig.prefix
        rules += [
            Rule(f"{at}lost_answers", f"{p}.lost_recently", upper=0.1 * rate, action="ramp"),
            Rule(f"{at}repeated_answers", f"{p}.repeated_recently", upper=0.02 * rate, action="ramp"),
            Rule(f"{at}two_rigs", f"{p}.conflicting", upper=0.0),
            Rule(f"{at}growing_delay", f"{p}.drift", -SILENCE, SILENCE, ticks=round(2 * SILENCE * rate)),
        ]
    return rules


def response_rules(c: Command, position: str, force: str | None, rate: float) -> list[Rule]:
    """Return the rules on what a command leads to: the position that answers it, and the force of the specimen."""
    rules = [
        Rule.tracking(f"{c.name}_error", position, c.name, 0.25 * (c.upper - c.lower)),
    ]
    for signal in (position, force):
        if signal is not None:
            rules += [
                Rule(f"{signal}_follows", f"{signal}.doubt", upper=1.0),
                Rule(f"{signal}_drift", f"{signal}.drift", upper=1.0),
                Rule(f"{signal}_lag", f"{signal}.lag", upper=1.0),
                Rule(f"{signal}_gain", f"{signal}.gain", 0.2, 5.0),
                Rule(f"{signal}_frozen", f"{signal}.frozen", upper=0.03),
                Rule(f"{signal}_quiet", f"{signal}.quiet", upper=30.0, ticks=round(0.05 * rate) + 1),
            ]
    if force is not None:
        rules.append(Rule(f"{force}_energy", f"{force}.energy", upper=0.75, action="warn"))
    return rules


def domain_rules(models: Mapping[str, tuple[_core.Rom, Sequence[str]]]) -> list[Rule]:
    """Return the rules of reduced models whose bundle says that they must not be used outside their domain ("trip").

    Parameters
    ----------
    models : blocks with their input signals by name, as `Loop.reduced_models` gives them.
    """
    from rt_runtime.bundle.rom import Rom

    return [
        Rule(f"{name}_{port.name}_domain", signal, port.lower, port.upper)
        for name, (rom, signals) in models.items()
        if isinstance(rom, Rom) and rom.model.memory is not None and rom.model.memory.outside == "trip"
        for port, signal in zip(rom.model.inputs, signals, strict=True)
    ]


def rules_in_force(
    rules: Sequence[Rule],
    commands: Sequence[Command],
    actuators: Sequence[Watched],
    responses: Mapping[str, str | None],
    rate: float,
    models: Mapping[str, tuple[_core.Rom, Sequence[str]]],
) -> list[Rule]:
    """Return the study's rules and all defaults that none of them replaces by its name.

    With an actuator that moves something, a rule that is looser than the default it replaces must say why.
    """
    defaults = [*default_rules(rate), *domain_rules(models)]
    for rig in actuators:
        defaults += actuator_rules(rig, rate, alone=len(actuators) == 1)
    for c in commands:
        if c.measured in responses:
            assert c.measured is not None
            defaults += response_rules(c, c.measured, responses[c.measured], rate)
        always, *speed = command_rules(c, rate)
        defaults += [always, *(speed if actuators or c.rate_action is not None else ())]
    given = {rule.name: rule for rule in rules}
    if actuators:
        problems = [
            f"Rule '{d.name}' is looser than the default ({words}) and must say why: give it a reason."
            for d in defaults
            if d.name in given and not given[d.name].reason.strip() and (words := looser(given[d.name], d))
        ]
        if problems:
            raise ConfigError.from_problems("Safety", problems)
    return [*rules, *(d for d in defaults if d.name not in given)]


def looser(rule: Rule, default: Rule) -> str:
    """Say in which way a rule is looser than the default of its name; empty when it is not."""
    for name in ("signal", "quantity", "other"):
        if getattr(rule, name) != getattr(default, name):
            return f"{name} {getattr(default, name)}"
    order = list(ACTIONS)
    if order.index(rule.action) < order.index(default.action):
        return f"action {default.action}"
    if rule.lower < default.lower:
        return f"lower {default.lower:g}"
    if rule.upper > default.upper:
        return f"upper {default.upper:g}"
    for name in ("ticks", "grace"):
        if getattr(rule, name) > getattr(default, name):
            return f"{name} {getattr(default, name)}"
    return ""
