"""False alarms: the detectors of lying sensors beside the healthy tests of all built-in studies that have an actuator.

Each run is another prototype (Latin hypercube of the study's uncertain parameters) with other noise and, every second
time, another ground motion (El Centro or a synthetic one); whatever trips there would have ended a good test. Two
studies are run as `hmor run` would, with the rules of their files: motorcycle_brakes, with full-order brakes, against
its rig in this process, and viaduct with quickly fitted piers.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from hmor.rigs.motorcycle import motorcycle_ecvt
from hmor.rigs.sections import SimulatedSection
from hmor.studies.base import Options, ground_motion
from hmor.studies.motorcycle import ampc
from hmor.studies.multi_axial import curved_bridge, moment_frame, multi_axial_benchmark
from hmor.studies.structural import delay_stability, frame_mr_damper, pendulum
from hmor.studies.structural.benchmark_frame import CONTROLLERS, add_controller
from hmor.studies.structural.benchmark_frame import SPACE as BENCHMARK
from hmor.studies.structural.benchmark_loop import benchmark_loop
from hmor.studies.viaduct.records import RECORDS
from hmor.study.file import load_study
from hmor.study.run import prepare
from hmor.study.simulate import exported_parts
from hmor.study.stages.pipeline import find_pipeline
from mor import ParameterSpace, Substructure, TransferFunction, Uniform, lhs
from mor.excitation import el_centro, synthetic_ground_motion
from mor.models.benchmark_frame import benchmark_frame
from mor.models.motorcycle import brake, parameter_space
from rt_runtime import (
    Command,
    Delay,
    InProcessRig,
    Loop,
    Noise,
    Record,
    ResponseWatch,
    Rule,
    StateSpace,
    Sum,
    Table,
    Tripped,
)
from rt_runtime.safety.defaults import response_rules
from rt_runtime.safety.watches import OF_RESPONSE, OF_SPECIMEN

CHANGING = 5.0
"""Limit of doubt, drift and lag of a motor that is another one every 0.25 s, as in the study motorcycle_brakes."""

Built = tuple[Loop, float]


@dataclass(frozen=True)
class Channel:
    """A command, the position that answers it, and the force that belongs to it where the default rules know it."""

    command: str = "command"
    position: str = "measured"
    force: str | None = None


@dataclass(frozen=True)
class Watched:
    """A virtual test: how it is built from parameters and options, what varies, and its channels."""

    build: Callable[[Mapping[str, float], Options], Built]
    space: ParameterSpace
    channels: tuple[Channel, ...] = (Channel(force="force"),)
    limit: float = 1.0
    shaken: bool = True


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


def _moment_frame(parameters: Mapping[str, float], options: Options) -> Built:
    """All cases in turn; those under MPC with an elastic column with the rules on the pose too."""
    case = list(moment_frame.CASES.values())[options.seed % len(moment_frame.CASES)]
    guarded = case.closed and case.specimen == "elastic"
    motion = ground_motion(options, scale=case.scale)
    table = Table(motion.time, motion.values)
    options = replace(options, settings={"guarded": guarded})
    return moment_frame.build(case, table, parameters, options), motion.duration


def _curved_bridge(parameters: Mapping[str, float], options: Options) -> Built:
    """All cases in turn, without the rules on the poses: other motions may ask for more than the boxes give."""
    case = list(curved_bridge.CASES.values())[options.seed % len(curved_bridge.CASES)]
    motion = ground_motion(options, scale=1.0)
    return curved_bridge.build(case, motion, parameters, options), motion.duration


def _multi_axial(parameters: Mapping[str, float], options: Options) -> Built:
    """All controllers in turn; a perfect actuator is none."""
    kind = ("none", "adaptive", "mpc", "mpc_diagonal")[options.seed % 4]
    motion = ground_motion(options, scale=0.4)
    return multi_axial_benchmark.build(kind, motion, parameters, options), motion.duration


def _delay_stability(parameters: Mapping[str, float], options: Options) -> Built:
    """The cylinder behind the two adaptive compensators that keep the loop stable."""
    front = delay_stability.compensated_cylinder(delay_stability.GAINS["cd"[options.seed % 2]], options.seed)
    k = delay_stability.STIFFNESS
    specimen = {"mass": delay_stability.MASS, "damping": delay_stability.DAMPING, "stiffness": k}
    return delay_stability._loop(delay_stability.whole_frame().minus(0, **specimen), options, front)


BOX = tuple(Channel(f"command_{i}", f"measured_stroke_{i}") for i in range(1, 7))
BOXES = tuple(
    Channel(f"{box}command_{i}", f"{box}measured_stroke_{i}")
    for box in curved_bridge.BOXES.values()
    for i in range(1, 7)
)
PAIR = tuple(Channel(f"command_{i}", f"measured_{i}") for i in (1, 2))
NOTHING_VARIES = ParameterSpace({"nothing": Uniform(0.0, 1.0)})
STUDIES = {
    "pendulum": Watched(pendulum.build, pendulum.SPACE),
    "frame_mr_damper": Watched(frame_mr_damper.build, frame_mr_damper.SPACE),
    "benchmark_frame": Watched(_benchmark, BENCHMARK, (Channel(force="feedback"),)),
    "delay_stability": Watched(_delay_stability, NOTHING_VARIES),
    "moment_frame": Watched(_moment_frame, moment_frame.SPACE, BOX),
    "curved_bridge": Watched(_curved_bridge, curved_bridge.SPACE, BOXES),
    "multi_axial_benchmark": Watched(_multi_axial, multi_axial_benchmark.SPACE, PAIR),
    "motorcycle_ampc": Watched(_motorcycle, parameter_space(), (Channel(),), limit=CHANGING, shaken=False),
}
"""Virtual tests; heated_plate, plate_gsa and motorcycle_gsa test nothing, so nothing can trip."""


def alarms(study: Watched, parameters: Mapping[str, float], options: Options) -> tuple[list[str], list[str]]:
    """Run one healthy virtual test with the detectors beside it; return the rules that would have acted, or did.

    With them the signals that were not judged in the whole run: the silence of their detectors means nothing.
    """
    loop, duration = study.build(parameters, options)
    dt = 1.0 / loop.rate
    watches = []
    for i, channel in enumerate(study.channels):
        sent = f"sent{i}"
        loop.signal(sent)
        loop.add(sent, Delay(1.0), inputs=[channel.command], outputs=[sent])
        watches.append((channel.position, [sent, channel.position], ResponseWatch(dt=dt, nominal=1.0)))
        if channel.force is not None:
            watch = ResponseWatch(dt=dt, together=True, caution=OF_SPECIMEN)
            watches.append((channel.force, [channel.position, channel.force], watch))
    for name, inputs, block in watches:
        outputs = [f"{name}.{output}" for output in OF_RESPONSE]
        for output in outputs:
            loop.signal(output)
        loop.add(f"{name}.watch", block, inputs=inputs, outputs=outputs)
    loop.record([f"{name}.{output}" for name, _, _ in watches for output in OF_RESPONSE])
    try:
        record = loop.run(duration)
    except Tripped as trip:
        return [str(trip)], []
    recorded = {signal.name for signal in record.signals}
    rules = [
        rule
        for c in study.channels
        for rule in response_rules(
            Command("wanted", c.command, -1.0, 1.0, rate=1.0, measured=c.position), c.position, c.force, loop.rate
        )
    ]
    silent = [name for name, _, _ in watches if not record[f"{name}.doubt"].any()]
    return [rule.name for rule in rules if rule.signal in recorded and acts(rule, record, study.limit)], silent


def acts(rule: Rule, record: Record, limit: float) -> bool:
    """Tell whether a rule acts anywhere in a record; limits of 1 are `limit`."""
    upper = limit if rule.upper == 1.0 else rule.upper
    values = record[rule.signal]
    broken = np.concatenate([[0], (values < rule.lower) | (values > upper), [0]])
    starts, ends = np.flatnonzero(np.diff(broken) == 1), np.flatnonzero(np.diff(broken) == -1)
    return bool(len(starts) and (ends - starts).max() >= rule.ticks)


def ended_early(loop: Loop, duration: float) -> list[str]:
    """Run a guarded loop; return why it did not end by itself."""
    try:
        record = loop.run(duration)
    except Tripped as trip:
        return [str(trip)]
    return [] if record.ended == "finished" else [record.ended]


def motorcycle_test(seed: int) -> list[str]:
    """Run the test of motorcycle_brakes without a clock; the motor is drawn from the seed."""
    study = load_study("motorcycle_brakes", quick=True)
    section = study.need("run", study.run)
    side = motorcycle_ecvt(section.rate, draws=seed)
    parts: dict[str, Substructure] = {end: brake(end) for end in ("rear", "front")}
    rig = InProcessRig(side.loop, side.commands, side.measured)
    return ended_early(prepare(section, study.place, seed, parts, actuators={"rig": rig}).loop, section.duration)


def viaduct_test(folder: Path, seed: int) -> list[str]:
    """Run the test of the viaduct without a clock, its three records in turn with a scale and a noise of the seed.

    Its actuator is moved into a rig in this process, so that it is watched like a real one.
    """
    scale = float(np.random.default_rng(seed).uniform(0.5, 1.5))
    settings = {"record": RECORDS[seed % len(RECORDS)], "scale": scale}
    study = load_study("viaduct", folder, changes=QUICK_PIERS | {"run": {"settings": settings}})
    section = study.need("run", study.run)
    actuator, side = section.actuator, Loop(section.rate)
    assert isinstance(actuator, SimulatedSection)
    side.constant("command", 0.0, unit="m")
    for name in ("x", "noise", "x_m"):
        side.signal(name, unit="m")
    plant = TransferFunction(actuator.numerator, actuator.denominator).state_space()
    block = StateSpace(plant.A, plant.B, plant.C, dt=1.0 / section.rate, update="start")
    side.add("actuator", block, inputs=["command"], outputs=["x"])
    side.add("noise", Noise(actuator.noise, seed=seed), outputs=["noise"])
    side.add("sensor", Sum("++"), inputs=["x", "noise"], outputs=["x_m"])
    rig = InProcessRig(side, ("command",), ("x_m",))
    prepared = prepare(section, study.place, seed, exported_parts(study, section.parts), actuators={"rig": rig})
    return ended_early(prepared.loop, section.duration)


QUICK_PIERS = {
    "parts": {f"pier_{h}": {"models": {"ffnn": {"iterations": 20, "memory": {"rows": 1000}}}} for h in (7, 9, 12, 14)}
}


def false_alarms(runs: int, first_seed: int) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    """Return what tripped, or would have, in `runs` healthy runs of every test, and which signals were not judged."""
    found: dict[str, list[list[str]]] = {}
    silent: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, study in STUDIES.items():
            design = lhs(study.space, max(runs, 2), seed=first_seed)
            found[name], silent[name] = [], Counter()
            for i in range(runs):
                options = Options(seed=first_seed + i)
                if study.shaken and i % 2:
                    options = replace(options, record=new_motion(folder, first_seed + i))
                acting, unjudged = alarms(study, design.parameters(i), options)
                found[name].append(acting)
                silent[name].update(unjudged)
        seeds = range(first_seed, first_seed + runs)
        found["motorcycle_brakes"] = [motorcycle_test(seed) for seed in seeds]
        for group in ("sample", "train", "validate", "export"):
            find_pipeline("viaduct", folder / "viaduct", changes=QUICK_PIERS).run_group(group)
        found["viaduct"] = [viaduct_test(folder / "viaduct", seed) for seed in seeds]
    return {
        name: [f"run {i}: {', '.join(rules)}" for i, rules in enumerate(each) if rules] for name, each in found.items()
    }, {name: dict(counts) for name, counts in silent.items() if counts}


def new_motion(folder: Path, seed: int) -> Path:
    """Write El Centro or a synthetic ground motion of its own seed, quiet before and after as that of the studies."""
    motion = el_centro() if seed % 4 == 3 else synthetic_ground_motion(seed=seed, duration=30.0)
    motion = motion.padded(2.0, 3.0)
    path = folder / f"motion_{seed}.csv"
    np.savetxt(path, np.column_stack([motion.time, motion.values]), delimiter=",")
    return path
