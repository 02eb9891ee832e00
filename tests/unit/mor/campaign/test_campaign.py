"""Campaigns: what they compute, keep, repeat, refuse and say."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from mor import (
    FunctionModel,
    Normal,
    ParameterSpace,
    Store,
    Trajectory,
    Uniform,
    extend,
    full_factorial,
    lhs,
    run_design,
)
from mor.campaign import progress as progress_module
from mor.campaign.progress import Progress, duration
from rt_runtime.errors import ConfigError
from tests.reference.campaign_models import fragile, oscillator

SPACE = ParameterSpace({"k": Uniform(50, 100, unit="N/m"), "c": Uniform(0.1, 1.0, unit="Ns/m")})
OUTPUTS = {"lowest": "m", "last": "m"}


def model(log: Path | None = None, **fixed: float) -> FunctionModel:
    return FunctionModel(oscillator, OUTPUTS, fixed={**fixed, **({"log": str(log)} if log else {})})


def evaluations(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_campaign_gives_what_the_model_gives(tmp_path: Path, executor: str) -> None:
    design = lhs(SPACE, 12, seed=0)
    data = run_design(model(), design, store=tmp_path / "runs", executor=executor, workers=2)
    expected = [oscillator(**p) for p in design]
    np.testing.assert_array_equal(data.X, design.points)
    np.testing.assert_array_equal(data["last"], [e["last"] for e in expected])
    assert [(p.name, p.unit) for p in data.inputs] == [("k", "N/m"), ("c", "Ns/m")]
    assert [(p.name, p.unit) for p in data.outputs] == [("lowest", "m"), ("last", "m")]
    store = Store(tmp_path / "runs")
    assert store.finished == list(range(12)) and store.failed == [] and store.open == []
    for index, run in store.trajectories():
        np.testing.assert_array_equal(run.values, expected[index]["run"].values)
    assert run.ports == expected[0]["run"].ports
    np.testing.assert_array_equal(store.design.points, design.points)
    assert store.seconds > 0


def test_results_are_netcdf_for_everyone(tmp_path: Path) -> None:
    import xarray

    data = run_design(model(), lhs(SPACE, 4, seed=0), store=tmp_path / "runs", executor="serial")
    with xarray.open_dataset(tmp_path / "runs" / "results.nc") as file:
        np.testing.assert_array_equal(file["last"].values, data["last"])
        assert file["k"].attrs == {"units": "N/m", "role": "input"}
    with xarray.open_dataset(tmp_path / "runs" / "runs" / "000003.nc") as file:
        assert file["x"].attrs["units"] == "m" and file["time"].size == 100
    assert not [p for p in (tmp_path / "runs").rglob("*") if p.suffix in {".pkl", ".pickle", ".part"}]


def test_one_xarray_dataset_of_a_whole_campaign(tmp_path: Path) -> None:
    data = run_design(model(), lhs(SPACE, 4, seed=0), store=tmp_path / "runs", executor="serial")
    whole = Store(tmp_path / "runs").to_xarray()
    assert whole["x"].dims == ("sample", "time") and whole["x"].shape == (4, 100)
    np.testing.assert_array_equal(whole["x"][2], oscillator(**lhs(SPACE, 4, seed=0).parameters(2))["run"]["x"])
    np.testing.assert_array_equal(whole["last"], data["last"])
    assert whole["k"].attrs == {"units": "N/m"} and whole["time"].attrs == {"units": "s"}
    run_design(lambda k, c: oscillator(k, c)["run"] if k < 75 else Trajectory([0.0], [1.0], ["x"]),
               lhs(SPACE, 4, seed=0), store=tmp_path / "odd", executor="serial")  # fmt: skip
    with pytest.raises(ConfigError, match="must have the same columns and times to be stacked"):
        Store(tmp_path / "odd").to_xarray()


def test_finished_samples_are_not_repeated(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run_design(model(log), lhs(SPACE, 10, seed=0), store=tmp_path / "runs", workers=2)
    again = run_design(model(log), lhs(SPACE, 10, seed=0), store=tmp_path / "runs", workers=2)
    np.testing.assert_array_equal(first.Y, again.Y)
    assert evaluations(log) == 10


def test_an_extended_design_goes_on_in_its_store(tmp_path: Path) -> None:
    log = tmp_path / "log"
    design = lhs(SPACE, 6, seed=0)
    run_design(model(log), design, store=tmp_path / "runs", executor="serial")
    longer = extend(design, 5, seed=1)
    data = run_design(model(log), longer, store=tmp_path / "runs", executor="serial")
    assert evaluations(log) == 11
    assert len(list((tmp_path / "runs").glob("design-*.nc"))) == 1
    np.testing.assert_array_equal(data.X, longer.points)


def test_numbers_without_declared_outputs(tmp_path: Path) -> None:
    data = run_design(lambda k, c: {"sum": k + c}, lhs(SPACE, 3, seed=0), store=tmp_path / "runs", workers=1)
    np.testing.assert_array_equal(data["sum"], data["k"] + data["c"])


def test_usual_samples_leave_no_object_behind(tmp_path: Path) -> None:
    """Numbers and trajectories: what the store keeps of a sample in memory is a row of arrays, while it runs and after."""

    def model(a: float) -> dict[str, object]:
        if a < 0.1:
            raise ValueError("too small")
        return {"twice": 2.0 * a, "run": Trajectory([0.0, 1.0], [a, a], {"x": "m"})}

    design = full_factorial(ParameterSpace({"a": Uniform(0.0, 1.0)}), 20)
    data = run_design(FunctionModel(model, ["twice"]), design, store=tmp_path / "s", executor="serial")
    store = Store(tmp_path / "s")
    assert sorted(store._records) == [sample.index for sample in store.failed] and len(store.failed) > 0
    np.testing.assert_array_equal(store.dataset().Y, data.Y)
    assert (
        [index for index, _ in store.trajectories()]
        == store.finished
        == [i for i in range(20) if i not in store._records]
    )
    with pytest.raises(ConfigError, match=r"Sample 0 of store .* has no trajectory"):
        store.trajectory(0)
    assert not store.open and store.seconds > 0


def test_numbers_that_only_some_samples_have_are_said(tmp_path: Path) -> None:
    def model(a: float) -> object:
        run = Trajectory([0.0, 1.0], [a, a], {"x": "m"})
        return {"twice": 2.0 * a, "run": run} if a > 0.5 else run

    design = full_factorial(ParameterSpace({"a": Uniform(0.0, 1.0)}), 4)
    with pytest.raises(ConfigError, match=r"Sample 0 of store .* must have outputs twice, got none"):
        run_design(FunctionModel(model), design, store=tmp_path / "s", executor="serial")


def test_a_model_of_trajectories_alone(tmp_path: Path) -> None:
    data = run_design(lambda k, c: oscillator(k, c)["run"], lhs(SPACE, 3, seed=0), store=tmp_path / "s", workers=1)
    assert data.X.shape == (3, 2) and data.Y.shape == (3, 0)
    assert [index for index, _ in Store(tmp_path / "s").trajectories()] == [0, 1, 2]


def test_a_trajectory_that_cannot_be_written_counts_for_none_of_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trajectories are written side by side; the journal tells of them when all are on disk, whichever fails."""
    design = full_factorial(ParameterSpace({"a": Uniform(0.0, 1.0)}), 40)
    place = Store._run_file

    def gone(self: Store, index: int) -> Path:
        return tmp_path / "gone" / "run.nc" if index == 20 else place(self, index)

    def ramp(a: float) -> Trajectory:
        return Trajectory([0.0, 1.0], [0.0, a], {"x": "m"})

    monkeypatch.setattr(Store, "_run_file", gone)
    with pytest.raises(ConfigError, match=r"cannot be written: No such file or directory. Finished samples are safe"):
        run_design(ramp, design, store=tmp_path / "s", executor="serial")
    kept = Store(tmp_path / "s")
    assert kept.finished == list(range(kept.open[0])) and 0 < kept.open[0] <= 20 and not kept.failed
    assert all(run["x"][1] == design.parameters(i)["a"] for i, run in kept.trajectories())
    monkeypatch.undo()
    run_design(ramp, design, store=tmp_path / "s", executor="serial")
    runs = list(Store(tmp_path / "s").trajectories())
    assert [i for i, _ in runs] == list(range(40))
    assert all(run["x"][1] == design.parameters(i)["a"] for i, run in runs)


def test_failing_samples_are_recorded_and_retried_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One exception, one NaN, one worker that kills itself, one that hangs: the campaign goes on."""
    design = full_factorial(ParameterSpace({"a": Uniform(0, 1)}), 5)
    marks = tmp_path / "marks"
    marks.mkdir()
    subject = FunctionModel(fragile, {"b": ""}, fixed={"marks": str(marks)})
    data = run_design(subject, design, store=tmp_path / "runs", workers=2, timeout=3.0)
    np.testing.assert_array_equal(data["b"], [design.points[4, 0]])
    store = Store(tmp_path / "runs")
    assert store.finished == [4]
    failed = {sample.index: sample.failure for sample in store.failed}
    assert [failed[i].kind for i in range(4)] == ["exception", "not_finite", "died", "timeout"]
    assert failed[0].reason == "RuntimeError: no equilibrium found"
    assert failed[1].reason == "Output 'b' is nan."
    assert "was ended by signal 9 (SIGKILL)" in failed[2].reason
    assert failed[3].reason == "The sample took longer than 3 s; its worker was ended."
    assert store.failed[2].parameters == {"a": 0.5}
    text = store.summary()
    assert "failed    4" in text and "no equilibrium found" in text and "a=0.7" in text
    out, err = capfd.readouterr()
    assert out == "" and "noise on standard output" in err

    for mark in marks.iterdir():
        mark.unlink()
    (marks / "mended").touch()
    unchanged = run_design(subject, design, store=tmp_path / "runs", workers=2)
    assert len(unchanged) == 1 and [p.name for p in marks.iterdir()] == ["mended"]
    data = run_design(subject, design, store=tmp_path / "runs", workers=2, retry_failed=True)
    np.testing.assert_array_equal(data["b"], design.points[:, 0])
    assert sorted(p.name for p in marks.iterdir()) == ["0.100", "0.300", "0.500", "0.700", "mended"]
    assert Store(tmp_path / "runs").failed == []


def test_a_sample_queued_behind_a_killed_one_is_not_lost(tmp_path: Path) -> None:
    """Short samples are handed out ahead; only the one under way is charged to a worker that dies."""

    def mostly_fine(a: float) -> float:
        if 0.3 < a < 0.4:
            os._exit(3)
        return a

    design = lhs(ParameterSpace({"a": Uniform(0, 1)}), 200, seed=0)
    data = run_design(FunctionModel(mostly_fine, ["b"]), design, store=tmp_path / "runs", workers=2)
    bad = (design.points[:, 0] > 0.3) & (design.points[:, 0] < 0.4)
    np.testing.assert_array_equal(data["b"], design.points[~bad, 0])
    failed = Store(tmp_path / "runs").failed
    assert [f.index for f in failed] == np.nonzero(bad)[0].tolist()
    assert all("exited with code 3" in f.failure.reason for f in failed)


def test_a_timeout_ends_what_the_sample_started(tmp_path: Path) -> None:
    def solver(a: float) -> float:
        import subprocess

        child = subprocess.Popen(["sleep", "60"])
        (tmp_path / f"{a:.2f}.pid").write_text(str(child.pid))
        return float(child.wait())

    design = full_factorial(ParameterSpace({"a": Uniform(0, 1)}), 1)
    with pytest.raises(ConfigError, match=r"Every sample of solver failed, the first \(0\) by timeout"):
        run_design(FunctionModel(solver, ["b"]), design, store=tmp_path / "runs", workers=1, timeout=3.0)
    child = int((tmp_path / "0.50.pid").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split(")")[1].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the solver started by the sample is still running")


def test_a_changed_model_or_design_is_refused_with_all_differences(tmp_path: Path) -> None:
    design = lhs(SPACE, 4, seed=0)
    run_design(model(), design, store=tmp_path / "runs", executor="serial")
    with pytest.raises(ConfigError, match=r"(?s)Resuming store .* has 2 problems:.*Model 'parameters' of store .* is "
                       r'\{\}, now \{"pause": 0.001\}; use another store.*\(4 points\) must be the given one'):  # fmt: skip
        run_design(model(pause=0.001), lhs(SPACE, 4, seed=1), store=tmp_path / "runs")
    with pytest.raises(ConfigError, match="Model 'code' of store"):
        run_design(FunctionModel(lambda k, c: 1.0, OUTPUTS, name="oscillator"), design, store=tmp_path / "runs")
    other = ParameterSpace({"k": Normal(50, 1, unit="N/m"), "c": SPACE["c"]})
    with pytest.raises(ConfigError, match=r"Parameters of store .* differ from the design's"):
        run_design(model(), lhs(other, 4, seed=0), store=tmp_path / "runs")


def test_arguments_are_checked_before_anything_runs(tmp_path: Path) -> None:
    design = lhs(SPACE, 2, seed=0)
    for change, message in (
        ({"executor": "threads"}, "executor of run_design must be 'processes', 'serial' or 'dask://host:port'"),
        ({"workers": 0}, "workers of run_design must be at least 1, got 0"),
        ({"timeout": 0.0}, "timeout of run_design must be positive, got 0 s"),
        ({"timeout": 1.0, "executor": "serial"}, "timeout of run_design needs a process that can be ended"),
    ):
        with pytest.raises(ConfigError, match=message):
            run_design(model(), design, store=tmp_path / "runs", **change)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="<lambda> must take the parameters k, c of the design by name"):
        run_design(lambda x: x, design, store=tmp_path / "runs")
    with pytest.raises(ConfigError, match=r"identity of oscillator must hold plain values \(JSON\)"):
        run_design(FunctionModel(oscillator, OUTPUTS, fixed={"log": b""}), design, store=tmp_path / "other")
    assert not (tmp_path / "runs").exists()


def test_progress_shows_rate_and_time_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Progress("brake", 10, 2, show=True) as shown:
        time.sleep(0.12)
        shown.add(3, 1)
    err = capsys.readouterr().err
    assert "brake" in err and "5/10" in err and "1 failed" in err and "left" in err
    monkeypatch.setattr(progress_module, "QUIET", 0.0)
    with Progress("brake", 10, 0, show=None) as shown:
        shown.add(10, 0)
    assert capsys.readouterr().err.startswith("brake: 10 of 10, ")
    with Progress("brake", 10, 0, show=False) as shown:
        shown.add(10, 0)
    assert capsys.readouterr().err == ""
    assert [duration(s) for s in (5, 65, 3900, float("inf"))] == ["5 s", "1 min 05 s", "1 h 05 min", "?"]
