"""The search for lengths, interaction weights, nugget and kernel of a Gaussian process.

The criterion has many local minima, and one evaluation costs N^3. So the search begins on at most `_FEW` rows: values
at Sobol' points, then L-BFGS from the best of them for each kernel; the most promising are refined on all rows. All
kernels share rows and trend, so their criteria can be compared, and the smallest wins. (On test functions other than
those of the benchmarks it chose as well as or better than the leave-one-out error, which is noisy for few rows.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from mor.reduced.kriging.kernels import Pairs
from mor.reduced.kriging.likelihood import Objective, Solved
from rt_runtime.checks import Array

SHORTEST = 0.02  # lengths relative to the standard deviation of an input
LONGEST = (2000.0, 200.0, 50.0, 15.0, 5.0)  # tried in turn while rounding is too large
LEAST_NOISE, MOST_NOISE = 1e-8, 10.0  # learned nugget relative to the variance of the process
FLOOR = 1e-16  # nugget per row without noise: about what a Cholesky factorisation needs
_FEW = 100
_STARTS = 32
_NEAR = 5.0  # candidates within this log-likelihood of the best are refined on all rows
_LOGIT = 9.0
_QUIET = 1e-6  # a learned nugget below this is no noise
_CALM, _CALMEST = 1.05, 1e-11  # growth of the leave-one-out error that a larger nugget may cost, and its limit
_GAIN = 1.0  # log-likelihood that a nugget must gain to be believed


@dataclass
class Candidate:
    """A kernel with its parameters, as far as the search has got."""

    objective: Objective
    p: Array
    value: float = np.inf

    @property
    def solved(self) -> Solved | None:
        """Factors at the parameters."""
        return self.objective.solve(self.p)

    @property
    def loo(self) -> float:
        """Mean squared leave-one-out residual, infinite where the matrix has no factors."""
        solved = self.solved
        if solved is None:
            return np.inf
        return float(np.mean((solved.dual() / np.diag(solved.projector())) ** 2))


@dataclass
class Problem:
    """Rows to fit: Z (N, inputs) of unit spread, trend F (N, P), standardised y, relative noise of the rows."""

    Z: Array
    F: Array
    y: Array
    spread: Array
    criterion: str = "likelihood"
    longest: float = LONGEST[0]

    def take(self, rows: Array | slice) -> Problem:
        """Return some of the rows."""
        return replace(self, Z=self.Z[rows], F=self.F[rows], y=self.y[rows], spread=self.spread[rows])

    def objective(self, kernel: str, weighted: bool, learned: bool, pairs: Pairs) -> Objective:
        """Make the objective of one kernel; noise is `learned` or as small as the factorisation allows."""
        n = self.y.size
        return Objective(
            kernel, pairs, self.F, self.y, weighted, FLOOR * n, learned, self.spread, self.criterion, self.longest
        )


def bounds(objective: Objective) -> list[tuple[float, float]]:
    """Return the limits of the parameters."""
    length = (float(np.log(SHORTEST)), float(np.log(objective.longest)))
    found = [length] * objective.inputs
    if objective.weighted:
        found += [(-_LOGIT, _LOGIT)] * objective.inputs
    return found + ([(float(np.log(LEAST_NOISE)), float(np.log(MOST_NOISE)))] if objective.learned else [])


def starts(objective: Objective, count: int, seed: int) -> Array:
    """Return Sobol' points (count, parameters) of the range where lengths, weights and nuggets usually lie."""
    from scipy.stats import qmc

    n = objective.inputs
    u = qmc.Sobol(objective.parameters, seed=seed).random(count)
    low = np.full(objective.parameters, np.log(0.3))
    high = np.full(objective.parameters, np.log(min(30.0, objective.longest)))
    if objective.weighted:
        low[n : 2 * n], high[n : 2 * n] = -3.0, 3.0
    if objective.learned:
        low[-1], high[-1] = np.log(1e-6), np.log(0.3)
    points: Array = low + (high - low) * u
    return points


def refine(objective: Objective, p: Array, iterations: int) -> Candidate:
    """Go downhill from p by L-BFGS."""
    limits = bounds(objective)
    found = minimize(
        objective, np.clip(p, *np.transpose(limits)), jac=True, method="L-BFGS-B", bounds=limits,
        options={"maxiter": iterations, "ftol": 1e-7, "maxcor": 15},
    )  # fmt: skip
    return Candidate(objective, found.x, float(found.fun))


def best_of(objective: Objective, points: Sequence[Array] | Array, refined: int, iterations: int) -> Candidate:
    """Refine the best few of the given points and return the best result."""
    values = np.array([objective.value(p) for p in points])
    order = np.argsort(values, kind="stable")[:refined]
    return min((refine(objective, points[i], iterations) for i in order), key=lambda c: c.value)


def carried(p: Array, source: Objective, target: Objective, logit: float = 0.0) -> Array:
    """Translate parameters of one objective into another's: same lengths, weights and nugget where both have them."""
    n = target.inputs
    parts = [p[:n]]
    if target.weighted:
        parts.append(p[n : 2 * n] if source.weighted else np.full(n, logit))
    if target.learned:
        parts.append(p[-1:] if source.learned else np.log([1e-6]))
    return np.concatenate(parts)


def search(problem: Problem, kernels: Sequence[tuple[str, bool]], noise: str, *, seed: int = 0) -> list[Candidate]:
    """Return the most promising candidates refined on all rows, best first; empty when no matrix has factors.

    kernels: (family, weighted) pairs to compare; noise: "none", "learned" or "auto".
    """
    n = problem.y.size
    few = problem
    if n > 1.2 * _FEW and 3 * problem.F.shape[1] < _FEW:
        few = problem.take(np.sort(np.random.default_rng(seed).permutation(n)[:_FEW]))
    pairs = Pairs.of(few.Z)
    found = _scan(few, pairs, kernels, noise != "none", seed)
    if noise == "auto":
        best = found[0]
        if best.objective.split(best.p)[2] < _QUIET:
            found = [_without_noise(few, pairs, c) for c in found]
        else:
            silent = _scan(few, pairs, kernels, False, seed)
            if silent and silent[0].value < best.value + _GAIN:
                found = silent
    if few is not problem:
        pairs = Pairs.of(problem.Z)
        found = [
            refine(problem.objective(c.objective.kernel, c.objective.weighted, c.objective.learned, pairs), c.p, 25)
            for c in found
        ]
    return sorted((calmed(c) for c in found if np.isfinite(c.loo)), key=lambda c: c.value)


def search_calm(
    problem: Problem, kernels: Sequence[tuple[str, bool]], noise: str, rounding: float, *, seed: int = 0
) -> list[Candidate]:
    """Search with shorter and shorter longest lengths until the rounding of a prediction is small enough; best first.

    The error of all of them decides: a larger nugget and shorter lengths both cost accuracy, and which costs less
    depends on the function.
    """
    good: list[Candidate] = []
    for longest in LONGEST:
        found = [calmed(c, rounding) for c in search(replace(problem, longest=longest), kernels, noise, seed=seed)]
        new = [c for c in found if _rounding(c) <= rounding]
        if new and good and min(c.loo for c in new) > min(c.loo for c in good):
            break
        good += new
    return sorted(good, key=lambda c: c.loo)


def _rounding(c: Candidate) -> float:
    """Rounding of a prediction for y of unit spread."""
    solved = c.solved
    return np.inf if solved is None else 1e-16 * float(np.abs(solved.dual()).sum())


def calmed(c: Candidate, rounding: float | None = None) -> Candidate:
    """Return the candidate with a nugget as large as costs no accuracy, and large enough for smooth predictions.

    A matrix at the edge of singularity gives duals q so large that a prediction is the difference of huge numbers: its
    rounding, about 1e-16 sum |q|, must stay ten times below the leave-one-out error, or below `rounding`. Noise-free
    fits only.
    """
    if c.objective.learned:
        return c
    allowed = _CALM * c.loo
    while c.objective.nugget < (_CALMEST if rounding is None else 1e-3):
        rough = _rounding(c) > (0.1 * np.sqrt(c.loo) if rounding is None else rounding)
        more = Candidate(replace(c.objective, nugget=10.0 * c.objective.nugget), c.p, c.value)
        if not (rough or more.loo <= allowed):
            break
        c = more
    return c


def _without_noise(problem: Problem, pairs: Pairs, c: Candidate) -> Candidate:
    objective = problem.objective(c.objective.kernel, c.objective.weighted, False, pairs)
    return refine(objective, carried(c.p, c.objective, objective), 25)


def _scan(
    problem: Problem, pairs: Pairs, kernels: Sequence[tuple[str, bool]], learned: bool, seed: int
) -> list[Candidate]:
    """Search for the parameters of each kernel, from its own starts and from what the first has found; best first.

    At most two come back: those whose likelihood is near the best.
    """
    plain = problem.objective(kernels[0][0], False, learned, pairs)
    guess = best_of(plain, starts(plain, _STARTS, seed), 2, 15)
    found: list[Candidate] = []
    for kernel, weighted in kernels:
        objective = problem.objective(kernel, weighted, learned, pairs)
        carry = [carried(guess.p, guess.objective, objective, logit) for logit in ((0.0, -2.0) if weighted else (0.0,))]
        carry += [carried(c.p, c.objective, objective) for c in found if c.objective.weighted == weighted]
        smooth = kernel in ("gaussian", "matern52") or len(kernels) < 3
        own = list(starts(objective, _STARTS // 2, seed + 1)) if smooth else []
        found.append(best_of(objective, [*carry, *own], 2 if smooth else 1, 50 if smooth else 12))
    found.sort(key=lambda c: c.value)
    return [c for c in found if c.value <= found[0].value + _NEAR][:2]
