"""Design of tracking controllers before a test: prediction models, estimator and LQG gains, inverses, margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from rt_runtime import Mpc, PredictionModel
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError


def companion(plant: TransferFunction, *, subdiagonal: ArrayLike, input_gain: float = 1.0) -> StateSpaceMatrices:
    """Realise a strictly proper plant in companion form with chosen scales, as published models are printed.

    dx1/dt = -sum_i (a_i / (s_1 .. s_{i-1})) x_i + g u, dx_{i+1}/dt = s_i x_i, y = sum_i b_i / (g s_1 .. s_{i-1}) x_i
    with `subdiagonal` s (n - 1) and `input_gain` g. TransferFunction.state_space picks the scales itself.
    """
    of = "companion"
    n = plant.denominator.size - 1
    if n < 1 or plant.numerator.size > n:
        raise ConfigError(
            f"plant of {of} must have a numerator of lower degree than its denominator, got "
            f"{plant.numerator.size - 1} over {n}."
        )
    s = finite_array(subdiagonal, "subdiagonal", of, (n - 1,))
    if (s == 0).any() or not input_gain:
        raise ConfigError(f"subdiagonal and input_gain of {of} must not be zero, got {s.tolist()} and {input_gain!r}.")
    scale = np.concatenate([[1.0], np.cumprod(s)])
    A = np.diag(s, -1)
    A[0] = -plant.denominator[1:] / scale
    B = np.zeros((n, 1))
    B[0] = input_gain
    C = np.concatenate([np.zeros(n - plant.numerator.size), plant.numerator]) / (scale * input_gain)
    return StateSpaceMatrices(A, B, C[None, :], np.zeros((1, 1)))


class KalmanDesign(NamedTuple):
    """Steady-state Kalman filter: x(k|k) = x + M (y - C x), x(k+1|k) = A x + L (y - C x), covariance P = P(k+1|k)."""

    M: Array
    L: Array
    P: Array


def kalman(A: ArrayLike, C: ArrayLike, Q: ArrayLike, R: ArrayLike) -> KalmanDesign:
    """Solve P = A P A' - A P C' (C P C' + R)^-1 C P A' + Q; M = P C' (C P C' + R)^-1, L = A M."""
    from scipy.linalg import solve_discrete_are

    a = finite_array(A, "A", "kalman", (None, None))
    c = finite_array(C, "C", "kalman", (None, len(a)))
    q = finite_array(Q, "Q", "kalman", a.shape)
    r = finite_array(R, "R", "kalman", (len(c), len(c)))
    _refuse_unobservable(a, c)
    size = float(np.trace(r)) / len(r)  # the gain does not depend on a common factor of Q and R, the accuracy does
    try:
        p = np.asarray(size * solve_discrete_are(a.T, c.T, q / size, r / size), dtype=np.float64)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ConfigError(f"Q and R of kalman must give a Riccati solution, got: {error}.") from None
    gain = np.asarray(np.linalg.solve((c @ p @ c.T + r).T, (p @ c.T).T).T, dtype=np.float64)
    return KalmanDesign(gain, a @ gain, p)


def _refuse_unobservable(a: Array, c: Array) -> None:
    """Hautus test of the modes that do not decay."""
    for value in np.linalg.eigvals(a):
        if abs(value) < 1 - 1e-9:
            continue
        pencil = np.vstack([value * np.eye(len(a)) - a, c])
        size = np.linalg.svd(pencil, compute_uv=False)
        if size[-1] < 1e-9 * size[0]:
            raise ConfigError(
                f"Model of the estimator must be observable, but the mode with eigenvalue {value:.6g} does not show in "
                "the outputs; a plant that integrates cannot be told from an integrating output disturbance."
            )


def prediction_model(
    plant: StateSpaceMatrices | TransferFunction,
    dt: float,
    *,
    input_variance: float = 1.0,
    disturbance_gain: float | None = None,
    noise_variance: float | ArrayLike = 1.0,
) -> PredictionModel:
    """Make the model of a predictive controller at its own rate: plant, an output disturbance per output, Kalman gain.

    The plant (continuous, or discrete with this `dt`) is sampled with a zero-order hold at the control interval `dt`.
    Each output gets a disturbance d[k+1] = d[k] + disturbance_gain w (default gain `dt`), y = C x + d. The filter is
    designed for white noise of `input_variance` on the plant input, unit variance w and `noise_variance` on y (number
    or one per output); with all three at 1 these are the gains published for the case studies.
    """
    of = "prediction_model"
    matrices = plant.state_space() if isinstance(plant, TransferFunction) else plant
    model = matrices if matrices.dt else matrices.discretise(dt)
    if abs(model.dt - dt) > 1e-9 * dt:
        raise ConfigError(f"plant of {of} must be continuous or sampled at dt = {dt:g} s, got dt = {model.dt:g} s.")
    if np.any(model.D != 0):
        raise ConfigError(f"plant of {of} must have no direct feedthrough (D = 0), got {model.D.tolist()}.")
    radius = float(np.abs(np.linalg.eigvals(model.A)).max())
    if radius > 1 + 1e-9:
        raise ConfigError(
            f"plant of {of} must be stable, got an eigenvalue of size {radius:.6g} outside the unit circle; close an "
            "inner loop around it first."
        )
    n, m, p = len(model.A), model.B.shape[1], len(model.C)
    gain = positive(dt if disturbance_gain is None else disturbance_gain, "disturbance_gain", of)
    variance = np.asarray(noise_variance, dtype=float)
    noise = finite_array(np.full(p, variance) if variance.ndim == 0 else variance, "noise_variance", of, (p,))
    if (noise <= 0).any():
        raise ConfigError(f"noise_variance of {of} must be positive, got {noise.min():g}.")
    a = np.block([[model.A, np.zeros((n, p))], [np.zeros((p, n)), np.eye(p)]])
    b = np.vstack([model.B, np.zeros((p, m))])
    c = np.hstack([model.C, np.eye(p)])
    q = np.zeros_like(a)
    q[:n, :n] = positive(input_variance, "input_variance", of) * model.B @ model.B.T
    q[n:, n:] = gain**2 * np.eye(p)
    return PredictionModel(a, b, c, kalman(a, c, q, np.diag(noise)).M, float(dt))


def arx_parameters(plant: TransferFunction, dt: float) -> tuple[Array, Array]:
    """Return a, b (n each) of y[k] = -sum a_i y[k-i] + sum b_i u[k-i] for a plant held over `dt` s between samples."""
    sampled = plant.discretise(positive(dt, "dt", "arx_parameters"))
    if np.any(sampled.D != 0):
        raise ConfigError("plant of arx_parameters must have a numerator of lower degree than its denominator.")
    a = np.poly(sampled.A).astype(float)
    impulse, x = [], sampled.B[:, 0]
    for _ in range(len(sampled.A)):
        impulse.append(float((sampled.C @ x)[0]))
        x = sampled.A @ x
    return a[1:], np.convolve(a, impulse)[: len(impulse)]


def weights(*, error: ArrayLike, move: ArrayLike) -> tuple[Array, Array]:
    """Turn physical scales into weights: an error of `error` costs as much as a change of `move` per interval.

    Returns (output_weight, move_weight) = (1 / error, 1 / move), for the same units as the signals.
    """
    scales = []
    for name, value in (("error", error), ("move", move)):
        scale = finite_array(np.atleast_1d(np.asarray(value, dtype=float)), name, "weights", (None,))
        if (scale <= 0).any():
            raise ConfigError(f"{name} of weights must be positive, got {scale.min():g}.")
        scales.append(1.0 / scale)
    return scales[0], scales[1]


def low_pass(order: int, corner: float) -> TransferFunction:
    """Return a Butterworth low-pass of `order` with its `corner` in Hz."""
    from scipy.signal import butter

    w = 2 * np.pi * positive(corner, "corner", "low_pass")
    return TransferFunction(*butter(whole(order, "order", "low_pass", 1), w, analog=True))


def inverse_with_low_pass(plant: TransferFunction, *, order: int, corner: float, dt: float) -> Array:
    """Return sections (k, 6) of L(s)/P(s): the inverse plant behind a Butterworth low-pass, bilinear rule at `dt`.

    `order` must be at least the relative degree of the plant, whose zeros must be stable; `corner` in Hz.
    """
    from scipy.signal import bilinear_zpk, buttap, lp2lp_zpk, tf2zpk, zpk2sos

    of = "inverse_with_low_pass"
    zeros, poles, gain = tf2zpk(plant.numerator, plant.denominator)
    degree = len(poles) - len(zeros)
    if whole(order, "order", of, 1) < degree:
        raise ConfigError(f"order of {of} must be at least the relative degree {degree} of the plant, got {order}.")
    if len(zeros) and zeros.real.max() >= 0:
        worst = zeros[zeros.real.argmax()]
        raise ConfigError(f"plant of {of} must have stable zeros, got one at {worst:.6g} rad/s.")
    low = lp2lp_zpk(*buttap(order), wo=2 * np.pi * positive(corner, "corner", of))
    z, p = np.concatenate([poles, low[0]]), np.concatenate([zeros, low[1]])
    z, p, k = bilinear_zpk(z, p, low[2] / gain, fs=1.0 / positive(dt, "dt", of))
    return np.asarray(zpk2sos(z, p, k), dtype=float)


def lqg_feedback(
    plant: TransferFunction, *, error_weight: float, process_noise: float, dt: float
) -> tuple[Array, Array, Array, Array]:
    """Return discrete (A, B, C, D) of the LQG feedback mu = K (r - y) on a low-pass (mMBC) or on the plant itself.

    LQR with Q = error_weight C'C, R = 1; Kalman filter with noise `process_noise` on the input and unit measurement
    noise; K(s) = K_r (sI - A + B K_r + L C)^-1 L, sampled by the bilinear rule at `dt`.
    """
    from scipy.linalg import solve_continuous_are

    of = "lqg_feedback"
    model = plant.state_space()
    if np.any(model.D != 0):
        raise ConfigError(f"plant of {of} must have a numerator of lower degree than its denominator.")
    a, b, c = model.A, model.B, model.C
    q, w = positive(error_weight, "error_weight", of), positive(process_noise, "process_noise", of)
    x = solve_continuous_are(a, b, q * c.T @ c, np.eye(1))
    y = solve_continuous_are(a.T, c.T, w * b @ b.T, np.eye(1))
    regulator, observer = b.T @ x, y @ c.T
    closed = StateSpaceMatrices(a - b @ regulator - observer @ c, observer, regulator, np.zeros((1, 1)))
    k = closed.discretise(dt, "tustin")
    return k.A, k.B, k.C, k.D


@dataclass(frozen=True)
class Margins:
    """Distance of a stable loop 1 + L from instability.

    gain: factor on L at which it turns unstable; phase in rad; delay in s; each infinite if there is no crossing.
    sensitivity: largest |1 / (1 + L)|.
    """

    gain: float
    phase: float
    delay: float
    sensitivity: float


def margins(frequency: ArrayLike, response: ArrayLike) -> Margins:
    """Return the margins of negative feedback around L from its `response` (k, complex) at `frequency` (k) in Hz."""
    f = finite_array(frequency, "frequency", "margins", (None,))
    if len(f) < 2 or (np.diff(f) <= 0).any() or f[0] <= 0:
        raise ConfigError("frequency of margins must be positive and increase strictly, with at least two points.")
    loop = np.asarray(response, dtype=complex)
    if loop.shape != f.shape:
        raise ConfigError(f"response of margins must have shape {f.shape} as its frequency, got {loop.shape}.")
    size, phase = np.abs(loop), np.unwrap(np.angle(loop))
    gain, lag, delay = np.inf, np.inf, np.inf
    turns = (phase - np.pi) / (2 * np.pi)  # whole numbers are the negative real axis
    for i in np.flatnonzero(np.floor(turns[1:]) != np.floor(turns[:-1])):
        axis = np.floor(max(turns[i], turns[i + 1]))
        share = (axis - turns[i]) / (turns[i + 1] - turns[i])
        crossing = float(size[i] + share * (size[i + 1] - size[i]))
        if crossing < 1:
            gain = min(gain, 1.0 / crossing)
    for i in np.flatnonzero((size[1:] < 1) != (size[:-1] < 1)):
        share = (1 - size[i]) / (size[i + 1] - size[i])
        angle = (phase[i] + share * (phase[i + 1] - phase[i]) - np.pi) % (2 * np.pi)
        lag = min(lag, float(min(angle, 2 * np.pi - angle)))
        delay = min(delay, float(angle / (2 * np.pi * (f[i] + share * (f[i + 1] - f[i])))))
    return Margins(gain, lag, delay, float(np.max(1.0 / np.abs(1.0 + loop))))


def closed_loop(mpc: Mpc, plant: StateSpaceMatrices) -> StateSpaceMatrices:
    """Return the loop of a predictive controller and a plant while no constraint is active, from references to outputs.

    The plant (sampled at the controller's dt, not necessarily the one it was designed for) and the controller are
    linear then: state [x; estimate; u], u = u + K [estimate(k|k); references; u]. All eigenvalues inside the unit
    circle mean a stable loop; the response tells how late and how large a reference comes out.
    """
    model = mpc.model
    if abs(plant.dt - model.dt) > 1e-9 * model.dt:
        raise ConfigError(f"plant of closed_loop must be sampled at dt = {model.dt:g} s, got {plant.dt:g} s.")
    n, m = len(model.A), model.n_in
    if plant.B.shape[1] != m or len(plant.C) != model.n_out or np.any(plant.D != 0):
        raise ConfigError(
            f"plant of closed_loop must have {m} inputs, {model.n_out} outputs and no feedthrough, got "
            f"{plant.B.shape[1]} and {len(plant.C)}."
        )
    gains = np.asarray(mpc.gains)[:m]
    references = gains.shape[1] - n - m
    x = len(plant.A)
    corrected = np.hstack([model.gain @ plant.C, np.eye(n) - model.gain @ model.C, np.zeros((n, m))])
    command = gains[:, :n] @ corrected
    command[:, x + n :] += np.eye(m) + gains[:, n + references :]
    into = gains[:, n : n + references]
    A = np.vstack([plant.B @ command, model.A @ corrected + model.B @ command, command])
    A[:x, :x] += plant.A
    B = np.vstack([plant.B @ into, model.B @ into, into])
    C = np.hstack([plant.C, np.zeros((len(plant.C), n + m))])
    return StateSpaceMatrices(A, B, C, np.zeros((len(C), references)), model.dt)


class Correction(NamedTuple):
    """What undoes a loop at one frequency: extrapolate by `lead` s, add `curvature` s2 times the second derivative."""

    lead: float
    curvature: float

    def leads_and_gains(self, step: float) -> tuple[Array, Array]:
        """Return leads (3) and gains (3) of an extrapolation that does both; `step` of the difference in s.

        r(t + lead) + curvature r''(t + lead) = g r(t + lead - h) + (1 - 2 g) r(t + lead) + g r(t + lead + h)
        """
        g = self.curvature / positive(step, "step", "leads_and_gains") ** 2
        return self.lead + step * np.array([-1.0, 0.0, 1.0]), np.array([g, 1 - 2 * g, g])


def reference_correction(loop: StateSpaceMatrices, frequency: float) -> Correction:
    """Return the lead and curvature with which a held reference comes out of `loop` right at `frequency` Hz.

    From T(jw): lead = -arg T / w, curvature = (|T| - 1) / (|T| w^2), as s^2 = -w^2.
    """
    w = 2 * np.pi * positive(frequency, "frequency", "reference_correction")
    if loop.B.shape[1] != 1 or len(loop.C) != 1:
        raise ConfigError("loop of reference_correction must have one reference and one output.")
    z = np.exp(1j * w * loop.dt) if loop.dt else 1j * w
    response = (loop.C @ np.linalg.solve(z * np.eye(len(loop.A)) - loop.A, loop.B) + loop.D)[0, 0]
    size = abs(response)
    return Correction(float(-np.angle(response) / w), float((size - 1) / (size * w * w)))
