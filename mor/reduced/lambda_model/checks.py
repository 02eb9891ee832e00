"""Can these responses come from this emulator? A likelihood test over all rows, and one of the repeated points.

With u_i = F(y_i | x_i), which is uniform and independent of x where the emulator is right, the score test of the
density f exp(sum theta_jk psi_j(x) phi_k(u)) against f (Neyman 1937) asks whether any of

    w_jk = sqrt(N) mean(psi_j(x) phi_k(u)),     psi_j: 1 and the inputs, standardised; phi_k: Legendre polynomials

is too large for a normal variable. Points that were repeated are tested one by one (Kolmogorov, Smirnov). Both
p-values are those of the largest of m statistics, 1 - (1 - p)^m. An emulator that was fitted to the same rows comes
out a little better than it is, never worse: what is refused here is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.lambda_model.emulator import StochasticEmulator
from rt_runtime.checks import Array

LEVEL = 0.01
"""A p-value below it is told."""
_ORDERS = 8
_REPEATS = 5  # runs at one point that make a test of it


@dataclass(frozen=True)
class OutputCheck:
    """Tests of one output: p-values, where the largest misfit lies, and how many rows lie outside the support.

    repetition is None where no point has five runs or more.
    """

    output: str
    likelihood: float
    where: str
    order: int
    repetition: float | None
    points: int
    outside: int

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against the emulator."""
        return not self.outside and self.likelihood >= LEVEL and (self.repetition is None or self.repetition >= LEVEL)


@dataclass(frozen=True)
class EmulatorCheck:
    """Tests of all outputs of an emulator."""

    outputs: tuple[OutputCheck, ...]
    kind: str = "glam"

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against the emulator."""
        return all(one.fits for one in self.outputs)

    def sentences(self) -> list[str]:
        """Say for each output that does not fit what is wrong, and what to do."""
        advice = "fit_spce can follow such a law" if self.kind == "glam" else "give it a higher degree or more rows"
        told = []
        for one in self.outputs:
            if one.outside:
                told.append(
                    f"Output '{one.output}' has {one.outside} rows outside the support of the emulator: they are "
                    f"impossible under it; {advice}."
                )
            elif one.likelihood < LEVEL:
                shape = "with several peaks or another shape" if one.order > 2 else "of another location or scale"
                told.append(
                    f"Output '{one.output}' does not follow the emulator (likelihood test p = {one.likelihood:.1e}, "
                    f"{one.where}): the law of the rows is one {shape}; {advice}."
                )
            elif one.repetition is not None and one.repetition < LEVEL:
                told.append(
                    f"Output '{one.output}' does not follow the emulator at a repeated point (Kolmogorov-Smirnov test "
                    f"of {one.points} points, p = {one.repetition:.1e}); {advice}."
                )
        return told

    def plain(self) -> list[dict[str, Any]]:
        """Return the tests of each output as plain values."""
        return [
            {"likelihood_p": one.likelihood, "repetition_p": one.repetition, "repeated_points": one.points,
             "outside": one.outside, "fits": one.fits}
            for one in self.outputs
        ]  # fmt: skip


def check_emulator(model: StochasticEmulator, data: Dataset) -> EmulatorCheck:
    """Test whether the rows of `data` can come from a stochastic emulator.

    Parameters
    ----------
    model : Glam or Spce
        The emulator.
    data : Dataset
        Rows, new ones or those of the fit; repeated points are tested on their own as well.
    """
    U, level = model.cdf(data.X, data.Y), model._log_density(data.X, data.Y)
    _, point, count = np.unique(data.X, axis=0, return_inverse=True, return_counts=True)
    groups = [np.flatnonzero(np.ravel(point) == k) for k in np.flatnonzero(count >= _REPEATS)]
    names = [p.name for p in data.inputs]
    found = []
    for o, port in enumerate(data.outputs):
        outside = int(np.count_nonzero(~np.isfinite(level[:, o])))
        p, j, order = _smooth(data.X, np.clip(U[:, o], 0.0, 1.0))
        where = "at all points" if j == 0 else f"along {names[j - 1]}"
        found.append(OutputCheck(port.name, p, where, order, _repetition(U[:, o], groups), len(groups), outside))
    return EmulatorCheck(tuple(found), model.kind)


def _smooth(X: Array, u: Array) -> tuple[float, int, int]:
    """Return the p-value of the largest w_jk, and its j and k."""
    from scipy.special import eval_legendre, log_ndtr

    spread = X.std(axis=0)
    Z = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)])
    phi = np.column_stack([np.sqrt(2.0 * k + 1.0) * eval_legendre(k, 2.0 * u - 1.0) for k in range(1, _ORDERS + 1)])
    w = np.abs(Z.T @ phi) / np.sqrt(len(u))
    j, k = np.unravel_index(int(np.argmax(w)), w.shape)
    single = 2.0 * np.exp(log_ndtr(-w[j, k]))
    return float(-np.expm1(w.size * np.log1p(-min(single, 1.0 - 1e-16)))), int(j), int(k) + 1


def _repetition(u: Array, groups: list[np.ndarray[Any, Any]]) -> float | None:
    """Return the p-value of the worst of the repeated points, None without any."""
    if not groups:
        return None
    from scipy.stats import kstest

    worst = min(float(kstest(u[rows], "uniform").pvalue) for rows in groups)
    return float(-np.expm1(len(groups) * np.log1p(-min(worst, 1.0 - 1e-16))))
