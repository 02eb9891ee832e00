"""Fit a generalized lambda model: terms and coefficients of its four expansions from rows without replications."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.fit_data import check_fit_data, fit_domain, space_of
from mor.reduced.lambda_model.checks import check_emulator
from mor.reduced.lambda_model.distribution import SMALLEST_SHAPE
from mor.reduced.lambda_model.likelihood import Found, Problem
from mor.reduced.lambda_model.model import Glam, lambda_ports
from mor.reduced.lambda_model.selection import CRITERIA, Price, select
from mor.reduced.pce.basis import Ints, index_set, matrix, recurrence_table, standard_maps, standardise, values
from mor.reduced.pce.model import Pce
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError

DEGREES = (5, 3, 1, 1)
_LARGEST = 1000  # candidates of one expansion
_ROWS = 4  # least number of rows for each coefficient of a constant model: 16 rows


def fit_glam(
    data: Dataset,
    space: ParameterSpace | None = None,
    *,
    criterion: str = "ebic",
    degrees: Sequence[int] = DEGREES,
    check: bool = True,
) -> Glam:
    """Fit the law of each output at every point, as a lambda distribution whose parameters are expansions.

    Parameters
    ----------
    data : Dataset
        Rows of a stochastic model. No point need be repeated; repeated points are used, for the fit and for its test.
    space : ParameterSpace, optional
        Laws of the inputs; by default those that the data record.
    criterion : str
        What judges how many terms there are: "ebic" (extended BIC), "bic" or "aic".
    degrees : four whole numbers
        Highest degrees of l1, ln l2, l3 and l4; 0 makes a parameter constant.
    check : bool
        Test whether the rows can come from the model, and warn where they cannot (`check_emulator`).

    Returns
    -------
    Glam
        Finished; `fit` tells terms, likelihood and tests of each output.
    """
    space = space_of(data, space, "fit_glam")
    one_of(criterion, "criterion", "fit_glam", CRITERIA)
    if isinstance(degrees, int | str) or len(degrees) != 4:
        raise ConfigError(f"degrees of fit_glam must be four whole numbers, for l1, ln l2, l3 and l4, got {degrees!r}.")
    highest = [whole(d, "degrees", "fit_glam", 0) for d in degrees]
    check_rows(data, space, "fit_glam")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        candidates = [_candidates(space.dimension, d) for d in highest]
        maps = standard_maps(space.marginals)
        table = recurrence_table(space.marginals, max(1, *highest))
        psi = values(standardise(data.X, *maps), table)
        matrices = [matrix(psi, indices) for indices in candidates]
        found = [
            _fit_output(matrices, candidates, y, criterion, p.name) for p, y in zip(data.outputs, data.Y.T, strict=True)
        ]
    price = Price(criterion, len(data), candidates)
    union, coefficients = _joined(found, candidates, data.Y)
    used = max(1, int(union.max()))
    outputs = lambda_ports(data.outputs)
    facts = [
        {
            "name": p.name,
            "terms": [len(c) for c in one.columns],
            "log_likelihood": one.level - len(data) * float(np.log(y.std())),
            "criterion": price.criterion(one) + 2.0 * len(data) * float(np.log(y.std())),
        }
        for p, one, y in zip(data.outputs, found, data.Y.T, strict=True)
    ]
    expansion = Pce(
        data.inputs, outputs, fit_domain(data, space), *maps, table[:, :used], union, coefficients,
        np.zeros(len(outputs)), {"rows": len(data), "of": "lambda model"},
    )  # fmt: skip
    model = Glam(data.outputs, expansion, {"rows": len(data), "criterion": criterion, "outputs": facts})
    _warn_of_shapes(model, data)
    return _tested(model, data) if check else model


def refit_glam(model: Glam, data: Dataset) -> Glam:
    """Fit the coefficients of a model to other rows, its terms kept: for the bootstrap.

    Parameters
    ----------
    model : Glam
        Whose terms are kept, and whose coefficients are the start.
    data : Dataset
        Rows with the inputs and outputs of the model.
    """
    expansion = model.expansion
    psi = values(standardise(data.X, expansion.location, expansion.scale, expansion.logarithm), expansion.recurrence)
    order = np.argsort(expansion.indices.any(axis=1), kind="stable")  # the constant first, as the problem wants it
    A, C = matrix(psi, expansion.indices[order]), expansion.coefficients[order].copy()
    for o, y in enumerate(data.Y.T):
        c = C[:, 4 * o : 4 * o + 4]
        m, s = float(y.mean()), float(y.std())
        columns = [np.flatnonzero((c[:, k] != 0.0) | (np.arange(len(c)) == 0)) for k in range(4)]
        start = [c[column, k].copy() for k, column in enumerate(columns)]
        start[0] = (start[0] - np.where(columns[0] == 0, m, 0.0)) / s
        start[1] = start[1] + np.where(columns[1] == 0, np.log(s), 0.0)
        problem = Problem([A] * 4, (y - m) / s)
        found = problem.maximise(columns, problem.inside(columns, start))
        if found is None:
            raise ConfigError(f"Output '{data.outputs[o].name}' cannot be refitted: rows lie outside the support.")
        for k, (column, b) in enumerate(zip(columns, found.coefficients, strict=True)):
            c[column, k] = _physical(k, column, b, m, s)
    back = np.empty_like(C)
    back[order] = C
    return Glam(model.outputs, replace(expansion, coefficients=back), model.fit)


def check_rows(data: Dataset, space: ParameterSpace, of: str) -> None:
    """Refuse data that no stochastic emulator can be fitted to: too few rows, a constant response."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_fit_data(data, space, of, repeats=True, dependent=True)
    problems = []
    least = max(4 * _ROWS, 2 * (space.dimension + 5))
    if len(data) < least:
        problems.append(
            f"Data of {of} must have at least {least} rows for {space.dimension} inputs (two for each coefficient of "
            f"the smallest model that knows them all), got {len(data)}; run more."
        )
    for port, y in zip(data.outputs, data.Y.T, strict=True):
        if np.ptp(y) <= 1e-12 * np.abs(y).max():
            problems.append(
                f"Output '{port.name}' of the data of {of} must vary, got {y[0]:g} in every row; a constant response "
                "has no law to fit, leave it out."
            )
    if problems:
        raise ConfigError.from_problems(f"Data of {of}", problems)


def _candidates(dimension: int, degree: int) -> Ints:
    if degree == 0:
        return np.zeros((1, dimension), dtype=np.int64)
    for q in (1.0, 0.75, 0.5, 0.4):
        indices = index_set(dimension, degree, q=q)
        if len(indices) <= _LARGEST:
            break
    return indices[:_LARGEST]


def _fit_output(matrices: Sequence[Array], indices: Sequence[Ints], y: Array, criterion: str, name: str) -> Found:
    problem = Problem(matrices, (y - y.mean()) / y.std())
    found = select(problem, indices, criterion)
    if found is None:
        raise ConfigError(
            f"Output '{name}' of fit_glam has no lambda distribution around all its rows; look for outliers, or use "
            "fit_spce."
        )
    if 2 * found.terms > len(y):
        raise ConfigError(
            f"Data of fit_glam must have two rows for each of the {found.terms} terms found for output '{name}', got "
            f"{len(y)}; run more, or give lower degrees."
        )
    return found


def _physical(k: int, columns: Ints, c: Array, mean: float, std: float) -> Array:
    """Return coefficients of row k in units of the response, from those of the standardised one."""
    constant = columns == 0
    if k == 0:
        return np.asarray(c * std + np.where(constant, mean, 0.0))
    return c - np.where(constant, np.log(std), 0.0) if k == 1 else c


def _joined(found: Sequence[Found], candidates: Sequence[Ints], Y: Array) -> tuple[Ints, Array]:
    """Return the union of all terms and the coefficients (terms, 4 outputs) over it."""
    rows = [indices[c] for one in found for indices, c in zip(candidates, one.columns, strict=True)]
    union = np.unique(np.vstack(rows), axis=0)
    place = {row.tobytes(): n for n, row in enumerate(union)}
    coefficients = np.zeros((len(union), 4 * len(found)))
    for o, (one, y) in enumerate(zip(found, Y.T, strict=True)):
        for k, (columns, c) in enumerate(zip(one.columns, one.coefficients, strict=True)):
            at = [place[row.tobytes()] for row in candidates[k][columns]]
            coefficients[at, 4 * o + k] = _physical(k, columns, c, float(y.mean()), float(y.std()))
    return union, coefficients


def _warn_of_shapes(model: Glam, data: Dataset) -> None:
    for port, L in zip(data.outputs, model.lambdas(data.X), strict=True):
        share = float(np.mean(L[:, 2:].min(axis=1) <= SMALLEST_SHAPE))
        if share:
            warnings.warn(
                f"Output '{port.name}' of fit_glam has an infinite variance at {share:.0%} of the rows (a shape of "
                f"{SMALLEST_SHAPE:g} or less): use quantiles, not mean and std, or give degrees (5, 3, 0, 0).",
                stacklevel=3,
            )


def _tested(model: Glam, data: Dataset) -> Glam:
    tests = check_emulator(model, data)
    for sentence in tests.sentences():
        warnings.warn(sentence, stacklevel=3)
    facts = [{**one, **test} for one, test in zip(model.fit["outputs"], tests.plain(), strict=True)]
    return Glam(model.outputs, model.expansion, {**model.fit, "outputs": facts})
