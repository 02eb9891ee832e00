"""Delay tolerance of a hybrid test, watched by the stability warning SW, and how adaptive compensation rescues it.

Numerical: the three-storey frame (3 % modal damping) without its specimen, M_n a + C_n v + K_n x = -m_g a_g - f_e at
floor 1. First with a constant delay on the specimen's motion, then with a cylinder that is 25 ms late behind
first-order adaptive compensation that starts at 10 ms. SW = W_F / (E_d + 1 J) while W_F > 0, with the work W_F of
the feedback force on the numerical side and the energy E_d it dissipates.
Galmez and Fermandois, Frontiers in Built Environment 6:134 (2020).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from mor import LinearStructure, critical_delay
from mor.models.actuators import DELAYED_HYDRAULIC
from mor.models.benchmark_frame import NOISE, RATE, benchmark_structure
from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    Delay,
    Gain,
    Loop,
    Noise,
    Record,
    StabilityWarning,
    StateSpace,
    Sum,
    Tripped,
    previous,
)
from rt_runtime.checks import Array

MASS, DAMPING, STIFFNESS = 29.1, 114.6, 1.19e6
"""The specimen in kg, Ns/m and N/m."""

DELAYS_MS = (0.98, 7.1, 9.0)
GAINS = {"a": (0.0, 0.0), "b": (10.0, 5.0), "c": (1e5, 1e4), "d": (2.4e5, 1.1e5)}
MARGIN = 1.0
"""C_SW in J: about 1 % of the input work."""


def whole_frame() -> LinearStructure:
    """Return the frame with its specimen, 3 % damping in every mode."""
    return benchmark_structure(damping_ratio=0.03)


def _loop(part: LinearStructure, options: Options, front: Callable[[Loop], None]) -> tuple[Loop, float]:
    """Return the loop of ground, then `front` (from last tick's motion to `force`), then the numerical part."""
    motion = ground_motion(options, scale=0.4)
    model = part.state_space(force_dofs=[0])
    names = [f"{kind}{i}" for kind in "xva" for i in (1, 2, 3)]
    units = {"x": "m", "v": "m/s", "a": "m/s2"}
    loop = Loop(RATE)
    for name in names:
        loop.signal(name, unit=units[name[0]])
    loop.signal("ground", unit="m/s2")
    loop.signal("force", unit="N")
    loop.add("ground", motion.block(), outputs=["ground"])
    front(loop)
    block = StateSpace(model.A, model.B * [1.0, -1.0], model.C, model.D * [1.0, -1.0], dt=1 / RATE, method="rk4")
    loop.add("numerical", block, inputs=["ground", "force"], outputs=names)
    for name, unit in (("sw", ""), ("feedback_work", "J"), ("dissipated", "J")):
        loop.signal(name, unit=unit)
    energy = StabilityWarning(part.C, [[1.0, 0.0, 0.0]], margin=MARGIN)
    loop.add("energy", energy, inputs=[*names[:6], "force"], outputs=["sw", "feedback_work", "dissipated"])
    return loop, motion.duration


def constant_delay(delay: float) -> Callable[[Loop], None]:
    """Return the front in which the specimen follows `delay` s late (at least one tick)."""

    def front(loop: Loop) -> None:
        late = ["late_x", "late_v", "late_a"]
        for name, unit in zip(late, ("m", "m/s", "m/s2"), strict=True):
            loop.signal(name, unit=unit)
        motion = [previous("x1"), previous("v1"), previous("a1")]
        loop.add("delay", Delay(delay * RATE - 1, channels=3), inputs=motion, outputs=late)
        specimen = Gain([[STIFFNESS, DAMPING, MASS]])
        loop.add("specimen", specimen, inputs=late, outputs=["force"])

    return front


def compensated_cylinder(gains: tuple[float, float], seed: int) -> Callable[[Loop], None]:
    """Return the front of adaptive compensation, cylinder and specimen with noisy sensors."""

    def front(loop: Loop) -> None:
        from scipy.signal import butter

        for name in ("command", "a0", "a1_s", "position", "true_force", "position_noise", "force_noise", "measured"):
            loop.signal(name, initial={"a0": 1.0, "a1_s": 0.01}.get(name, 0.0))
        plant = DELAYED_HYDRAULIC.state_space()
        velocity = plant.C @ plant.A
        force = STIFFNESS * plant.C + DAMPING * velocity + MASS * velocity @ plant.A
        block = StateSpace(plant.A, plant.B, np.vstack([plant.C, force]), dt=1 / RATE, update="start")
        loop.add("cylinder", block, inputs=[previous("command")], outputs=["position", "true_force"])
        loop.add("noise", Noise(NOISE, seed=seed), outputs=["position_noise", "force_noise"])
        loop.add("position_sensor", Sum("++"), inputs=["position", "position_noise"], outputs=["measured"])
        loop.add("load_cell", Sum("++"), inputs=["true_force", "force_noise"], outputs=["force"])
        low_pass = butter(4, 20.0, fs=RATE, output="sos")
        compensation = AdaptiveCompensation(
            AdaptedGain(1.0, gains[0]), AdaptedGain(0.010, gains[1]), low_pass=low_pass, dt=1 / RATE
        )
        outputs = ["command", "a0", "a1_s"]
        loop.add("compensation", compensation, inputs=[previous("x1"), "measured"], outputs=outputs)

    return front


def judge(record: Record, truth: Array) -> dict[str, float]:
    """Return the largest SW, when it first passes 100 %, its last value, and the error of floor 1 against the whole."""
    sw, x = 100 * record["sw"], record["x1"]
    above = np.flatnonzero(sw >= 100)
    error = x - truth[: len(x)]
    return {
        "sw_max_percent": float(sw.max()),
        "sw_first_above_s": float(record.time[above[0]]) if len(above) else -1.0,
        "sw_last_above_s": float(record.time[above[-1]]) if len(above) else -1.0,
        "sw_end_percent": float(sw[-1]),
        "nrmse_percent": float(100 * np.sqrt(np.sum(error**2) / np.sum(truth[: len(x)] ** 2))),
        "peak_m": float(np.abs(x).max()),
        "ended_s": float(record.time[-1]),
    }


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run the three constant delays and the four gain cases."""
    whole = whole_frame()
    part = whole.minus(0, mass=MASS, damping=DAMPING, stiffness=STIFFNESS)
    truth = _reference(whole, options)
    fronts = {f"delay_{delay:g}ms": constant_delay(delay / 1000) for delay in DELAYS_MS}
    fronts |= {f"gains_{name}": compensated_cylinder(gains, options.seed) for name, gains in GAINS.items()}
    metrics = {
        "critical_delay_ms": 1000 * critical_delay(part, dof=0, mass=MASS, damping=DAMPING, stiffness=STIFFNESS),
        "critical_delay_modal_ms": 1000
        * critical_delay(part, dof=0, mass=MASS, damping=DAMPING, stiffness=STIFFNESS, method="modal"),
    }
    record = None
    for name, front in fronts.items():
        loop, duration = _loop(part, options, front)
        try:
            record = loop.run(duration)
        except Tripped as trip:  # an unstable test that overflowed: its record ends there
            record = trip.record
        metrics |= {f"{name}_{key}": value for key, value in judge(record, truth).items()}
    return Run(metrics, record)


def _reference(whole: LinearStructure, options: Options) -> Array:
    """Return the displacement of floor 1 of the undivided frame."""
    motion = ground_motion(options, scale=0.4)
    model = whole.state_space()
    loop = Loop(RATE)
    loop.signal("ground", unit="m/s2")
    loop.signal("x1", unit="m")
    loop.add("ground", motion.block(), outputs=["ground"])
    block = StateSpace(model.A, model.B, model.C[:1], model.D[:1], dt=1 / RATE, method="rk4")
    loop.add("frame", block, inputs=["ground"], outputs=["x1"])
    return loop.run(motion.duration)["x1"]


TEST = VirtualTest(
    name="delay_stability",
    run=run,
    published={"modal": {"critical_delay_ms": 8.5}},
)
