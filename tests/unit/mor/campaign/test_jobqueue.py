"""A campaign on a batch system: the configuration in the documentation, and the same machinery with jobs of this host."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from mor import FunctionModel, ParameterSpace, Uniform, lhs, run_design
from tests.reference.campaign_models import oscillator

jobqueue = pytest.importorskip("dask_jobqueue", reason="needs the 'cluster' extra")
dask = pytest.importorskip("dask")

ROOT = Path(__file__).resolve().parents[4]
CONFIG = yaml.safe_load((ROOT / "docs/examples/jobqueue.yaml").read_text())
SPACE = ParameterSpace({"k": Uniform(50, 100, unit="N/m"), "c": Uniform(0.1, 1.0, unit="Ns/m")})


def test_the_documented_configuration_asks_for_what_it_says() -> None:
    known = set(dask.config.get("jobqueue.slurm"))
    assert set(CONFIG["jobqueue"]["slurm"]) <= known  # a key that was renamed would be ignored in silence
    merged = {f"jobqueue.slurm.{key}": value for key, value in CONFIG["jobqueue"]["slurm"].items()}
    with dask.config.set(merged), jobqueue.SLURMCluster(scheduler_options={"dashboard_address": None}) as cluster:
        script = cluster.job_script()
    for line in ("#SBATCH -p normal", "#SBATCH --cpus-per-task=24", "#SBATCH --mem=45G", "#SBATCH -t 04:00:00",
                 "export OMP_NUM_THREADS=1", "--nthreads 24", "--death-timeout 120", "--lifetime 225m"):  # fmt: skip
        assert line in script, script
    assert "--nworkers" not in script or "--nworkers 1 " in script


def test_a_campaign_runs_on_workers_that_jobs_start(tmp_path: Path) -> None:
    from dask_jobqueue.local import LocalCluster

    options = {"cores": 2, "processes": 1, "memory": "1GB", "python": sys.executable, "death_timeout": 60}
    design = lhs(SPACE, 12, seed=0)
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
    with LocalCluster(**options, scheduler_options={"dashboard_address": None}) as cluster:
        cluster.scale(jobs=1)
        executor = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
        data = run_design(subject, design, store=tmp_path / "runs", executor=executor, timeout=60.0)
    np.testing.assert_array_equal(data["last"], [oscillator(**p)["last"] for p in design])
