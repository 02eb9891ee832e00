"""`hmor identify`: a record becomes a model and a page."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from hmor.cli import app
from hmor.commands.identify import read_record
from mor.models.multi_axial.loading_box import actuators
from rt_runtime import ConfigError
from tests.unit.mor.identification.test_identification import band_limited, held_response, noisy


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    u = band_limited(20_000, 4)
    y = noisy(held_response(actuators(1)["Z"], u), 0.005, 5)
    path = tmp_path_factory.mktemp("records") / "z.csv"
    table = np.column_stack([np.arange(len(u)) * 1e-3, u, y])
    np.savetxt(path, table, delimiter=",", header="time,command,position", comments="", fmt="%.9g")
    return path


def test_model_and_page(record, tmp_path) -> None:
    page = tmp_path / "z.html"
    result = CliRunner().invoke(app, ["identify", str(record), "--window", "2048", "--json", "--report", str(page)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["static_gain"] == pytest.approx(0.687, abs=0.01)
    assert found["delay_ms"] == pytest.approx(21.5, abs=0.5)
    assert len(found["poles_hz"]) == 6
    text = page.read_text()
    assert "What the model can be used for" in text
    assert text.count("<svg") == 2
    table = CliRunner().invoke(app, ["identify", str(record), "--window", "2048"])
    assert "static_gain" in table.stdout


def test_records_that_cannot_be_used(record, tmp_path) -> None:
    with pytest.raises(ConfigError, match="RECORD of hmor identify must be a file, found none"):
        read_record(tmp_path / "none.csv")
    for text, sentence in (
        ("time,u,y\n0,1,2\n0.1,a,3\n", "must hold numbers below its line of names"),
        ("time,u\n0,1\n1,2\n", "must have the columns time, input and output, got time, u"),
        ("time,u,y\n0,1,2\n1,1,2\n3,1,2\n", "must be evenly spaced to 0.1 %, got steps from 1 to 2 s"),
    ):
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(ConfigError, match=sentence):
            read_record(path)
    result = CliRunner().invoke(app, ["identify", str(record), "--input", "force"])
    assert "must be a column of" in str(result.exception)
