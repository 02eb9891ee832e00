from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, LogNormal, ParameterSpace, Trajectory, Uniform, fit_kriging, fit_pce, fit_pck, lhs
from rt_runtime.errors import ConfigError


def rows(n: int = 20, run: bool = False) -> Dataset:
    rng = np.random.default_rng(0)
    index = np.repeat(np.arange(n // 4), 4) if run else None
    return Dataset(rng.random((n, 2)), rng.random((n, 1)), {"F": "N", "w": "rad/s"}, {"tau": "Nm"}, run=index)


def same(a: Dataset, b: Dataset) -> bool:
    runs = (a.run is None and b.run is None) or np.array_equal(a.run, b.run)
    return np.array_equal(a.X, b.X) and np.array_equal(a.Y, b.Y) and runs and (a.inputs, a.outputs) == (
        b.inputs, b.outputs)  # fmt: skip


def test_columns_by_name() -> None:
    data = rows()
    assert data.names == ("F", "w", "tau") and len(data) == 20
    np.testing.assert_array_equal(data["w"], data.X[:, 1])
    np.testing.assert_array_equal(data["tau"], data.Y[:, 0])
    assert Dataset([1.0, 2.0], [3.0, 4.0], ["x"], ["y"]).X.shape == (2, 1)
    with pytest.raises(KeyError, match="has no column 'v'; it has F, w, tau"):
        data["v"]


@pytest.mark.parametrize("run", [False, True])
def test_files_give_the_same_bits_back(tmp_path: Path, run: bool) -> None:
    data = rows(run=run)
    data.save(tmp_path / "data.nc")
    data.to_csv(tmp_path / "data.csv")
    assert same(Dataset.load(tmp_path / "data.nc"), data)
    assert same(Dataset.from_csv(tmp_path / "data.csv"), data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "data.nc"]


def test_other_programs_read_the_files(tmp_path: Path) -> None:
    """xarray stands for all netCDF readers (MATLAB's ncread among them)."""
    import xarray

    rows().save(tmp_path / "data.nc")
    with xarray.open_dataset(tmp_path / "data.nc") as data:
        assert data["tau"].dims == ("sample",) and data["tau"].attrs == {"units": "Nm", "role": "output"}
        np.testing.assert_array_equal(data["tau"].values, rows()["tau"])
    run = Trajectory([0.0, 0.5], [[1.0], [2.0]], {"angle": "°"})
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        np.testing.assert_array_equal(data["time"].values, run.time)
        assert data["angle"].attrs["units"] == "°"
    assert run.to_xarray()["angle"].attrs == {"units": "°"}
    (tmp_path / "bad.nc").write_bytes(b"CDF\x02 but no more")
    with pytest.raises(ConfigError, match=r"bad.nc must be a netCDF file in the classic format, it cannot be read"):
        Dataset.load(tmp_path / "bad.nc")
    with pytest.raises(ConfigError, match=r"must hold columns over time; write it with Trajectory.save"):
        Trajectory.load(tmp_path / "data.nc")


def test_units_with_commas_survive_csv(tmp_path: Path) -> None:
    data = Dataset([[1.0]], [[2.0]], {"x": 'a,"b"'}, {"y": ""})
    data.to_csv(tmp_path / "x.csv")
    assert Dataset.from_csv(tmp_path / "x.csv").inputs == data.inputs


def test_split_by_rows() -> None:
    data = rows()
    parts = data.split(0.7, 0.2, 0.1, seed=1)
    assert [len(part) for part in parts] == [14, 4, 2]
    together = np.concatenate([part.X for part in parts])
    np.testing.assert_array_equal(np.sort(together[:, 0]), np.sort(data.X[:, 0]))
    assert all(same(a, b) for a, b in zip(parts, data.split(0.7, 0.2, 0.1, seed=1), strict=True))
    assert not same(parts[0], data.split(0.7, 0.2, 0.1, seed=2)[0])
    assert len(data.split(0.5, 0.5, 0.0, seed=0)[2]) == 0


def test_split_keeps_runs_whole_and_in_order() -> None:
    data = rows(run=True)
    parts = data.split(0.6, 0.2, 0.2, seed=0)
    runs = [set(part.run.tolist()) for part in parts]
    assert [len(r) for r in runs] == [3, 1, 1] and set.union(*runs) == set(range(5))
    for part in parts:
        for run in set(part.run.tolist()):
            np.testing.assert_array_equal(part.X[part.run == run], data.X[data.run == run])


def test_from_trajectories() -> None:
    a = Trajectory([0.0, 0.1], [[1.0, 2.0], [3.0, 4.0]], {"u": "N", "y": "m"})
    b = Trajectory([0.0], [[5.0, 6.0]], {"u": "N", "y": "m"})
    data = Dataset.from_trajectories([a, b], ["u"], ["y"])
    np.testing.assert_array_equal(data["y"], [2, 4, 6])
    np.testing.assert_array_equal(data.run, [0, 0, 1])
    assert data.outputs[0].unit == "m"
    with pytest.raises(ConfigError, match="Trajectory 1 must have column 'u' in N as the first one, got u"):
        Dataset.from_trajectories([a, Trajectory([0.0], [[1.0, 1.0]], {"u": "kN", "y": "m"})], ["u"], ["y"])
    with pytest.raises(ConfigError, match="must not be empty"):
        Dataset.from_trajectories([], ["u"], ["y"])


def test_the_step_of_trajectories_comes_along(tmp_path: Path) -> None:
    def run(dt: float) -> Trajectory:
        return Trajectory(np.arange(6) * dt, np.ones((6, 2)), {"u": "N", "y": "m"})

    data = Dataset.from_trajectories([run(0.1), run(0.1)], ["u"], ["y"])
    assert data.dt == pytest.approx(0.1)
    data.save(tmp_path / "runs.nc")
    assert Dataset.load(tmp_path / "runs.nc").dt == data.dt
    assert data.take(data.run == 1).dt == data.dt and data.split(0.5, 0.0, 0.5, seed=0)[0].dt == data.dt
    assert data.take(np.arange(0, 12, 2)).dt is None  # every other row: another step
    uneven = Trajectory([0.0, 0.1, 0.3], np.ones((3, 2)), {"u": "N", "y": "m"})
    assert Dataset.from_trajectories([uneven], ["u"], ["y"]).dt is None
    with pytest.raises(
        ConfigError, match=r"Trajectory 1 must have the step of the first one, 0\.1 s, got 0\.2 s; resample it"
    ):
        Dataset.from_trajectories([run(0.1), run(0.2)], ["u"], ["y"])
    with pytest.raises(ConfigError, match="dt of Dataset must be positive"):
        Dataset([1.0], [1.0], ["u"], ["y"], dt=0.0)


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"X of Dataset must have 2 columns \(a, b\), got shape \(3, 1\)"):
        Dataset(np.zeros((3, 1)), np.zeros((3, 1)), ["a", "b"], ["y"])
    with pytest.raises(ConfigError, match="same number of rows, got 3 and 2"):
        Dataset(np.zeros((3, 1)), np.zeros((2, 1)), ["a"], ["y"])
    with pytest.raises(ConfigError, match="inputs and outputs of Dataset must differ, got a"):
        Dataset(np.zeros((3, 1)), np.zeros((3, 1)), ["a"], ["a"])
    with pytest.raises(ConfigError, match="Column 'run' of Dataset is the index of the run"):
        Dataset(np.zeros((3, 1)), np.zeros((3, 1)), ["run"], ["a"])
    with pytest.raises(ConfigError, match=r"run of Dataset must have shape \(3,\), got \(2,\)"):
        Dataset(np.zeros((3, 1)), np.zeros((3, 1)), ["a"], ["b"], run=[0, 1])
    with pytest.raises(ConfigError, match="add up to 1, got"):
        rows().split(0.7, 0.2, 0.2, seed=0)
    with pytest.raises(ConfigError, match=r"Part test of Dataset.split must not be empty, got 2 rows to split"):
        rows().take([0, 1]).split(0.5, 0.45, 0.05, seed=0)
    (tmp_path / "bad.csv").write_text("a,b\ninput,output\nN,m\n1,x\n")
    with pytest.raises(ConfigError, match="below the units must be a number: could not convert string to float"):
        Dataset.from_csv(tmp_path / "bad.csv")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ConfigError, match="must start with three lines"):
        Dataset.from_csv(tmp_path / "bad.csv")
    Trajectory([0.0], [[1.0]], ["u"]).save(tmp_path / "t.nc")
    with pytest.raises(ConfigError, match=r"Variable 'time' of .* must have the role input or output, got None"):
        Dataset.load(tmp_path / "t.nc")


def test_trajectory_columns_and_files(tmp_path: Path) -> None:
    run = Trajectory([0.0, 0.5, 1.0], np.arange(6.0).reshape(3, 2), {"v": "m/s", "tau": "Nm"})
    assert run.names == ("v", "tau") and run.units == ("m/s", "Nm") and len(run) == 3
    np.testing.assert_array_equal(run["tau"], [1, 3, 5])
    assert run.select(["tau"]).units == ("Nm",)
    run.save(tmp_path / "run.nc")
    back = Trajectory.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(back.values, run.values)
    np.testing.assert_array_equal(back.time, run.time)
    assert back.ports == run.ports
    assert Trajectory([0.0, 1.0], [1.0, 2.0], ["v"]).values.shape == (2, 1)
    with pytest.raises(KeyError, match="Trajectory has no column 'x'; it has v, tau"):
        run["x"]
    with pytest.raises(ConfigError, match=r"values of Trajectory must have shape \(3, 1\) .* got \(3, 2\)"):
        Trajectory(run.time, run.values, ["v"])
    with pytest.raises(ConfigError, match="time of Trajectory must increase"):
        Trajectory([0.0, 0.0], [1.0, 2.0], ["v"])
    with pytest.raises(ConfigError, match="Column 'time' of Trajectory is its time axis"):
        Trajectory([0.0], [1.0], ["time"])


def test_mirrored_runs_stand_beside_the_others_as_runs_of_their_own() -> None:
    runs = [
        Trajectory(np.arange(3) * 0.1, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], {"x": "m", "F": "N"}) for _ in range(2)
    ]
    both = Dataset.from_trajectories(runs, ["x"], ["F"]).mirrored()
    assert sorted(set(both.run.tolist())) == [0, 1, 2, 3] and both.dt == pytest.approx(0.1)
    np.testing.assert_array_equal(both.X[both.run == 2], -both.X[both.run == 0])
    np.testing.assert_array_equal(both["F"][6:], -both["F"][:6])
    with pytest.raises(ConfigError, match="whole runs"):
        Dataset([[1.0]], [[1.0]], ["x"], ["F"]).mirrored()


def test_the_space_of_a_dataset_is_kept_and_serves_every_fit(tmp_path: Path) -> None:
    space = ParameterSpace({"a": Uniform(0.0, 2.0), "b": LogNormal.from_mean_cv(1.0, 0.2)})
    X = lhs(space, 40, seed=1).points
    data = Dataset(X, X[:, 0] * X[:, 1], space.ports, {"y": ""}, space=space)
    data.save(tmp_path / "rows.nc")
    for other in (data.take(np.arange(20)), data.split(0.5, 0.25, 0.25, seed=0)[0], Dataset.load(tmp_path / "rows.nc")):
        assert other.space is not None and other.space.to_dict() == space.to_dict()
    x = X[:3]
    for fit in (fit_pce, fit_kriging, fit_pck):
        assert np.array_equal(fit(data).predict(x), fit(data, space).predict(x))
    bare = Dataset(X, data.Y, space.ports, {"y": ""})
    with pytest.raises(ConfigError, match="space of fit_pce must be given, because its data do not record"):
        fit_pce(bare)
    with pytest.raises(ConfigError, match="space of Dataset must have the parameters p, q, in that order, got a, b"):
        Dataset(X, data.Y, {"p": "", "q": ""}, {"y": ""}, space=space)
    with pytest.raises(
        ConfigError, match=r"Input 'a' of Dataset must have the unit of its law in the space, m, got mm"
    ):
        Dataset([1.0], [1.0], {"a": "mm"}, {"y": ""}, space=ParameterSpace({"a": Uniform(0.0, 2.0, unit="m")}))
