"""`hmor export` and `hmor info BUNDLE` as a user runs them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import export.parity
from export.parity import Parity
from hmor.cli import main
from tests.reference.exported_models import network, network_with_memory
from tests.unit.hmor.study.test_train import STATIC
from tests.unit.hmor.study.test_train import study as trained

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
    assert hmor("export", study, "--json") == 0
    content = json.loads(capfd.readouterr().out)
    assert content["models"] == ["front", "rear"]
    engines = {(p["model"], p["engine"]): p for p in content["parity"]}
    assert {"numpy", "onnxruntime", "rt_runtime", "c", "fmu"} == {engine for _, engine in engines}
    assert all(p["ok"] for p in engines.values())
    bundle = study.parent / "runs" / "brakes" / "bundle"

    assert hmor("export", study) == 0
    out, err = capfd.readouterr()
    assert (
        "export: unchanged" in err and "largest relative difference" in out and "onnxruntime" in out and "same" in out
    )

    assert hmor("info", bundle) == 0
    text = capfd.readouterr().out
    for part in (
        "model     rear (ffnn)",
        "1 input and 2 output lags, dt 0.001 s",
        "tau_rw",
        "N m",
        "200 points, 2000 steps",
    ):
        assert part in text
    assert hmor("info", bundle, "--json") == 0
    described = json.loads(capfd.readouterr().out)
    assert described["models"][1]["dt"] == 1e-3
    assert described["provenance"]["study"] == "brakes" and described["provenance"]["seed"] == 4
    packed = shutil.make_archive(str(study.parent / "handover"), "zip", bundle.parent, bundle.name)
    assert hmor("info", packed) == 0
    assert "all hashes right" in capfd.readouterr().out


def test_the_bundle_of_somebody_else_is_not_replaced_unasked(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = study.read_text().replace('["onnx", "c", "fmu"]', '["onnx"]\nverify = false\nbundle = "handover"')
    study.write_text(text)
    assert hmor("export", study) == 0
    other = study.parent / "other.toml"
    other.write_text(text.replace('name = "brakes"', 'name = "other"'))
    capfd.readouterr()
    assert hmor("export", other) == 2
    err = capfd.readouterr().err
    assert "already holds a bundle that this study did not write; replace it with --overwrite" in err
    assert hmor("export", other, "--overwrite") == 0
    assert hmor("export", other, "--force") == 0


def test_info_refuses_a_broken_bundle(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study.write_text(study.read_text().replace('["onnx", "c", "fmu"]', '["onnx"]\nverify = false'))
    assert hmor("export", study) == 0
    bundle = study.parent / "runs" / "brakes" / "bundle"
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
    assert hmor("export", study) == 1
    out = capfd.readouterr().out
    assert "DIFFERS" in out and "no C compiler was found" in out


def test_problems_of_the_study(study: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(tmp_path / "models")
    assert hmor("export", study) == 2
    err = capfd.readouterr().err
    assert "[export] of the study has 2 problems" in err and "rear.npz' does not exist" in err
    study.write_text('[study]\nname = "a"\n')
    assert hmor("export", study) == 2
    assert "has nothing to export: it has report" in capfd.readouterr().err
    study.write_text('[study]\nname = "a"\n[export]\ntargets = ["so"]\nprecision = "half"\n')
    assert hmor("export", study) == 2
    err = capfd.readouterr().err
    for key in ("export.targets.0", "export.precision"):
        assert f"Key '{key}'" in err


def test_the_model_of_a_study_is_written_with_its_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = trained(tmp_path, STATIC, kind="pce")
    path.write_text(path.read_text() + '[export]\ntargets = ["onnx"]\nverify = false\n')
    assert hmor("export", path) == 2
    assert "Step 'train/brake_m' of study 'brake' is not made yet; run: hmor train" in capfd.readouterr().err
    for step in ("sample", "train", "validate", "export"):
        assert hmor(step, path) == 0
    capfd.readouterr()
    assert hmor("info", tmp_path / "runs" / "brake" / "bundle", "--json") == 0
    content = json.loads(capfd.readouterr().out)
    (model,) = content["models"]
    assert (model["name"], model["kind"]) == ("brake_m", "pce")
    assert model["validation"]["rows"] == 9 and model["validation"]["errors"][0]["nrmse"] < 0.05
    assert content["provenance"]["samples"]["brake"]["design"]["method"] == "lhs"
