"""Fit a polynomial chaos expansion: solver, degree and truncation chosen by the corrected leave-one-out error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.fit_data import check_fit_data, fit_domain, space_of
from mor.reduced.pce.basis import Ints, index_set, matrix, recurrence_table, standard_maps, standardise, values
from mor.reduced.pce.gaussian_prior import DECAYS, learn_priors, smooth
from mor.reduced.pce.model import Pce
from mor.reduced.pce.sparse import Products, lar, lar_error, lar_order, ols, omp
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, finite_array, one_of, whole
from rt_runtime.errors import ConfigError

METHODS = ("auto", "ols", "omp", "lar", "smooth")

_LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 24, 28, 33, 40)
_UNBOUNDED = 12  # highest degree tried in a variable without bounds: its polynomials explode in the tails
_Q = (1.0, 0.75, 0.5)
_PATIENCE = 2  # degrees without a smaller error before a truncation is given up
_ENOUGH = 1e-16  # relative error at which nothing better is looked for


@dataclass
class _Best:
    """The best expansion so far of one output."""

    indices: Ints
    coefficients: Array
    loo: float = np.inf
    how: dict[str, object] = field(default_factory=dict)

    def offer(self, indices: Ints, coefficients: Array, loo: float, how: dict[str, object]) -> bool:
        """Take an expansion if its leave-one-out error is smaller; tell whether it was."""
        if not loo < self.loo:
            return False
        self.indices, self.coefficients, self.loo, self.how = indices, coefficients, loo, how
        return True


def fit_pce(
    data: Dataset,
    space: ParameterSpace | None = None,
    *,
    method: str = "auto",
    degree: int | Sequence[int] | None = None,
    q: float | Sequence[float] | None = None,
    interaction: int | None = None,
    weights: ArrayLike | None = None,
) -> Pce:
    """Fit an expansion to all outputs of `data`, whose inputs follow the laws of `space`.

    space: what the data record, if left out. method: "ols" (all terms, QR), "omp" (greedy), "lar" (hybrid least-angle
    regression), "smooth" (Gaussian prior of learned decay), or "auto": all of them. degree, q: one value or several to
    choose from, None for as high as the error falls. interaction: how many inputs a term may join. Solver, degree and q
    are chosen for each output by the corrected leave-one-out error; no other data is looked at. weights: (rows,)
    precision of each row, noise variance proportional to 1 / weights; not for "lar".
    """
    space = space_of(data, space, "fit_pce")
    one_of(method, "method", "fit_pce", METHODS)
    degrees = None if degree is None else _several(degree)
    qs = _Q if q is None else tuple(float(v) for v in (q if isinstance(q, Sequence) else [q]))
    if interaction is not None:
        whole(interaction, "interaction", "fit_pce", 1)
    if method == "smooth" and not (degree is None and q is None and interaction is None):
        raise ConfigError(
            "degree, q and interaction of fit_pce must be left out for the method 'smooth': it finds the terms itself."
        )
    precision = None if weights is None else _precision(weights, len(data), method)
    check_fit_data(data, space, "fit_pce", repeats=weights is not None)
    from threadpoolctl import threadpool_limits

    # The matrices are small: BLAS threads that wait for each other make a fit slower by far on a busy machine.
    with threadpool_limits(1, user_api="blas"):
        return _fit(_Search(data, space, degrees, qs, interaction, precision), method)


def _fit(search: _Search, method: str) -> Pce:
    if method in ("smooth", "auto") and search.free:
        search.smooth()
    if method == "auto":
        search.scan(("ols", "omp"))
        search.refine()
    elif method != "smooth":
        search.scan((method,))
    return search.result()


def _precision(weights: ArrayLike, rows: int, method: str) -> Array:
    """Return checked weights."""
    given = finite_array(weights, "weights", "fit_pce", (rows,))
    if not np.all(given > 0.0):
        raise ConfigError(f"weights of fit_pce must be positive, got {given.min():g}.")
    if method == "lar":
        raise ConfigError("weights of fit_pce are for the methods 'auto', 'ols', 'omp' and 'smooth', got 'lar'.")
    return given


def _several(degree: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(whole(v, "degree", "fit_pce", 1) for v in (degree if isinstance(degree, Sequence) else [degree]))


def term_order(
    data: Dataset, space: ParameterSpace, *, room: int, whole: bool, count: int = 1
) -> list[list[tuple[Ints, Ints]]]:
    """Return for each output the multi-indices in the order in which least-angle regression takes them in, and all.

    Degree and truncation are those whose path has the smallest leave-one-out error, without the folds of `fit_pce`: the
    Kriging model chooses among the terms again; the orders of the `count` best truncations come back, best first.
    whole: the path goes on to `room` terms, else it ends where rows left out are predicted best. The constant comes
    first. All: the truncation that the terms were picked from.
    """
    search = _Search(data, space, None, _Q, None)
    constant = np.zeros((1, space.dimension), dtype=np.int64)
    orders = [[(constant, constant)] for _ in data.outputs]
    for o in search.varying.tolist():
        y = search.Y[:, o]
        tried: list[tuple[float, Ints]] = []
        for q in search.qs:
            lowest, waited = np.inf, 0
            for degree in search.degrees:
                indices = search._indices(degree, q)
                if len(indices) > search.largest or waited >= _PATIENCE:
                    break
                loo = lar_error(matrix(search.psi, indices), y, room)
                waited = 0 if loo < lowest else waited + 1
                lowest = min(loo, lowest)
                tried.append((loo, indices))
        found: dict[bytes, tuple[Ints, Ints]] = {}
        for _, chosen in sorted(tried, key=lambda one: one[0]):
            A = matrix(search.psi, chosen)
            order = chosen[lar_order(A, y, room) if whole else lar(A, y).columns]
            found.setdefault(order.tobytes(), (order, chosen))
            if len(found) == count:
                break
        orders[o] = list(found.values()) or [(constant, constant)]
    return orders


class _Search:
    """The search over solvers and truncations for all outputs of one data set."""

    def __init__(
        self,
        data: Dataset,
        space: ParameterSpace,
        degrees: tuple[int, ...] | None,
        qs: tuple[float, ...],
        interaction: int | None,
        precision: Array | None = None,
    ) -> None:
        self.data, self.space, self.given, self.interaction = data, space, degrees, interaction
        self.free = degrees is None and interaction is None  # the smooth solver chooses its own terms
        self.qs = qs if space.dimension > 1 else (1.0,)
        bounded = np.isfinite([m.upper - m.lower for m in space.marginals])
        self.bounded = bounded
        ladder = _LADDER if bounded.all() else tuple(k for k in _LADDER if k <= _UNBOUNDED)
        self.degrees: Iterable[int] = ladder if degrees is None else degrees
        self.largest = min(3 * len(data) + 700, 2000)
        self.location, self.scale, self.logarithm = standard_maps(space.marginals)
        self.Z = standardise(data.X, self.location, self.scale, self.logarithm)
        self.table = recurrence_table(space.marginals, max(*self.degrees, *self._smooth_degrees()))
        self.psi = values(self.Z, self.table)
        weight = np.ones(len(data)) if precision is None else precision
        self.spread = weight.mean() / weight / np.mean(weight.mean() / weight)
        self.root = None if precision is None else np.sqrt(weight / weight.mean())  # rows are scaled by it
        self.mean, self.std = np.average(data.Y, axis=0, weights=weight), data.Y.std(axis=0)
        self.varying = np.flatnonzero(np.ptp(data.Y, axis=0) > 0.0)
        self.Y = np.zeros_like(data.Y)
        self.Y[:, self.varying] = (data.Y - self.mean)[:, self.varying] / self.std[self.varying]
        constant = np.zeros((1, space.dimension), dtype=np.int64)
        self.best = [_Best(constant, np.zeros(1)) for _ in data.outputs]
        self.taken: set[bytes] = set()  # multi-indices that matching pursuit took in last

    def _smooth_degrees(self) -> tuple[int, int]:
        """Highest one-variable degrees for the exponential and the algebraic decay."""
        return {1: (30, 40), 2: (30, 40), 3: (18, 24)}.get(self.space.dimension, (12, 20))

    def smooth(self) -> None:
        """Offer the smooth solver to every output: each decay alone, or where both find noise their average."""
        for o in self.varying:
            y, learned = self.Y[:, o], {}
            for decay, highest in zip(DECAYS, self._smooth_degrees(), strict=True):
                degrees = np.where(self.bounded, highest, 8)
                learned[decay] = learn_priors(self.psi[:, : highest + 1], y, degrees, decay, self.spread)
            if all(len(priors) > 1 for priors in learned.values()):
                learned = {"average": [prior for priors in learned.values() for prior in priors]}
            for decay, priors in learned.items():
                solved = smooth(self.psi, y, priors, self.spread)
                if solved is not None:
                    indices, fit = solved
                    how: dict[str, object] = {"method": "smooth", "decay": decay}
                    self.best[o].offer(indices[fit.columns], fit.coefficients, fit.loo, how)

    def scan(self, methods: tuple[str, ...]) -> None:
        """Offer the sparse solvers, for each q up the degrees until the error has stopped falling."""
        for method in methods:
            for q in self.qs:
                lowest = dict.fromkeys(self.varying.tolist(), np.inf)
                waited = dict.fromkeys(self.varying.tolist(), 0)
                for degree in self.degrees:
                    indices = self._indices(degree, q)
                    if not self._affordable(method, len(indices), degree, alone=len(methods) == 1):
                        if self.given is None:
                            break
                        continue
                    active = [
                        o
                        for o in self.varying.tolist()
                        if (waited[o] < _PATIENCE and self.best[o].loo > _ENOUGH) or self.given is not None
                    ]
                    if not active:
                        break
                    for o, loo in self._solve(method, indices, active, degree, q):
                        waited[o] = 0 if loo < lowest[o] else waited[o] + 1
                        lowest[o] = min(loo, lowest[o])

    def refine(self) -> None:
        """Offer least-angle regression at the truncation that was best for each output."""
        for o in self.varying.tolist():
            how = self.best[o].how
            if "degree" in how and self.root is None:
                degree, q = int(str(how["degree"])), float(str(how["q"]))
                self._solve("lar", self._indices(degree, q), [o], degree, q)

    def _indices(self, degree: int, q: float) -> Ints:
        return index_set(self.space.dimension, degree, q=q, interaction=self.interaction)

    def _affordable(self, method: str, terms: int, degree: int, *, alone: bool) -> bool:
        if method == "ols":
            if self.given is not None and terms >= len(self.data):
                if not alone:
                    return False
                raise ConfigError(
                    f"Data of fit_pce must have more than {terms} rows for ordinary least squares of degree {degree}, "
                    f"got {len(self.data)}; use fewer terms (degree, q, interaction) or the method 'omp' or 'lar'."
                )
            return self.given is not None or terms <= 0.75 * len(self.data)
        return self.given is not None or terms <= self.largest

    def _solve(self, method: str, indices: Ints, outputs: list[int], degree: int, q: float) -> list[tuple[int, float]]:
        """Solve for some outputs on one index set and offer the results; return (output, loo)."""
        A, Y = matrix(self.psi, indices), self.Y
        if self.root is not None:
            A, Y = A * self.root[:, None], Y * self.root[:, None]
        how: dict[str, object] = {"method": method, "degree": degree, "q": q}
        if method == "ols":
            C, loo = ols(A, Y[:, outputs])
            for o, c, error in zip(outputs, C.T, loo, strict=True):
                self.best[o].offer(indices, c, float(error), how)
            return list(zip(outputs, loo.tolist(), strict=True))
        found = []
        products = None
        if method == "omp":
            rows = [row.tobytes() for row in indices]
            products = Products(A, [n for n, row in enumerate(rows) if row in self.taken])
        for o in outputs:
            y, beat = Y[:, o], self.best[o].loo
            fit = lar(A, y, beat=beat) if method == "lar" else omp(A, y, beat=beat, products=products)
            self.best[o].offer(indices[fit.columns], fit.coefficients, fit.loo, how)
            found.append((o, fit.loo))
        if products is not None:
            self.taken = {rows[n] for n in products.taken}
        return found

    def result(self) -> Pce:
        """Join the best expansions of all outputs over the union of their terms."""
        constant = np.zeros((1, self.space.dimension), dtype=np.int64)
        union = np.unique(np.vstack([constant, *[b.indices for b in self.best]]), axis=0)
        coefficients = np.zeros((len(union), len(self.best)))
        for o, best in enumerate(self.best):
            _, place = np.unique(np.vstack([union, best.indices]), axis=0, return_inverse=True)
            coefficients[np.ravel(place)[len(union) :], o] = best.coefficients * self.std[o]
            coefficients[0, o] += self.mean[o]
        degree = max(1, int(union.max()))
        return Pce(
            inputs=self.data.inputs,
            outputs=self.data.outputs,
            domain=fit_domain(self.data, self.space),
            location=self.location,
            scale=self.scale,
            logarithm=self.logarithm,
            recurrence=self.table[:, :degree],
            indices=union,
            coefficients=coefficients,
            loo=np.array([0.0 if o not in self.varying else b.loo for o, b in enumerate(self.best)]),
            fit={
                "rows": len(self.data),
                "outputs": [
                    {"name": p.name, "terms": len(b.indices), "noise_std": self._unexplained(o), **b.how}
                    for o, (p, b) in enumerate(zip(self.data.outputs, self.best, strict=True))
                ],
            },
        )

    def _unexplained(self, o: int) -> float:
        """Standard deviation of what the expansion of output o leaves, in its units: noise at mean weight."""
        best = self.best[o]
        residual = self.Y[:, o] - matrix(self.psi, best.indices) @ best.coefficients
        residual = residual if self.root is None else residual * self.root
        freedom = max(len(residual) - len(best.coefficients), 1)
        return float(np.sqrt(residual @ residual / freedom) * self.std[o])
