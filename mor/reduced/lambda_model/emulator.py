"""What every stochastic emulator answers: quantiles, distribution, density, moments and samples at given points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mor.reduced.base import ReducedModel
from mor.sampling.space import open_unit
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError

SUMMARIES = ("mean", "std", "variance", "quantile")


class StochasticEmulator(ReducedModel):
    """A model whose answer at a point x is a law; `predict` gives its mean.

    Rows X are (n, inputs) or one row; answers are (n, outputs), with several probabilities (n, outputs, probabilities).
    """

    @abstractmethod
    def _quantile(self, X: Array, p: Array) -> Array:
        """Return quantiles (n, outputs, levels) of probabilities p (levels,)."""

    @abstractmethod
    def _cdf(self, X: Array, Y: Array) -> Array:
        """Return F(y | x) for Y (n, outputs)."""

    @abstractmethod
    def _log_density(self, X: Array, Y: Array) -> Array:
        """Return ln f(y | x) for Y (n, outputs), -inf outside the support."""

    @abstractmethod
    def _moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance (n, outputs)."""

    @abstractmethod
    def _from_uniform(self, X: Array, U: Array) -> Array:
        """Return responses (n, outputs) for probabilities U (n, outputs)."""

    def _predict(self, X: Array) -> Array:
        return self._moments(X)[0]

    def mean(self, X: ArrayLike) -> Array:
        """Return the mean (n, outputs) at rows X."""
        rows = self._rows(X)
        return self._finite(rows, self._moments(rows)[0], "Mean", -1.0)

    def std(self, X: ArrayLike) -> Array:
        """Return the standard deviation (n, outputs) at rows X; refused where it is infinite."""
        rows = self._rows(X)
        return np.asarray(np.sqrt(self._finite(rows, self._moments(rows)[1], "Variance", -0.5)))

    def quantile(self, X: ArrayLike, p: ArrayLike) -> Array:
        """Return the quantiles at rows X: (n, outputs) for one probability p, (n, outputs, levels) for several."""
        levels = np.asarray(p, dtype=np.float64)
        if levels.ndim > 1 or not np.all((levels > 0.0) & (levels < 1.0)):
            raise ConfigError(f"p of {type(self).__name__}.quantile must lie between 0 and 1, got {p!r}.")
        found = self._quantile(self._rows(X), np.atleast_1d(levels))
        return found[:, :, 0] if levels.ndim == 0 else found

    def cdf(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Return F(y | x) (n, outputs) for responses y (n, outputs), or numbers that stand for all rows."""
        rows = self._rows(X)
        return self._cdf(rows, self._responses(rows, y))

    def pdf(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Return the density f(y | x) (n, outputs) for responses y as in `cdf`; 0 outside the support."""
        rows = self._rows(X)
        return np.asarray(np.exp(self._log_density(rows, self._responses(rows, y))))

    def sample(self, X: ArrayLike, n: int = 1, *, seed: int) -> Array:
        """Draw n responses (n, rows, outputs) at rows X."""
        rows = self._rows(X)
        whole(n, "n", f"{type(self).__name__}.sample", 1)
        U = open_unit(np.random.default_rng(seed).random((n, len(rows), len(self.outputs))))
        return np.stack([self._from_uniform(rows, u) for u in U])

    def summary(self, what: str, p: float | None = None) -> Callable[[ArrayLike], Array]:
        """Return a deterministic function of rows X -> (n, outputs): "mean", "std", "variance", or "quantile" of p."""
        of = f"{type(self).__name__}.summary"
        one_of(what, "what", of, SUMMARIES)
        if (p is not None) != (what == "quantile"):
            raise ConfigError(f"p of {of} must be given for 'quantile' and for nothing else, got {p!r} for {what!r}.")
        if what == "quantile":
            return lambda X: self.quantile(X, p if p is not None else 0.5)
        if what == "variance":
            return lambda X: np.asarray(self.std(X) ** 2)
        return self.mean if what == "mean" else self.std

    def log_likelihood(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """Return sum ln f(y_i | x_i) (outputs,) over rows; a response outside the support is refused."""
        rows = self._rows(X)
        responses = self._responses(rows, Y)
        level = self._log_density(rows, responses)
        if not np.isfinite(level).all():
            i, o = (int(v) for v in np.argwhere(~np.isfinite(level))[0])
            low, high = self._quantile(rows[i : i + 1], np.array([1e-12, 1.0 - 1e-12]))[0, o]
            raise ConfigError(
                f"Output '{self.outputs[o].name}' must lie inside the support of the emulator, about [{low:.6g}, "
                f"{high:.6g}] at row {i}, got {responses[i, o]:.6g}; leave the row out, or fit to rows like it."
            )
        return np.asarray(level.sum(axis=0))

    def _finite(self, rows: Array, values: Array, what: str, least: float) -> Array:
        if not np.isfinite(values).all():
            i, o = (int(v) for v in np.argwhere(~np.isfinite(values))[0])
            raise ConfigError(
                f"{what} of output '{self.outputs[o].name}' must be finite, got infinity at row {i} (a shape of "
                f"{least:g} or less); ask for quantiles, or fit with constant shapes: degrees=(5, 3, 0, 0)."
            )
        return values

    def _rows(self, X: ArrayLike) -> Array:
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self.inputs):
            raise ConfigError(
                f"X of {type(self).__name__} must have {len(self.inputs)} columns "
                f"({', '.join(p.name for p in self.inputs)}), got shape {np.shape(X)}."
            )
        return np.ascontiguousarray(rows)

    def _responses(self, rows: Array, y: ArrayLike) -> Array:
        shape = (len(rows), len(self.outputs))
        values = np.asarray(y, dtype=np.float64)
        if values.ndim == 1 and shape[1] == 1 and len(values) == shape[0]:
            values = values[:, None]
        try:
            return np.ascontiguousarray(np.broadcast_to(values, shape))
        except ValueError:
            raise ConfigError(
                f"y of {type(self).__name__} must have one row a point and one column an output, {shape}, got "
                f"{values.shape}."
            ) from None
