"""What a run leaves behind: recorded signals with names and units."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rt_runtime.checks import Floats
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    import xarray

    from rt_runtime.pacing import Timing

FORMAT = "hybrid-mor record 1"


@dataclass(frozen=True)
class Signal:
    """A named number on the bus with its unit and its value before the first tick."""

    name: str
    unit: str = ""
    initial: float = 0.0


@dataclass(frozen=True)
class Record:
    """Recorded signals of one run.

    time (n) in s; values (n, width), one column per signal; `rate` of the loop in Hz; `ticks` that were run;
    `ended` is "finished" or the sentence that says why the run ended early; `timing` says how a paced run kept time
    (it is not saved with the record; a run folder has it in run.json).
    """

    time: Floats
    values: Floats
    signals: tuple[Signal, ...]
    rate: float
    ticks: int
    ended: str = "finished"
    notes: dict[str, str] = field(default_factory=dict)
    timing: Timing | None = None

    def __getitem__(self, name: str) -> Floats:
        """Return the history of one signal, shape (n,)."""
        names = [signal.name for signal in self.signals]
        if name not in names:
            raise ConfigError(f"Signal '{name}' was not recorded; recorded are {', '.join(names) or 'none'}.")
        column: Floats = self.values[:, names.index(name)]
        return column

    def __len__(self) -> int:
        return len(self.time)

    @property
    def data(self) -> xarray.Dataset:
        """The record as an xarray.Dataset: one variable per signal over `time`, units as attributes."""
        import xarray

        variables = {s.name: ("time", self.values[:, i], {"units": s.unit}) for i, s in enumerate(self.signals)}
        attributes = {"format": FORMAT, "rate_hz": self.rate, "ticks": self.ticks, "ended": self.ended}
        notes = {f"note_{key}": value for key, value in self.notes.items()}
        return xarray.Dataset(
            variables, coords={"time": ("time", self.time, {"units": "s"})}, attrs=attributes | notes
        )

    def save(self, path: str | Path) -> Path:
        """Write the record as netCDF; the file appears whole or not at all."""
        path = Path(path)
        if not path.parent.is_dir():
            raise ConfigError(f"Folder of the record must exist, got {path.parent}; make it first.")
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        try:
            self.data.to_netcdf(temporary, engine="h5netcdf")
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    @classmethod
    def load(cls, path: str | Path) -> Record:
        """Read a record that `save` wrote."""
        import xarray

        path = Path(path)
        if not path.is_file():
            raise ConfigError(f"Record file must exist, got {path}.")
        try:
            with xarray.open_dataset(path, engine="h5netcdf", decode_cf=False) as file:
                data = file.load()
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"Record file {path} must be netCDF as Record.save writes it, got {error}.") from None
        attributes = data.attrs
        if attributes.get("format") != FORMAT:
            raise ConfigError(
                f"Record file {path} must have format '{FORMAT}', got {attributes.get('format')!r}; "
                "it was written by something else or by another version."
            )
        signals = tuple(Signal(str(name), str(data[name].attrs.get("units", ""))) for name in data.data_vars)
        columns = [np.asarray(data[signal.name].values, dtype=float) for signal in signals]
        time = np.asarray(data["time"].values, dtype=float)
        values = np.stack(columns, axis=1) if columns else np.empty((len(time), 0))
        notes = {k.removeprefix("note_"): str(v) for k, v in attributes.items() if str(k).startswith("note_")}
        rate, ticks, ended = float(attributes["rate_hz"]), int(attributes["ticks"]), str(attributes["ended"])
        return cls(time, values, signals, rate, ticks, ended, notes)
