"""`hmor sample --adaptive`: campaigns that choose their points and resume, and tests run by hand through a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hmor.cli import main
from hmor.study.file import load_study
from mor.campaign import Store

MODEL = """
def bump(a, b):
    with open("calls.txt", "a") as log:
        log.write("x")
    return 2.718 ** (-6.0 * ((a - 0.8) ** 2 + (b - 0.2) ** 2)) + 0.1 * a
"""
STUDY = """
[study]
name = "bump"

[parts.bump]
outputs = {y = "N"}
design = {method = "lhs", n = 10}
SOURCE

[parts.bump.parameters]
a = {law = "uniform", lower = 0.0, upper = 1.0, unit = "m"}
b = {law = "uniform", lower = 0.0, upper = 1.0}

[parts.bump.models.kriging]
kernel = "gaussian"
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "bumps", raising=False)
    (tmp_path / "bumps.py").write_text(MODEL)
    path = tmp_path / "bump.toml"
    path.write_text(STUDY.replace("SOURCE", 'model = "bumps:bump"\nexecutor = "serial"'))
    return path


def hmor(*arguments: object) -> int:
    sys.argv = ["hmor", *map(str, arguments)]
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_kriging_goes_into_the_bundle_when_its_rounding_is_limited(study: Path) -> None:
    assert load_study(study).exported() == {}
    study.write_text(study.read_text() + "rounding = 1e-8\n")
    assert load_study(study).exported() == {"bump_kriging": "bump.kriging"}


def test_it_goes_on_until_the_error_is_small_and_resumes(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert hmor("sample", study, "--adaptive", "--until", "loo=1e-9", "--batch", 2, "--most", 12) == 1
    assert "LOO of bump must be at most 1e-09, got" in capfd.readouterr().err
    calls = Path("calls.txt")
    assert len(calls.read_text()) == 12
    assert hmor("sample", study, "--adaptive", "--until", "loo=1e-3", "--batch", 2, "--json") == 0
    found = json.loads(capfd.readouterr().out)["bump"]
    assert found["adaptive"]["reached"] and found["adaptive"]["loo"] <= 1e-3
    assert found["adaptive"]["history"][0][0] == 12  # what was sampled before is not repeated
    assert found["finished"] == len(calls.read_text()) == len(Store("runs/bump/samples/bump").design)
    assert hmor("sample", study) == 0
    assert hmor("train", study, "--json") == 0
    assert "unchanged" in capfd.readouterr().err


def test_trajectories_are_refused_before_anything_is_sampled(
    study: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert hmor("sample", "motorcycle_brakes", "--adaptive", "--folder", tmp_path / "out") == 2
    said = capfd.readouterr().err
    assert "Samples of part 'rear_runs' must be numbers for --adaptive, got trajectories" in said
    assert not (tmp_path / "out").exists()


def test_tests_run_by_hand(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("SOURCE", 'table = "tests.csv"'))
    assert hmor("sample", study, "--json") == 0
    assert json.loads(capfd.readouterr().out)["bump"]["open"] == 10
    table = Path("tests.csv")
    for _ in range(8):
        lines = table.read_text().splitlines()
        filled = lines[:3]
        for line in lines[3:]:
            a, b, y = line.split(",")
            filled.append(f"{a},{b},{y or 2.718 ** (-6.0 * ((float(a) - 0.8) ** 2 + (float(b) - 0.2) ** 2))}")
        table.write_text("\n".join(filled) + "\n")
        assert hmor("sample", study, "--adaptive", "--until", "loo=5e-3", "--batch", 4, "--json") == 0
        found = json.loads(capfd.readouterr().out)["bump"]
        if found["adaptive"]["reached"]:
            break
        assert found["open"] == 4
    assert found["adaptive"]["reached"] and found["open"] == 0 and found["finished"] == len(filled) - 3
    assert hmor("train", study, "--json") == 0
    assert hmor("report", study, "--json") == 0
    assert "tests entered by hand" in Path("runs/bump/report/report.html").read_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--until", "loo=1e-3"), "belong to --adaptive; add it"),
        (("--adaptive", "--until", "error=1"), "--until of hmor sample must be loo=ERROR"),
        (("--adaptive", "--until", "loo=small"), "such as loo=1e-3, got 'loo=small'"),
        (("--adaptive", "--until", "loo=-1"), "until of hmor sample --adaptive must be a positive number"),
    ],
)
def test_wrong_options_get_a_sentence(
    study: Path, options: tuple[str, ...], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert hmor("sample", study, *options) == 2
    assert sentence in capfd.readouterr().err


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ('table = "t.csv"\ndata = "d.nc"', "model, store and data must be left out beside it"),
        ("", "design needs a model to be run, or a table"),
    ],
)
def test_wrong_tables_get_a_sentence(
    study: Path, source: str, sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY.replace("SOURCE", source))
    assert hmor("sample", study) == 2
    assert sentence in capfd.readouterr().err
