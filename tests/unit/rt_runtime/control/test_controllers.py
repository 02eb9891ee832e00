"""Each controller of the core against its numpy twin, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter

from mor.dynamics.control_design import arx_parameters, inverse_with_low_pass, low_pass, lqg_feedback, prediction_model
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.models.actuators import electric_drive
from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    AdaptiveMpc,
    Extrapolator,
    Horizon,
    Identification,
    KalmanFilter,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    Mpc,
    PiLead,
    StateSpace,
)
from tests.reference import control as twin

DT = 1 / 1024


def drive(block, u: np.ndarray) -> np.ndarray:
    return np.array([block.step(k * DT, np.ascontiguousarray(row)) for k, row in enumerate(u)])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("lead", [1.0, 2.5, -1.0, 12.0])
def test_extrapolator_agrees_with_a_polynomial_fit(order: int, lead: float) -> None:
    u = np.random.default_rng(3).normal(size=40)
    y = drive(Extrapolator(order=order, spacing=3, leads=lead), u[:, None])[:, 0]
    np.testing.assert_allclose(y, twin.extrapolate(u, order, 3, lead), rtol=1e-9, atol=1e-9)


def test_extrapolator_is_exact_on_quartics_for_several_leads_and_channels() -> None:
    t = np.arange(60.0)
    channels = [lambda s: 1 + s - 0.02 * s**2 + 1e-3 * s**3 - 2e-6 * s**4, lambda s: 3 - 0.1 * s**4 * 1e-4]
    leads = [4.0, 8.5, 12.0]
    y = drive(Extrapolator(order=4, spacing=4, leads=leads, channels=2), np.stack([f(t) for f in channels], axis=1))
    expected = np.stack([f(t + lead) for lead in leads for f in channels], axis=1)
    np.testing.assert_allclose(y[16:], expected[16:], rtol=1e-11)


def test_published_extrapolation_weights() -> None:
    np.testing.assert_allclose(Extrapolator.weights(4, 1.0), [5, -10, 10, -5, 1], rtol=1e-14)


def two_by_two() -> StateSpaceMatrices:
    a = np.array([[-30.0, 4.0, 0.0], [-2.0, -45.0, 3.0], [0.0, -6.0, -80.0]])
    b = np.array([[20.0, 2.0], [1.0, 30.0], [5.0, -10.0]])
    return StateSpaceMatrices(a, b, np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.3]]), np.zeros((2, 2)))


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize(("move", "limit"), [(np.inf, np.inf), (0.05, 0.8), (0.02, np.inf)])
@pytest.mark.parametrize("size", [1, 2])
def test_mpc_agrees_with_its_twin_in_closed_loop(size: int, move: float, limit: float, preview: bool) -> None:
    plant = (electric_drive().state_space() if size == 1 else two_by_two()).discretise(DT)
    model = prediction_model(plant, DT, noise_variance=1e-4)
    horizon = Horizon(
        8,
        output_weight=20.0,
        move_weight=0.3,
        control=5,
        bounds=(-limit, limit),
        rate_limit=move,
        rate_unit="per interval",
        preview=preview,
    )
    mpc = Mpc(model, horizon)
    reference = twin.NumpyMpc(
        model.A, model.B, model.C, model.gain, steps=8, moves=5, wy=20.0, wu=0.3, bounds=(-limit, limit), move=move,
        preview=preview,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    x, touched = np.zeros(len(plant.A)), 0
    for k in range(200):
        y = plant.C @ x + 1e-3 * rng.normal(size=size)
        ahead = k + np.arange(1, 9) if preview else np.array([k])
        r = (0.6 * np.sin(0.05 * ahead[:, None] + np.arange(size))).ravel()
        out = mpc.step(k * DT, np.concatenate([r, y]))
        np.testing.assert_allclose(out[:size], reference.step(r, y), rtol=0, atol=2e-6)
        assert out[size + 1] == 0
        touched += out[size] > 0
        assert np.abs(out[:size]).max() <= limit
        x = plant.A @ x + plant.B @ out[:size]
    assert (touched > 0) == (move < np.inf)


def test_six_inputs_and_outputs_with_twelve_states_agree_with_the_twin_and_keep_every_limit() -> None:
    rng = np.random.default_rng(4)
    a = np.zeros((12, 12))
    for i in range(6):  # six damped oscillators, each driven by its own input and a little by the others
        w = 20.0 + 8.0 * i
        a[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[0.0, 1.0], [-w * w, -0.8 * w]]
    b, c = np.zeros((12, 6)), np.zeros((6, 12))
    for i in range(6):
        b[2 * i + 1] = (20.0 + 8.0 * i) ** 2 * (0.9 * np.eye(6)[i] + 0.1 * rng.random(6))
        c[i, 2 * i] = 1.0
    plant = StateSpaceMatrices(a, b, c, np.zeros((6, 6))).discretise(DT)
    model = prediction_model(plant, DT, noise_variance=1e-4)
    limits = Horizon(
        10, output_weight=20.0, move_weight=0.1, control=4, bounds=(-1.0, 1.0), rate_limit=40.0, rate_unit="per second"
    )
    mpc = Mpc(model, limits)
    assert (mpc.n_in, mpc.n_out) == (12, 8)
    reference = twin.NumpyMpc(
        model.A, model.B, model.C, model.gain, steps=10, moves=4, wy=20.0, wu=0.1, bounds=(-1.0, 1.0), move=40.0 * DT
    )
    x, last, most = np.zeros(12), np.zeros(6), 0.0
    for k in range(150):
        y, r = plant.C @ x, 0.7 * np.sin(0.04 * k + np.arange(6))
        out = mpc.step(k * DT, np.concatenate([r, y]))
        np.testing.assert_allclose(out[:6], reference.step(r, y), rtol=0, atol=5e-6)
        assert np.abs(out[:6]).max() <= 1.0
        assert np.abs(out[:6] - last).max() <= 40.0 * DT + 1e-15
        last, most = out[:6], max(most, out[6])
        x = plant.A @ x + plant.B @ last
    assert most > 3


def test_lqg_feedback_runs_as_a_state_space_block() -> None:
    """The feedback alone around its plant: the error of a step shrinks to what the loop gain leaves."""
    dt, plant = 1 / 4096, TransferFunction([2500.0], [1.0, 50.0, 2500.0])
    a, b, c, d = lqg_feedback(plant, error_weight=100.0, process_noise=100.0, dt=dt)
    controller = StateSpace(a, b, c, d, dt=dt, method="discrete")
    sampled = plant.discretise(dt)
    x = np.zeros(2)
    for k in range(4096):
        y = (sampled.C @ x)[0]
        u = controller.step(k * dt, np.array([1.0 - y]))[0]
        x = sampled.A @ x + sampled.B[:, 0] * u
    gain = (c @ np.linalg.solve(np.eye(2) - a, b) + d)[0, 0]
    assert gain > 2
    assert y == pytest.approx(gain / (1 + gain), rel=1e-6)


def test_unconstrained_first_move_is_the_closed_form_gain() -> None:
    model = prediction_model(electric_drive(), DT)
    mpc = Mpc(model, Horizon(10, output_weight=64.073, move_weight=0.002))
    phi, s, theta = twin.predictions(model.A, model.B, model.C, 10, 10)
    h = 64.073**2 * theta.T @ theta + 0.002**2 * np.eye(10)
    k = -np.linalg.solve(h, 64.073**2 * theta.T @ np.hstack([phi, -np.ones((10, 1)), s]))
    np.testing.assert_allclose(mpc.hessian, h, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mpc.gains, k, rtol=1e-6, atol=1e-6 * np.abs(k).max())
    out = mpc.step(0.0, np.array([1e-3, 0.0]))
    assert out[0] == pytest.approx(k[0, 3] * 1e-3, rel=1e-9)


def test_at_the_iteration_cap_mpc_makes_a_feasible_move_and_says_so() -> None:
    model = prediction_model(electric_drive(), DT)
    horizon = Horizon(
        10, output_weight=64.0, move_weight=0.002, rate_limit=0.1, rate_unit="per second", max_iterations=1,
        preview=True,
    )  # fmt: skip
    mpc, statuses, last = Mpc(model, horizon), [], 0.0
    for target in np.random.default_rng(0).normal(size=(200, 10)) * 1e-3:
        command, iterations, status = mpc.step(0.0, np.append(target, 0.0))
        assert iterations <= 1 and abs(command - last) <= 0.1 * DT * (1 + 1e-12)
        last = command
        statuses.append(status)
    assert 0.0 < np.mean(statuses) <= 1.0 and set(statuses) <= {0.0, 1.0}


def test_saturated_mpc_stays_within_limits_and_recovers() -> None:
    plant = electric_drive().state_space().discretise(DT)
    model = prediction_model(plant, DT)
    horizon = Horizon(
        10, output_weight=64.073, move_weight=0.002, bounds=(-0.02, 0.02), rate_limit=0.1, rate_unit="per second"
    )
    mpc, x, last, u = Mpc(model, horizon), np.zeros(2), 0.0, []
    for k in range(3000):
        r = 0.05 if k < 1000 else 0.0
        command = mpc.step(k * DT, np.array([r, (plant.C @ x)[0]]))[0]
        assert abs(command) <= 0.02
        assert abs(command - last) <= 0.1 * DT + 1e-17
        last = command
        u.append(command)
        x = plant.A @ x + plant.B[:, 0] * command
    assert max(u) == 0.02
    assert abs((plant.C @ x)[0]) < 1e-6


def test_kalman_filter_agrees_with_its_equations() -> None:
    model = prediction_model(two_by_two(), DT, noise_variance=[1e-4, 1e-3])
    block, x = KalmanFilter(model), np.zeros(len(model.A))
    for k, row in enumerate(np.random.default_rng(2).normal(size=(50, 4))):
        x = model.A @ x + model.B @ row[:2]
        x = x + model.gain @ (row[2:] - model.C @ x)
        np.testing.assert_allclose(block.step(k * DT, row), x, rtol=1e-11, atol=1e-14)


def arx(stiffness: float, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Parameters a, b of stiffness / (s^2 + 78.62 s + stiffness) with a zero-order hold."""
    return arx_parameters(TransferFunction([stiffness], [1.0, 78.62, stiffness]), dt)


@pytest.mark.parametrize("move", [np.inf, 0.3])
@pytest.mark.parametrize("forgetting", [1.0, 0.98])
def test_adaptive_mpc_agrees_with_its_twin(move: float, forgetting: float) -> None:
    dt = 1 / 2500
    a, b = arx(5657.0, dt)
    rules = {"drift": 1e-6 if forgetting == 1.0 else 0.0, "forgetting": forgetting, "covariance": 1e-2}
    block = AdaptiveMpc(
        Identification(a, b, **rules, covariance_cap=1.0, noise_variance=1e-4, spread=0.5, excitation=0.05),
        Horizon(
            10, output_weight=5.204, move_weight=0.096, control=6, bounds=(-20, 20), rate_limit=move,
            rate_unit="per interval",
        ),
        dt=dt,
        noise_variance=1e-2,
    )  # fmt: skip
    reference = twin.NumpyAdaptiveMpc(
        a, b, dt=dt, steps=10, moves=6, wy=5.204, wu=0.096, bounds=(-20, 20), move=move, cap=1.0, parameter_noise=1e-4,
        spread=0.5, excitation=0.05, noise=1e-2, **rules,
    )  # fmt: skip
    plant = TransferFunction([4000.0], [1.0, 78.62, 4000.0]).discretise(dt)
    x = np.zeros(2)
    for k in range(400):
        y = float((plant.C @ x)[0])
        r = 5.0 * np.sin(0.02 * k) if k > 20 else 0.0
        out = block.step(k * dt, np.array([r, y]))
        u = reference.step(np.array([r]), y)
        assert out[0] == pytest.approx(u, abs=2e-5)
        np.testing.assert_allclose(out[3:7], reference.used, rtol=1e-6, atol=1e-8)
        assert out[7] == pytest.approx(np.trace(reference.P), rel=1e-6)
        x = plant.A @ x + plant.B[:, 0] * out[0]
    # 1 + a1 + a2 is the stiffness times dt^2: the plant is 4000, the start was 5657
    assert 1 + out[3] + out[4] == pytest.approx(1 + sum(arx(4000.0, dt)[0]), rel=0.01)


def late_answers(k: int) -> float:
    """Age of the measurement: 1 tick at most, but for two gaps."""
    return 30.0 if 150 <= k < 175 or k == 260 else float(k % 2)


def test_adaptive_mpc_leaves_late_measurements_aside() -> None:
    dt = 1 / 2500
    a, b = arx(5657.0, dt)
    rules = {"drift": 1e-6, "covariance": 1e-2, "spread": 0.5, "excitation": 0.05}
    horizon = Horizon(10, output_weight=5.204, move_weight=0.096, bounds=(-20, 20))
    identification = Identification(a, b, **rules, covariance_cap=1.0, noise_variance=1e-4)
    block = AdaptiveMpc(identification, horizon, dt=dt, noise_variance=1e-2, largest_age=1.0)
    assert block.n_in == 3
    reference = twin.NumpyAdaptiveMpc(
        a, b, dt=dt, steps=10, moves=10, wy=5.204, wu=0.096, bounds=(-20, 20), cap=1.0, parameter_noise=1e-4,
        noise=1e-2, **rules,
    )  # fmt: skip
    plant = TransferFunction([4000.0], [1.0, 78.62, 4000.0]).discretise(dt)
    x, before = np.zeros(2), np.zeros(4)
    for k in range(400):
        age = late_answers(k)
        y = float((plant.C @ x)[0]) if age <= 1.0 else 1e3 * np.sin(k)  # what is too old may be anything
        r = 5.0 * np.sin(0.02 * k) if k > 20 else 0.0
        out = block.step(k * dt, np.array([r, y, age]))
        assert out[0] == pytest.approx(reference.step(np.array([r]), y, known=age <= 1.0), abs=2e-5)
        np.testing.assert_allclose(out[3:7], reference.used, rtol=1e-6, atol=1e-8)
        if 150 <= k < 177 or 260 <= k < 263:
            np.testing.assert_array_equal(out[3:7], before)
        before = out[3:7].copy()
        x = plant.A @ x + plant.B[:, 0] * out[0]
    assert float((plant.C @ x)[0]) == pytest.approx(r, abs=0.1)


def test_a_gap_before_a_reset_is_forgotten() -> None:
    rules = Identification([-1.5, 0.6], [0.05, 0.05], drift=1e-2, covariance=1.0, noise_variance=1e-4)
    fresh, used = (AdaptiveMpc(rules, Horizon(5, 1.0, 0.1), dt=1e-3, largest_age=0.0) for _ in range(2))
    used.step(0.0, np.array([1.0, 0.3, 1.0]))
    used.reset()
    runs = [[b.step(k * 1e-3, np.array([1.0, 0.2 * k, 0.0])) for k in range(5)] for b in (fresh, used)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0][1][3:7] != runs[0][0][3:7]).any()  # the second measurement teaches already


def test_adaptive_gain_starts_at_the_steady_state_of_its_model() -> None:
    dt = 1 / 2500
    a, b = arx(5657.0, dt)
    block = AdaptiveMpc(Identification(a, b), Horizon(10, output_weight=5.204, move_weight=0.096), dt=dt)
    block.step(0.0, np.array([0.0, 0.0]))
    canonical = StateSpaceMatrices(
        np.array([[-a[0], 1.0], [-a[1], 0.0]]), b[:, None], np.array([[1.0, 0.0]]), np.zeros((1, 1)), dt
    )
    np.testing.assert_allclose(block.gain, prediction_model(canonical, dt).gain[:, 0], rtol=1e-6)


def test_identification_is_held_without_excitation_and_does_not_wind_up() -> None:
    dt = 1 / 2500
    a, b = arx(5657.0, dt)
    horizon = Horizon(10, output_weight=5.204, move_weight=0.096, bounds=(-200, 200))
    block = AdaptiveMpc(Identification(a, b, covariance_cap=50.0, excitation=1e-3), horizon, dt=dt, noise_variance=1e-3)
    plant = TransferFunction([5657.0], [1.0, 78.62, 5657.0]).discretise(dt)
    rng = np.random.default_rng(0)
    for k in range(500):
        out = block.step(k * dt, np.zeros(2))
    np.testing.assert_array_equal(out[3:7], np.concatenate([a, b]))
    assert out[7] == 4.0  # the covariance did not grow while there was nothing to learn
    x, worst = np.zeros(2), 0.0
    for k in range(100_000):  # a constant reference excites one direction only
        y = float((plant.C @ x)[0]) + 1e-6 * rng.normal()
        out = block.step(k * dt, np.array([20.0, y]))
        assert out[7] <= 50.0 + 4.0
        x = plant.A @ x + plant.B[:, 0] * out[0]
        if k > 5000:
            worst = max(worst, abs(y - 20.0))
    assert worst < 0.05


def test_pi_lead_agrees_with_scipy_and_does_not_wind_up() -> None:
    lead = ([50.83163360273612, 8570.397339444286], [1.0, 8570.397339444286])
    rng = np.random.default_rng(5)
    r, y = rng.normal(size=(2, 300))
    block = PiLead(2.0, 95.0, lead=lead, dt=DT)
    np.testing.assert_allclose(
        drive(block, np.stack([r, y], axis=1))[:, 0], twin.pi_lead(r, y, 2.0, 95.0, lead, DT), rtol=1e-9, atol=1e-9
    )
    held = PiLead(2.0, 95.0, dt=DT, bounds=(-1.0, 1.0))
    for _ in range(5000):
        assert held.step(0.0, np.array([10.0, 0.0]))[0] == 1.0
    assert held.step(0.0, np.array([-0.4, 0.0]))[0] < 1.0  # free at once when the error turns


@pytest.mark.parametrize("corner", [None, 300.0])
def test_model_based_control_agrees_with_its_twin(corner: float | None) -> None:
    dt = 1 / 4096
    plant = TransferFunction([2500.0], [1.0, 50.0, 2500.0])
    sos = inverse_with_low_pass(plant, order=2, corner=50.0, dt=dt)
    feedback = lqg_feedback(low_pass(2, 50.0), error_weight=100.0, process_noise=100.0, dt=dt)
    block = ModelBasedCompensator(
        sos, dt=dt, feedback=feedback, adaptation=ModelReferenceAdaptation(200.0, 0.3, corner=corner)
    )
    rng = np.random.default_rng(6)
    r = np.cumsum(rng.normal(size=800)) * 0.02
    y = 0.8 * r + 0.3
    out = drive(block, np.stack([r, y], axis=1))
    u, theta = twin.model_based(r, y, sos, feedback, 200.0, 0.3, 0.1, corner, dt)
    np.testing.assert_allclose(out[:, 1], theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(out[:, 0], u, rtol=1e-7, atol=1e-7 * np.abs(u).max())
    assert 0.3 < np.abs(theta).max() <= 0.3 * np.sqrt(1.1) + 1e-9


def test_adaptive_compensation_agrees_with_its_twin() -> None:
    sos = butter(4, 20.0, fs=1 / DT, output="sos")
    t = np.arange(600) * DT
    target = 3.0 * np.sin(2 * np.pi * 3 * t)
    measured = 2.5 * np.sin(2 * np.pi * 3 * (t - 0.02))
    block = AdaptiveCompensation(AdaptedGain(1.0, 100.0), AdaptedGain(0.01, 50.0), low_pass=sos, dt=DT)
    out = drive(block, np.stack([target, measured], axis=1))
    expected = twin.adaptive_compensation(target, measured, 1.0, 0.01, (100.0, 50.0), sos, DT)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)
    clipped = AdaptiveCompensation(AdaptedGain(1.0, 1e6, 0.9, 1.1), AdaptedGain(0.01, 0.0), low_pass=sos, dt=DT)
    assert 0.9 <= drive(clipped, np.stack([target, measured], axis=1))[:, 1].min() < 0.95
