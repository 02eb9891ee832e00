"""`hmor train` and `hmor validate` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mor.data.dataset import Dataset
from mor.reduced.base import ReducedModel
from mor.reduced.gate import Gate
from tests.unit.hmor.study.test_sample import hmor

CODE = """
import numpy as np
from mor.data.trajectory import Trajectory
def torque(F, w):
    return {"tau": 2.0 * F * np.tanh(w / 10.0), "heat": F * w}
def ramp(rate, w):
    t = np.arange(400) * 0.01
    F = np.clip(rate * t, 0.0, 50.0)
    p = np.zeros(400)
    for k in range(1, 400):
        p[k] = p[k - 1] + 0.1 * (F[k] - p[k - 1])
    return Trajectory(t, np.column_stack([F, np.full(400, w), p * w / 10.0]), {"F": "N", "w": "rad/s", "tau": "Nm"})
"""
STATIC = """
[study]
name = "brake"
seed = 3
[parts.brake]
model = "{module}:torque"
outputs = {{tau = "Nm", heat = "W"}}
executor = "serial"
{part}
[parts.brake.parameters]
F = {{law = "uniform", lower = 0, upper = 50, unit = "N"}}
w = {{law = "uniform", lower = 0, upper = 49, unit = "rad/s"}}
[parts.brake.design]
method = "lhs"
n = 60
[parts.brake.models.m]
kind = "{kind}"
outputs = ["tau"]
{train}
"""


def study(folder: Path, text: str, train: str = "", code: str = CODE, *, part: str = "", kind: str = "ffnn") -> Path:
    module = f"model_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(code)
    path = folder / "study.toml"
    path.write_text(text.format(module=module, train=train, part=part, kind=kind))

    return path


def test_sample_train_validate(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(
        tmp_path, STATIC, "hidden = [6]\nrestarts = 2\niterations = 150\nmax_nrmse = 0.01\n", part="against = true"
    )
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path, "--json") == 0
    out, err = capfd.readouterr()
    result = json.loads(out)["brake_m"]
    assert result["layers"] == "2-6-1" and result["candidates"] == []
    model = ReducedModel.load(model_file(tmp_path))
    assert [p.name for p in model.outputs] == ["tau"]
    assert model.describe()["inputs"][0]["domain"] == [0.0, 50.0]  # the law's, not the data's
    assert (tmp_path / "runs" / "brake" / "fit" / "brake_m" / "restart_1" / "metrics.csv").exists()

    assert hmor("validate", path, "--json") == 0
    out, _ = capfd.readouterr()
    judged = json.loads(out)["brake_m"]
    assert judged["passed"] and judged["worst_nrmse"] < 0.01 and judged["rows"] == 9
    assert judged["errors"][0]["output"] == "tau" and judged["cost"]["speed_up"] > 0.0

    assert hmor("train", path) == 0
    out, err = capfd.readouterr()
    assert "2-6-1" in out and "train/brake_m: unchanged" in err
    assert hmor("validate", path) == 0
    assert "nrmse" in capfd.readouterr().out
    path.write_text(path.read_text().replace("hidden = [6]", "hidden = [5]"))
    assert hmor("validate", path) == 2
    assert "Step 'train/brake_m' of study 'brake' was made from other settings" in capfd.readouterr().err


def model_file(folder: Path) -> Path:
    return folder / "runs" / "brake" / "models" / "brake_m.npz"


def test_a_model_that_is_too_bad_fails_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(tmp_path, STATIC, "hidden = [1]\nrestarts = 1\niterations = 5\nmax_nrmse = 1e-6\n")
    assert hmor("sample", path, "--json") == hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["brake_m"]["passed"] is False
    assert "must be at most 1e-06, got" in err and "sample more, or choose another model" in err


def test_selection_and_polynomials(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(tmp_path, STATIC, "candidates = [[2], [6]]\nrestarts = 1\niterations = 60\n")
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path) == 0
    out, _ = capfd.readouterr()
    assert "candidates" in out and "chosen" in out and "2-6-1" in out
    path = study(tmp_path, STATIC, 'method = "ols"\ndegree = [3, 5]\n', kind="pce")
    assert hmor("train", path, "--json") == 0
    out, _ = capfd.readouterr()
    assert json.loads(out)["brake_m"]["kind"] == "pce"
    assert hmor("validate", path, "--json") == 0
    sobol = json.loads(capfd.readouterr().out)["brake_m"]["sobol"]["tau"]
    assert sobol["F"]["total"] >= sobol["F"]["first"] > 0.3


@pytest.mark.parametrize("kind", ["kriging", "pck"])
def test_kriging_of_both_kinds_with_its_sensitivities(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = study(tmp_path, STATIC, 'kernel = "matern52"\nnoise = "none"\ninteractions = false\n', kind=kind)
    assert hmor("sample", path, "--json") == hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 0
    judged = json.loads(capfd.readouterr().out)["brake_m"]
    assert judged["worst_nrmse"] < 0.05 and judged["sobol"]["tau"]["F"]["total"] > 0.3
    assert hmor("export", path) == 2
    assert "has nothing to export" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["ffnn", "pce"])
def test_a_gate(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = 'gate = {input = "F", span = 2.0}\n' + (
        "hidden = [4]\nrestarts = 1\niterations = 60\n" if kind == "ffnn" else ""
    )
    path = study(tmp_path, STATIC, text, kind=kind)
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path, "--json") == 0
    model = ReducedModel.load(model_file(tmp_path))
    assert model.describe()["gate"] == {"input": "F", "span": 2.0}
    assert model.predict([0.0, 20.0]).tolist() == [[0.0]]
    path.write_text(path.read_text().replace('input = "F"', 'input = "v"'))
    assert hmor("train", path) == 2
    assert "input of a gate must be one of F, w, got 'v'" in capfd.readouterr().err


MEMORY = """domain = {F = [0.0, 50.0]}
max_nrmse = 0.05
hidden = [5]
restarts = 1
iterations = 60
gate = {input = "F_f1", span = 0.02, closed = 0.01}
[parts.brake.models.m.memory]
signals = ["F", "w"]
filters = [{of = "F", time_constant = 0.1}]
rows = 500
iterations = 0
"""
RUNS = (
    STATIC.replace("torque", "ramp").replace('outputs = {{tau = "Nm", heat = "W"}}\n', "").replace("F = {{law", "rate = {{law")
    .replace("n = 60", "n = 12")
)  # fmt: skip


def test_memory_from_trajectories(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(tmp_path, RUNS, MEMORY, part="split = [0.6, 0.2, 0.2]")
    assert hmor("sample", path, "--json") == hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 0
    out, _ = capfd.readouterr()
    assert json.loads(out)["brake_m"]["errors"][0]["one_step_nrmse"] >= 0.0
    model = ReducedModel.load(model_file(tmp_path))
    assert model.describe()["dt"] == pytest.approx(0.01)
    assert model.describe()["gate"] == Gate("F_f1_lag1", 0.02, 0.01, ("tau",)).plain()


HIDDEN = """
import numpy as np
from mor import Trajectory
def ramp(rate, w):
    t = np.arange(400) * 0.01
    F = np.clip(rate * t, 0.0, 50.0)
    V = np.zeros(400)
    for k in range(1, 400):
        V[k] = V[k - 1] + 0.1 * (F[k] - V[k - 1])
    return Trajectory(t, np.column_stack([F, np.full(400, w), V * w / 10.0, V]), {"F": "N", "w": "rad/s", "tau": "Nm", "V": "cm3"})
"""


@pytest.mark.parametrize("kind", ["ffnn", "pce"])
def test_a_hidden_state_is_carried_along(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    train = (
        "domain = {F = [0.0, 50.0]}\nmax_nrmse = 0.05\n"
        + ("hidden = [5]\nrestarts = 1\niterations = 60\n" if kind == "ffnn" else "")
        + '[parts.brake.models.m.memory]\nsignals = ["F", "w"]\nstates = [{of = "V", time_constant = 0.1}]\nrows = 500\n'
        "iterations = 0\n"
    )
    path = study(tmp_path, RUNS, train, HIDDEN, part="split = [0.6, 0.2, 0.2]", kind=kind)
    assert hmor("sample", path, "--json") == hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 0
    assert {row["output"] for row in json.loads(capfd.readouterr().out)["brake_m"]["errors"]} == {"tau", "V"}
    path.write_text(path.read_text().replace("[parts.brake.parameters]", "against = true\n[parts.brake.parameters]"))
    assert hmor("validate", path) == 2
    assert "against of part 'brake' needs its substructure for models with memory" in capfd.readouterr().err


def test_data_from_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (60, 2))
    Dataset(X, X[:, :1] * X[:, 1:], {"a": "", "b": ""}, {"c": ""}).save(tmp_path / "rows.nc")
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nname = "file"\n[parts.p]\ndata = "rows.nc"\ntest = "rows.nc"\n'
        "[parts.p.models.ffnn]\nhidden = [4]\nrestarts = 1\niterations = 60\n"
    )
    assert hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 0
    assert json.loads(capfd.readouterr().out)["p_ffnn"]["rows"] == 60
    assert (tmp_path / "runs" / "file" / "models" / "p_ffnn.npz").exists()
    assert hmor("sample", path) == 2
    assert "has nothing to sample" in capfd.readouterr().err


def test_a_model_learns_from_the_samples_of_another_part_or_a_store(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = study(tmp_path, STATIC, "hidden = [3]\nrestarts = 1\niterations = 20\n")
    more = '[parts.other.models.ffnn]\nsamples = "brake"\nhidden = [2]\nrestarts = 1\niterations = 20\n'
    more += '[parts.stored]\nstore = "runs/brake/samples/brake"\n[parts.stored.models.ffnn]\nhidden = [2]\nrestarts = 1\niterations = 20\n'
    path.write_text(path.read_text() + more)
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path, "--json") == 0
    assert set(json.loads(capfd.readouterr().out)) == {"brake_m", "other_ffnn", "stored_ffnn"}


def test_sentences(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(tmp_path, STATIC)
    assert hmor("train", path) == 2
    assert "Step 'sample/brake' of study 'brake' is not made yet; run: hmor sample" in capfd.readouterr().err
    assert hmor("sample", path, "--json") == 0
    assert hmor("validate", path) == 2
    assert "Step 'train/brake_m' of study 'brake' is not made yet; run: hmor train" in capfd.readouterr().err
    whole = path.read_text()
    for text, sentence in (
        (
            whole.replace('["tau"]', '["p"]'),
            "outputs of model brake.m must be among those of the data (tau, heat), got p",
        ),
        (whole + "domain = {v = [0.0, 1.0]}\n", "domain of brake.m must name inputs (F, w), got v"),
        (
            whole + '[parts.brake.models.m.memory]\nsignals = ["F"]\ninput_lags = 1\n',
            "have no trajectories, which the memory of brake.m",
        ),
        (
            whole + '[parts.f]\ndata = "none.nc"\n[parts.f.models.pce]\n',
            "none.nc of the study does not exist; write it with Dataset.save",
        ),
    ):
        path.write_text(text)
        assert hmor("train", path) == 2
        assert sentence in capfd.readouterr().err


def test_sentences_about_runs_in_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nname = "file"\n[parts.p]\ndata = "runs.nc"\n[parts.p.models.ffnn]\noutputs = ["y"]\n'
        '[parts.p.models.ffnn.memory]\nsignals = ["u"]\ninput_lags = 1\n'
    )
    t = np.arange(20) * 0.1
    u = np.sin(t)
    for columns, sentence in (
        ({"u": u, "y": u}, "Data file runs.nc must have the column 'time' for a model with memory"),
        ({"time": t, "u": u, "z": u}, "Data file runs.nc must have the columns of p.ffnn, missing y"),
        ({"time": t**2, "u": u, "y": u}, "must have one even step, got 0.01 to 0.37 s"),
    ):
        names = list(columns)
        values = np.column_stack(list(columns.values()))
        Dataset(values[:, :-1], values[:, -1:], names[:-1], names[-1:], run=np.zeros(20)).save(tmp_path / "runs.nc")
        assert hmor("train", path) == 2
        assert sentence in capfd.readouterr().err
