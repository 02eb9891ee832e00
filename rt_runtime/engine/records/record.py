"""What a run leaves behind: recorded signals with names and units."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rt_runtime.checks import Array
from rt_runtime.engine.signal_names import expand
from rt_runtime.errors import ConfigError
from rt_runtime.files import reading, write_file
from rt_runtime.histories import draw_histories
from rt_runtime.summary import Summarised, Summary, min_max_last

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from rt_runtime.engine.pacing import Timing

FORMAT = "hybrid-mor record 1"


@dataclass(frozen=True)
class Signal:
    """A named number on the bus with its unit and its value before the first tick.

    Parameters
    ----------
    name, initial
        Name; value before the first tick.
    """

    name: str
    unit: str = ""
    initial: float = 0.0


@dataclass(frozen=True, repr=False)
class Record(Summarised):
    """Recorded signals of one run.

    time (n) in s; values (n, width), one column per signal; `rate` of the loop in Hz; `ticks` that were run;
    `ended` is "finished" or the sentence that says why the run ended early or what its record lacks; `frames_lost` is
    the number of frames that should be here and are not; `timing` says how a paced run kept time (it is not saved with
    the record; a run folder has it in run.json).

    Parameters
    ----------
    notes
        Further facts by name, such as numbers of refused frames.
    """

    time: Array
    values: Array
    signals: tuple[Signal, ...]
    rate: float
    ticks: int
    ended: str = "finished"
    notes: dict[str, str | int] = field(default_factory=dict)
    frames_lost: int = 0
    timing: Timing | None = None

    def __getitem__(self, name: str) -> Array:
        """Return the history of one signal, shape (n,), or of a vector signal such as "pose[6]", shape (n, 6)."""
        if "[" in name:
            return np.column_stack([self[part] for part in expand(name)])
        names = [signal.name for signal in self.signals]
        if name not in names:
            raise ConfigError(f"Signal '{name}' was not recorded; recorded are {', '.join(names) or 'none'}.")
        column: Array = self.values[:, names.index(name)]
        return column

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "no time"
        title = f"Record of {len(self.signals)} signals, {len(self)} frames, {span}, loop at {self.rate:g} Hz"
        rows = [(s.name, s.unit, *min_max_last(column)) for s, column in zip(self.signals, self.values.T, strict=True)]
        lost = [f"{self.frames_lost} frames are missing"] if self.frames_lost else []
        return Summary(title, ("signal", "unit", "min", "max", "last"), rows, [f"ended: {self.ended}", *lost])

    def plot(self, *names: str) -> Figure:
        """Draw the named signals (default: all) over time, one panel for each unit; returns a matplotlib figure."""
        columns = [(signal.name, signal.unit) for signal in self.signals]
        return draw_histories(self.time, self.values, columns, names, "a record")

    @property
    def data(self) -> xarray.Dataset:
        """The record as an xarray.Dataset: one variable per signal over `time`, units as attributes."""
        import xarray

        variables = {s.name: ("time", self.values[:, i], {"units": s.unit}) for i, s in enumerate(self.signals)}
        attributes = {"format": FORMAT, "rate_hz": self.rate, "ticks": self.ticks, "ended": self.ended}
        attributes["frames_lost"] = self.frames_lost
        notes = {f"note_{key}": value for key, value in self.notes.items()}
        return xarray.Dataset(variables, coords={"time": ("time", self.time, {"units": "s"})}, attrs=attributes | notes)

    def save(self, path: str | Path) -> Path:
        """Write the record as netCDF; the file appears whole or not at all."""
        path = Path(path)
        if not path.parent.is_dir():
            raise ConfigError(f"Folder of the record must exist, got {path.parent}; make it first.")
        whole = io.BytesIO()  # a disk that refuses in the middle would crash the HDF5 library, not just fail
        data = _plain_attributes(self.data)
        data.to_netcdf(whole, engine="h5netcdf", encoding={name: {"_FillValue": None} for name in data.variables})
        write_file(path, whole.getbuffer())
        return path

    @classmethod
    def load(cls, path: str | Path) -> Record:
        """Read a record that `save` wrote."""
        import h5py
        import xarray

        path = Path(path)
        if not path.is_file():
            raise ConfigError(f"Record file must exist, got {path}.")
        try:
            h5py.File(path, "r").close()  # h5netcdf complains from its destructor when this fails
            with (
                reading(f"Record file {path}", "it must be netCDF as Record.save writes it"),
                xarray.open_dataset(path, engine="h5netcdf", decode_cf=False) as file,
            ):
                data = file.load()
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"Record file {path} must be netCDF as Record.save writes it, got {error}.") from None
        with reading(f"Record file {path}", "it must be netCDF as Record.save writes it"):
            return cls._from_netcdf(path, data)

    @classmethod
    def _from_netcdf(cls, path: Path, data: Any) -> Record:
        attributes = {name: _text(value) for name, value in data.attrs.items()}
        if attributes.get("format") != FORMAT:
            raise ConfigError(
                f"Record file {path} must have format '{FORMAT}', got {attributes.get('format')!r}; "
                "it was written by something else or by another version."
            )
        signals = tuple(Signal(str(name), str(_text(data[name].attrs.get("units", "")))) for name in data.data_vars)
        columns = [np.asarray(data[signal.name].values, dtype=float) for signal in signals]
        time = np.asarray(data["time"].values, dtype=float)
        values = np.stack(columns, axis=1) if columns else np.empty((len(time), 0))
        notes = {
            str(k).removeprefix("note_"): int(v) if isinstance(v, np.integer) else str(v)
            for k, v in attributes.items()
            if str(k).startswith("note_")
        }
        rate, ticks, ended = float(attributes["rate_hz"]), int(attributes["ticks"]), str(attributes["ended"])
        return cls(time, values, signals, rate, ticks, ended, notes, int(attributes.get("frames_lost", 0)))


def _plain_attributes(data: xarray.Dataset) -> xarray.Dataset:
    """Return a copy with texts of fixed length, as ncinfo of MATLAB and Octave reads them; empty ones are left out."""
    plain = data.copy()
    owners: list[Any] = [plain, *plain.variables.values()]
    for owner in owners:
        texts = {k: np.bytes_(v.encode()) if isinstance(v, str) else v for k, v in owner.attrs.items() if v != ""}
        owner.attrs = texts
    return plain


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
