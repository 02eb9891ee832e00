"""`hmor export` and `hmor info BUNDLE` as a user runs them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

import export.parity
from export.parity import Parity
from hmor.cli import main
from tests.reference.exported_models import network, network_with_memory
from tests.unit.hmor.test_train import STATIC
from tests.unit.hmor.test_train import study as trained

STUDY = """
[study]
name = "brakes"
seed = 4

[export]
models = {front = "models/front.npz", rear = "models/rear.npz"}
targets = ["onnx", "c", "fmu"]
"""


def hmor(*arguments: object) -> int:
    """Run the command in this process and return its exit code."""
    sys.argv = ["hmor", *map(str, arguments)]
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    network().save(tmp_path / "models" / "front.npz")
    network_with_memory().save(tmp_path / "models" / "rear.npz")
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


def test_export_verify_and_info(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert hmor("export", study, "--verify", "--json") == 0
    content = json.loads(capfd.readouterr().out)
    assert content["kind"] == "bundle" and [m["name"] for m in content["models"]] == ["front", "rear"]
    assert content["provenance"]["study"] == "brakes" and content["provenance"]["seed"] == 4
    engines = {(p["model"], p["engine"]): p for p in content["parity"]}
    assert {"numpy", "onnxruntime", "rt_runtime", "c", "fmu"} == {engine for _, engine in engines}
    assert all(p["ok"] for p in engines.values())
    bundle = study.parent / "brakes.bundle"

    assert hmor("export", study) == 2
    assert "already holds a bundle" in capfd.readouterr().err
    assert hmor("export", study, "--overwrite", "--verify") == 0
    out = capfd.readouterr().out
    assert "largest relative difference" in out and "onnxruntime" in out and "same" in out

    assert hmor("info", bundle) == 0
    text = capfd.readouterr().out
    for part in ("model     rear (ffnn)", "1 input and 2 output lags, dt 0.001 s", "tau_rw", "N m", "200 points, 2000 steps"):
        assert part in text
    assert hmor("info", bundle, "--json") == 0
    assert json.loads(capfd.readouterr().out)["models"][1]["dt"] == 1e-3
    packed = shutil.make_archive(str(study.parent / "handover"), "zip", bundle.parent, bundle.name)
    assert hmor("info", packed) == 0
    assert "all hashes right" in capfd.readouterr().out


def test_info_refuses_a_broken_bundle(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert hmor("export", study) == 0
    bundle = study.parent / "brakes.bundle"
    (bundle / "front.onnx").write_bytes(b"x")
    capfd.readouterr()
    assert hmor("info", bundle) == 2
    out, err = capfd.readouterr()
    assert out == "" and "File 'front.onnx' was changed or cut off" in err


def test_a_difference_is_shown_and_is_the_exit_code(
    study: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Parity("front", "onnxruntime", 0.5, None, 1e-9)
    monkeypatch.setattr(export.parity, "_onnxruntime", lambda model: wrong)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert hmor("export", study, "--verify") == 1
    out = capfd.readouterr().out
    assert "DIFFERS" in out and "skipped   The binary in the FMI 2.0 FMU of 'front' was skipped" in out
    assert "no C compiler was found" in out


def test_problems_of_the_study(study: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(tmp_path / "models")
    assert hmor("export", study) == 2
    err = capfd.readouterr().err
    assert "[export] of the study has 2 problems" in err and "rear.npz' does not exist" in err
    study.write_text('[study]\nname = "a"\n')
    assert hmor("export", study) == 2
    assert "has no section [export], which this command needs" in capfd.readouterr().err
    study.write_text('[study]\nname = "a"\n[export]\nmodels = {}\ntargets = ["so"]\nprecision = "half"\n')
    assert hmor("export", study) == 2
    err = capfd.readouterr().err
    for key in ("export.models", "export.targets.0", "export.precision"):
        assert f"Key '{key}'" in err


def test_how_a_model_was_judged_goes_into_the_bundle(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace('"fmu"', '"onnx"') + 'validation = "judged.json"\n')
    judged = study.parent / "judged.json"
    for text, problem in (
        (None, "with the validation of \\[export\\] must be JSON, got: .*No such file"),
        ("{", "with the validation of \\[export\\] must be JSON"),
        ('{"side": {}}', r"must be an object by model \(front, rear\)"),
        ("[]", r"must be an object by model \(front, rear\)"),
    ):
        if text is not None:
            judged.write_text(text)
        assert hmor("export", study) == 2
        assert re.search(problem, capfd.readouterr().err)
    judged.write_text('{"front": {"nrmse": 0.0042}}')
    assert hmor("export", study) == 0
    assert "result    nrmse: 0.0042" in capfd.readouterr().out


def test_the_model_of_a_study_is_written_with_its_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = trained(tmp_path, STATIC, 'kind = "pce"\n')
    assert hmor("export", path) == 2
    assert "does not exist; run hmor train first" in capfd.readouterr().err
    assert hmor("sample", path) == 0
    assert hmor("train", path) == 0
    capfd.readouterr()
    assert hmor("export", path, "--json") == 0
    content = json.loads(capfd.readouterr().out)
    (model,) = content["models"]
    assert (model["name"], model["kind"], model["c"] != []) == ("model", "pce", True)
    assert model["validation"]["rows"] == 9 and model["validation"]["errors"][0]["nrmse"] < 0.05
    assert content["provenance"]["sample"]["design"]["method"] == "lhs"
    shutil.rmtree(tmp_path / "brake.store")
    path.write_text(path.read_text() + '[export]\nname = "brake"\ntargets = ["onnx"]\nbundle = "again"\n')
    assert hmor("export", path, "--json") == 0
    out, err = capfd.readouterr()
    assert "hmor: the bundle says nothing of errors: Store" in err
    assert json.loads(out)["models"][0]["validation"] == {} and (tmp_path / "again" / "brake.onnx").is_file()
