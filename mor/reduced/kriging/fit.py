"""Fit Kriging models: kernel, lengths and noise by restricted likelihood or leave-one-out error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.fit_data import check_fit_data, fit_domain, space_of
from mor.reduced.kriging.kernels import KERNELS
from mor.reduced.kriging.likelihood import CRITERIA
from mor.reduced.kriging.model import Kriging
from mor.reduced.kriging.search import Candidate, Problem, search, search_calm
from mor.reduced.pce.basis import Ints, index_set, matrix, recurrence_table, standard_maps, standardise, values
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

TRENDS = {"simple": 0, "ordinary": 0, "linear": 1, "quadratic": 2}
AUTO_TRENDS = ("ordinary", "linear", "quadratic")
NOISE = ("auto", "none", "learned")
ESTIMATORS = ("auto", *CRITERIA)
_FEW = 30  # rows up to which the leave-one-out error is asked beside the likelihood
_FAR = 0.1  # share of the leave-one-out error that its own optimum must fall below to be believed
_AUTO = (
    ("matern52", False), ("matern52", True), ("gaussian", True), ("gaussian", False), ("matern32", False),
    ("exponential", False), ("linear", False),
)  # fmt: skip


def fit_kriging(
    data: Dataset,
    space: ParameterSpace | None = None,
    *,
    kernel: str | Sequence[str] = "auto",
    interactions: bool | str = "auto",
    trend: str | ArrayLike = "ordinary",
    mean: float | ArrayLike | None = None,
    noise: str = "auto",
    weights: ArrayLike | None = None,
    estimator: str = "auto",
    rounding: float | None = None,
    seed: int = 0,
) -> Kriging:
    """Fit a Kriging model to all outputs of `data`, each with its own kernel, lengths and noise.

    Parameters
    ----------
    data : Dataset
        Rows; its inputs are those of `space`.
    space : ParameterSpace, optional
        Laws of the inputs, by default those that the data record: they give the standard variables (the logarithm of a
        lognormal input) and the domain.
    kernel : str or sequence of str
        "linear", "exponential", "matern32", "matern52", "gaussian", several of them, or "auto" for all: the best
        value of the `estimator` wins.
    interactions : bool or "auto"
        Whether the share of interactions is learned (two parameters an input) or the kernel is the plain product;
        "auto" compares both.
    trend : str or (terms, inputs) array
        "simple" (known `mean`), "ordinary" (unknown constant), "linear", "quadratic", multi-indices of orthonormal
        polynomials (universal Kriging), or "auto": of the ordinary, linear and quadratic trends with at most half as
        many functions as rows the one of smallest leave-one-out error, for each output (three fits instead of one).
    mean : float or (outputs,) array, optional
        The known mean of a simple trend, in units of the outputs.
    noise : str
        "none" interpolates the rows, "learned" estimates a nugget, "auto" decides by the likelihood.
    weights : (N,) array, optional
        Precision of each row: noise variance proportional to 1 / weights.
    estimator : str
        What the lengths minimise: "likelihood" (restricted likelihood), "loo" (leave-one-out error), or "auto": the
        likelihood, except that up to 30 rows without noise are asked both ways, and the lengths of smallest
        leave-one-out error are taken if that is ten times smaller than at the best likelihood. (Then it is optimistic.)
    rounding : float, optional
        Largest rounding of a prediction relative to the spread of the rows. Smooth kernels with long lengths are exact
        to few digits more than the data need (`Kriging.rounding`); a model for a loop on another host is fitted with
        1e-8 (export asks for it) and is a little less accurate.
    seed : int
        Seed of the starting points of the search.

    Returns
    -------
    Kriging
    """
    space = space_of(data, space, "fit_kriging")
    pairs = kernel_pairs(kernel, interactions, "fit_kriging")
    known = _known_mean(trend, mean, data)
    rows = Rows.of(data, space, noise, weights, "fit_kriging", estimator, seed, rounding)
    trends = [trend_indices(one, space.dimension) for one in (AUTO_TRENDS if _is(trend, "auto") else (trend,))]
    trends = trends[:1] + [indices for indices in trends[1:] if 2 * len(indices) <= len(data)]
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        found = [
            min(
                (rows.fit(o, one, pairs, None if known is None else float(known[o])) for one in trends),
                key=Fitted.error,
            )
            for o in range(rows.outputs)
        ]
    return rows.model(found, {"method": "kriging", "trend": trend if isinstance(trend, str) else "given"})


@dataclass
class Fitted:
    """One output: trend and candidate in standardised units; no candidate for a constant output."""

    indices: Ints
    candidate: Candidate | None
    location: float
    scale: float
    known: bool = False

    def error(self) -> float:
        """Return the leave-one-out error, zero of a constant output."""
        return 0.0 if self.candidate is None else self.candidate.loo


@dataclass
class Rows:
    """Rows in standard variables, ready for fits of single outputs."""

    data: Dataset
    space: ParameterSpace
    Z: Array
    maps: tuple[Array, Array, Ints]
    unit: Array  # spread of each column of Z
    spread: Array
    noise: str
    estimator: str
    seed: int
    rounding: float | None = None

    @classmethod
    def of(
        cls,
        data: Dataset,
        space: ParameterSpace,
        noise: str,
        weights: ArrayLike | None,
        of: str,
        estimator: str,
        seed: int,
        rounding: float | None = None,
    ) -> Rows:
        """Check the data and the common settings of a fit."""
        one_of(noise, "noise", of, NOISE)
        one_of(estimator, "estimator", of, ESTIMATORS)
        whole(seed, "seed", of, 0)
        if rounding is not None:
            positive(rounding, "rounding", of)
        check_fit_data(data, space, of, repeats=True, dependent=True)
        spread = np.ones(len(data))
        if weights is not None:
            given = finite_array(weights, "weights", of, (len(data),))
            if not np.all(given > 0.0):
                raise ConfigError(f"weights of {of} must be positive, got {given.min():g}.")
            spread = 1.0 / given
            spread /= spread.mean()
        maps = standard_maps(space.marginals)
        Z = standardise(data.X, *maps)
        return cls(data, space, Z, maps, Z.std(axis=0), spread, _repeated(data, noise, of), estimator, seed, rounding)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.data.outputs)

    def trend(self, indices: Ints) -> Array:
        """Return the trend matrix (N, terms)."""
        table = recurrence_table(self.space.marginals, max(1, int(indices.max(initial=0))))
        return matrix(values(self.Z, table), indices)

    def problem(self, o: int, F: Array, known: float | None = None) -> tuple[Problem, float, float]:
        """Return output o standardised with its trend; location and scale to undo it."""
        y = self.data.Y[:, o]
        location, scale = (float(y.mean()) if known is None else known), float(y.std())
        criterion = "likelihood" if self.estimator == "auto" else self.estimator
        return Problem(self.Z / self.unit, F, (y - location) / scale, self.spread, criterion), location, scale

    def fit(self, o: int, indices: Ints, pairs: Sequence[tuple[str, bool]], known: float | None = None) -> Fitted:
        """Search for the parameters of output o on the given trend."""
        if np.ptp(self.data.Y[:, o]) == 0.0:
            return Fitted(indices[:1] * 0, None, float(self.data.Y[0, o]), 1.0)
        F = self.trend(indices)
        if F.shape[1] + 2 > len(F):
            raise ConfigError(
                f"Data of a Kriging fit must have at least {F.shape[1] + 2} rows for a trend of {F.shape[1]} "
                f"functions, got {len(F)}; use a simpler trend."
            )
        problem, location, scale = self.problem(o, F if known is None else F[:, :0], known)
        ranked = self.search(problem, pairs)
        if not ranked:
            raise ConfigError(
                f"Rows of output '{self.data.outputs[o].name}' of a Kriging fit give no positive definite correlation "
                "matrix; are points repeated or is rounding too small? Set noise to 'learned', or a larger rounding."
            )
        best = ranked[0]
        if self.estimator == "auto" and len(F) <= _FEW and not best.objective.learned:
            other = self.search(replace(problem, criterion="loo"), pairs, noise="none")
            best = other[0] if other and other[0].loo < _FAR * best.loo else best
        return Fitted(indices, best, location, scale, known is not None)

    def search(self, problem: Problem, pairs: Sequence[tuple[str, bool]], noise: str | None = None) -> list[Candidate]:
        """Search for the parameters of all kernels, best first."""
        noise = self.noise if noise is None else noise
        if self.rounding is None:
            return search(problem, pairs, noise, seed=self.seed)
        return search_calm(problem, pairs, noise, self.rounding, seed=self.seed)

    def model(self, found: Sequence[Fitted], how: dict[str, object]) -> Kriging:
        """Assemble the outputs into one model in physical units."""
        n, m, N = self.space.dimension, self.outputs, len(self.data)
        union = np.unique(np.vstack([np.zeros((1, n), dtype=np.int64), *[f.indices for f in found]]), axis=0)
        used, b = np.zeros((len(union), m), dtype=np.int64), np.zeros((len(union), m))
        length, weight = np.tile(self.unit, (m, 1)), np.ones((m, n))
        dual, variance, nugget, loo = np.zeros((N, m)), np.zeros(m), np.full(m, 1e-14 * N), np.zeros(m)
        names, said = [], []
        for o, f in enumerate(found):
            _, place = np.unique(np.vstack([union, f.indices]), axis=0, return_inverse=True)
            place = np.ravel(place)[len(union) :]
            b[0, o], used[0, o] = f.location, 1
            if f.candidate is None:
                names.append("gaussian")
                said.append({"name": self.data.outputs[o].name, "constant": True})
                continue
            solved, objective = f.candidate.solved, f.candidate.objective
            assert solved is not None
            l, w, nugget[o] = objective.split(f.candidate.p)
            length[o], weight[o] = l * self.unit, 1.0 if w is None else w
            used[place, o] = 1
            if not f.known:
                b[place, o] += solved.coefficients() * f.scale
            dual[:, o], variance[o] = solved.dual() * f.scale, solved.variance * f.scale**2
            loo[o] = f.candidate.loo
            names.append(objective.kernel)
            said.append(
                {
                    "name": self.data.outputs[o].name,
                    "kernel": objective.kernel,
                    "interactions": w is not None,
                    "trend_terms": len(f.indices),
                    "noise_std": float(np.sqrt(nugget[o] * variance[o])) if objective.learned else 0.0,
                }
            )
        location, scale, logarithm = self.maps
        degree = max(1, int(union.max(initial=0)))
        return Kriging(
            inputs=self.data.inputs, outputs=self.data.outputs, domain=fit_domain(self.data, self.space),
            location=location, scale=scale, logarithm=logarithm, points=self.Z, values=self.data.Y,
            kernel_names=tuple(names), length=length, weight=weight, dual=dual,
            recurrence=recurrence_table(self.space.marginals, degree), indices=union, used=used, coefficients=b,
            variance=variance, nugget=nugget, spread=self.spread, loo=loo, known_trend=any(f.known for f in found),
            fit=how | {"rows": N, "outputs": said},
        )  # fmt: skip


def kernel_pairs(kernel: str | Sequence[str], interactions: bool | str, of: str) -> list[tuple[str, bool]]:
    """Return the (family, weighted) pairs that the settings of a fit ask for."""
    if interactions not in (True, False, "auto"):
        raise ConfigError(f"interactions of {of} must be True, False or 'auto', got {interactions!r}.")
    if kernel == "auto":
        wanted = [pair for pair in _AUTO if interactions in ("auto", pair[1])]
        return wanted or list(_AUTO)
    names = [kernel] if isinstance(kernel, str) else list(kernel)
    for name in names:
        one_of(name, "kernel", of, ("auto", *KERNELS))
    both = (False, True) if interactions == "auto" else (bool(interactions),)
    return [(name, weighted) for name in names for weighted in both]


def trend_indices(trend: str | ArrayLike, dimension: int) -> Ints:
    """Return the multi-indices (terms, dimension) of a trend, the constant first."""
    constant = np.zeros((1, dimension), dtype=np.int64)
    if isinstance(trend, str):
        one_of(trend, "trend", "fit_kriging", (*TRENDS, "auto"))
        return index_set(dimension, TRENDS[trend]) if TRENDS[trend] else constant
    given = np.asarray(trend)
    if given.ndim != 2 or given.shape[1] != dimension or not np.issubdtype(given.dtype, np.integer) or given.min() < 0:
        raise ConfigError(
            f"trend of fit_kriging must be one of {', '.join(TRENDS)}, auto or multi-indices: whole numbers of at "
            f"least 0 with {dimension} columns, got {trend!r}."
        )
    return np.unique(np.vstack([constant, given.astype(np.int64)]), axis=0)


def _is(trend: str | ArrayLike, name: str) -> bool:
    return isinstance(trend, str) and trend == name


def _known_mean(trend: str | ArrayLike, mean: float | ArrayLike | None, data: Dataset) -> Array | None:
    if _is(trend, "simple") != (mean is not None):
        raise ConfigError("mean of fit_kriging must be given with the trend 'simple', and only with it.")
    if mean is None:
        return None
    return finite_array(np.broadcast_to(np.asarray(mean, float), (len(data.outputs),)), "mean", "fit_kriging", (None,))


def _repeated(data: Dataset, noise: str, of: str) -> str:
    """Return the noise setting that repeated rows leave: two outputs at one point cannot be interpolated."""
    _, place, count = np.unique(data.X, axis=0, return_inverse=True, return_counts=True)
    if count.max() == 1:
        return noise
    if noise == "none":
        where = int(np.flatnonzero(count[np.ravel(place)] > 1)[0])
        raise ConfigError(
            f"Data of {of} must have no repeated rows of inputs when noise is 'none', got row {where} "
            f"{count.max()} times; set noise to 'learned' or leave the repetitions out."
        )
    return "learned"
