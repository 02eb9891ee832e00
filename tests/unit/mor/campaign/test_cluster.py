"""Campaigns on a dask.distributed cluster of this machine."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mor import FunctionModel, ParameterSpace, Store, Uniform, full_factorial, lhs, run_design
from mor.campaign import HistoryModel
from mor.campaign.workers import cluster as cluster_module
from mor.excitation import LoadingProtocols
from mor.sources import opensees_installed
from rt_runtime.errors import ConfigError, MissingExtra
from tests.reference.campaign_models import fragile, oscillator, patricide
from tests.reference.opensees_models import spring
from tests.unit.mor.campaign.test_campaign_models import hybrid

distributed = pytest.importorskip("distributed", reason="needs the 'dask' extra")

SPACE = ParameterSpace({"k": Uniform(50, 100, unit="N/m"), "c": Uniform(0.1, 1.0, unit="Ns/m")})


@pytest.fixture(scope="module")
def executor() -> Iterator[str]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        yield "dask://" + cluster.scheduler_address.removeprefix("tcp://")


def test_a_cluster_gives_the_same_dataset_as_one_process(tmp_path: Path, executor: str) -> None:
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
    design = lhs(SPACE, 15, seed=0)
    one = run_design(subject, design, store=tmp_path / "one", executor="serial")
    many = run_design(subject, design, store=tmp_path / "many", executor=executor)
    np.testing.assert_array_equal(many.X, one.X)
    np.testing.assert_array_equal(many.Y, one.Y)
    assert (many.inputs, many.outputs) == (one.inputs, one.outputs)
    assert (tmp_path / "one" / "results.nc").read_bytes() == (tmp_path / "many" / "results.nc").read_bytes()
    for (i, a), (j, b) in zip(
        Store(tmp_path / "one").trajectories(), Store(tmp_path / "many").trajectories(), strict=True
    ):
        assert i == j
        np.testing.assert_array_equal(a.values, b.values)


def test_whole_hybrid_simulations_travel_and_are_compiled_there(tmp_path: Path, executor: str) -> None:
    design = lhs(ParameterSpace({"k": Uniform(100, 300, unit="N/m")}), 3, seed=0)
    run_design(hybrid(), design, store=tmp_path / "runs", executor=executor)
    for index, run in Store(tmp_path / "runs").trajectories():
        np.testing.assert_array_equal(run.values, hybrid().run(parameters=design.parameters(index)).values)


@pytest.mark.skipif(not opensees_installed(), reason="openseespy is not installed; install the 'opensees' extra")
def test_an_opensees_model_and_its_histories_travel(tmp_path: Path, executor: str) -> None:
    family = LoadingProtocols((0.01, 0.08), duration=0.5, rate=64.0)
    model, design = HistoryModel(spring(), family), lhs(family.space, 3, seed=1)
    run_design(model, design, store=tmp_path / "there", executor=executor)
    run_design(model, design, store=tmp_path / "here", executor="serial")
    for folder in ("there", "here"):
        assert len(list(Store(tmp_path / folder).trajectories())) == 3
    pairs = zip(Store(tmp_path / "there").trajectories(), Store(tmp_path / "here").trajectories(), strict=True)
    for (_, a), (_, b) in pairs:
        np.testing.assert_array_equal(a.values, b.values)


def test_failing_samples_cost_nothing_but_themselves(tmp_path: Path, executor: str) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    subject = FunctionModel(fragile, {"b": ""}, fixed={"marks": str(marks)})
    design = full_factorial(ParameterSpace({"a": Uniform(0, 1)}), 5)
    data = run_design(subject, design, store=tmp_path / "runs", executor=executor, timeout=4.0)
    np.testing.assert_array_equal(data["b"], [design.points[4, 0]])
    failed = {sample.index: sample.failure for sample in Store(tmp_path / "runs").failed}
    assert [failed[i].kind for i in range(4)] == ["exception", "not_finite", "died", "timeout"]
    assert "was ended by signal 9 (SIGKILL)" in failed[2].reason
    assert failed[3].reason == "The sample took longer than 4 s; its worker was ended."


def test_samples_of_a_lost_worker_are_repeated(tmp_path: Path, executor: str) -> None:
    subject = FunctionModel(patricide, {"b": ""}, fixed={"mark": str(tmp_path / "done")})
    design = lhs(ParameterSpace({"a": Uniform(0, 1)}), 12, seed=0)
    data = run_design(subject, design, store=tmp_path / "runs", executor=executor)
    assert (tmp_path / "done").exists()
    np.testing.assert_array_equal(data["b"], design.points[:, 0])


def test_a_cluster_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "DESERTED", 0.5)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", protocol="tcp") as cluster:
        executor = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
        with pytest.raises(ConfigError, match=r"has had no worker for 0.5 s; finished samples are safe, start workers"):
            run_design(FunctionModel(oscillator), lhs(SPACE, 2, seed=0), store=tmp_path / "runs", executor=executor)


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT", 0.5)
    with pytest.raises(
        ConfigError, match=r"No dask scheduler answers at 127.0.0.1:1 .*; start one or mend the address"
    ):
        run_design(lambda k, c: 1.0, lhs(SPACE, 2, seed=0), store=tmp_path / "runs", executor="dask://127.0.0.1:1")


def test_a_model_that_cannot_travel(tmp_path: Path, executor: str) -> None:
    lock = threading.Lock()
    with pytest.raises(ConfigError, match="Model <lambda> must be picklable for a dask executor"):
        run_design(lambda k, c: lock and k, lhs(SPACE, 2, seed=0), store=tmp_path / "runs", executor=executor)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"needs dask.distributed; install the 'dask' extra"):
        run_design(lambda k, c: 1.0, lhs(SPACE, 2, seed=0), store=tmp_path / "runs", executor="dask://127.0.0.1:1")
