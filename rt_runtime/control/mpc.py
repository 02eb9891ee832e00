"""Predictive tracking control with checked arguments; what is computed stands in core/mpc/*.hpp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.checks import Array, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

MOST_STATES = 48
MOST_CHANNELS = 6
RATE_UNITS = ("per second", "per interval")


@dataclass(frozen=True, eq=False)
class PredictionModel:
    """What a controller knows of its plant, at the control rate: x[k+1] = A x + B u, y = C x, and its estimator gain.

    A (n, n), B (n, m), C (p, n); disturbance states are part of x. `gain` (n, p) corrects the estimate:
    x(k|k) = x(k|k-1) + gain (y - C x(k|k-1)). `dt` is the control interval in s. Up to 48 states besides one
    disturbance per output, 1-6 inputs and outputs. mor.dynamics.control_design.prediction_model makes one from a plant.
    """

    A: Array
    B: Array
    C: Array
    gain: Array
    dt: float

    def __post_init__(self) -> None:
        of = "PredictionModel"
        a = finite_array(self.A, "A", of, (None, None))
        n = len(a)
        b = finite_array(self.B, "B", of, (n, None))
        c = finite_array(self.C, "C", of, (None, n))
        m, p = b.shape[1], len(c)
        arrays = {"A": finite_array(a, "A", of, (n, n)), "B": b, "C": c}
        arrays["gain"] = finite_array(self.gain, "gain", of, (n, p))
        for name, value in arrays.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "dt", positive(self.dt, "dt", of))
        for name, size in (("inputs", m), ("outputs", p)):
            if not 1 <= size <= MOST_CHANNELS:
                raise ConfigError(f"{name} of {of} must be 1 to {MOST_CHANNELS}, got {size}.")
        if not 1 <= n <= MOST_STATES + p:
            raise ConfigError(
                f"States of {of} must be 1 to {MOST_STATES + p} ({MOST_STATES} and one disturbance per output), "
                f"got {n}; reduce the model first."
            )
        radius = _spectral_radius(self.A)
        if radius > 1 + 1e-9:
            raise ConfigError(
                f"A of {of} must be stable, got an eigenvalue of size {radius:.6g} outside the unit circle; close an "
                "inner loop around the plant or take its model at full precision."
            )
        radius = _spectral_radius(self.A - self.A @ self.gain @ self.C)
        if radius >= 1 - 1e-12:
            raise ConfigError(
                f"gain of {of} must make the estimate converge, but an eigenvalue of A - A gain C has size "
                f"{radius:.9g}; the model is not observable or the gain does not belong to it."
            )

    @property
    def n_in(self) -> int:
        """Number of inputs of the plant."""
        return int(self.B.shape[1])

    @property
    def n_out(self) -> int:
        """Number of outputs of the plant."""
        return int(self.C.shape[0])


def _spectral_radius(a: Array) -> float:
    return float(np.abs(np.linalg.eigvals(a)).max())


class KalmanFilter(_core.KalmanFilter):
    """Estimate the state with a constant gain: inputs [u of the last interval, y], output x(k|k).

    Parameters
    ----------
    model
        The model with its noise.
    """

    def __init__(self, model: PredictionModel) -> None:
        self.model = model
        super().__init__(model.A, model.B, model.C, model.gain, model.dt)


class Extrapolator(_core.Extrapolator):
    """Predict signals by the polynomial through `order` + 1 past values that stand `spacing` ticks apart.

    y = sum_a w_a u[k - a spacing], w_a = prod_{b != a} (theta + b)/(b - a), theta = lead / spacing, a, b = 0..order.
    `leads` in ticks (any number, also several: outputs stand lead by lead, channels within). The noise of a signal is
    amplified by sqrt(sum w_a^2), 15.8 for order 4 and lead = spacing.
    """

    def __init__(self, *, order: int, spacing: int, leads: ArrayLike, channels: int = 1) -> None:
        of = "Extrapolator"
        if whole(order, "order", of, 1) > 4:
            raise ConfigError(f"order of {of} must be 1 to 4, got {order}; higher orders mostly amplify noise.")
        ahead = finite_array(np.atleast_1d(np.asarray(leads, dtype=float)), "leads", of, (None,))
        if len(ahead) == 0:
            raise ConfigError(f"leads of {of} must name at least one lead, got none.")
        self.given = (order, whole(spacing, "spacing", of, 1), ahead, whole(channels, "channels", of, 1))
        super().__init__(*self.given)


def horizon_leads(prediction: int, every: int, *, offset: float = 0.0) -> Array:
    """Return the leads, in ticks, at which a controller with preview wants its reference: i every + offset.

    Parameters
    ----------
    prediction
        Steps of the prediction horizon.
    """
    steps = np.arange(1, whole(prediction, "prediction", "horizon_leads", 1) + 1)
    return np.asarray(steps * whole(every, "every", "horizon_leads", 1) + offset, dtype=np.float64)


@dataclass(frozen=True)
class Horizon:
    """Weights and constraints of a predictive controller, in physical units.

    `prediction` steps P, `control` moves (default P). Cost: sum (output_weight (r - y))^2 + sum (move_weight du)^2, the
    weights are inside the square (one number, or one per channel). `bounds` (lower, upper) of the command, each a
    number or one per input. `rate_limit` of the command with its unit in `rate_unit`: "per second" or "per interval".
    `preview`: the reference is given for each of the P steps. `max_iterations` caps the quadratic programme.
    """

    prediction: int
    output_weight: float | Sequence[float]
    move_weight: float | Sequence[float]
    control: int | None = None
    bounds: tuple[float | Sequence[float], float | Sequence[float]] | None = None
    rate_limit: float | Sequence[float] | None = None
    rate_unit: str | None = None
    preview: bool = False
    max_iterations: int | None = None

    def checked(self, of: str, n_in: int, n_out: int, dt: float) -> tuple[int, int, Array, Array, bool, int]:
        """Return what the core takes: P, moves, output weights (p), five rows per input, preview, iteration cap."""
        problems: list[str] = []
        prediction = whole(self.prediction, "prediction", of, 1)
        control = prediction if self.control is None else whole(self.control, "control", of, 1)
        if control > prediction:
            problems.append(f"control of {of} must not exceed its prediction {prediction}, got {control}.")
        weights = {}
        for name, value, n in (("output_weight", self.output_weight, n_out), ("move_weight", self.move_weight, n_in)):
            weights[name] = _per_channel(value, name, of, n)
            if (weights[name] < 0).any():
                problems.append(f"{name} of {of} must not be negative, got {weights[name].min():g}.")
        if not problems and not (weights["output_weight"] > 0).any():
            problems.append(f"output_weight of {of} must be positive for at least one output, got only zeros.")
        if not problems and not (weights["move_weight"] > 0).all():
            problems.append(f"move_weight of {of} must be positive, or the moves are not determined; got a zero.")
        lower, upper = np.full(n_in, -np.inf), np.full(n_in, np.inf)
        if self.bounds is not None:
            if not isinstance(self.bounds, tuple | list) or len(self.bounds) != 2:
                raise ConfigError(f"bounds of {of} must be (lower, upper), got {self.bounds!r}.")
            lower, upper = (_per_channel(side, "bounds", of, n_in, infinite=True) for side in self.bounds)
            for i in np.flatnonzero(~((lower <= 0) & (upper >= 0))):
                problems.append(
                    f"bounds of {of} must contain 0, where every run starts, got [{lower[i]:g}, {upper[i]:g}] for "
                    f"input {i}; shift the signal or widen the bounds."
                )
        move = np.full(n_in, np.inf)
        if self.rate_limit is not None:
            if self.rate_unit is None:
                problems.append(
                    f"rate_limit of {of} must come with rate_unit 'per second' or 'per interval', got none; "
                    f"one interval is {dt:g} s."
                )
            else:
                unit = one_of(self.rate_unit, "rate_unit", of, RATE_UNITS)
                move = _per_channel(self.rate_limit, "rate_limit", of, n_in, infinite=True)
                move = move * (dt if unit == "per second" else 1.0)
                if (move <= 0).any():
                    problems.append(f"rate_limit of {of} must be positive, got {move.min():g}.")
        if problems:
            raise ConfigError.from_problems(of, problems)
        rows = np.stack([weights["move_weight"], lower, upper, -move, move])
        cap = 0 if self.max_iterations is None else whole(self.max_iterations, "max_iterations", of, 1)
        return prediction, control, weights["output_weight"], rows, bool(self.preview), cap


def _per_channel(value: float | Sequence[float], which: str, of: str, n: int, *, infinite: bool = False) -> Array:
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise ConfigError(f"{which} of {of} must be a number or one per channel, got {value!r}.") from None
    if array.shape == (1,):
        array = np.repeat(array, n)
    if array.shape != (n,):
        raise ConfigError(f"{which} of {of} must be one number or {n} of them, got shape {array.shape}.")
    if np.isnan(array).any() or (not infinite and not np.isfinite(array).all()):
        raise ConfigError(f"{which} of {of} must be finite, got {array.tolist()}.")
    return np.ascontiguousarray(array)


NOT_FINITE = "its reference, measurement or estimate is not finite"
"""What a controller that cannot step says of it."""


class Mpc(_core.Mpc):
    """Model predictive tracking controller with a constant-gain estimator.

    Inputs: reference (p numbers, or P times p step by step with preview), measured (p). Outputs: command (m), number
    of iterations and status of the quadratic programme (0 optimal, 1 iteration cap or rounding: a feasible move near
    the optimum, 2 infeasible: the command is held, 3 reference, measurement or estimate are not finite: the command is
    held and the loop stops). Add it to a loop with `every` such that every / rate = model.dt.

    Parameters
    ----------
    horizon
        Horizon, weights and bounds.

    >>> import numpy as np
    >>> from rt_runtime import Horizon, Mpc, PredictionModel
    >>> model = PredictionModel(np.array([[0.9]]), np.array([[0.1]]), np.array([[1.0]]), np.array([[0.1]]), 0.01)
    >>> mpc = Mpc(model, Horizon(5, output_weight=1.0, move_weight=0.1, bounds=(-2.0, 2.0)))
    >>> command, iterations, status = mpc.step(0.0, np.array([1.0, 0.0]))
    >>> float(command)
    2.0
    """

    message = NOT_FINITE

    def __init__(self, model: PredictionModel, horizon: Horizon) -> None:
        self.model, self.horizon = model, horizon
        checked = horizon.checked("Mpc", model.n_in, model.n_out, model.dt)
        super().__init__(model.A, model.B, model.C, model.gain, *checked, model.dt)
