"""Fit a polynomial chaos expansion: solver, degree and truncation chosen by the corrected leave-one-out error."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mor.dataset import Dataset
from mor.gate import Gate
from mor.pce import TINY, Pce
from mor.polynomials import Ints, index_set, matrix, recurrence_table, standard_map, values
from mor.reduced import Array
from mor.smooth import DECAYS, smooth
from mor.space import ParameterSpace
from mor.sparse import lar, ols, omp
from rt_runtime.checks import one_of, whole
from rt_runtime.errors import ConfigError

METHODS = ("auto", "ols", "omp", "lar", "smooth")

_LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 24, 28, 33, 40)
_UNBOUNDED = 12  # highest degree tried in a variable without bounds: its polynomials explode in the tails
_Q = (1.0, 0.75, 0.5)
_PATIENCE = 2  # degrees without a smaller error before a truncation is given up
_ENOUGH = 1e-16  # relative error at which nothing better is looked for
_TAIL = 1e-4  # an unbounded side of the domain ends at this quantile


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
    space: ParameterSpace,
    *,
    method: str = "auto",
    degree: int | Sequence[int] | None = None,
    q: float | Sequence[float] | None = None,
    interaction: int | None = None,
    gate: Gate | None = None,
) -> Pce:
    """Fit an expansion to all outputs of `data`, whose inputs follow the laws of `space`.

    method: "ols" (all terms, QR), "omp" (greedy), "lar" (hybrid least-angle regression), "smooth" (Gaussian prior of
    learned decay), or "auto": all of them. degree, q: one value or several to choose from, None for as high as the
    error falls. interaction: how many inputs a term may join. Solver, degree and q are chosen for each output by the
    corrected leave-one-out error; no other data is looked at. gate: makes the outputs vanish with one input; then the
    expansion is fitted to the rows where the gate is open.
    """
    one_of(method, "method", "fit_pce", METHODS)
    degrees = None if degree is None else _several(degree)
    qs = _Q if q is None else tuple(float(v) for v in (q if isinstance(q, Sequence) else [q]))
    if interaction is not None:
        whole(interaction, "interaction", "fit_pce", 1)
    if method == "smooth" and not (degree is None and q is None and interaction is None):
        raise ConfigError(
            "degree, q and interaction of fit_pce must be left out for the method 'smooth': it finds the terms itself."
        )
    if gate is not None:
        gate.check(space.ports, np.array([m.upper for m in space.marginals]))
        data = data.take(gate.open_rows(data.X, data.inputs, "Data of fit_pce", space.dimension + 2))
    _check(data, space)
    from threadpoolctl import threadpool_limits

    # The matrices are small: BLAS threads that wait for each other make a fit slower by far on a busy machine.
    with threadpool_limits(1, user_api="blas"):
        return _fit(_Search(data, space, degrees, qs, interaction), method, gate)


def _fit(search: _Search, method: str, gate: Gate | None) -> Pce:
    if method in ("smooth", "auto") and search.free:
        search.smooth()
    if method == "auto":
        search.scan(("ols", "omp"))
        search.refine()
    elif method != "smooth":
        search.scan((method,))
    found = search.result()
    return found if gate is None else replace(found, gate=gate)


def _several(degree: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(whole(v, "degree", "fit_pce", 1) for v in (degree if isinstance(degree, Sequence) else [degree]))


def _check(data: Dataset, space: ParameterSpace) -> None:
    """Refuse data that cannot give an expansion over `space`; warn where it can but hardly should."""
    names = tuple(p.name for p in data.inputs)
    if names != space.names:
        raise ConfigError(
            f"Inputs of the data of fit_pce must be those of the space ({', '.join(space.names)}), in that order, "
            f"got {', '.join(names)}."
        )
    problems = []
    for port, unit in zip(data.inputs, space.units, strict=True):
        if port.unit != unit:
            problems.append(f"Input '{port.name}' is in '{port.unit}' in the data but in '{unit}' in the space.")
    if not data.outputs:
        problems.append("Data of fit_pce must have at least one output, got none.")
    for ports, table in ((data.inputs, data.X), (data.outputs, data.Y)):
        for port, bad in zip(ports, (~np.isfinite(table)).sum(axis=0), strict=True):
            if bad:
                problems.append(
                    f"Column '{port.name}' of the data of fit_pce must be finite, got {bad} rows with NaN or infinity; "
                    "leave them out."
                )
    least = space.dimension + 2
    if len(data) < least:
        problems.append(f"Data of fit_pce must have at least {least} rows for {len(names)} inputs, got {len(data)}.")
    if problems:
        raise ConfigError.from_problems("Data of fit_pce", problems)
    for i, (port, marginal) in enumerate(zip(data.inputs, space.marginals, strict=True)):
        column = data.X[:, i]
        if np.ptp(column) == 0.0:
            problems.append(
                f"Input '{port.name}' of the data of fit_pce must vary, got {column[0]:g} in every row; leave it out."
            )
        slack = 1e-9 * (marginal.upper - marginal.lower) if np.isfinite(marginal.upper - marginal.lower) else 0.0
        out = int(np.count_nonzero((column < marginal.lower - slack) | (column > marginal.upper + slack)))
        if out:
            problems.append(
                f"Input '{port.name}' of the data of fit_pce must lie in [{marginal.lower:g}, {marginal.upper:g}] as "
                f"in the space, got {out} of {len(data)} rows outside."
            )
    if problems:
        raise ConfigError.from_problems("Data of fit_pce", problems)
    twice = len(data) - len(np.unique(data.X, axis=0))
    if twice:
        warnings.warn(
            f"Data of fit_pce has {twice} repeated rows of inputs: they add little, and the leave-one-out error that "
            "chooses the model becomes too optimistic.",
            stacklevel=3,
        )
    for port, spread in zip(data.outputs, np.ptp(data.Y, axis=0), strict=True):
        if spread == 0.0:
            warnings.warn(f"Output '{port.name}' of the data of fit_pce is constant; so is its model.", stacklevel=3)


class _Search:
    """The search over solvers and truncations for all outputs of one data set."""

    def __init__(
        self,
        data: Dataset,
        space: ParameterSpace,
        degrees: tuple[int, ...] | None,
        qs: tuple[float, ...],
        interaction: int | None,
    ) -> None:
        self.data, self.space, self.given, self.interaction = data, space, degrees, interaction
        self.free = degrees is None and interaction is None  # the smooth solver chooses its own terms
        self.qs = qs if space.dimension > 1 else (1.0,)
        bounded = np.isfinite([m.upper - m.lower for m in space.marginals])
        self.bounded = bounded
        ladder = _LADDER if bounded.all() else tuple(k for k in _LADDER if k <= _UNBOUNDED)
        self.degrees: Iterable[int] = ladder if degrees is None else degrees
        self.largest = min(3 * len(data) + 700, 2000)
        maps = [standard_map(m) for m in space.marginals]
        self.location, self.scale = np.array([m[0] for m in maps]), np.array([m[1] for m in maps])
        self.logarithm = np.array([m[2] for m in maps], dtype=np.int64)
        X = np.where(self.logarithm == 1, np.log(np.where(self.logarithm == 1, np.maximum(data.X, TINY), 1.0)), data.X)
        self.Z = (X - self.location) / self.scale
        self.table = recurrence_table(space.marginals, max(*self.degrees, *self._smooth_degrees()))
        self.psi = values(self.Z, self.table)
        self.mean, self.std = data.Y.mean(axis=0), data.Y.std(axis=0)
        self.varying = np.flatnonzero(np.ptp(data.Y, axis=0) > 0.0)
        self.Y = np.zeros_like(data.Y)
        self.Y[:, self.varying] = (data.Y - self.mean)[:, self.varying] / self.std[self.varying]
        constant = np.zeros((1, space.dimension), dtype=np.int64)
        self.best = [_Best(constant, np.zeros(1)) for _ in data.outputs]

    def _smooth_degrees(self) -> tuple[int, int]:
        """Highest one-variable degrees for the exponential and the algebraic decay."""
        return {1: (30, 40), 2: (30, 40), 3: (18, 24)}.get(self.space.dimension, (12, 20))

    def smooth(self) -> None:
        """Offer the smooth solver, both decays, to every output."""
        for decay, highest in zip(DECAYS, self._smooth_degrees(), strict=True):
            degrees = np.where(self.bounded, highest, 8)
            psi = self.psi[:, : highest + 1]
            for o in self.varying:
                solved = smooth(psi, self.Y[:, o], degrees, decay)
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
            if "degree" in how:
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

    def _solve(
        self, method: str, indices: Ints, outputs: list[int], degree: int, q: float
    ) -> list[tuple[int, float]]:
        """Solve for some outputs on one index set and offer the results; return (output, loo)."""
        A = matrix(self.psi, indices)
        how: dict[str, object] = {"method": method, "degree": degree, "q": q}
        if method == "ols":
            C, loo = ols(A, self.Y[:, outputs])
            for o, c, error in zip(outputs, C.T, loo, strict=True):
                self.best[o].offer(indices, c, float(error), how)
            return list(zip(outputs, loo.tolist(), strict=True))
        found = []
        for o in outputs:
            y, beat = self.Y[:, o], self.best[o].loo
            fit = lar(A, y, beat=beat) if method == "lar" else omp(A, y, beat=beat)
            self.best[o].offer(indices[fit.columns], fit.coefficients, fit.loo, how)
            found.append((o, fit.loo))
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
        domain = [self._domain(i) for i in range(self.space.dimension)]
        return Pce(
            inputs=self.data.inputs,
            outputs=self.data.outputs,
            domain=(np.array([d[0] for d in domain]), np.array([d[1] for d in domain])),
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
                    {"name": p.name, "terms": len(b.indices), **b.how}
                    for p, b in zip(self.data.outputs, self.best, strict=True)
                ],
            },
        )

    def _domain(self, i: int) -> tuple[float, float]:
        marginal, column = self.space.marginals[i], self.data.X[:, i]
        low, high = (float(v) for v in marginal.ppf([_TAIL, 1.0 - _TAIL]))
        low = marginal.lower if np.isfinite(marginal.lower) else min(low, float(column.min()))
        return low, marginal.upper if np.isfinite(marginal.upper) else max(high, float(column.max()))
