"""A measured record, and the same record from a model: values in one order, and the column that each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.campaign.model import Evaluable
from mor.data.trajectory import Trajectory
from mor.sampling.space import ParameterSpace
from mor.uncertainty.evaluation import as_rows
from rt_runtime.checks import Array, positive
from rt_runtime.errors import ConfigError

_OF = "calibrate"


@dataclass(frozen=True, eq=False)
class MeasuredRecord:
    """values (n,), column after column; column: (n,) the number of each; names of the columns, "" for a bare array."""

    values: Array
    column: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def sigma_names(self) -> tuple[str, ...]:
        """Names of the standard deviations of the measurement error: sigma, with several columns sigma_NAME."""
        return ("sigma",) if len(self.names) == 1 else tuple(f"sigma_{name}" for name in self.names)

    def largest(self) -> Array:
        """Return the largest magnitude of each column."""
        return np.array([np.abs(self.values[self.column == k]).max() for k in range(len(self.names))])

    def misfits(self, y: Array) -> Array:
        """Return the sums of squared differences (rows, columns) of records y (rows, n)."""
        squares = (y - self.values) ** 2
        return np.column_stack([squares[:, self.column == k].sum(axis=1) for k in range(len(self.names))])

    def sigmas(self, given: float | Mapping[str, float] | None) -> Array | None:
        """Return the given standard deviations (columns,), None where they are unknown."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            if set(given) != set(self.names):
                raise ConfigError(
                    f"sigma of {_OF} must have one number for each column ({', '.join(self.names)}), got "
                    f"{', '.join(given) or 'none'}."
                )
            return np.array([positive(given[name], f"sigma {name}", _OF) for name in self.names])
        if len(self.names) > 1:
            raise ConfigError(
                f"sigma of {_OF} must be one number for each column, such as {{'{self.names[0]}': 0.1, ...}}, got "
                f"{given!r}."
            )
        return np.array([positive(given, "sigma", _OF)])


def as_record(measured: ArrayLike | Trajectory) -> MeasuredRecord:
    """Return an array or a Trajectory as a record; refuse what says nothing of a model."""
    if isinstance(measured, Trajectory):
        names, d = measured.names, measured.values.T
    else:
        names, d = ("",), np.asarray(measured, dtype=np.float64)
        if d.ndim != 1:
            raise ConfigError(
                f"measured of {_OF} must be a Trajectory or a row of at least two finite numbers, got shape {d.shape}."
            )
        d = d[None, :]
    for name, values in zip(names, d, strict=True):
        column = f"column '{name}' of measured" if name else "measured"
        if values.size < 2 or not np.isfinite(values).all():
            raise ConfigError(
                f"{column} of {_OF} must be a record of at least two finite numbers, got {values.size} numbers"
                f"{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        if np.ptp(values) == 0.0:
            raise ConfigError(
                f"{column} of {_OF} must vary, got {values[0]:g} in every row: it says nothing of the model."
            )
    return MeasuredRecord(np.ascontiguousarray(d).ravel(), np.repeat(np.arange(len(names)), d.shape[1]), names)


def record_of(
    model: object, measured: ArrayLike | Trajectory, record: MeasuredRecord, prior: ParameterSpace
) -> Callable[[Array], Array]:
    """Return f(theta (rows, parameters)) -> (rows, values): the record that a model predicts."""
    if isinstance(measured, Trajectory) and isinstance(model, Evaluable) and not getattr(model, "outputs", ()):
        model = _Sampled(model, measured, prior)
    rows = as_rows(model, prior, _OF)

    def checked(theta: Array) -> Array:
        y = rows(theta)
        if y.shape[1] != len(record.values):
            raise ConfigError(
                f"model of {_OF} must return the {len(record.values)} values of the measured record, got {y.shape[1]}."
            )
        return y

    return checked


class _Sampled:
    """Trajectories of a full-order model at the times of a record, linear in between."""

    def __init__(self, model: Evaluable, measured: Trajectory, prior: ParameterSpace) -> None:
        self.model, self.measured, self.names = model, measured, prior.names

    def __call__(self, theta: Array) -> Array:
        return np.stack([self._one(dict(zip(self.names, row.tolist(), strict=True))) for row in theta])

    def _one(self, parameters: Mapping[str, float]) -> Array:
        run, of = self.model.evaluate(parameters), self.measured
        if not isinstance(run, Trajectory):
            raise ConfigError(
                f"model of {_OF} must return a Trajectory beside a measured one, got {type(run).__name__}."
            )
        units = dict(zip(run.names, run.units, strict=True))
        for name, unit in zip(of.names, of.units, strict=True):
            if units.get(name) != unit:
                raise ConfigError(
                    f"Column '{name}' [{unit}] of measured of {_OF} must be one of the model's, in the same unit: "
                    f"{', '.join(f'{n} [{u}]' for n, u in units.items())}."
                )
        if of.time[0] < run.time[0] - 1e-9 or of.time[-1] > run.time[-1] + 1e-9:
            raise ConfigError(
                f"time of measured of {_OF} must lie inside the run of the model, {run.time[0]:g} to {run.time[-1]:g} "
                f"s, got {of.time[0]:g} to {of.time[-1]:g} s."
            )
        return np.concatenate([np.interp(of.time, run.time, run[name]) for name in of.names])
