"""Bayesian calibration: what a measured record says about the parameters of a model, full-order or reduced.

    d_k = M_k(theta) + e_k,   e_k ~ N(0, sigma^2) independent,     posterior(theta, sigma) ~ prior L(d; theta, sigma)

sigma is unknown unless given, and each column of a record has its own. The sampler is that of emcee (affine-invariant
ensemble, Foreman-Mackey et al. 2013); theta runs through the unit cube, so that priors of any law have the same size.
Convergence is told: autocorrelation time and the split R-hat of Gelman and Rubin over the walkers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.data.trajectory import Trajectory
from mor.sampling.space import ParameterSpace, text_table
from mor.stochastic.records import MeasuredRecord, as_record, record_of
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError, MissingExtra

LARGEST_R_HAT = 1.1
LEAST_LENGTH = 20  # autocorrelation times that a chain must be long


@dataclass(frozen=True, eq=False)
class Calibration:
    """The posterior of the parameters of a model.

    names: parameters and, where they were unknown, sigma of each column. samples: (draws, names), equally likely.
    prediction: (draws, values) the model at a part of them, column after column. sigma: (draws, values) of the same.
    r_hat, autocorrelation: (names,). acceptance: share of the moves that were taken. evaluations: of the model.
    """

    names: tuple[str, ...]
    samples: Array
    prediction: Array
    sigma: Array
    r_hat: Array
    autocorrelation: Array
    steps: int
    acceptance: float
    evaluations: int
    notes: tuple[str, ...] = field(default=())

    @property
    def converged(self) -> bool:
        """Whether every R-hat is at most 1.1 and the chain at least 20 autocorrelation times long."""
        return bool(np.all(self.r_hat <= LARGEST_R_HAT) and np.all(self.steps >= LEAST_LENGTH * self.autocorrelation))

    @property
    def mean(self) -> dict[str, float]:
        """Posterior means."""
        return dict(zip(self.names, self.samples.mean(axis=0).tolist(), strict=True))

    @property
    def std(self) -> dict[str, float]:
        """Posterior standard deviations."""
        return dict(zip(self.names, self.samples.std(axis=0).tolist(), strict=True))

    def interval(self, share: float = 0.9) -> dict[str, tuple[float, float]]:
        """Return the central interval of each parameter that holds this share of the posterior."""
        low, high = np.quantile(self.samples, [0.5 - 0.5 * share, 0.5 + 0.5 * share], axis=0)
        return {name: (float(a), float(b)) for name, a, b in zip(self.names, low, high, strict=True)}

    def bands(self, share: float = 0.9, *, noise: bool = True, seed: int = 0) -> tuple[Array, Array]:
        """Return lower and upper bounds (values,) of the predicted record; with noise those of a new measurement."""
        y = self.prediction
        if noise:
            y = y + self.sigma * np.random.default_rng(seed).standard_normal(y.shape)
        low, high = np.quantile(y, [0.5 - 0.5 * share, 0.5 + 0.5 * share], axis=0)
        return low, high

    def summary(self) -> str:
        """Return a table as text, with a last line that tells whether the chain converged."""
        ends = self.interval()
        rows = [
            (
                name,
                f"{self.mean[name]:.6g}",
                f"{self.std[name]:.3g}",
                *(f"{v:.6g}" for v in ends[name]),
                f"{r:.3f}",
                f"{t:.0f}",
            )
            for name, r, t in zip(self.names, self.r_hat, self.autocorrelation, strict=True)
        ]
        table = text_table(("parameter", "mean", "std", "5 %", "95 %", "R-hat", "autocorrelation"), rows)
        told = "converged" if self.converged else "NOT converged: give more steps"
        return f"{table}\n{told} ({self.steps} steps, acceptance {self.acceptance:.2f}, {self.evaluations} evaluations)"

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain values, ready for JSON."""
        return {
            "mean": self.mean, "std": self.std, "interval_90": self.interval(), "converged": self.converged,
            "r_hat": dict(zip(self.names, self.r_hat.tolist(), strict=True)), "steps": self.steps,
            "acceptance": self.acceptance, "evaluations": self.evaluations, "notes": list(self.notes),
        }  # fmt: skip


def calibrate(
    model: object,
    measured: ArrayLike | Trajectory,
    prior: ParameterSpace,
    *,
    sigma: float | Mapping[str, float] | None = None,
    steps: int = 2000,
    walkers: int | None = None,
    predictions: int = 200,
    seed: int = 0,
) -> Calibration:
    """Update the parameters of a model by a measured record.

    Parameters
    ----------
    model : HybridModel or another Evaluable, ReducedModel, or callable
        A full-order model, whose trajectories are read at the times of a measured Trajectory; or f(theta (n,
        parameters)) -> (n, values), the record that each row of parameters predicts. A reduced model of the record,
        or of its features, makes the thousands of evaluations cheap.
    measured : Trajectory or (values,) array
        Columns of the model, in its units; or the values in the order in which the model returns them.
    prior : ParameterSpace
        Laws of the parameters before the test.
    sigma : float or {column: float}
        Standard deviation of the measurement error; None: unknown, with a prior even in its logarithm, one a column.
    steps, walkers : int
        Length of the chains and their number (default: four times the unknowns, at least 16); the first half is thrown
        away.
    predictions : int
        Draws whose records are kept for the bands.
    seed : int
        Seed of the sampler.

    Returns
    -------
    Calibration
        Posterior, predictive bands, and whether the sampler converged.
    """
    emcee = _sampler()
    record = as_record(measured)
    whole(steps, "steps", "calibrate", 50)
    whole(predictions, "predictions", "calibrate", 2)
    fixed = record.sigmas(sigma)
    names = prior.names if fixed is not None else (*prior.names, *record.sigma_names)
    if len(set(names)) < len(names):
        raise ConfigError(
            f"prior of calibrate must not name {', '.join(record.sigma_names)}; give sigma, or rename it."
        )
    rows = record_of(model, measured, record, prior)
    unknowns = len(names)
    count = max(16, 4 * unknowns) if walkers is None else whole(walkers, "walkers", "calibrate", 2 * unknowns + 2)
    level = _Level(rows, record, prior, fixed)
    rng = np.random.default_rng(seed)
    start = level.start(rng, count)
    sampler = emcee.EnsembleSampler(count, unknowns, level, vectorize=True)
    sampler.random_state = np.random.RandomState(int(rng.integers(2**31))).get_state()
    sampler.run_mcmc(start, steps)
    chain = sampler.get_chain(discard=steps // 2)
    flat = chain.reshape(-1, unknowns)
    samples, sigmas = level.physical(flat)
    kept = rng.choice(len(flat), size=min(predictions, len(flat)), replace=False)
    values = np.column_stack([samples, sigmas]) if fixed is None else samples
    tau = np.maximum(np.nan_to_num(sampler.get_autocorr_time(tol=0), nan=float(steps)), 1.0)
    return Calibration(
        names, values, rows(samples[kept]), sigmas[kept][:, record.column], _r_hat(chain), tau, steps,
        float(sampler.acceptance_fraction.mean()), level.evaluations,
    )  # fmt: skip


class _Level:
    """ln posterior over the unit cube of the parameters and, behind them, ln sigma of each column."""

    def __init__(
        self, rows: Callable[[Array], Array], record: MeasuredRecord, prior: ParameterSpace, sigma: Array | None
    ) -> None:
        self.rows, self.record, self.prior, self.sigma, self.evaluations = rows, record, prior, sigma, 0
        self.counts = np.bincount(record.column)
        largest = np.maximum(record.largest(), 1e-300)
        self.lowest, self.highest = np.log(1e-9 * largest), np.log(10.0 * largest)

    def physical(self, u: Array) -> tuple[Array, Array]:
        """Return parameters (n, dimension) and sigma (n, columns) of points of the sampler."""
        m = self.prior.dimension
        theta = self.prior.from_unit(np.clip(u[:, :m], 1e-12, 1.0 - 1e-12))
        return theta, np.tile(self.sigma, (len(u), 1)) if self.sigma is not None else np.exp(u[:, m:])

    def __call__(self, u: Array) -> Array:
        m = self.prior.dimension
        inside = np.all((u[:, :m] > 0.0) & (u[:, :m] < 1.0), axis=1)
        if self.sigma is None:
            inside &= np.all((u[:, m:] > self.lowest) & (u[:, m:] < self.highest), axis=1)
        level = np.full(len(u), -np.inf)
        if inside.any():
            theta, sigma = self.physical(u[inside])
            level[inside] = self._likelihood(self._misfits(theta), sigma)
        return level

    def _misfits(self, theta: Array) -> Array:
        self.evaluations += len(theta)
        return self.record.misfits(self.rows(theta))

    def _likelihood(self, misfits: Array, sigma: Array) -> Array:
        return np.asarray(-(0.5 * misfits / sigma**2 + self.counts * np.log(sigma)).sum(axis=1))

    def start(self, rng: np.random.Generator, count: int) -> Array:
        """Return the likeliest of random points of the prior, each with the sigma that its own residuals have."""
        u = rng.uniform(0.01, 0.99, size=(16 * count, self.prior.dimension))
        misfits = self._misfits(self.prior.from_unit(u))
        spread = np.sqrt(misfits / self.counts)
        if self.sigma is not None:
            return np.asarray(u[np.argsort(-self._likelihood(misfits, self.sigma))[:count]])
        spread = np.maximum(spread, np.exp(self.lowest) * 1e3)
        best = np.argsort((self.counts * np.log(spread)).sum(axis=1))[:count]
        logs = np.log(spread[best]) + 0.1 * rng.standard_normal((count, len(self.counts)))
        return np.column_stack([u[best], np.clip(logs, self.lowest + 1e-3, self.highest - 1e-3)])


def _r_hat(chain: Array) -> Array:
    """Return the split R-hat of a chain (steps, walkers, names): halves of all walkers against each other."""
    half = len(chain) // 2
    parts = np.concatenate([chain[:half], chain[half : 2 * half]], axis=1)
    within = parts.var(axis=0, ddof=1).mean(axis=0)
    between = half * parts.mean(axis=0).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((half - 1) / half + between / (half * np.maximum(within, 1e-300))))


def _sampler() -> Any:
    try:
        import emcee
    except ImportError:
        raise MissingExtra("calibrate needs emcee, which is not installed; install the 'calibrate' extra.") from None
    return emcee
