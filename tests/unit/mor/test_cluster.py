"""Campaigns on a dask.distributed cluster of this machine."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mor import FunctionModel, ParameterSpace, Store, Uniform, full_factorial, lhs, run_design
from mor.campaign import cluster as cluster_module
from rt_runtime.errors import ConfigError, MissingExtra
from tests.reference.campaign_models import fragile, killer, oscillator

distributed = pytest.importorskip("distributed", reason="needs the 'dask' extra")

SPACE = ParameterSpace({"k": Uniform(50, 100, unit="N/m"), "c": Uniform(0.1, 1.0, unit="Ns/m")})


@pytest.fixture(scope="module")
def executor() -> Iterator[str]:
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": "10s"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
    ):
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


def test_a_cluster_survives_what_samples_do_to_its_workers(tmp_path: Path, executor: str) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    subject = FunctionModel(fragile, {"b": ""}, fixed={"marks": str(marks)})
    design = full_factorial(ParameterSpace({"a": Uniform(0, 1)}), 5)
    data = run_design(subject, design, store=tmp_path / "runs", executor=executor, timeout=4.0)
    np.testing.assert_array_equal(data["b"], [design.points[4, 0]])
    failed = {sample.index: sample.failure for sample in Store(tmp_path / "runs").failed}
    assert [failed[i].kind for i in range(4)] == ["exception", "not_finite", "died", "timeout"]
    assert "KilledWorker" in failed[2].reason
    assert failed[3].reason == "The sample took longer than 4 s; its worker was restarted."


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


def test_a_neighbour_of_a_killed_worker_is_not_blamed(tmp_path: Path, executor: str) -> None:
    subject = FunctionModel(killer, {"b": ""})
    design = lhs(ParameterSpace({"a": Uniform(0, 1)}), 24, seed=0)
    data = run_design(subject, design, store=tmp_path / "runs", executor=executor)
    bad = (design.points[:, 0] > 0.4) & (design.points[:, 0] < 0.5)
    np.testing.assert_array_equal(data["b"], design.points[~bad, 0])
    assert [f.index for f in Store(tmp_path / "runs").failed] == np.nonzero(bad)[0].tolist()
