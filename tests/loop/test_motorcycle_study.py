"""The whole motorcycle study, as small as it gets: every step, its files, the report, and the exported models in the loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmor.rigs.process import rig_process
from hmor.study.file import load_study
from hmor.study.simulate import study_bundle
from hmor.study.stages.execute import prepare_study
from hmor.study.stages.pipeline import find_pipeline
from hmor.study.stages.steps import Pipeline
from mor.models.motorcycle import brake
from rt_runtime import BundleError, Pacing, Record, Tripped
from rt_runtime.engine.records.run_folder import load_run
from tests.fixtures.browser import check_page

RUNS = {"fixed": {"duration": 15.0}, "design": {"levels": 4}}
NETWORK = {"iterations": 100, "memory": {"rows": 1000}}
POLYNOMIAL = {"memory": {"rows": 120, "draws": 1}}
PART = {"design": {"n": 60}, "models": {"ffnn": {"restarts": 1}, "ffnn_memory": NETWORK, "pce_memory": POLYNOMIAL}}
RECORDED = ["target", "torque", "wanted", "command", "F_br", "w_rw", "w_fw", "tau_rw", "tau_fw", "rig.age"]
SMALL: dict[str, Any] = {
    "parts": {"rear": PART, "front": PART, "rear_runs": RUNS, "front_runs": RUNS},
    "export": {"targets": ["onnx", "c"]},
    "hybrid": {"prototypes": 1},
    "control": {"prototypes": 2},
    "run": {"duration": 8.0, "settings": {"ride": "short"}, "record": RECORDED},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the bundle is made, so that no test needs another one before it."""
    place = tmp_path_factory.mktemp("study")
    for group in ("sample", "train", "validate", "export"):
        made(place).run_group(group)
    return place


def made(folder: Path, **changes: Any) -> Pipeline:
    return find_pipeline("motorcycle_brakes", folder, changes=SMALL | changes)


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
@pytest.mark.timeout(1800)  # on a host that is five times slower
def test_every_step_and_the_report(folder: Path) -> None:
    pipeline = made(folder)
    results = {group: pipeline.run_group(group) for group in pipeline.groups if group != "report"}
    judged = results["validate"]
    assert set(judged) == {f"{s}_{k}" for s in ("rear", "front") for k in ("ffnn", "pce", "ffnn_memory", "pce_memory")}
    assert judged["rear_pce"]["worst_nrmse"] < 0.03
    assert all(row["ok"] for row in results["export"]["parity"])
    errors = results["simulate"]["hybrid"]["nrmse_percent"]
    assert set(errors) == {f"{k}{m}" for k in ("ffnn", "pce", "mixed") for m in ("", "_memory")}
    assert errors["ffnn"]["v"] < 5.0
    controlled = results["simulate"]["control"]
    assert controlled["unstable"] == {"full": 0, "reduced": 0}
    for kind in ("full", "reduced"):
        for index, mark in controlled["published"]["mean"].items():
            assert abs(controlled["stochastic"][kind][index]["mean"]) < mark
        assert controlled["nominal"][kind]["adaptive_J3_after_1s_percent"] < 1.0
    under_control = controlled["nrmse_percent"]["reduced_against_full"]
    assert under_control["v"] == pytest.approx(errors["ffnn_memory"]["v"], rel=0.5)
    assert results["run"]["verdict"].startswith("This host is ")
    report = made(folder).run("report")
    assert report["sections"] == 9 and report["not_made"] == []
    page = Path(report["page"])
    assert page.read_text().count("<figure>") >= 15
    check_page(page)
    again = made(folder)
    before = (folder / "steps" / "train" / "rear_ffnn.json").stat().st_mtime_ns
    again.run_group("train")
    assert (folder / "steps" / "train" / "rear_ffnn.json").stat().st_mtime_ns == before


def brake_errors(run: Record) -> dict[str, float]:
    """RMSE of each reduced brake in a run against the full-order brake on the same inputs, over the range of the latter."""
    errors = {}
    for side, wheel in (("rear", "rw"), ("front", "fw")):
        inputs = {"F_br": run["F_br"], f"w_{wheel}": run[f"w_{wheel}"]}
        full = brake(side).simulate(inputs, dt=1e-4)[f"tau_{wheel}"]
        errors[side] = float(np.sqrt(np.mean((run[f"tau_{wheel}"] - full) ** 2)) / np.ptp(full))
    return errors


@pytest.mark.slow
@pytest.mark.train
def test_the_reduced_brakes_do_the_work(folder: Path) -> None:
    """Without a clock the rig is a part of the process: the same test on every host, fast or slow."""
    found = made(folder, run=SMALL["run"] | {"paced": False}).run("run", force=True)
    assert not found["tripped"] and found["ticks"] == 90_500
    assert min(found["ranges"]["tau_rw"][1], found["ranges"]["tau_fw"][1]) > 20.0
    assert max(brake_errors(load_run(found["folder"])).values()) < 0.1
    assert found["tracking"]["J2_percent"] < 0.1


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
def test_the_paced_test_brakes(folder: Path) -> None:
    """The reduced brakes work in the run against the clock, on any host; a trip has its cause in the record."""
    found = made(folder).run("run", force=True)
    run = load_run(found["folder"])
    late = float(np.mean(run["rig.age"] > 0.5))
    assert len(run) == found["ticks"] and found["verdict"].startswith("This host is ")
    if run["F_br"].max() > 20.0:
        assert max(brake_errors(run).values()) < 0.1
    if found["tripped"]:  # on a host that starves the rig, and on no other
        assert late > 0.0 or found["skipped"] > 0
        return
    assert found["ticks"] >= 80_000 and min(run["tau_rw"].max(), run["tau_fw"].max()) > 20.0
    assert found["tracking"]["J2_percent"] < (2.0 if late < 0.01 else 100.0)


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
def test_the_bundle_of_another_study_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        BundleError, match=r"Bundle of study 'motorcycle_brakes' must be in .*, found none; run: hmor ex"
    ):
        study_bundle(load_study("motorcycle_brakes", tmp_path))
    stranger = load_study("motorcycle_brakes", folder, changes={"study": {"name": "another"}})
    with pytest.raises(BundleError, match=r"must come from study 'another', got one from 'motorcycle_brakes'"):
        study_bundle(stranger)
    assert json.loads((folder / "bundle" / "bundle.json").read_text())["provenance"]["study"] == "motorcycle_brakes"


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.paced
def test_a_rig_that_is_always_late_trips(folder: Path) -> None:
    with rig_process("motorcycle_ecvt", 10_000.0, "--late", "1", "--late-by", "0.0003") as (port, key):
        where = {"kind": "udp", "port": port, "key_file": str(key), "timeout": 20.0, "rig": None}
        study = load_study("motorcycle_brakes", folder, changes=SMALL)
        assert study.run is not None
        udp = study.run.actuator.model_copy(update=where)
        prepared = prepare_study(study.model_copy(update={"run": study.run.model_copy(update={"actuator": udp})}))
        with pytest.raises(Tripped, match=r"rule 'late rig'"):
            prepared.loop.run(3.0, paced=True, pacing=Pacing())
