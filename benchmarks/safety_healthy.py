"""False alarms: the detectors of lying sensors beside the healthy virtual tests of the built-in studies.

Each run is another prototype (Latin hypercube of the study's uncertain parameters) with other noise; whatever trips
there would have ended a good test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hmor.studies import frame_mr_damper, pendulum
from hmor.studies.base import Options, ground_motion
from hmor.studies.benchmark_frame import CONTROLLERS, add_controller
from hmor.studies.benchmark_frame import SPACE as BENCHMARK
from hmor.studies.benchmark_loop import benchmark_loop
from hmor.studies.motorcycle import ampc
from mor import ParameterSpace, lhs
from mor.models.benchmark_frame import benchmark_frame
from mor.models.motorcycle import parameter_space
from rt_runtime import Command, Delay, Loop, Record, ResponseWatch, Rule
from rt_runtime.safety.defaults import response_rules
from rt_runtime.safety.watches import OF_RESPONSE, OF_SPECIMEN

CHANGING = 5.0
"""Limit of doubt, drift and lag of a motor that is another one every 0.25 s, as in the study motorcycle_brakes."""

Built = tuple[Loop, float]


@dataclass(frozen=True)
class Watched:
    """A virtual test: how it is built from parameters and options, what varies, and its signals."""

    build: Callable[[Mapping[str, float], Options], Built]
    space: ParameterSpace
    position: str = "measured"
    force: str | None = "force"
    limit: float = 1.0


def _benchmark(parameters: Mapping[str, float], options: Options) -> Built:
    """Partition and controller by the seed, all sixteen in turn."""
    frame, kind = benchmark_frame(1 + options.seed % 4), CONTROLLERS[options.seed // 4 % 4]
    hydraulic = replace(frame.hydraulic, **{name: parameters[name] for name in ("a3", "b1", "b2")})
    specimen = replace(frame.specimen, stiffness=parameters["stiffness"])
    frame = replace(frame, hydraulic=hydraulic, specimen=specimen)
    motion = ground_motion(options, scale=0.4)
    add = partial(add_controller, frame=frame, kind=kind, settings={})
    return benchmark_loop(frame, motion, noise_seed=options.seed, add_controller=add), motion.duration


def _motorcycle(parameters: Mapping[str, float], options: Options) -> Built:
    return ampc.build("adaptive", parameters, options), ampc.DURATION


STUDIES = {
    "pendulum": Watched(pendulum.build, pendulum.SPACE),
    "frame_mr_damper": Watched(frame_mr_damper.build, frame_mr_damper.SPACE),
    "benchmark_frame": Watched(_benchmark, BENCHMARK, force="feedback"),
    "motorcycle_ampc": Watched(_motorcycle, parameter_space(), force=None, limit=CHANGING),
}
"""The viaduct has a simulated actuator and delay_stability none, so they have no detectors."""


def alarms(study: Watched, parameters: Mapping[str, float], seed: int) -> list[str]:
    """Run one healthy virtual test with the detectors beside it; return the rules that would have acted."""
    loop, duration = study.build(parameters, Options(seed=seed))
    dt = 1.0 / loop.rate
    loop.signal("sent")
    loop.add("sent", Delay(1.0), inputs=["command"], outputs=["sent"])
    watches = [(study.position, ["sent", study.position], ResponseWatch(dt=dt, nominal=1.0))]
    if study.force is not None:
        watch = ResponseWatch(dt=dt, together=True, caution=OF_SPECIMEN)
        watches.append((study.force, [study.position, study.force], watch))
    for name, inputs, block in watches:
        outputs = [f"{name}.{output}" for output in OF_RESPONSE]
        for output in outputs:
            loop.signal(output)
        loop.add(f"{name}.watch", block, inputs=inputs, outputs=outputs)
    loop.record([f"{name}.{output}" for name, _, _ in watches for output in OF_RESPONSE])
    record = loop.run(duration)
    command = Command("wanted", "command", -1.0, 1.0, rate=1.0, measured=study.position)
    rules = response_rules(command, study.position, study.force, loop.rate)
    recorded = {signal.name for signal in record.signals}
    return [rule.name for rule in rules if rule.signal in recorded and acts(rule, record, study.limit)]


def acts(rule: Rule, record: Record, limit: float) -> bool:
    """Tell whether a rule acts anywhere in a record; limits of 1 are `limit`."""
    upper = limit if rule.upper == 1.0 else rule.upper
    values = record[rule.signal]
    broken = np.concatenate([[0], (values < rule.lower) | (values > upper), [0]])
    starts, ends = np.flatnonzero(np.diff(broken) == 1), np.flatnonzero(np.diff(broken) == -1)
    return bool(len(starts) and (ends - starts).max() >= rule.ticks)


def false_alarms(runs: int, first_seed: int) -> dict[str, list[str]]:
    """Return what would have tripped in `runs` healthy runs of every virtual test."""
    found = {}
    for name, study in STUDIES.items():
        design = lhs(study.space, max(runs, 2), seed=first_seed)
        each = [(i, alarms(study, design.parameters(i), first_seed + i)) for i in range(runs)]
        found[name] = [f"run {i}: {', '.join(rules)}" for i, rules in each if rules]
    return found
