"""The partitioned integrator with sub-cycling against the undivided structure."""

from __future__ import annotations

import numpy as np
import pytest

from mor.dynamics.integrators import newmark, partitioned
from mor.dynamics.structure import LinearStructure
from mor.excitation import pulse_acceleration
from mor.models.plate_strip import (
    nonlinear_plate_strip,
    plate_partitions,
    plate_strip,
    plate_strip_part,
    plate_strip_rhs,
)
from rt_runtime.errors import ConfigError
from tests.reference.harmonic import harmonic_motion

ALL = [(0, 0), (1, 1), (2, 2)]


def plate_run(dt: float, m: int, duration: float = 3.0):  # type: ignore[no-untyped-def]
    numerical, strip = plate_partitions()
    steps = round(duration / dt)
    t = np.arange(m * steps + 1) * dt / m
    ground = pulse_acceleration(t, peak_velocity=2.0, period=1.25)
    return partitioned(
        numerical, strip, interface=ALL, dt=dt, substeps=m,
        load_numerical=np.zeros((steps + 1, 3)), load_physical=-np.outer(ground, strip.ground_mass),
    )  # fmt: skip


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    """The undivided linear plate with a step of 50 us."""
    plate = plate_strip()
    ground = pulse_acceleration(np.arange(60001) * 5e-5, peak_velocity=2.0, period=1.25)
    return newmark(plate, -np.outer(ground, plate.ground_mass), dt=5e-5).x[:, 0]


@pytest.mark.parametrize("m", [1, 4, 10])
def test_second_order_for_every_ratio_of_steps(m: int, reference: np.ndarray) -> None:
    errors = []
    for dt, every in ((4e-3, 80), (2e-3, 40), (1e-3, 20)):
        motion = plate_run(dt, m)
        errors.append(np.abs(motion.numerical.x[:, 0] - reference[::every]).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(slopes, 2.0, atol=0.1)
    assert errors[-1] < 6e-5 * np.abs(reference).max()


def test_interface_does_not_drift() -> None:
    one, ten = plate_run(1e-3, 1), plate_run(1e-3, 10)
    peak = np.abs(one.numerical.x[:, 0]).max()
    assert np.abs(one.numerical.x - one.physical.x).max() < 1e-13
    assert np.abs(ten.numerical.x[:, :2] - ten.physical.x[::10, :2]).max() < 1e-5 * peak
    np.testing.assert_allclose(ten.numerical.v, ten.physical.v[::10], atol=1e-12)


def test_without_subcycling_it_is_the_trapezoidal_rule_of_the_whole() -> None:
    whole = plate_strip()
    motion = plate_run(2e-3, 1)
    ground = pulse_acceleration(motion.numerical.time, peak_velocity=2.0, period=1.25)
    together = newmark(whole, -np.outer(ground, whole.ground_mass), dt=2e-3)
    np.testing.assert_allclose(motion.numerical.x[:, :2], together.x[:, :2], atol=1e-12)


def test_shared_degree_of_freedom_of_different_structures_starts_with_a_load() -> None:
    """A 2-DOF numerical side whose last floor is tied to the first of a 2-DOF physical side, both loaded from t = 0."""
    numerical = LinearStructure(np.diag([2.0, 1.0]), 0.4 * np.eye(2), [[900.0, -400.0], [-400.0, 400.0]])
    physical = LinearStructure(np.diag([0.5, 1.0]), 0.1 * np.eye(2), [[300.0, -300.0], [-300.0, 500.0]])
    M, C, K = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for part, at in ((numerical, [0, 1]), (physical, [1, 2])):
        for total, matrix in ((M, part.M), (C, part.C), (K, part.K)):
            total[np.ix_(at, at)] += matrix
    whole = LinearStructure(M, C, K)
    steps, dt, m, w = 400, 2.5e-3, 5, 9.0
    coarse, fine = np.arange(steps + 1) * dt, np.arange(m * steps + 1) * dt / m
    motion = partitioned(
        numerical, physical, interface=[(1, 0)], dt=dt, substeps=m,
        load_numerical=np.outer(np.sin(w * coarse), [20.0, 0.0]),
        load_physical=np.outer(np.sin(w * fine), [0.0, -8.0]),
    )  # fmt: skip
    x, _ = harmonic_motion(whole, np.array([20.0, 0.0, -8.0]), w, coarse[::40], np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(motion.numerical.x[::40], x[:, :2], atol=2e-3 * np.abs(x).max())
    np.testing.assert_allclose(motion.physical.x[:: 40 * m], x[:, 1:], atol=2e-3 * np.abs(x).max())
    step_load = partitioned(
        numerical, physical, interface=[(1, 0)], dt=dt, substeps=m,
        load_numerical=np.tile([0.0, 6.0], (3, 1)), load_physical=np.zeros((11, 2)),
    )  # fmt: skip
    np.testing.assert_allclose(step_load.numerical.a[0, 1], 6.0 / 1.5)
    np.testing.assert_allclose(step_load.physical.a[0, 0], 6.0 / 1.5)


def plate_force(p: np.ndarray):  # type: ignore[no-untyped-def]
    """Restoring force of the strip alone, with the stretching of the shallow beam."""

    def force(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        y = np.zeros(6)
        plate_strip_rhs(0.0, np.concatenate([x, v]), np.zeros(1), p, np.zeros(6), y)
        return y[3:]

    return force


@pytest.mark.parametrize("m", [1, 5])
def test_nonlinear_physical_side_against_the_nonlinear_whole(m: int) -> None:
    """A pulse of 3 m/s and 0.6 s stretches the strip: the linear plate is visibly wrong, the split one is not."""
    system = nonlinear_plate_strip()
    p = system.parameter_values({"k_1": 20.0, "k_2": 20.0})
    numerical, strip = plate_partitions(p)
    dt, steps = 2e-3, 400
    t = np.arange(m * steps + 1) * dt / m
    load = -np.outer(pulse_acceleration(t, peak_velocity=3.0, period=0.6), strip.ground_mass)
    arguments = dict(interface=ALL, dt=dt, substeps=m, load_numerical=np.zeros((steps + 1, 3)), load_physical=load)
    got = partitioned(numerical, strip, restoring_physical=plate_force(p), **arguments)
    linear = partitioned(numerical, strip, **arguments)
    ground = pulse_acceleration(np.arange(20 * steps + 1) * dt / 20, peak_velocity=3.0, period=0.6)
    run = plate_strip_part().simulate(
        {"ground_acceleration": ground}, dt=dt / 20, hold="foh", parameters={"k_1": 20.0, "k_2": 20.0}
    )
    reference = run["rotation_1"][::20]
    peak = np.abs(reference).max()
    assert np.abs(linear.numerical.x[:, 0] - reference).max() > 0.05 * peak
    assert np.abs(got.numerical.x[:, 0] - reference).max() < 0.01 * peak
    np.testing.assert_allclose(got.numerical.v, got.physical.v[::m], atol=1e-9 * np.abs(got.numerical.v).max())


def test_linear_force_through_the_nonlinear_path_changes_nothing() -> None:
    numerical, strip = plate_partitions()
    load = -np.outer(pulse_acceleration(np.arange(601) * 1e-3, peak_velocity=2.0, period=0.5), strip.ground_mass)
    arguments = dict(interface=ALL, dt=3e-3, substeps=3, load_numerical=np.zeros((201, 3)), load_physical=load)
    plain = partitioned(numerical, strip, **arguments)
    called = partitioned(
        numerical, strip, **arguments,
        restoring_numerical=lambda x, v: numerical.K @ x, restoring_physical=lambda x, v: strip.K @ x,
    )  # fmt: skip
    np.testing.assert_allclose(called.numerical.x, plain.numerical.x, atol=1e-9 * np.abs(plain.numerical.x).max())


def test_a_step_that_does_not_converge_is_named() -> None:
    with pytest.raises(ConfigError, match="must converge in 50 iterations, but did not; take a smaller dt"):
        partitioned(
            ONE, ONE, interface=[(0, 0)], dt=5.0, load_numerical=np.full((3, 1), 9.0), load_physical=np.zeros((3, 1)),
            restoring_physical=lambda x, v: 1e6 * np.sign(x - 1e-3),
        )  # fmt: skip


ONE = LinearStructure([[1.0]], [[0.0]], [[1.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"interface": [(0, 1)]}, "interface of partitioned must pair different degrees of freedom 0 to 0 with 0 to 0"),
        ({"interface": []}, "interface of partitioned must pair"),
        ({"substeps": 0}, "substeps of partitioned must be a whole number of at least 1"),
        ({"dt": -1.0}, "dt of partitioned must be a positive number"),
        ({"load_physical": np.zeros((3, 1))}, r"load_physical of partitioned must have shape \(5, 1\), got \(3, 1\)"),
        ({"load_numerical": np.zeros((1, 1))}, "load_numerical of partitioned must have at least 2 rows"),
    ],
)
def test_bad_input_is_named(change: dict, message: str) -> None:  # type: ignore[type-arg]
    good = dict(interface=[(0, 0)], dt=0.1, substeps=2, load_numerical=np.zeros((3, 1)), load_physical=np.zeros((5, 1)))
    partitioned(ONE, ONE, **good)
    with pytest.raises(ConfigError, match=message):
        partitioned(ONE, ONE, **(good | change))
