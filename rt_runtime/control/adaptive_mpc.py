"""Adaptive model predictive control: the model is identified while the controller runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.control.mpc import NOT_FINITE, Horizon
from rt_runtime.errors import ConfigError

MOST_COEFFICIENTS = 12


@dataclass(frozen=True)
class Identification:
    """How the ARX model y[k] = -sum a_i y[k-i] + sum b_i u[k-i] is followed and kept sane.

    `a` (na) and `b` (nb) are the model a run starts with. Parameters do a random walk with variance `drift` per step
    (one number or na + nb of them), or are forgotten with `forgetting` < 1. `covariance` of the start times the
    identity, `covariance_cap` on its trace, `noise_variance` of y. Each parameter stays within `spread` times
    max(|start|, 1) of its start, or in `bounds` (lower, upper). Nothing is learnt while the regressor is shorter than
    `excitation` (in units of y and u), and a model with a pole beyond `pole_radius` is not used.
    """

    a: ArrayLike
    b: ArrayLike
    drift: ArrayLike = 1.0
    forgetting: float = 1.0
    covariance: float = 1.0
    covariance_cap: float = 1e3
    noise_variance: float = 1.0
    spread: float = 1.0
    bounds: tuple[ArrayLike, ArrayLike] | None = None
    excitation: float = 0.0
    pole_radius: float = 1.0

    def checked(self) -> tuple[int, int, Array, float, float, float, float, float, float]:
        """Return what the core takes: na, nb, four rows per parameter, then the six numbers."""
        of = "Identification"
        a = finite_array(self.a, "a", of, (None,))
        b = finite_array(self.b, "b", of, (None,))
        na, nb = len(a), len(b)
        for name, n in (("a", na), ("b", nb)):
            if not 1 <= n <= MOST_COEFFICIENTS:
                raise ConfigError(f"{name} of {of} must have 1 to {MOST_COEFFICIENTS} numbers, got {n}.")
        start = np.concatenate([a, b])
        radius = positive(self.pole_radius, "pole_radius", of)
        poles = np.abs(np.roots(np.concatenate([[1.0], a])))
        if poles.max(initial=0.0) >= radius:
            raise ConfigError(
                f"a of {of} must be a stable model to start with, got a pole of size {poles.max():.6g} where "
                f"pole_radius is {radius:g}."
            )
        if b.sum() == 0:
            raise ConfigError(f"b of {of} must have a static gain other than zero, got numbers that sum to 0.")
        drift = np.asarray(self.drift, dtype=float)
        drift = finite_array(np.full(na + nb, drift) if drift.ndim == 0 else drift, "drift", of, (na + nb,))
        if (drift < 0).any():
            raise ConfigError(f"drift of {of} must not be negative, got {drift.min():g}.")
        if not 0 < self.forgetting <= 1:
            raise ConfigError(f"forgetting of {of} must lie in (0, 1], got {self.forgetting!r}.")
        if not self.excitation >= 0:
            raise ConfigError(f"excitation of {of} must not be negative, got {self.excitation!r}.")
        lower, upper = self._bounds(start, of)
        cap = positive(self.covariance_cap, "covariance_cap", of)
        covariance = positive(self.covariance, "covariance", of)
        if cap < covariance * (na + nb):
            raise ConfigError(
                f"covariance_cap of {of} must be at least the trace at the start, {covariance * (na + nb):g}, "
                f"got {cap:g}."
            )
        noise = positive(self.noise_variance, "noise_variance", of)
        rows = np.stack([start, lower, upper, drift])
        return na, nb, rows, float(self.forgetting), covariance, cap, noise, float(self.excitation), radius

    def _bounds(self, start: Array, of: str) -> tuple[Array, Array]:
        if self.bounds is None:
            width = positive(self.spread, "spread", of) * np.maximum(np.abs(start), 1.0)
            return start - width, start + width
        lower, upper = (finite_array(side, "bounds", of, start.shape) for side in self.bounds)
        outside = np.flatnonzero(~((lower <= start) & (start <= upper)))
        if len(outside):
            i = int(outside[0])
            raise ConfigError(
                f"bounds of {of} must contain the start, got {start[i]:g} outside [{lower[i]:g}, {upper[i]:g}] for "
                f"parameter {i}."
            )
        return lower, upper


class AdaptiveMpc(_core.AdaptiveMpc):
    """Model predictive tracking controller for one channel that identifies its model at every step.

    Its estimator is a time-varying Kalman filter for the identified model and one output disturbance that integrates
    white noise with `disturbance_gain` (default `dt`); `process_variance` of noise on the input, `noise_variance` of
    the measured output. Inputs: reference (1, or P with preview), measured. Outputs: command, iterations and status
    of the quadratic programme (as of Mpc), the na + nb parameters in use, trace of their covariance.

    With `largest_age` the age of the measurement in ticks (`rig.age`) is a further input. One that is older is not
    used: the model stands in for it and nothing is learnt, because a late answer looks like another plant. A rig that
    is always later leaves the controller without feedback: let a rule of the monitor trip on the age.

    Parameters
    ----------
    identification, horizon
        How the model is identified; the horizon and its weights.
    """

    message = NOT_FINITE

    def __init__(
        self,
        identification: Identification,
        horizon: Horizon,
        *,
        dt: float,
        process_variance: float = 1.0,
        disturbance_gain: float | None = None,
        noise_variance: float = 1.0,
        largest_age: float | None = None,
    ) -> None:
        of = "AdaptiveMpc"
        self.identification, self.horizon = identification, horizon
        period = positive(dt, "dt", of)
        gain = period if disturbance_gain is None else positive(disturbance_gain, "disturbance_gain", of)
        self.estimation = (
            positive(process_variance, "process_variance", of),
            gain,
            positive(noise_variance, "noise_variance", of),
            -1.0 if largest_age is None else self._age(largest_age),
        )
        super().__init__(*identification.checked(), *horizon.checked(of, 1, 1, period), *self.estimation, period)

    @staticmethod
    def _age(largest: float) -> float:
        if not 0.0 <= largest < np.inf:
            raise ConfigError(f"largest_age of AdaptiveMpc must be a number of ticks from 0 on, got {largest!r}.")
        return float(largest)

    @property
    def n_parameters(self) -> int:
        """Number of identified parameters among the outputs."""
        return self.n_out - 4
