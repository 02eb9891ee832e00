"""What a run leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

from rt_runtime import ConfigError, Record
from tests.reference.loops import chain

ROOT = Path(__file__).resolve().parents[4]


def test_record_chooses_signals_and_decimates() -> None:
    loop = chain()
    loop.record(["late", "u"], every=4)
    record = loop.run(0.5)
    assert [signal.name for signal in record.signals] == ["late", "u"]
    assert len(record) == 13
    np.testing.assert_allclose(record["u"], np.arange(0, 50, 4) / 100.0, atol=1e-15)
    np.testing.assert_allclose(record.time, np.arange(0, 50, 4) / 100.0, atol=1e-15)
    with pytest.raises(ConfigError, match=r"Signal 'y' was not recorded; recorded are late, u\."):
        record["y"]


def test_record_as_xarray_and_on_disk(tmp_path) -> None:
    record = chain().run(0.5)
    data = record.data
    assert data["y"].attrs["units"] == "m"
    assert data["time"].attrs["units"] == "s"
    assert data.attrs["rate_hz"] == 100.0
    path = record.save(tmp_path / "run.nc")
    back = Record.load(path)
    np.testing.assert_array_equal(back.values, record.values)
    np.testing.assert_array_equal(back.time, record.time)
    assert [(s.name, s.unit) for s in back.signals] == [(s.name, s.unit) for s in record.signals]
    assert (back.rate, back.ticks, back.ended) == (100.0, 50, "finished")
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_record_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch) -> None:
    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    record = chain().run(0.1)
    with pytest.raises(ConfigError, match=r"Folder of the record must exist, got .*; make it first\."):
        record.save(tmp_path / "none" / "run.nc")
    monkeypatch.setattr(xarray.Dataset, "to_netcdf", full)
    with pytest.raises(OSError, match="No space left"):
        record.save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_reading_something_that_is_no_record(tmp_path) -> None:
    (tmp_path / "text.nc").write_text("hello")
    with pytest.raises(ConfigError, match=r"Record file .*text\.nc must be netCDF as Record\.save writes it"):
        Record.load(tmp_path / "text.nc")
    with pytest.raises(ConfigError, match=r"Record file must exist, got .*none\.nc"):
        Record.load(tmp_path / "none.nc")
    xarray.Dataset({"a": ("time", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ConfigError, match=r"must have format 'hybrid-mor record 1', got None; it was written by"):
        Record.load(tmp_path / "other.nc")


FULL = """
import resource, signal, sys
import numpy as np
from rt_runtime import Record
from rt_runtime.engine.records.record import Signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
record = Record(np.arange(5000.0), np.zeros((5000, 20)), [Signal(f"s{i}") for i in range(20)], 1.0, 5000, "finished")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    record.save(sys.argv[1])
except OSError as error:
    print(error.strerror)
"""


def test_a_disk_that_fills_up_while_a_record_is_written_is_an_error_and_not_a_crash(tmp_path) -> None:
    program = [sys.executable, "-c", FULL, str(tmp_path / "r.nc")]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "File too large\n", "")
    assert list(tmp_path.iterdir()) == []
