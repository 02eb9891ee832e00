"""The whole motorcycle study, as small as it gets: every step, its files, the report, and the exported models in the loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hmor.commands.rig import new_key
from hmor.motorcycle.realtime import numerical_side, rig_process
from hmor.motorcycle.rom import study_bundle
from hmor.motorcycle.settings import BUILT_IN, load_settings
from hmor.pipelines import find_pipeline
from hmor.run_section import read_key
from rt_runtime import BundleError, ConfigError, Pacing, Tripped, UdpRig

SMALL = {
    "points = 200": "points = 60",
    "trajectories = 6": "trajectories = 2",
    "seconds = 30.0": "seconds = 6.0",
    "restarts = 5": "restarts = 1",
    "memory_hidden = [10, 10]": "memory_hidden = [6]",
    "memory_rows = 2500": "memory_rows = 400",
    "memory_iterations = 200": "memory_iterations = 30",
    "pce_rows = 1000": "pce_rows = 120",
    "prototypes = 30": "prototypes = 1",
    'targets = ["onnx", "c", "fmu"]': 'targets = ["onnx", "c"]',
    "seconds = 45.0": "seconds = 2.0",
    "silence = 0.2": "silence = 1.0",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("study")
    text = BUILT_IN.read_text()
    for old, new in SMALL.items():
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "small.toml"
    path.write_text(text)
    pipeline = find_pipeline(path, folder / "out")
    assert pipeline is not None
    for name in ("sample", "train", "validate", "export"):  # here, so that no test needs another one before it
        pipeline.run(name)
    return path, folder / "out"


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
def test_every_step_and_the_report(study: tuple[Path, Path]) -> None:
    path, out = study
    pipeline = find_pipeline(path, out)
    assert pipeline is not None
    results = {name: pipeline.run(name) for name in pipeline.steps}
    judged = results["validate"]["models"]
    assert set(judged) == {f"{s}_{k}" for s in ("rear", "front") for k in ("ffnn", "pce", "ffnn_memory", "pce_memory")}
    assert judged["rear_pce"]["test_nrmse"] < 0.03
    assert all(row["ok"] for row in results["export"]["parity"])
    errors = results["simulate"]["nrmse_percent"]
    assert set(errors) == {f"{k}{m}" for k in ("ffnn", "pce", "mixed") for m in ("", "_memory")}
    assert errors["ffnn"]["v"] < 5.0
    controlled = results["simulate"]["controlled"]
    assert controlled["unstable"] == {"fom": 0, "ffnn_memory": 0}
    assert controlled["beats_published"] == {"fom": True, "ffnn_memory": True}
    assert controlled["nominal"]["ffnn_memory"]["J2_percent"] < controlled["nominal"]["published"]["J2_percent"]
    assert set(controlled["std"]["fom"]) == {"J1_ms", "J2_percent", "J3_percent", "J3_after_1s_percent"}
    assert controlled["mean"]["ffnn_memory"]["J3_after_1s_percent"] < 1.0
    under_control = controlled["nrmse_percent"]
    # the controller hides the motor from the motorcycle: what is left is the error of the brakes
    assert under_control["controlled_against_uncontrolled"]["v"] < 0.01
    assert under_control["reduced_against_full_order"]["v"] == pytest.approx(errors["ffnn_memory"]["v"], rel=0.2)
    assert results["run"]["ticks"] >= 20_000
    assert not results["run"]["tripped"]
    page = Path(results["report"]["page"]).read_text()
    assert page.count("<img") == 10
    assert "http" not in page
    assert {"histories.png", "ticks.png", "tracking.png", "run_time.png", "controlled.png"} <= set(results["report"]["figures"])
    again = find_pipeline(path, out)
    assert again is not None
    before = (out / "steps" / "train.json").stat().st_mtime_ns
    again.run("train")
    assert (out / "steps" / "train.json").stat().st_mtime_ns == before
    path.write_text(path.read_text().replace("controlled = true", "controlled = false", 1))
    changed = find_pipeline(path, out)
    assert changed is not None
    assert changed.result("train") == results["train"]
    with pytest.raises(ConfigError, match=r"Step 'simulate' of study 'motorcycle_brakes' was made from other settings"):
        changed.result("simulate")


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
def test_the_bundle_of_another_study_is_refused(study: tuple[Path, Path], tmp_path: Path) -> None:
    path, out = study
    settings = load_settings(path)
    with pytest.raises(BundleError, match=r"Bundle of study 'motorcycle_brakes' must be in .*, found none; run: hmor ex"):
        study_bundle(settings, tmp_path)
    stranger = settings.model_copy(update={"study": settings.study.model_copy(update={"name": "another"})})
    with pytest.raises(BundleError, match=r"must come from study 'another', got one from 'motorcycle_brakes'"):
        study_bundle(stranger, out)
    assert json.loads((out / "bundle" / "bundle.json").read_text())["provenance"]["study"] == "motorcycle_brakes"


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
def test_a_rig_that_is_always_late_trips(study: tuple[Path, Path], tmp_path: Path) -> None:
    path, out = study
    settings = load_settings(path)
    key = tmp_path / "key"
    new_key(key)
    with rig_process(settings.run.rate, key, "--late", "1", "--late-by", "0.0003") as port:
        rig = UdpRig(2, 3, port=port, key=read_key(key), timeout=20.0)
        loop = numerical_side(settings, study_bundle(settings, out), rig)
        with pytest.raises(Tripped, match=r"rule 'late rig'"):
            loop.run(3.0, paced=True, pacing=Pacing())
