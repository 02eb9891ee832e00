"""Which surrogate for these data: all kinds compared by cross-validation, in one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.base import ReducedModel
from mor.reduced.fit_data import check_fit_data, space_of
from mor.reduced.kriging.fit import fit_kriging
from mor.reduced.kriging.pck import fit_pck
from mor.reduced.pce.fit import fit_pce
from mor.sampling.space import ParameterSpace, text_table
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

Fit = Callable[[Dataset, ParameterSpace], ReducedModel]
FITS: dict[str, Fit] = {"pce": fit_pce, "kriging": fit_kriging, "pck": fit_pck}


@dataclass(frozen=True, eq=False)
class Comparison:
    """The winner, fitted to all rows, and what each kind achieved.

    errors: {kind: (outputs,)} mean squared error of rows left out, relative to the variance. seconds: of one fit.

    Parameters
    ----------
    model
        The winner.
    """

    model: ReducedModel
    kind: str
    errors: Mapping[str, Array]
    seconds: Mapping[str, float]
    outputs: tuple[str, ...]

    def summary(self) -> str:
        """Return the table as text, best first."""
        order = sorted(self.errors, key=lambda kind: float(np.mean(self.errors[kind])))
        rows = [
            (kind + (" *" if kind == self.kind else ""), *(f"{e:.2e}" for e in self.errors[kind]),
             f"{self.seconds[kind]:.2f}")
            for kind in order
        ]  # fmt: skip
        return text_table(("model", *(f"error of {name}" for name in self.outputs), "fit [s]"), rows)


def fit_best(
    data: Dataset,
    space: ParameterSpace | None = None,
    *,
    kinds: Sequence[str] | None = None,
    folds: int = 5,
    others: Mapping[str, Fit] | None = None,
    seed: int = 0,
) -> Comparison:
    """Fit every kind of surrogate, compare them by cross-validation and return the best.

    Parameters
    ----------
    data, space
        Rows, and the laws of their inputs (by default those that the data record).
    kinds : sequence of str, optional
        Of "pce", "kriging", "pck" and the names of `others`; all by default.
    folds : int
        The rows are split into so many parts, each predicted by models fitted to the others.
    others : mapping, optional
        Further fits {name: fit(data, space) -> model}, such as a network by `training.fit_ffnn`.
    seed : int
        Seed of the split.
    """
    space = space_of(data, space, "fit_best")
    whole(folds, "folds", "fit_best", 2)
    fits = FITS | dict(others or {})
    wanted = tuple(fits) if kinds is None else tuple(kinds)
    unknown = [kind for kind in wanted if kind not in fits]
    if unknown or not wanted:
        raise ConfigError(f"kinds of fit_best must be of {', '.join(fits)}, got {', '.join(unknown) or 'none'}.")
    if len(data) < 2 * folds:
        raise ConfigError(f"Data of fit_best must have at least {2 * folds} rows for {folds} folds, got {len(data)}.")
    fold = np.random.default_rng(seed).permutation(len(data)) % folds
    spread = np.where(np.ptp(data.Y, axis=0) > 0.0, np.var(data.Y, axis=0), 1.0)
    errors: dict[str, Array] = {}
    seconds: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit of the best to all rows says it once
        check_fit_data(data, space, "fit_best", dependent=True)
        for kind in wanted:
            residual = np.empty_like(data.Y)
            start = time.process_time()
            for f in range(folds):
                out = fold == f
                residual[out] = fits[kind](data.take(~out), space).predict(data.X[out]) - data.Y[out]
            seconds[kind] = (time.process_time() - start) / folds
            errors[kind] = np.mean(residual**2, axis=0) / spread
    best = min(errors, key=lambda kind: float(np.mean(errors[kind])))
    return Comparison(fits[best](data, space), best, errors, seconds, tuple(p.name for p in data.outputs))
