"""What a run leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from rt_runtime import ConfigError, Record
from tests.reference.loops import chain


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
