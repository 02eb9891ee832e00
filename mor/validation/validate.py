"""How good a reduced model is and what it costs: errors of one signal, cross-validation, one table for a model."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.base import ReducedModel
from mor.reduced.history import split_runs
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError
from rt_runtime.summary import Summarised, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOG = logging.getLogger("mor")

Fitter = Callable[[Dataset], ReducedModel]


def _pair(y: ArrayLike, reference: ArrayLike, what: str) -> tuple[Array, Array]:
    a, b = np.asarray(y, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if a.shape != b.shape or a.size == 0 or a.size != max(a.shape, default=0):
        raise ConfigError(
            f"y and reference of {what} must be one signal each and of one length, got shapes {a.shape} and {b.shape}."
        )
    a, b = a.ravel(), b.ravel()
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ConfigError(f"y and reference of {what} must be finite, got NaN or infinity.")
    return a, b


def nrmse(y: ArrayLike, reference: ArrayLike) -> float:
    """Return sqrt(sum (y - r)^2 / sum r^2) of one signal y against its reference r, as a fraction."""
    a, b = _pair(y, reference, "nrmse")
    size = float(np.sum(b**2))
    if size == 0.0:
        raise ConfigError("reference of nrmse must not be zero throughout: its size is what the error is divided by.")
    return float(np.sqrt(np.sum((a - b) ** 2) / size))


def peak_error(y: ArrayLike, reference: ArrayLike) -> float:
    """Return max |y - r| / max |r| of one signal y against its reference r, as a fraction."""
    a, b = _pair(y, reference, "peak_error")
    size = float(np.max(np.abs(b)))
    if size == 0.0:
        raise ConfigError("reference of peak_error must not be zero throughout: its peak is what is divided by.")
    return float(np.max(np.abs(a - b)) / size)


def r2(y: ArrayLike, reference: ArrayLike) -> float:
    """Return 1 - mean (y - r)^2 / Var[r] of one signal y against its reference r."""
    a, b = _pair(y, reference, "r2")
    spread = float(np.var(b))
    if spread == 0.0:
        raise ConfigError("reference of r2 must vary: its variance is what the error is divided by.")
    return 1.0 - float(np.mean((a - b) ** 2)) / spread


def error_variance(y: ArrayLike, reference: ArrayLike) -> float:
    """Return eps = Var[y - r] / Var[r] of one signal y against its reference r."""
    a, b = _pair(y, reference, "error_variance")
    spread = float(np.var(b))
    if spread == 0.0:
        raise ConfigError("reference of error_variance must vary: its variance is what the error's is divided by.")
    return float(np.var(a - b)) / spread


def k_fold(fit: Fitter, data: Dataset, *, folds: int = 5, seed: int) -> Array:
    """Fit on all folds but one and predict that one; return mean square error over variance of each output (outputs,).

    Rows are dealt to folds by `seed`; whole runs where `data` has runs. folds = len(data) leaves out one at a time.

    Parameters
    ----------
    fit
        Function of a dataset that returns a fitted model.
    """
    units = np.arange(len(data)) if data.run is None else np.unique(data.run)
    owner = np.arange(len(data)) if data.run is None else data.run
    if not 2 <= whole(folds, "folds", "k_fold", 2) <= len(units):
        raise ConfigError(f"folds of k_fold must lie between 2 and the {len(units)} rows or runs, got {folds}.")
    fold_of = np.empty(len(units), dtype=np.int64)
    fold_of[np.random.default_rng(seed).permutation(len(units))] = np.arange(len(units)) % folds
    wrong = np.zeros(len(data.outputs))
    for f in range(folds):
        out = np.isin(owner, units[fold_of == f])
        model = fit(data.take(~out))
        held = data.take(out)
        wrong += np.sum((_answers(model, held)[:, : len(data.outputs)] - held.Y) ** 2, axis=0)
    spread: Array = np.var(data.Y, axis=0)
    return wrong / len(data) / spread


def _answers(model: ReducedModel, data: Dataset) -> Array:
    """Return what a model says to `data`: free runs of one with memory, else row by row."""
    runs = split_runs(data) if model.states else [data]
    return np.concatenate([model.everything(run.X) for run in runs])


def learning_curve(
    fit: Fitter, draw: Callable[[int, int], Dataset], test: Dataset, sizes: Sequence[int], *, seeds: Sequence[int]
) -> dict[str, Array]:
    """Fit designs of growing size and judge each on `test`: {"size": (n,), output: (n, seeds) nrmse}.

    draw(n, seed) gives a training set of n rows.

    Parameters
    ----------
    fit
        Function of a dataset that returns a fitted model.
    sizes
        Numbers of rows.
    """
    errors = {p.name: np.empty((len(sizes), len(seeds))) for p in test.outputs}
    for i, n in enumerate(sizes):
        for j, seed in enumerate(seeds):
            Y = fit(draw(n, seed)).predict(test.X)
            for o, port in enumerate(test.outputs):
                errors[port.name][i, j] = nrmse(Y[:, o], test.Y[:, o])
    return {"size": np.asarray(sizes, dtype=np.float64), **errors}


@dataclass(frozen=True, repr=False)
class Validation(Summarised):
    """What `validate` found.

    errors: one row of plain values per output. cost: of the model. notes: sentences about what to doubt. judged: the
    model and the data, for `plot`.
    """

    errors: list[dict[str, Any]]
    cost: dict[str, Any]
    notes: tuple[str, ...] = ()
    judged: tuple[ReducedModel, Dataset] | None = None

    def __repr__(self) -> str:
        return str(self)

    def _tables(self) -> tuple[Summary, Summary]:
        head = ("output", "unit", *[key for key in self.errors[0] if key not in ("output", "unit")])
        rows = [tuple(_cell(key, row[key]) for key in head) for row in self.errors]
        cost = [(key, f"{value:.4g}") for key, value in self.cost.items()]
        return Summary("Errors", head, rows), Summary("Cost", ("cost", "value"), cost, self.notes)

    def __str__(self) -> str:
        return "\n\n".join(table.text().split("\n", 1)[1] for table in self._tables())

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._tables())

    def plot(self) -> Figure:
        """Draw the model beside the data: predicted over measured, or a free run; returns a matplotlib figure."""
        from mor.validation.pictures import judged

        if self.judged is None:
            raise ConfigError("Validation.plot needs the result of validate, got one without model and data.")
        return judged(*self.judged)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {"errors": self.errors, "cost": self.cost}

    def worst(self, key: str = "nrmse") -> float:
        """Return the largest value of an error over the outputs."""
        return float(max(row[key] for row in self.errors))


def validate(model: ReducedModel, data: Dataset, *, against: Any = None, training: Dataset | None = None) -> Validation:
    """Judge a model on data it has not seen: errors of each output, and what an evaluation costs.

    A static model is asked row by row of `data`. A model with memory gets trajectories (`data.inputs` its signals, one
    `run` each, from rest): `one_step_nrmse` with the true past, `nrmse`, `eps` = Var(e) / Var(y), `peak` and `r2` in
    free run. against: the full-order model to compare the time with: a function of the rows, or a substructure that
    simulates the runs. training: what the model was fitted to; rows in both are noted, the errors would be too small.
    """
    _check(model.inputs, data.inputs, "inputs")
    names, given = [p.name for p in model.every_output], [p.name for p in data.outputs]
    if not model.states and (missing := [name for name in names if name not in given]):
        raise ConfigError(
            f"Data of validate must have the outputs {', '.join(names)} of the model, missing {', '.join(missing)}."
        )
    if not data.outputs or (unknown := [name for name in given if name not in names]):
        raise ConfigError(
            f"Outputs of the data of validate must be those of the model ({', '.join(names)}), "
            f"got {', '.join(unknown) if data.outputs else 'none'}."
        )
    shared = 0 if training is None else shared_rows(training, data)
    at = [names.index(name) for name in given]
    outside = model.outside(data.X)
    Y = _answers(model, data)[:, at]
    one_step = None
    if model.states:
        one_step = np.concatenate([model.one_step(run.X, run.Y, names=given) for run in split_runs(data)])
    errors = []
    for i, port in enumerate(data.outputs):
        row: dict[str, Any] = {"output": port.name, "unit": port.unit}
        if one_step is not None:
            row["one_step_nrmse"] = nrmse(one_step[:, i], data.Y[:, i])
        row |= {
            "nrmse": nrmse(Y[:, i], data.Y[:, i]),
            "eps": error_variance(Y[:, i], data.Y[:, i]),
            "peak": peak_error(Y[:, i], data.Y[:, i]),
            "r2": r2(Y[:, i], data.Y[:, i]),
            "rows": len(data),
            "outside": int(outside.sum()),
        }
        errors.append(row)
    notes: tuple[str, ...] = ()
    if shared:
        notes = (
            f"Data of validate shares {shared} of its {len(data)} rows with the training data; errors on them say "
            "nothing about new points.",
        )
        _LOG.warning(notes[0])
    return Validation(errors, _cost(model, data, against), notes, (model, data))


def _check(want: Sequence[Any], got: Sequence[Any], side: str) -> None:
    if tuple(want) != tuple(got):
        raise ConfigError(
            f"Data of validate must have the {side} {_names(want)} of the model, in that order and unit, "
            f"got {_names(got)}."
        )


def _names(ports: Sequence[Any]) -> str:
    return ", ".join(f"{p.name} [{p.unit}]" for p in ports)


def shared_rows(training: Dataset, data: Dataset) -> int:
    """Return how many rows of `data` repeat rows of the training data.

    A row alone repeats when its inputs are the same. In runs, where signals pass the same values again and again, at
    rest above all, a row repeats when its inputs and outputs and those one row before are the same, and they move.
    """
    if training.X.shape[1] != data.X.shape[1]:
        return 0
    if data.run is None or training.run is None or training.Y.shape[1] != data.Y.shape[1]:
        seen = {row.tobytes() for row in np.ascontiguousarray(training.X)}
        return sum(row.tobytes() in seen for row in np.ascontiguousarray(data.X))
    return int(np.isin(_moves(data), _moves(training)).sum())


def _moves(data: Dataset) -> Array:
    """Return one number for each pair of successive rows of a run that differ: equal pairs give equal numbers."""
    rows = np.hstack([data.X, data.Y])
    assert data.run is not None
    moving = (data.run[1:] == data.run[:-1]) & np.any(data.X[1:] != data.X[:-1], axis=1)
    pairs = np.hstack([rows[:-1], rows[1:]])[moving]
    weights = np.random.default_rng(1).uniform(1.0, 2.0, pairs.shape[1])
    mixed: Array = np.zeros(len(pairs))
    for column, weight in zip(pairs.T, weights, strict=True):  # in this order for both: the same bits
        mixed += weight * column
    return mixed


def _cell(key: str, value: Any) -> str:
    """Return a value of the table; a coefficient of determination near 1 as its distance from 1."""
    if key == "r2" and 0.999 < value < 1.0:
        return f"1 - {1.0 - value:.1g}".replace("e-0", "e-")
    return value if isinstance(value, str) else f"{value:.4g}"


def _cost(model: ReducedModel, data: Dataset, against: Any) -> dict[str, Any]:
    """Count and time one evaluation, many rows, and the full-order model beside them."""
    cost: dict[str, Any] = {
        "multiply_adds": model.cost,
        "bytes": int(sum(a.nbytes for a in model.arrays().values())),
    }
    runs = split_runs(data)
    if model.states:
        own = _best_of(lambda: [model.rollout(run.X) for run in runs])
        cost["time_per_step_us"] = 1e6 * own / len(data)
    else:
        one = data.X[:1]
        cost["time_per_call_us"] = 1e6 * _best_of(lambda: [model.predict(one) for _ in range(100)]) / 100
        own = _best_of(lambda: model.predict(data.X))
        cost["time_per_row_us"] = 1e6 * own / len(data)
    if against is not None:
        if hasattr(against, "simulate"):
            dt = model.dt or 1.0
            began = time.perf_counter()
            for run in runs:
                against.simulate(run.X, dt=dt)
            full = time.perf_counter() - began
        else:
            full = _best_of(lambda: against(data.X), repeats=1)
        cost["full_order_time_per_row_us"] = 1e6 * full / len(data)
        cost["speed_up"] = full / own
    return cost


def _best_of(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest time of a few in seconds: others on the machine only ever add to it."""
    times = []
    for _ in range(repeats + 1):  # the first one may compile
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times[1:])
