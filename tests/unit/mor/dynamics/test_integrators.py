"""Order of accuracy, stability and nonlinear behaviour of every time integrator."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import integrate, special

from mor.dynamics.integrators import (
    OperatorSplitting,
    central_difference,
    generalized_alpha,
    ground_load,
    hht_alpha,
    newmark,
    operator_splitting,
    rk4,
    wbz_alpha,
)
from mor.dynamics.integrators.alpha import (
    Coefficients,
    generalized_coefficients,
    hht_coefficients,
    step_matrices,
    wbz_coefficients,
)
from mor.dynamics.structure import LinearStructure
from mor.excitation import Excitation
from mor.models.benchmark_frame import benchmark_structure
from mor.models.frame import shear_frame
from rt_runtime.errors import ConfigError
from tests.reference.harmonic import harmonic_motion

METHODS = {
    "central_difference": (central_difference, 2),
    "newmark": (newmark, 2),
    "newmark_linear_acceleration": (partial(newmark, beta=1 / 6), 2),
    "hht_alpha": (partial(hht_alpha, alpha=-0.1), 2),
    "wbz_alpha": (partial(wbz_alpha, alpha=-0.2), 2),
    "generalized_alpha": (partial(generalized_alpha, rho_inf=0.5), 2),
    "operator_splitting": (operator_splitting, 2),
    "operator_splitting_alpha": (partial(operator_splitting, alpha=-0.1), 2),
    "rk4": (rk4, 4),
}
FRAME = shear_frame([2.0, 1.5], [600.0, 400.0], damping_ratio=0.03)
LOAD = np.array([30.0, -10.0])
X0, V0 = np.array([0.02, -0.01]), np.array([0.3, 0.1])


def error(method, dt: float) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    steps = round(1.6 / dt)
    motion = method(FRAME, lambda t: LOAD * np.sin(7.0 * t), dt=dt, steps=steps, initial=(X0, V0))
    at = slice(None, None, steps // 20)
    x, v = harmonic_motion(FRAME, LOAD, 7.0, motion.time[at], X0, V0)
    return np.abs(motion.x[at] - x).max(), np.abs(motion.v[at] - v).max()


@pytest.mark.parametrize("name", METHODS)
def test_order_of_accuracy(name: str) -> None:
    method, order = METHODS[name]
    coarse, fine = np.array(error(method, 0.01)), np.array(error(method, 0.005))
    np.testing.assert_allclose(np.log2(coarse / fine), order, atol=0.15)
    assert fine[0] < 6e-3 * 0.1  # of a motion of 0.1 m


@pytest.mark.parametrize("name", METHODS)
def test_acceleration_fulfils_the_equation_of_motion_in_the_end(name: str) -> None:
    method, _ = METHODS[name]
    motion = method(FRAME, np.tile(LOAD, (4001, 1)), dt=0.01)  # the load rests, so does the structure
    np.testing.assert_allclose(motion.x[-1], np.linalg.solve(FRAME.K, LOAD), rtol=1e-4)
    np.testing.assert_allclose(motion.a[-1], 0.0, atol=1e-3)


def radius(c: Coefficients, omega_dt: float, ratio: float = 0.0) -> float:
    one = LinearStructure([[1.0]], [[2 * ratio * omega_dt]], [[omega_dt**2]])
    return float(np.abs(np.linalg.eigvals(step_matrices(one, 1.0, c)[0])).max())


FREQUENCIES = np.geomspace(1e-2, 1e4, 60)
FAMILY = {
    "newmark": (Coefficients(), 1.0),
    "hht": (hht_coefficients(-0.2), 0.8 / 1.2),
    "hht_edge": (hht_coefficients(-1 / 3), 0.5),
    "wbz": (wbz_coefficients(-0.2), 0.8 / 1.2),
    "generalized": (generalized_coefficients(0.3), 0.3),
    "generalized_edge": (generalized_coefficients(0.0), 0.0),
}


@pytest.mark.parametrize("name", FAMILY)
def test_implicit_family_is_stable_at_every_step_and_damps_high_modes_as_asked(name: str) -> None:
    c, at_infinity = FAMILY[name]
    for ratio in (0.0, 0.1):
        assert max(radius(c, w, ratio) for w in FREQUENCIES) <= 1 + 1e-9
    assert radius(c, 1e5) == pytest.approx(at_infinity, abs=5e-3)
    assert radius(c, 1e-2) == pytest.approx(1.0, abs=1e-5)


def test_generalized_alpha_damps_low_modes_least() -> None:
    """At equal damping of high modes (rho = 0.6), Chung and Hulbert's comparison."""
    rho = 0.6
    alpha = (rho - 1) / (rho + 1)
    loss = [
        1 - radius(c, 0.6) for c in (generalized_coefficients(rho), hht_coefficients(alpha), wbz_coefficients(alpha))
    ]
    assert 0 < loss[0] < loss[1] < loss[2]


def test_newmark_keeps_the_energy_of_an_undamped_frame() -> None:
    frame = benchmark_structure(damping_ratio=0.0)
    motion = newmark(frame, None, dt=1e-3, steps=5000, initial=([1e-3, 2e-3, -1e-3], [0.1, 0.0, 0.05]))
    energy = frame.energy(motion.x, motion.v)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


def test_implicit_methods_stay_bounded_far_beyond_the_explicit_limit() -> None:
    frame = benchmark_structure()
    limit = 2 / (2 * np.pi * frame.modes().frequencies[-1])
    for name in ("newmark", "hht_alpha", "wbz_alpha", "generalized_alpha", "operator_splitting"):
        method, _ = METHODS[name]
        motion = method(frame, None, dt=20 * limit, steps=400, initial=([1e-3, 0, 0], [0, 0, 0]))
        assert np.abs(motion.x).max() < 0.01, name


@pytest.mark.parametrize(
    ("method", "limit"),
    [(central_difference, 2.0), (rk4, 2 * np.sqrt(2)), (partial(newmark, beta=0.0), 2.0),
     (partial(newmark, beta=1 / 6), np.sqrt(12.0))],
)  # fmt: skip
def test_conditionally_stable_methods_name_the_largest_step(method, limit: float) -> None:  # type: ignore[no-untyped-def]
    frame = shear_frame([1.0, 1.0], [900.0, 500.0])
    largest = limit / (2 * np.pi * frame.modes().frequencies[-1])
    start = ([0.01, 0.0], [0.0, 0.0])
    bounded = method(frame, None, dt=0.999 * largest, steps=3000, initial=start)
    assert np.abs(bounded.x).max() < 1.0
    with pytest.raises(ConfigError, match=rf"must be below {largest:.6g} s, the largest stable step"):
        method(frame, None, dt=1.01 * largest, steps=10, initial=start)


def test_beyond_the_limit_central_difference_would_diverge() -> None:
    """The limit is not pessimistic: the same recursion one per cent beyond it grows."""
    w, dt = 10.0, 0.202
    x = [0.01, 0.01]
    for _ in range(300):
        x.append(2 * x[-1] - x[-2] - (w * dt) ** 2 * x[-1])
    assert abs(x[-1]) > 1e3


def hardening(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    return 100.0 * x + 4000.0 * x**3


def tangent(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.diag(100.0 + 12000.0 * x**2)


DUFFING = LinearStructure([[1.0]], [[0.0]], [[100.0]])


@pytest.mark.parametrize("name", [n for n in METHODS if n != "newmark_linear_acceleration"])
def test_nonlinear_order_against_the_closed_form(name: str) -> None:
    """x'' + a x + b x^3 = 0 from x = A at rest: x = A cn(W t, m), W^2 = a + b A^2, m = b A^2 / (2 W^2)."""
    method, order = METHODS[name]
    A = 0.15
    W2 = 100.0 + 4000.0 * A**2
    stiff = LinearStructure([[1.0]], [[0.0]], [[100.0 + 12000.0 * A**2]]) if "splitting" in name else DUFFING
    errors = []
    for dt in (0.004, 0.002):
        motion = method(stiff, None, dt=dt, steps=round(2.0 / dt), initial=([A], [0.0]), restoring=hardening)
        exact = A * special.ellipj(np.sqrt(W2) * motion.time, 4000.0 * A**2 / (2 * W2))[1]
        errors.append(np.abs(motion.x[:, 0] - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_tangent_and_initial_stiffness_give_the_same_motion() -> None:
    plain = hht_alpha(DUFFING, None, dt=0.01, steps=200, initial=([0.15], [0.0]), restoring=hardening)
    newton = hht_alpha(DUFFING, None, dt=0.01, steps=200, initial=([0.15], [0.0]), restoring=hardening, tangent=tangent)
    np.testing.assert_allclose(plain.x, newton.x, atol=1e-9)


def test_a_linear_restoring_force_gives_the_linear_motion() -> None:
    load = np.random.default_rng(0).standard_normal((201, 2))
    for name in METHODS:
        method, _ = METHODS[name]
        plain = method(FRAME, load, dt=0.01)
        called = method(FRAME, load, dt=0.01, restoring=lambda x, v: FRAME.K @ x)
        np.testing.assert_allclose(called.x, plain.x, atol=1e-9)


def test_operator_splitting_with_the_true_stiffness_is_hht() -> None:
    load = np.random.default_rng(1).standard_normal((301, 2))
    split, implicit = operator_splitting(FRAME, load, dt=0.02, alpha=-0.1), hht_alpha(FRAME, load, dt=0.02, alpha=-0.1)
    np.testing.assert_allclose(split.x, implicit.x, atol=1e-12)
    np.testing.assert_allclose(split.a, implicit.a, atol=1e-9)


def test_operator_splitting_is_stable_for_softening_at_large_steps_and_reads_once_a_step() -> None:
    calls = []

    def softening(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        calls.append(1)
        return 100.0 * np.tanh(x / 0.05) * 0.05

    motion = operator_splitting(DUFFING, None, dt=0.5, steps=4000, initial=([0.1], [0.0]), restoring=softening)
    assert np.abs(motion.x[2000:]).max() < 1.1 * np.abs(motion.x[:2000]).max() < 2.0
    assert len(calls) == 4001


def test_stepper_commands_what_the_function_integrates() -> None:
    load = np.random.default_rng(2).standard_normal((51, 2))
    expected = operator_splitting(FRAME, load, dt=0.02)
    stepper = OperatorSplitting(FRAME, dt=0.02, load=load[0])
    for k in range(1, 51):
        command, _ = stepper.predict()
        stepper.correct(FRAME.K @ command, load[k])
        np.testing.assert_allclose(stepper.x, expected.x[k], atol=1e-12)


def test_ground_motion_against_an_independent_solver() -> None:
    frame = benchmark_structure()
    t = np.arange(4001) * 0.0005
    ground = Excitation(2 * np.sin(2 * np.pi * 3 * t) * np.sin(np.pi * t / 2) ** 2, 0.0005)
    A, pull = frame.state_matrix(), np.linalg.solve(frame.M, -frame.ground_mass)

    def slope(time: float, z: np.ndarray) -> np.ndarray:
        acceleration = 2 * np.sin(2 * np.pi * 3 * time) * np.sin(np.pi * time / 2) ** 2
        return A @ z + np.concatenate([np.zeros(3), pull * acceleration])

    reference = integrate.solve_ivp(slope, (0, 2.0), np.zeros(6), rtol=1e-9, atol=1e-12, t_eval=t)
    for method in (newmark, rk4, central_difference, generalized_alpha):
        motion = method(frame, ground_load(frame, ground), dt=0.0005)
        assert np.abs(motion.x - reference.y[:3].T).max() < 2e-4 * np.abs(reference.y[:3]).max()


GO = dict(dt=0.01, steps=10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: newmark(FRAME, None, dt=0.01), "steps of newmark must be given"),
        (lambda: newmark(FRAME, None, dt=0.0, steps=3), "dt of newmark must be a positive number"),
        (lambda: newmark(FRAME, None, **GO, gamma=0.4), "gamma of newmark must be at least 0.5"),
        (
            lambda: newmark(FRAME, np.zeros((5, 3)), dt=0.01),
            r"load of newmark must have shape \(any, 2\), got \(5, 3\)",
        ),
        (lambda: newmark(FRAME, np.zeros((5, 2)), dt=0.01, steps=9), "got 5"),
        (lambda: newmark(FRAME, np.full((5, 2), np.nan), dt=0.01), "load of newmark must be finite"),
        (lambda: newmark(FRAME, None, **GO, initial=([0.0], [0.0])), r"initial of newmark must have shape \(2\)"),
        (lambda: hht_alpha(FRAME, None, **GO, alpha=0.1), "alpha of hht_alpha must lie between -1/3 and 0, got 0.1"),
        (lambda: wbz_alpha(FRAME, None, **GO, alpha=-2), "alpha of wbz_alpha must lie between -1 and 0"),
        (lambda: generalized_alpha(FRAME, None, **GO, rho_inf=1.1), "rho_inf of generalized_alpha must lie between 0"),
        (
            lambda: newmark(DUFFING, None, dt=0.5, steps=5, initial=([9.0], [0.0]), restoring=hardening),
            "Newton's method must converge in 50 iterations, but did not at t = 0.5 s; take a smaller dt",
        ),
    ],
)
def test_bad_input_is_named(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=message):
        make()
