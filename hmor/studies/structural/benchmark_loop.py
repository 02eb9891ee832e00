"""Virtual hybrid tests of the benchmark frame as loops: with its actuator and controller, or with a pure delay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mor.excitation.sampled import Excitation
from mor.models.benchmark_frame import NOISE, RATE, BenchmarkFrame, sample_controller_block
from mor.validation.tracking import BenchmarkIndices, benchmark_indices
from rt_runtime import Delay, Gain, Loop, Noise, Record, StateSpace, Sum, previous
from rt_runtime.errors import ConfigError

FLOORS = ("x_1", "x_2", "x_3")
REFERENCE = ("reference_1", "reference_2", "reference_3")


def add_sample_controller(loop: Loop) -> None:
    """Add the public controller: a phase lead on `target`, minus `measured`, through a PI to `command`."""
    loop.add("pi", sample_controller_block(1 / loop.rate), inputs=["target", "measured"], outputs=["command"])


def benchmark_loop(
    frame: BenchmarkFrame,
    ground: Excitation,
    *,
    noise_seed: int | None = 0,
    add_controller: Callable[[Loop], None] = add_sample_controller,
) -> Loop:
    """Build the virtual hybrid test of a benchmark partition at 4096 Hz, with the undivided frame beside it.

    A tick: ground -> reference and numerical side -> `target` (floor 1) -> plant moved by last tick's `command` ->
    `measured` -> controller -> `command`; the specimen's force by backward differences acts on the numerical side one
    tick later. `add_controller` adds blocks that read `target` and `measured` and write `command` (all declared).
    `noise_seed` None switches the sensor noise off. Linear parts are exact for held inputs.
    """
    dt = 1 / RATE
    loop = Loop(RATE)
    for name in ("target", "position", "measured", "command", "displacement_noise"):
        loop.signal(name, unit="m")
    for name in ("force", "feedback", "force_noise"):
        loop.signal(name, unit="N")
    _add_frames(loop, frame, ground, dt, "zoh")
    loop.add("target", Gain(1.0), inputs=["x_1"], outputs=["target"])

    plant = frame.plant.state_space()
    moved = StateSpace(plant.A, plant.B, plant.C, dt=dt, update="start")
    loop.add("plant", moved, inputs=[previous("command")], outputs=["position"])
    deviations = (0.0, 0.0) if noise_seed is None else NOISE
    loop.add("sensors", Noise(deviations, seed=noise_seed or 0), outputs=["displacement_noise", "force_noise"])
    loop.add("encoder", Sum("++"), inputs=["position", "displacement_noise"], outputs=["measured"])
    add_controller(loop)

    loop.add("specimen", frame.specimen.block(dt), inputs=["position"], outputs=["force"])
    loop.add("load_cell", Sum("++"), inputs=["force", "force_noise"], outputs=["feedback"])
    return loop


def judge_benchmark(record: Record) -> BenchmarkIndices:
    """Return J1 to J9 of a record of `benchmark_loop`."""
    floors, whole = (np.column_stack([record[name] for name in names]) for names in (FLOORS, REFERENCE))
    return benchmark_indices(record["measured"], record["target"], floors, whole, record.rate)


def constant_delay_loop(frame: BenchmarkFrame, ground: Excitation, *, delay: float) -> Loop:
    """Build the test with a transfer system that is nothing but a delay of `delay` s, at least one tick of 1/4096 s.

    The specimen's force m_e a + c_e v + k_e x belongs to the motion of floor 1 so long ago. Parts are stepped by RK4.
    """
    ticks = delay * RATE
    if not ticks >= 1:
        tick = f"{1 / RATE:.6g} s"
        raise ConfigError(f"delay of constant_delay_loop must be at least one tick of {tick}, got {delay:g} s.")
    loop = Loop(RATE)
    motion = ("x_1", "v_1", "a_1")
    late = ("measured", "late_velocity", "late_acceleration")
    for name, unit in zip(late, ("m", "m/s", "m/s2"), strict=True):
        loop.signal(name, unit=unit)
    loop.signal("feedback", unit="N")
    _add_frames(loop, frame, ground, 1 / RATE, "rk4", with_motion=True)
    loop.add("delay", Delay(ticks - 1, channels=3), inputs=motion, outputs=late)
    part = frame.specimen
    loop.add("specimen", Gain([[part.stiffness, part.damping, part.mass]]), inputs=late, outputs=["feedback"])
    return loop


def _add_frames(
    loop: Loop, frame: BenchmarkFrame, ground: Excitation, dt: float, method: str, *, with_motion: bool = False
) -> None:
    """Add ground, undivided frame and numerical side, which reads last tick's `feedback`."""
    loop.signal("ground", unit="m/s2")
    for name in (*REFERENCE, *FLOORS):
        loop.signal(name, unit="m")
    loop.add("ground", ground.block(), outputs=["ground"])
    whole = frame.reference.state_space()
    block = StateSpace(whole.A, whole.B, whole.C[:3], whole.D[:3], dt=dt, method=method)
    loop.add("reference", block, inputs=["ground"], outputs=REFERENCE)
    outputs, rows = list(FLOORS), [0, 1, 2]
    if with_motion:
        loop.signal("v_1", unit="m/s")
        loop.signal("a_1", unit="m/s2")
        outputs, rows = [*FLOORS, "v_1", "a_1"], [0, 1, 2, 3, 6]
    part = frame.numerical.state_space([0])
    pull = np.array([1.0, -1.0])  # the feedback is the force on the specimen: it pulls the floor back
    block = StateSpace(part.A, part.B * pull, part.C[rows], part.D[rows] * pull, dt=dt, method=method)
    loop.add("numerical", block, inputs=["ground", previous("feedback")], outputs=outputs)
