"""`hmor sensitivity` on a user's study, with and without its section, and the built-in studies of that kind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hmor.cli import main
from hmor.sensitivity.analyse import analyse
from hmor.sensitivity.page import text
from hmor.sensitivity.section import SensitivitySection
from hmor.study.file import load_study
from mor import Dataset, ParameterSpace, Uniform, lhs, sobol
from mor.problems.plate_strip import plate_on_rig, plate_peaks, plate_space
from mor.uncertainty import GaussianCopula
from rt_runtime.errors import ConfigError

MODEL = """
def beam(force, width, length):
    return {"sag": force * length**3 / width, "stress": force * length / width**2, "count": 2.0}

def perfect():
    from mor import FunctionModel
    return FunctionModel(beam, {"sag": "mm", "stress": "MPa", "count": ""})
"""
STUDY = """
[study]
name = "beam"

[parts.beam]
model = "beams:beam"
outputs = {sag = "mm", stress = "MPa", count = ""}
design = {method = "lhs", n = 32}
executor = "serial"

[parts.beam.parameters]
force = {law = "uniform", lower = 1.0, upper = 2.0, unit = "kN"}
width = {law = "uniform", lower = 3.0, upper = 4.0, unit = "cm"}
length = {law = "uniform", lower = 1.0, upper = 3.0, unit = "m"}
"""
SECTION = """
[sensitivity]
surrogates = ["pce", "kriging"]
sizes = [12, 20]
truth = "beams:perfect()"
base = 4096

[sensitivity.published]
sag = ["length", "force", "width"]
stress = ["force", "length"]
"""
SPACE = ParameterSpace({name: Uniform(0.0, 1.0) for name in "abc"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "beams", raising=False)
    (tmp_path / "beams.py").write_text(MODEL)
    return tmp_path


def hmor(*arguments: object) -> int:
    sys.argv = ["hmor", *map(str, arguments)]
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_with_its_section_and_a_report(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study = place / "beam.toml"
    study.write_text(STUDY + SECTION)
    assert hmor("sensitivity", study) == 2
    assert "run: hmor sample" in capfd.readouterr().err
    assert hmor("sample", study, "--json") == 0
    capfd.readouterr()
    assert hmor("sensitivity", study) == 0
    out = capfd.readouterr().out
    assert "beam: 32 samples" in out and "sag [mm]" in out
    assert "Left out, because it does not vary: count." in out
    assert "Largest interactions of two: force with length" in out
    assert "The order is the published one: length > force > width." in out
    assert "differs from the published one: ours length > force, published force > length." in out
    assert hmor("sensitivity", study, "--json") == 0
    found = json.loads(capfd.readouterr().out)["beam"]
    assert found["outputs"] == ["sag", "stress"] and found["sizes"] == [12, 20, 32]
    for kind in ("pce", "kriging"):
        total = np.array(found["indices"][kind]["total"]["value"])
        np.testing.assert_allclose(total, found["truth"]["total"]["value"], atol=0.03)
        assert found["curves"]["sag"][kind]["loo"][-1] < found["curves"]["sag"][kind]["loo"][0] + 1e-6
    assert found["indices"]["pce"]["first"]["lower"][0][2] <= found["indices"]["pce"]["first"]["value"][0][2]
    y = found["effects"]["sag"]["length"]["y"]
    assert y[0] < 0.0 < y[-1]
    assert hmor("report", study, "--json") == 0
    page = (place / "runs" / "beam" / "report" / "report.html").read_text()
    assert "Total indices over the samples" in page and "differs from the published one" in page
    assert "Left out, because it does not vary: count." in page and "first / total" in page and "sag [mm], PCE" in page


def test_any_study_without_the_section(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study = place / "beam.toml"
    study.write_text(STUDY)
    assert hmor("sample", study, "--json") == 0
    assert hmor("report", study, "--json") == 0
    assert "sensitivity" not in capfd.readouterr().out
    assert hmor("sensitivity", study, "--json") == 0
    capfd.readouterr()
    assert hmor("report", study, "--json") == 0
    assert "Total indices over the samples" in (place / "runs" / "beam" / "report" / "report.html").read_text()


def test_errors_of_few_noisy_samples_are_not_minimised() -> None:
    """Noise makes 1 % of the variance of the plate's moment: no error of 15 or 20 tests may be far below that."""
    space, rig = plate_space(), plate_on_rig(3e-4, 0.07, 0)
    X = sobol(space, 30).points
    Y = [rig.evaluate(dict(zip(space.names, x, strict=True)))["moment_peak"] for x in X.tolist()]  # type: ignore[index]
    data = Dataset(X, np.array(Y), space.ports, {"moment_peak": "Nm"})
    found = analyse(data, space, SensitivitySection(surrogates=("kriging",), sizes=(15, 20)))
    assert min(found["curves"]["moment_peak"]["kriging"]["loo"]) > 2e-3


def test_dependent_inputs_and_the_comparison() -> None:
    R = np.eye(3)
    R[0, 1] = R[1, 0] = 0.7
    space = ParameterSpace({name: Uniform(0.0, 1.0) for name in "abc"}, copula=GaussianCopula(R))
    X = lhs(space, 30, seed=1).points
    data = Dataset(X, X @ [1.0, 1.0, 0.1] + 0.01, space.ports, {"y": ""})
    found = analyse(data, space, SensitivitySection(sizes=(15,)))
    first, total = (np.array(found["indices"]["kriging"][key]["value"][0]) for key in ("first", "total"))
    assert list(found["indices"]) == ["kriging"] and found["effects"] == {}
    assert first[0] > 0.7 and total[0] < 0.3  # each of two dependent inputs tells of the other
    assert "The inputs depend on each other: indices are Kucherenko's" in text("part", found, {})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"surrogates": ()}, "surrogates must name at least one of pce, kriging, pck, got none"),
        ({"sizes": (20, 10)}, "sizes must be growing numbers of samples"),
        ({"published": {"z": ("a",)}}, r"must be rankings of a, b, c by output \(y\), got z"),
    ],
)
def test_wrong_settings_get_a_sentence(change: dict[str, object], sentence: str) -> None:
    X = lhs(SPACE, 12, seed=1).points
    data = Dataset(X, X.sum(axis=1), SPACE.ports, {"y": ""})
    with pytest.raises((ConfigError, ValueError), match=sentence):
        analyse(data, SPACE, SensitivitySection(**change))  # type: ignore[arg-type]


def test_wrong_samples_get_a_sentence(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X = lhs(SPACE, 6, seed=1).points
    with pytest.raises(ConfigError, match="of 3 inputs must be at least 7, got 6; sample more"):
        analyse(Dataset(X, X.sum(axis=1), SPACE.ports, {"y": ""}), SPACE, SensitivitySection())
    with pytest.raises(ConfigError, match=r"must vary, got constant ones \(y\)"):
        analyse(Dataset(X, 0 * X[:, 0], SPACE.ports, {"y": ""}), SPACE, SensitivitySection())
    study = place / "beam.toml"
    study.write_text(STUDY + '\n[sensitivity]\nparts = ["wall"]\n')
    assert hmor("sensitivity", study) == 2
    assert "Key 'sensitivity.parts' must be parts (beam), got 'wall'" in capfd.readouterr().err


def test_built_in_studies_and_the_noise_of_the_rig() -> None:
    for name, inputs in (("plate_gsa", 4), ("motorcycle_gsa", 12)):
        study = load_study(name)
        (part,) = study.parts.values()
        assert part.parameters is not None and part.parameters.dimension == inputs
        assert part.design is not None and part.design.n == 200 and study.sensitivity is not None
        assert study.sensitivity.surrogates == ("pce", "kriging", "pck")
    point = {"peak_velocity": 2.0, "period": 1.25, "k_1": 70.0, "k_2": 70.0}
    rig, exact = plate_on_rig(3e-4, 0.07, 0), plate_peaks(**point)
    once, again = rig.evaluate(point), rig.evaluate(point)
    assert once == again  # a campaign that resumes finds the same numbers
    assert 0.0 < abs(once["rotation_peak"] - exact["rotation_peak"]) < 1.5e-3  # type: ignore[index, operator]
    assert plate_on_rig(3e-4, 0.07, 1).evaluate(point) != once
    assert plate_on_rig(3e-4, 0.07, 1).identity() != rig.identity()


def test_failed_samples_are_counted(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Half of the space gives NaN: numbers over all of it are guesses, and that is said."""
    (place / "beams.py").write_text(
        MODEL.replace("force * length**3", "(force if force < 1.5 else float('nan')) * length**3")
    )
    study = place / "beam.toml"
    study.write_text(STUDY + SECTION.split("truth")[0])
    hmor("sample", study, "--json")
    capfd.readouterr()
    assert hmor("sensitivity", study) == 0
    assert "16 of 32 samples failed and are left out: where they lie" in capfd.readouterr().out
