"""`hmor studies` and `hmor simulate` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hmor.commands.simulate import read_settings
from hmor.studies import find
from hmor.studies.base import Options
from rt_runtime import Record
from rt_runtime.errors import ConfigError


def hmor(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from hmor.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def test_studies_lists_names_and_parameters() -> None:
    found = json.loads(hmor("studies", "--json").stdout)
    assert found["pendulum"]["parameters"][0] == "cart_mass"
    assert "published" not in found
    assert "frame_mr_damper" in hmor("studies").stdout


def test_simulate_prints_one_json_object(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    files = ["--save", str(path), "--picture", str(tmp_path / "run.png")]
    done = hmor("simulate", "frame_mr_damper", "--runs", "3", "--json", *files)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["study"] == "frame_mr_damper"
    assert found["runs"] == 3
    assert found["unstable"] == 0
    assert set(found["stochastic"]["J2_percent"]) == {"mean", "std", "min", "q25", "median", "q75", "max"}
    assert len(found["histograms"]["J2_percent"]["density"]) == 20
    assert found["published"]["nominal"]["J2_percent"] == 1.88
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert len(Record.load(path)["command"]) == round(35.0 * 4096)


def test_simulate_prints_a_table_with_the_published_row() -> None:
    done = hmor("simulate", "benchmark_frame", "--set", "case=1", "--set", "controller=pi")
    assert "published" in done.stdout
    assert "36.08" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "Study must be one of pendulum, frame_mr_damper"),
        (["pendulum", "--set", "spread=1"], "Setting 'spread' of study 'pendulum' is unknown; it has design, spacing"),
        (["pendulum", "--set", "design=best"], "design of study 'pendulum' must be one of 'robust', 'published', got 'best'"),
        (["pendulum", "--set", "spacing"], "Option --set must be name=value, got 'spacing'"),
        (["pendulum", "--record", "missing.csv"], "Record file must exist, got missing.csv"),
        (["benchmark_frame", "--set", "case=7"], "case of the benchmark frame must be 1, 2, 3 or 4, got 7"),
        (["pendulum", "--picture", "run.doc"], "Picture must be a file in an existing folder that ends in one of"),
        (["delay_stability", "--picture", "x.png"], "Study 'delay_stability' records no target and measured signal"),
        (["delay_stability", "--runs", "4"], "Study 'delay_stability' has no uncertain parameters, so runs must be 1, got 4"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str) -> None:
    done = hmor("simulate", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_settings_are_numbers_words_and_truth() -> None:
    assert read_settings(["a=1", "b=0.5", "c=true", "d=word"]) == {"a": 1, "b": 0.5, "c": True, "d": "word"}


def test_a_single_prototype_is_not_a_design() -> None:
    with pytest.raises(ConfigError, match=r"runs of study 'pendulum' must be a whole number of at least 2, got 1"):
        find("pendulum").simulate_many(1, Options())
