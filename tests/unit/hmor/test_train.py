"""`hmor train` and `hmor validate` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hmor.study import load_study
from mor.dataset import Dataset
from mor.gate import Gate
from mor.reduced import ReducedModel
from rt_runtime.errors import ConfigError
from tests.unit.hmor.test_sample import hmor

CODE = """
import numpy as np
from mor.trajectory import Trajectory
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
[sample]
model = "{module}:torque"
outputs = {{tau = "Nm", heat = "W"}}
executor = "serial"
[sample.parameters]
F = {{law = "uniform", lower = 0, upper = 50, unit = "N"}}
w = {{law = "uniform", lower = 0, upper = 49, unit = "rad/s"}}
[sample.design]
method = "lhs"
n = 60
[train]
outputs = ["tau"]
{train}
"""


def study(folder: Path, text: str, train: str = "", code: str = CODE) -> Path:
    module = f"model_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(code)
    path = folder / "study.toml"
    path.write_text(text.format(module=module, train=train))
    return path


def test_sample_train_validate(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(
        tmp_path, STATIC, "[train.ffnn]\nhidden = [6]\nrestarts = 2\niterations = 150\n[validate]\nmax_nrmse = 0.01\nagainst = true\n"
    )
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path, "--json") == 0
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert result["summary"]["layers"] == [2, 6, 1] and result["candidates"] == []
    assert result["summary"]["inputs"][0]["domain"] == [0.0, 50.0]  # the law's, not the data's
    assert "fit network" in err
    model = ReducedModel.load(tmp_path / "brake.model.npz")
    assert [p.name for p in model.outputs] == ["tau"]
    assert (tmp_path / "brake.fit" / "restart_1" / "metrics.csv").exists()

    assert hmor("validate", path, "--json") == 0
    out, _ = capfd.readouterr()
    judged = json.loads(out)
    assert judged["passed"] and judged["worst_nrmse"] < 0.01 and judged["rows"] == 9
    assert judged["errors"][0]["output"] == "tau" and judged["cost"]["speed_up"] > 0.0
    assert all(Path(p).stat().st_size > 1000 for p in judged["pictures"]) and len(judged["pictures"]) == 2

    assert hmor("train", path, "--resume") == 0
    out, _ = capfd.readouterr()
    assert "effective parameters" in out and "2-6-1" in out and "w [rad/s]" in out
    assert hmor("validate", path) == 0
    out, _ = capfd.readouterr()
    assert "nrmse" in out and "parity.png" in out


def test_a_model_that_is_too_bad_fails_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(
        tmp_path, STATIC, "[train.ffnn]\nhidden = [1]\nrestarts = 1\niterations = 5\n[validate]\nmax_nrmse = 1e-6\npictures = false\n"
    )
    assert hmor("sample", path, "--json") == hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["passed"] is False and json.loads(out)["pictures"] == []
    assert "must be at most 1e-06, got" in err and "sample more, or choose another model" in err


def test_selection_and_polynomials(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(tmp_path, STATIC, "[train.ffnn]\ncandidates = [[2], [6]]\nrestarts = 1\niterations = 60\n")
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path) == 0
    out, _ = capfd.readouterr()
    assert "candidates" in out and "chosen" in out and "2-6-1" in out
    path = study(tmp_path, STATIC, 'kind = "pce"\n[train.pce]\nmethod = "ols"\ndegree = [3, 5]\n')
    assert hmor("train", path, "--json") == 0
    out, _ = capfd.readouterr()
    assert json.loads(out)["summary"]["kind"] == "pce"


@pytest.mark.parametrize("kind", ["ffnn", "pce"])
def test_a_gate(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = f'kind = "{kind}"\n[train.gate]\ninput = "F"\nspan = 2.0\n[train.ffnn]\nhidden = [4]\nrestarts = 1\niterations = 60\n'
    path = study(tmp_path, STATIC, text)
    assert hmor("sample", path, "--json") == 0
    capfd.readouterr()
    assert hmor("train", path, "--json") == 0
    assert json.loads(capfd.readouterr().out)["summary"]["gate"] == {"input": "F", "span": 2.0}
    assert ReducedModel.load(tmp_path / "brake.model.npz").predict([0.0, 20.0]).tolist() == [[0.0]]
    path.write_text(path.read_text().replace('input = "F"', 'input = "v"'))
    assert hmor("train", path) == 2
    assert "input of a gate must be one of F, w, got 'v'" in capfd.readouterr().err


def test_a_gate_must_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Key 'train.gate.span'"):
        load_study(study(tmp_path, STATIC, '[train.gate]\ninput = "F"\nspan = 0.0\n'))
    with pytest.raises(ConfigError, match=r"closed of a gate must lie in \[0, 1\), below its span, got 1.5"):
        load_study(study(tmp_path, STATIC, '[train.gate]\ninput = "F"\nspan = 1.0\nclosed = 1.5\n'))


def test_memory_from_trajectories(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = STATIC.replace("torque", "ramp").replace('outputs = {{tau = "Nm", heat = "W"}}\n', "").replace("F = {{law", "rate = {{law")
    train = """
split = [0.6, 0.2, 0.2]
domain = {F = [0.0, 50.0]}
[train.ffnn]
hidden = [5]
restarts = 1
iterations = 60
[train.memory]
signals = ["F", "w"]
filters = [{of = "F", time_constant = 0.1}]
rows = 500
iterations = 0
[train.gate]
input = "F_f1"
span = 0.02
closed = 0.01
[validate]
max_nrmse = 0.05
"""
    path = study(tmp_path, text.replace("n = 60", "n = 12"), train)
    assert hmor("sample", path, "--json") == hmor("train", path, "--json") == 0
    capfd.readouterr()
    assert hmor("validate", path, "--json") == 0
    out, _ = capfd.readouterr()
    judged = json.loads(out)
    assert judged["errors"][0]["one_step_nrmse"] >= 0.0 and Path(judged["pictures"][0]).name == "free_run.png"
    model = ReducedModel.load(tmp_path / "brake.model.npz")
    assert model.describe()["dt"] == pytest.approx(0.01)
    assert model.gate == Gate("F_f1_lag1", 0.02, 0.01, ("tau",))


def test_data_from_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (60, 2))
    Dataset(X, X[:, :1] * X[:, 1:], {"a": "", "b": ""}, {"c": ""}).save(tmp_path / "rows.nc")
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nname = "file"\n[train]\ndata = "rows.nc"\nmodel = "product.npz"\n'
        "[train.ffnn]\nhidden = [4]\nrestarts = 1\niterations = 60\n"
    )
    assert hmor("train", path, "--json") == hmor("validate", path, "--json") == 0
    assert (tmp_path / "product.npz").exists()
    capfd.readouterr()


def test_every_problem_of_the_sections_at_once(tmp_path: Path) -> None:
    path = study(
        tmp_path, STATIC,
        'split = [0.9, 0.2, 0.1]\nkind = "kriging"\n[train.ffnn]\ntrainer = "sgd"\nhidden = [0]\n'
        "[train.memory]\nsignals = []\n[validate]\nmax_nrmse = -1.0\n",
    )  # fmt: skip
    with pytest.raises(ConfigError) as error:
        load_study(path)
    for text in (
        "Key 'train.split': must be three positive fractions that add up to 1",
        "Key 'train.kind' must be 'ffnn' or 'pce', got 'kriging'",
        "trainer of a fit must be one of lm, adam, got 'sgd'",
        "hidden[0] of a fit must be a positive whole number",
        "Key 'train.memory.signals'",
        "Key 'validate.max_nrmse'",
    ):
        assert text in str(error.value)


def test_sentences(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = study(tmp_path, STATIC)
    assert hmor("train", path) == 2
    assert "does not exist; run hmor sample first, or name [train] data" in capfd.readouterr().err
    assert hmor("sample", path, "--json") == 0
    assert hmor("validate", path) == 2
    assert "does not exist; run hmor train first" in capfd.readouterr().err
    for text, sentence in (
        (path.read_text().replace('["tau"]', '["p"]'), "outputs of [train] must be among those of the data (tau, heat), got p"),
        (path.read_text() + "domain = {v = [0.0, 1.0]}\n", "domain of [train] must name inputs (F, w), got v"),
        (path.read_text() + 'data = "none.nc"\n', "none.nc of the study does not exist; write it with Dataset.save"),
        (path.read_text() + '[train.memory]\nsignals = ["F"]\ninput_lags = 1\n', "have no trajectories, which [train.memory] needs"),
    ):
        path.write_text(text)
        assert hmor("train", path) == 2
        assert sentence in capfd.readouterr().err
        study(tmp_path, STATIC)


def test_sentences_about_runs_in_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nname = "file"\n[train]\ndata = "runs.nc"\noutputs = ["y"]\n'
        '[train.memory]\nsignals = ["u"]\ninput_lags = 1\n'
    )
    t = np.arange(20) * 0.1
    u = np.sin(t)
    for columns, sentence in (
        ({"u": u, "y": u}, "Data file runs.nc must have the column 'time' for a model with memory"),
        ({"time": t, "u": u, "z": u}, "Data file runs.nc must have the columns of [train], missing y"),
        ({"time": t**2, "u": u, "y": u}, "must have one even step, got 0.01 to 0.37 s"),
    ):
        names = list(columns)
        values = np.column_stack(list(columns.values()))
        Dataset(values[:, :-1], values[:, -1:], names[:-1], names[-1:], run=np.zeros(20)).save(tmp_path / "runs.nc")
        assert hmor("train", path) == 2
        assert sentence in capfd.readouterr().err
