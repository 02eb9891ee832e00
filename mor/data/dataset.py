"""Rows to fit models on: inputs X, outputs Y, names and units."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mor.data.netcdf import Variable, read_netcdf, write_netcdf
from mor.data.ports import Port, as_ports
from mor.data.scatter import draw_scatter
from mor.data.trajectory import Trajectory
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.files import reading, write_file
from rt_runtime.summary import Summarised, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mor.sampling.space import ParameterSpace

IntArray = npt.NDArray[np.int64]
Ports = Mapping[str, str] | Iterable[Port | str]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Dataset(Summarised):
    """Inputs and outputs, a row per sample or per instant.

    X: (n, inputs). Y: (n, outputs). inputs, outputs: names with units; {name: unit} will do; all names differ.
    run: (n,) whole numbers that say which run (trajectory) a row belongs to; None when every row stands for itself.
    dt: the time in s from row to row of a run, where it is known. space: the laws of the inputs, where known (a
    campaign records them); fits take it from here.
    """

    X: Array
    Y: Array
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    run: IntArray | None
    dt: float | None
    space: ParameterSpace | None

    def __init__(
        self,
        X: npt.ArrayLike,
        Y: npt.ArrayLike,
        inputs: Ports,
        outputs: Ports,
        *,
        run: npt.ArrayLike | None = None,
        dt: float | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        columns = as_ports(inputs, "inputs of Dataset"), as_ports(outputs, "outputs of Dataset")
        as_ports([*columns[0], *columns[1]], "inputs and outputs of Dataset")
        if "run" in [port.name for port in (*columns[0], *columns[1])]:
            raise ConfigError("Column 'run' of Dataset is the index of the run; give the column another name.")
        arrays = []
        for name, value, ports in (("X", X, columns[0]), ("Y", Y, columns[1])):
            array = np.asarray(value, dtype=float)
            array = array[:, None] if array.ndim == 1 else array
            if array.ndim != 2 or array.shape[1] != len(ports):
                raise ConfigError(
                    f"{name} of Dataset must have {len(ports)} columns ({', '.join(p.name for p in ports)}), "
                    f"got shape {array.shape}."
                )
            arrays.append(array)
        if len(arrays[0]) != len(arrays[1]):
            raise ConfigError(
                f"X and Y of Dataset must have the same number of rows, got {len(arrays[0])} and {len(arrays[1])}."
            )
        index = None if run is None else np.asarray(run, dtype=np.int64)
        if index is not None and index.shape != (len(arrays[0]),):
            raise ConfigError(f"run of Dataset must have shape ({len(arrays[0])},), got {index.shape}.")
        if dt is not None and not (np.isfinite(dt) and dt > 0.0):
            raise ConfigError(f"dt of Dataset must be positive, got {dt!r} s.")
        if space is not None and space.names != tuple(port.name for port in columns[0]):
            raise ConfigError(
                f"space of Dataset must have the parameters {', '.join(port.name for port in columns[0])}, in that "
                f"order, got {', '.join(space.names)}."
            )
        for port, own in zip(columns[0], () if space is None else space.ports, strict=False):
            if port.unit and own.unit and port.unit != own.unit:
                raise ConfigError(
                    f"Input '{port.name}' of Dataset must have the unit of its law in the space, {own.unit}, got "
                    f"{port.unit}; convert the column or the law."
                )
        items = (*arrays, *columns, index, None if dt is None else float(dt), space)
        for name, item in zip(("X", "Y", "inputs", "outputs", "run", "dt", "space"), items, strict=True):
            object.__setattr__(self, name, item)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        runs = "" if self.run is None else f" of {len(np.unique(self.run))} runs"
        step = "" if self.dt is None else f", every {self.dt:g} s"
        rows = []
        for role, ports, values in (("input", self.inputs, self.X), ("output", self.outputs, self.Y)):
            for port, column in zip(ports, values.T, strict=True):
                found = [f"{v:.6g}" for v in (column.min(), column.mean(), column.max())] if len(self) else ["-"] * 3
                rows.append((port.name, role, port.unit, *found))
        return Summary(
            f"Dataset of {len(self)} rows{runs}{step}", ("column", "role", "unit", "min", "mean", "max"), rows
        )

    def plot(self) -> Figure:
        """Draw each output over each input (the first six of them); returns a matplotlib figure."""
        columns = [
            [(port, values[:, i]) for i, port in enumerate(ports)]
            for ports, values in ((self.inputs, self.X), (self.outputs, self.Y))
        ]
        return draw_scatter(*columns) if self.outputs else draw_scatter(columns[0])

    def __getitem__(self, name: str) -> Array:
        for ports, values in ((self.inputs, self.X), (self.outputs, self.Y)):
            for i, port in enumerate(ports):
                if port.name == name:
                    return values[:, i]
        raise KeyError(f"Dataset has no column '{name}'; it has {', '.join(self.names)}.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, inputs first."""
        return tuple(port.name for port in (*self.inputs, *self.outputs))

    def take(self, rows: npt.ArrayLike) -> Dataset:
        """Return some rows (whole numbers or a mask) as a Dataset."""
        rows = np.asarray(rows)
        run = None if self.run is None else self.run[rows]
        places = np.arange(len(self))[rows]
        together = np.diff(places) == 1 if run is None else (np.diff(places) == 1) | (np.diff(run) != 0)
        dt = self.dt if together.all() else None  # rows left out within a run: the step is another one
        return Dataset(self.X[rows], self.Y[rows], self.inputs, self.outputs, run=run, dt=dt, space=self.space)

    def split(self, train: float, valid: float, test: float, *, seed: int) -> tuple[Dataset, Dataset, Dataset]:
        """Split into three by fractions that add up to 1, drawn with `seed`.

        With `run` given, whole runs are drawn: no trajectory is in two parts. Rows keep their order within a part.
        """
        parts = (train, valid, test)
        if min(parts) < 0 or abs(sum(parts) - 1) > 1e-9:
            raise ConfigError(f"Fractions of Dataset.split must be at least 0 and add up to 1, got {parts}.")
        units = np.arange(len(self)) if self.run is None else np.unique(self.run)
        order = np.random.default_rng(seed).permutation(units)
        cuts = [round(train * len(units)), round((train + valid) * len(units))]
        owner = np.arange(len(self)) if self.run is None else self.run
        pieces = np.split(order, cuts)
        empty = [name for name, f, p in zip(("train", "valid", "test"), parts, pieces, strict=True) if f and not len(p)]
        if empty:
            what = "rows" if self.run is None else "runs"
            raise ConfigError(f"Part {empty[0]} of Dataset.split must not be empty, got {len(units)} {what} to split.")
        first, second, third = (self.take(np.isin(owner, piece)) for piece in pieces)
        return first, second, third

    def mirrored(self) -> Dataset:
        """Return the runs and each of them once more with the other sign, for parts that answer alike to both sides."""
        if self.run is None:
            raise ConfigError("A Dataset must hold whole runs to be mirrored; make it by Dataset.from_trajectories.")
        X, Y = (np.vstack([values, -values]) for values in (self.X, self.Y))
        run = np.concatenate([self.run, self.run + self.run.max() + 1])
        return Dataset(X, Y, self.inputs, self.outputs, run=run, dt=self.dt)

    @classmethod
    def from_trajectories(
        cls, trajectories: Sequence[Trajectory], inputs: Sequence[str], outputs: Sequence[str]
    ) -> Dataset:
        """Stack the named columns of trajectories, one run each; units and steps come with them and must agree."""
        if not trajectories:
            raise ConfigError("trajectories of Dataset.from_trajectories must not be empty.")
        first = trajectories[0]
        unit = dict(zip(first.names, first.units, strict=True))
        for i, item in enumerate(trajectories):
            for name in (*inputs, *outputs):
                if name not in item.names or dict(zip(item.names, item.units, strict=True))[name] != unit[name]:
                    raise ConfigError(
                        f"Trajectory {i} must have column '{name}' in {unit.get(name, '?')} as the first one, "
                        f"got {', '.join(f'{p.name} [{p.unit}]' for p in item.ports)}."
                    )
        dt = _common_step(trajectories)
        X = np.concatenate([item.select(inputs).values for item in trajectories])
        Y = np.concatenate([item.select(outputs).values for item in trajectories])
        run = np.repeat(np.arange(len(trajectories)), [len(item) for item in trajectories])
        ports = [{name: unit[name] for name in names} for names in (inputs, outputs)]
        return cls(X, Y, *ports, run=run, dt=dt)

    def save(self, path: str | Path) -> None:
        """Write a netCDF file: one variable per column with its unit and role, readable by MATLAB's ncread."""
        columns: dict[str, Variable] = {}
        for role, ports, values in (("input", self.inputs, self.X), ("output", self.outputs, self.Y)):
            for i, port in enumerate(ports):
                columns[port.name] = (("sample",), values[:, i], {"units": port.unit, "role": role})
        if self.run is not None:
            columns["run"] = (("sample",), self.run, {"units": "", "role": "run"})
        texts = {} if self.dt is None else {"dt": repr(self.dt)}
        write_netcdf(path, columns, texts | ({} if self.space is None else {"space": json.dumps(self.space.to_dict())}))

    @classmethod
    def load(cls, path: str | Path) -> Dataset:
        """Read a netCDF file written by `save`."""
        columns, texts = read_netcdf(path)
        with reading(f"Dataset {path}", "write it with Dataset.save"):
            return cls._from_columns(path, columns, texts)

    @classmethod
    def _from_columns(
        cls, path: str | Path, columns: Mapping[str, Variable], texts_of_file: Mapping[str, str]
    ) -> Dataset:
        names: dict[str, dict[str, str]] = {"input": {}, "output": {}, "run": {}}
        for name, (_, _, texts) in columns.items():
            role = texts.get("role")
            if role not in names:
                raise ConfigError(
                    f"Variable '{name}' of {path} must have the role input or output, got {role!r}; "
                    "write the file with Dataset.save."
                )
            names[role][name] = texts.get("units", "")
        rows = next((len(values) for _, values, _ in columns.values()), 0)
        X, Y = (
            np.column_stack([np.empty((rows, 0)), *(columns[name][1] for name in names[role])])
            for role in ("input", "output")
        )
        run, step = columns["run"][1] if names["run"] else None, texts_of_file.get("dt")
        dt, space = None if step is None else _number(step, path), _space(texts_of_file.get("space"))
        return cls(X, Y, names["input"], names["output"], run=run, dt=dt, space=space)

    def to_csv(self, path: str | Path) -> None:
        """Write a text table: names, roles and units in three header lines, then one row per sample, full precision."""
        ports = [(p, "input") for p in self.inputs] + [(p, "output") for p in self.outputs]
        head = [[p.name for p, _ in ports], [role for _, role in ports], [p.unit for p, _ in ports]]
        values = np.hstack([self.X, self.Y])
        rows: list[list[str]] = [[repr(v) for v in row] for row in values.tolist()]
        if self.run is not None:
            head = [["run", *head[0]], ["run", *head[1]], ["", *head[2]]]
            rows = [[str(r), *row] for r, row in zip(self.run.tolist(), rows, strict=True)]
        write_file(path, "".join(",".join(map(_quoted, row)) + "\n" for row in [*head, *rows]))

    @classmethod
    def from_csv(cls, path: str | Path) -> Dataset:
        """Read a text table written by `to_csv`."""
        with reading(f"Table {path}", "write it with Dataset.to_csv"), open(path, newline="", encoding="utf-8") as file:
            try:
                lines = list(csv.reader(file))
            except csv.Error as error:
                raise ValueError(str(error)) from None
        if len(lines) < 3 or len({len(line) for line in lines}) != 1 or not set(lines[1]) <= {"input", "output", "run"}:
            raise ConfigError(
                f"{path} must start with three lines (names, roles input or output, units) and have the same number "
                "of cells in every line; write it with Dataset.to_csv."
            )
        names, roles, units = lines[:3]
        try:
            values = np.array([[float(cell) for cell in line] for line in lines[3:]]).reshape(-1, len(names))
        except ValueError as error:
            raise ConfigError(f"Every cell of {path} below the units must be a number: {error}.") from None
        at = {role: [i for i, r in enumerate(roles) if r == role] for role in ("input", "output", "run")}
        ports = [{names[i]: units[i] for i in at[role]} for role in ("input", "output")]
        if at["run"] and not (len(at["run"]) == 1 and np.all(np.abs(values[:, at["run"][0]]) < 2**53)):
            raise ConfigError(f"Column run of {path} must hold whole numbers and stand once; write it with to_csv.")
        run = values[:, at["run"][0]].astype(np.int64) if at["run"] else None
        return cls(values[:, at["input"]], values[:, at["output"]], *ports, run=run)


def _common_step(trajectories: Sequence[Trajectory]) -> float | None:
    """Return the step of all trajectories, None where one is not evenly spaced; refuse steps that differ."""
    steps = []
    for item in trajectories:
        gaps = np.diff(item.time)
        if len(gaps) == 0:
            continue
        if np.ptp(gaps) > 1e-6 * gaps.mean():
            return None
        steps.append(float((item.time[-1] - item.time[0]) / len(gaps)))
    for i, step in enumerate(steps):
        if abs(step - steps[0]) > 1e-6 * steps[0]:
            raise ConfigError(
                f"Trajectory {i} must have the step of the first one, {steps[0]:g} s, got {step:g} s; resample it."
            )
    return steps[0] if steps else None


def _space(text: str | None) -> ParameterSpace | None:
    from mor.sampling.space import ParameterSpace

    return None if text is None else ParameterSpace.from_dict(json.loads(text))


def _number(text: str, path: str | Path) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"Attribute 'dt' of {path} must be a number, got {text!r}.") from None


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n') else cell
