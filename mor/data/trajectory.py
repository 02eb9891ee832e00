"""The result of one simulation: time plus named columns with units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mor.data.netcdf import Variable, read_netcdf, write_netcdf
from mor.data.ports import Port, as_ports
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.histories import draw_histories
from rt_runtime.summary import Summarised, Summary, min_max_last

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Summarised):
    """Named columns over time.

    time: (n,) in s, increasing. values: (n, m), one column per port. ports: names with units; {name: unit} will do.
    """

    time: Array
    values: Array
    ports: tuple[Port, ...] = field()

    def __init__(
        self, time: npt.ArrayLike, values: npt.ArrayLike, ports: Mapping[str, str] | Iterable[Port | str]
    ) -> None:
        t = np.asarray(time, dtype=float)
        y = np.asarray(values, dtype=float)
        y = y[:, None] if y.ndim == 1 else y
        columns = as_ports(ports, "Trajectory")
        if t.ndim != 1 or y.shape != (t.size, len(columns)):
            raise ConfigError(
                f"values of Trajectory must have shape ({t.size}, {len(columns)}) for its time and columns "
                f"({', '.join(p.name for p in columns)}), got {y.shape}."
            )
        if "time" in [p.name for p in columns]:
            raise ConfigError("Column 'time' of Trajectory is its time axis; give the column another name.")
        if t.size > 1 and not (np.diff(t) > 0).all():
            raise ConfigError("time of Trajectory must increase from row to row; sort it and drop repeated times.")
        for name, value in (("time", t), ("values", y), ("ports", columns)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.time.size

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "no time"
        rows = [(p.name, p.unit, *min_max_last(column)) for p, column in zip(self.ports, self.values.T, strict=True)]
        return Summary(f"Trajectory of {len(self)} rows, {span}", ("column", "unit", "min", "max", "last"), rows)

    def plot(self, *names: str) -> Figure:
        """Draw the named columns (default: all) over time, one panel for each unit; returns a matplotlib figure."""
        columns = [(port.name, port.unit) for port in self.ports]
        return draw_histories(self.time, self.values, columns, names, "a trajectory")

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(f"Trajectory has no column '{name}'; it has {', '.join(self.names)}.")
        return self.values[:, self.names.index(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in order."""
        return tuple(port.name for port in self.ports)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the columns in order."""
        return tuple(port.unit for port in self.ports)

    def select(self, names: Iterable[str]) -> Trajectory:
        """Return the named columns alone, in the given order."""
        names = list(names)
        units = dict(zip(self.names, self.units, strict=True))
        columns = [self[name] for name in names]
        return Trajectory(self.time, np.column_stack(columns), {name: units[name] for name in names})

    def to_xarray(self) -> xarray.Dataset:
        """Return one variable per column over the dimension time, units as attributes."""
        import xarray

        data = {p.name: ("time", self.values[:, i], {"units": p.unit}) for i, p in enumerate(self.ports)}
        return xarray.Dataset(data, {"time": ("time", self.time, {"units": "s"})})

    def save(self, path: str | Path) -> None:
        """Write a netCDF file."""
        columns: dict[str, Variable] = {"time": (("time",), self.time, {"units": "s"})}
        for i, port in enumerate(self.ports):
            columns[port.name] = (("time",), self.values[:, i], {"units": port.unit})
        write_netcdf(path, columns, {})

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read a netCDF file written by `save`."""
        columns, _ = read_netcdf(path)
        time = columns.pop("time", None)
        if time is None or any(dimensions != ("time",) for dimensions, _, _ in columns.values()):
            raise ConfigError(f"{path} must hold columns over time; write it with Trajectory.save.")
        if any(values.shape != time[1].shape for _, values, _ in columns.values()) or time[1].ndim != 1:
            raise ConfigError(f"Columns of {path} must be as long as time; the file is damaged, write it again.")
        values = [values for _, values, _ in columns.values()]
        ports = {name: texts.get("units", "") for name, (_, _, texts) in columns.items()}
        return cls(time[1], np.column_stack(values) if values else np.empty((len(time[1]), 0)), ports)
