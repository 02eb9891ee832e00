"""Any model as a function of rows: a callable, a reduced model, a model of a campaign."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mor.campaign.model import Evaluable
from mor.reduced.base import ReducedModel
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

Rows = Callable[[Array], Array]


def as_rows(model: object, space: ParameterSpace, of: str) -> Rows:
    """Return model as f(X (n, inputs)) -> (n, outputs), physical units; results are checked.

    A reduced model is evaluated by `predict`; a campaign model (an `Evaluable`, such as a full-order model with its
    quantities of interest) row by row with named parameters; any other callable with all rows at once.
    """
    if isinstance(model, ReducedModel):
        if tuple(p.name for p in model.inputs) != space.names:
            raise ConfigError(
                f"Inputs of the model of {of} must be those of the space ({', '.join(space.names)}), in that order, "
                f"got {', '.join(p.name for p in model.inputs)}."
            )
        evaluate: Rows = model.predict
    elif isinstance(model, Evaluable):
        evaluate = _one_by_one(model, space, of)
    elif callable(model):
        evaluate = model
    else:
        raise ConfigError(f"model of {of} must be callable, a reduced model or a campaign model, got {model!r}.")

    def rows(X: Array) -> Array:
        Y = np.asarray(evaluate(X), dtype=np.float64)
        if Y.ndim == 1:
            Y = Y[:, None]
        if Y.ndim != 2 or len(Y) != len(X):
            raise ConfigError(
                f"model of {of} must return one row a sample, shape ({len(X)},) or ({len(X)}, outputs), got {Y.shape}."
            )
        if not np.isfinite(Y).all():
            bad = int(np.flatnonzero(~np.isfinite(Y).all(axis=1))[0])
            point = ", ".join(f"{name} = {x:g}" for name, x in zip(space.names, X[bad], strict=True))
            raise ConfigError(f"model of {of} must return finite numbers, got {Y[bad]} at {point}.")
        return Y

    return rows


def _one_by_one(model: Evaluable, space: ParameterSpace, of: str) -> Rows:
    names = [p.name for p in getattr(model, "outputs", ())]
    if not names:
        raise ConfigError(
            f"model of {of} must have outputs that are numbers; wrap '{model.name}' in a QuantityModel that reduces "
            "its trajectory to quantities of interest."
        )

    def evaluate(X: Array) -> Array:
        Y = np.empty((len(X), len(names)))
        for row, x in zip(Y, X, strict=True):
            result = model.evaluate(dict(zip(space.names, x.tolist(), strict=True)))
            row[:] = [float(result[name]) for name in names]  # type: ignore[arg-type]
        return Y

    return evaluate
