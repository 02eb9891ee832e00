"""Structural models as substructures, and the benchmark as a hybrid model of them."""

from __future__ import annotations

import numpy as np
import pytest

from hmor.studies.structural.benchmark_loop import benchmark_loop, judge_benchmark
from mor.dynamics.integrators import ground_load, newmark
from mor.dynamics.transfer import TransferFunction
from mor.excitation import synthetic_ground_motion
from mor.hybrid.model import HybridModel, TransferSystem
from mor.models.actuators import actuator_part, electric_drive
from mor.models.benchmark_frame import (
    RATE,
    benchmark_frame,
    benchmark_parts,
    benchmark_structure,
    sample_controller_part,
    three_storey_part,
)
from mor.models.bouc_wen import bouc_wen_oscillator_part, bouc_wen_part
from mor.models.cart_pendulum import cart_pendulum_part, pendulum_part
from mor.models.frame import frame_part, shear_frame
from mor.models.mr_damper import mr_damper_part, semi_active_part
from mor.models.plate_strip import plate_strip_part
from mor.substructures import BlockSubstructure
from mor.validation.tracking import benchmark_indices
from rt_runtime import Delay
from rt_runtime.errors import ConfigError

GROUND = synthetic_ground_motion(seed=11, duration=20.0, peak=1.254)


def test_frame_part_is_the_integrated_frame() -> None:
    frame = shear_frame([1000.0, 800.0], [2e6, 1.5e6], damping_ratio=0.03)
    ground = GROUND.resampled(2000.0)
    part = frame_part(frame, accelerations=True)
    got = part.simulate({"ground": ground.values}, dt=1 / 2000, hold="foh")
    motion = newmark(frame, ground_load(frame, ground), dt=1 / 2000)
    for i in (1, 2):
        for port, history in ((f"x_{i}", motion.x), (f"v_{i}", motion.v), (f"a_{i}", motion.a)):
            expected = history[:, i - 1]
            np.testing.assert_allclose(got[port], expected, atol=2e-3 * np.abs(expected).max())


def test_reaction_pulls_its_floor_back() -> None:
    part = frame_part(benchmark_structure(), reactions={"pull": 2})
    got = part.simulate({"ground": np.zeros(20000), "pull": 1000.0}, dt=1 / 1000)
    still = -np.linalg.solve(benchmark_structure().K, [0.0, 1000.0, 0.0])
    np.testing.assert_allclose([got[f"x_{i}"][-1] for i in (1, 2, 3)], still, rtol=1e-6)


def test_three_storey_part_rebuilds_itself_from_its_parameters() -> None:
    part = three_storey_part()
    parameters = {"beam_length": 0.9, "floor_mass": 1200.0, "damping_ratio": 0.02}
    A = part.matrices(parameters)[0]
    frame = benchmark_structure(**parameters)
    np.testing.assert_allclose(A, frame.state_matrix())
    with pytest.raises(ConfigError, match="'floor_mass' of substructure 'frame' must lie in"):
        part.matrices({"floor_mass": -1.0})
    with pytest.raises(ConfigError, match=r"must be at most 0\.01216 s with 1 sub-steps of RK4, got 0.02 s"):
        part.simulate({"ground": np.zeros(5), "force": 0.0}, dt=0.02)


def test_actuator_part_gives_position_and_velocity() -> None:
    part = actuator_part(electric_drive(), velocity=True)
    t = np.arange(20000) / 4000
    got = part.simulate({"command": np.sin(6 * t)}, dt=1 / 4000)
    assert [(p.name, p.unit) for p in part.outputs] == [("measured", "m"), ("velocity", "m/s")]
    np.testing.assert_allclose(got["velocity"][1:-1], np.gradient(got["measured"], t)[1:-1], atol=2e-3)
    assert part.direct == frozenset()
    with pytest.raises(ConfigError, match="must not pass its command through at once"):
        actuator_part(TransferFunction([1.0, 1.0], [1.0, 2.0]), velocity=True)


@pytest.mark.parametrize(
    "make",
    [
        cart_pendulum_part,
        pendulum_part,
        mr_damper_part,
        semi_active_part,
        bouc_wen_part,
        bouc_wen_oscillator_part,
        plate_strip_part,
    ],
)
def test_ode_parts_rest_when_nothing_drives_them(make) -> None:  # type: ignore[no-untyped-def]
    part = make()
    got = part.simulate(np.zeros((50, len(part.inputs))), dt=5e-4)
    outputs = np.column_stack([got[p.name] for p in part.outputs])
    np.testing.assert_array_equal(outputs, 0.0)
    assert part.real_time and part.identity() == make().identity()


def test_damper_refuses_a_step_it_cannot_take() -> None:
    part = mr_damper_part()
    with pytest.raises(ConfigError, match=r"substructure 'mr_damper' must be at most 0\.0005809 s.* or 2 sub-steps"):
        part.block(dt=1e-3)
    part.block(dt=1 / 4096)
    mr_damper_part(substeps=2).block(dt=1e-3)


def test_frame_floor_out_of_range_is_named() -> None:
    with pytest.raises(ConfigError, match="Floor of reaction 'pull' must be 1 to 3, got 4"):
        frame_part(benchmark_structure(), reactions={"pull": 4})


@pytest.mark.parametrize("case", [1, 4])
def test_benchmark_as_a_hybrid_model_gives_the_indices_of_the_plain_loop(case: int) -> None:
    frame = benchmark_frame(case)
    numerical, actuator, specimen = benchmark_parts(frame)
    line = BlockSubstructure("line", lambda dt, p: Delay(1), inputs={"sent": "N"}, outputs={"received": "N"})
    model = HybridModel(
        "benchmark",
        [numerical, specimen, line],
        dt=1 / RATE,
        couplings={
            "specimen.displacement": "numerical.x_1",
            "line.sent": "specimen.force",
            "numerical.force": "line.received",
        },
        excitations={"ground": GROUND.trajectory("ground")},
        transfers={"specimen.displacement": TransferSystem(actuator, sample_controller_part())},
    )
    plain = benchmark_loop(frame, GROUND, noise_seed=None).run(GROUND.duration)
    run = model.run(GROUND.duration)
    floors = np.column_stack([run[f"x_{i}"] for i in (1, 2, 3)])
    whole = np.column_stack([plain[f"reference_{i}"] for i in (1, 2, 3)])
    got = benchmark_indices(run["specimen_displacement_measured"], run["x_1"], floors, whole, RATE)
    np.testing.assert_allclose(got.as_array(), judge_benchmark(plain).as_array(), atol=0.3)


def test_frame_with_damper_swings_less() -> None:
    """The semi-active damper couples without a transfer system: force on floor 1, moved by floor 1."""
    frame, damper = three_storey_part(), semi_active_part()
    couplings = {
        "semi_active_damper.velocity": "frame.v_1",
        "semi_active_damper.target": "frame.x_1",
        "semi_active_damper.target_velocity": "frame.v_1",
        "frame.force": "semi_active_damper.force",
    }
    ground = {"ground": GROUND.trajectory("ground")}
    model = HybridModel("damped", [frame, damper], dt=1 / RATE, couplings=couplings, excitations=ground)
    damped = model.run(20.0)
    weak = model.run(20.0, parameters={"k_xa": 0.0, "k_xb": 0.0, "k_wa": 0.0, "k_wb": 0.0})
    assert np.abs(weak["force"]).max() == 0.0
    assert np.sqrt(np.mean(damped["x_3"] ** 2)) < 0.7 * np.sqrt(np.mean(weak["x_3"] ** 2))
