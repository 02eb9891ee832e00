"""What every fit does with its data first: checks in words, and the domain of the model."""

from __future__ import annotations

import warnings

import numpy as np

from mor.data.dataset import Dataset
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_TAIL = 1e-4  # an unbounded side of the domain ends at this quantile


def fit_domain(data: Dataset, space: ParameterSpace) -> tuple[Array, Array]:
    """Return the bounds of the inputs: those of the space, and where it has none its far quantiles or the data."""
    lower, upper = np.empty(space.dimension), np.empty(space.dimension)
    for i, (marginal, column) in enumerate(zip(space.marginals, data.X.T, strict=True)):
        low, high = (float(v) for v in marginal.ppf([_TAIL, 1.0 - _TAIL]))
        lower[i] = marginal.lower if np.isfinite(marginal.lower) else min(low, float(column.min()))
        upper[i] = marginal.upper if np.isfinite(marginal.upper) else max(high, float(column.max()))
    return lower, upper


def space_of(data: Dataset, space: ParameterSpace | None, of: str) -> ParameterSpace:
    """Return the given space, or the one that the data record."""
    found = data.space if space is None else space
    if found is None:
        raise ConfigError(
            f"space of {of} must be given, because its data do not record the laws of their inputs: pass "
            "space=ParameterSpace(...), or record it once with Dataset(..., space=...)."
        )
    return found


def check_fit_data(
    data: Dataset, space: ParameterSpace, of: str, *, repeats: bool = False, dependent: bool = False
) -> None:
    """Refuse data that no model over `space` can be fitted to; warn where it can but hardly should.

    Parameters
    ----------
    data, space
        Rows, and the laws of their inputs.
    of : str
        Name of the fit, for the sentences.
    repeats : bool
        Whether the fit makes use of repeated rows; else they are warned about.
    dependent : bool
        Whether the fit can do with inputs that depend on each other.
    """
    if space.copula is not None and not dependent:
        raise ConfigError(
            f"Inputs of the space of {of} must be independent, got a copula: decouple the data first "
            "(mor.uncertainty.decouple), or fit Kriging, which needs no joint law."
        )
    names = tuple(p.name for p in data.inputs)
    if names != space.names:
        raise ConfigError(
            f"Inputs of the data of {of} must be those of the space ({', '.join(space.names)}), in that order, "
            f"got {', '.join(names)}."
        )
    problems = _table_problems(data, space, of) or _range_problems(data, space, of)
    if problems:
        raise ConfigError.from_problems(f"Data of {of}", problems)
    twice = len(data) - len(np.unique(data.X, axis=0))
    if twice and not repeats:
        warnings.warn(
            f"Data of {of} has {twice} repeated rows of inputs: they add little, and the leave-one-out error that "
            "chooses the model becomes too optimistic.",
            stacklevel=3,
        )
    for port, spread in zip(data.outputs, np.ptp(data.Y, axis=0), strict=True):
        if spread == 0.0:
            warnings.warn(f"Output '{port.name}' of the data of {of} is constant; so is its model.", stacklevel=3)


def _table_problems(data: Dataset, space: ParameterSpace, of: str) -> list[str]:
    """Say what is wrong with units, outputs, numbers and their count."""
    problems = [
        f"Input '{port.name}' is in '{port.unit}' in the data but in '{unit}' in the space."
        for port, unit in zip(data.inputs, space.units, strict=True)
        if port.unit != unit
    ]
    if not data.outputs:
        problems.append(f"Data of {of} must have at least one output, got none.")
    for ports, table in ((data.inputs, data.X), (data.outputs, data.Y)):
        for port, bad in zip(ports, (~np.isfinite(table)).sum(axis=0), strict=True):
            if bad:
                problems.append(
                    f"Column '{port.name}' of the data of {of} must be finite, got {bad} rows with NaN or infinity; "
                    "leave them out."
                )
    least = space.dimension + 2
    if len(data) < least:
        problems.append(f"Data of {of} must have at least {least} rows for {space.dimension} inputs, got {len(data)}.")
    return problems


def _range_problems(data: Dataset, space: ParameterSpace, of: str) -> list[str]:
    """Say which inputs do not vary, or leave the range of their law."""
    problems = []
    for port, marginal, column in zip(data.inputs, space.marginals, data.X.T, strict=True):
        if np.ptp(column) == 0.0:
            problems.append(
                f"Input '{port.name}' of the data of {of} must vary, got {column[0]:g} in every row; leave it out."
            )
        slack = 1e-9 * (marginal.upper - marginal.lower) if np.isfinite(marginal.upper - marginal.lower) else 0.0
        out = int(np.count_nonzero((column < marginal.lower - slack) | (column > marginal.upper + slack)))
        if out:
            problems.append(
                f"Input '{port.name}' of the data of {of} must lie in [{marginal.lower:g}, {marginal.upper:g}] as "
                f"in the space, got {out} of {len(data)} rows outside."
            )
    return problems
