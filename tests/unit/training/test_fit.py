"""fit_ffnn: accuracy, seeds, restarts, checkpoints, logs and what it says about bad data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mor.data.dataset import Dataset
from rt_runtime.errors import ConfigError
from training import FfnnConfig, fit_ffnn, select_ffnn
from training.fit import Rows
from training.trainers.scaled import scale

INPUTS, OUTPUTS = {"F_br": "N", "w_rw": "rad/s"}, {"tau_rw": "N m"}
QUICK = FfnnConfig(hidden=(6,), restarts=2, iterations=60)


def brake(n: int, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.uniform([0.0, 0.0], [50.0, 49.0], (n, 2))
    torque = (0.35 + 0.1 * np.exp(-X[:, 1] / 8.0)) * 6.0 * X[:, 0] * np.tanh(X[:, 1] / 5.0)
    return Dataset(X, torque, INPUTS, OUTPUTS)


def test_a_brake_map_is_learned_from_few_points() -> None:
    train, valid, test = brake(150, 0), brake(40, 1), brake(2000, 2)
    model = fit_ffnn(train, valid=valid, config=FfnnConfig(restarts=2, iterations=400))
    error = np.sqrt(np.sum((model.predict(test.X) - test.Y) ** 2) / np.sum(test.Y**2))
    assert error < 2e-3
    assert [p.name for p in (*model.inputs, *model.outputs)] == ["F_br", "w_rw", "tau_rw"]
    assert model.describe()["layers"] == [2, 10, 1]
    assert 20.0 < model.origin["effective_parameters"] <= 41.0
    assert model.origin["valid_mse"] == min(model.origin["scores"])


def test_noise_is_not_learned() -> None:
    """With noise in the data the effective parameters shrink and beta tells the noise."""
    train, clean = brake(150, 0), brake(500, 2)
    noise = 3.0 * np.random.default_rng(5).normal(size=train.Y.shape)
    noisy = Dataset(train.X, train.Y + noise, INPUTS, OUTPUTS)
    model = fit_ffnn(noisy, config=FfnnConfig(restarts=2, iterations=400))
    half = 0.5 * (model.range[1] - model.range[0])[0]
    assert half * np.sqrt(1.0 / (2.0 * model.origin["beta"])) == pytest.approx(3.0, rel=0.2)
    sharp = fit_ffnn(train, config=FfnnConfig(restarts=2, iterations=400))
    assert model.origin["effective_parameters"] < sharp.origin["effective_parameters"] - 3.0
    assert np.sqrt(np.mean((model.predict(clean.X) - clean.Y) ** 2)) < 1.5


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    train, valid = brake(60, 0), brake(20, 1)
    a, b = (fit_ffnn(train, valid=valid, config=QUICK) for _ in range(2))
    c = fit_ffnn(train, valid=valid, config=FfnnConfig(hidden=(6,), restarts=2, iterations=60, seed=1))
    assert a.weights[0].tobytes() == b.weights[0].tobytes()
    assert a.weights[0].tobytes() != c.weights[0].tobytes()


def test_domain_is_what_is_scaled() -> None:
    model = fit_ffnn(brake(60, 0), valid=brake(20, 1), config=QUICK, domain=([0.0, 0.0], [50.0, 49.0]))
    assert [b.tolist() for b in model.domain] == [[0.0, 0.0], [50.0, 49.0]]
    inner = fit_ffnn(brake(60, 0), valid=brake(20, 1), config=QUICK)
    assert inner.domain[0][0] == brake(60, 0).X[:, 0].min()


def test_an_interrupted_fit_resumes_to_the_same_bits(tmp_path: Path) -> None:
    train, valid = brake(60, 0), brake(20, 1)
    whole = fit_ffnn(train, valid=valid, config=QUICK)
    short = FfnnConfig(hidden=(6,), restarts=1, iterations=25)
    fit_ffnn(train, valid=valid, config=short, folder=tmp_path)
    resumed = fit_ffnn(train, valid=valid, config=QUICK, folder=tmp_path, resume=True)
    assert resumed.weights[0].tobytes() == whole.weights[0].tobytes()
    assert resumed.origin == whole.origin
    with (tmp_path / "restart_0" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["iteration"]) for row in rows] == [10, 20, 30, 40, 50, 60]
    assert float(rows[-1]["train_mse"]) < float(rows[0]["train_mse"])
    assert float(rows[-1]["valid_mse"]) > 0.0
    assert json.loads((tmp_path / "fit.json").read_text())["hidden"] == [6]


@pytest.mark.train
def test_a_fit_can_be_watched_in_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    fit_ffnn(brake(60, 0), valid=brake(20, 1), config=QUICK, folder=tmp_path)
    events = EventAccumulator(str(tmp_path / "restart_1"))
    events.Reload()
    assert [e.step for e in events.Scalars("effective_parameters")] == [10, 20, 30, 40, 50, 60]


def test_resuming_with_other_settings_or_data_is_refused(tmp_path: Path) -> None:
    fit_ffnn(brake(60, 0), valid=brake(20, 1), config=QUICK, folder=tmp_path)
    with pytest.raises(
        ConfigError, match=r"was begun with other settings .* got a different hidden; use another folder"
    ):
        fit_ffnn(brake(60, 0), valid=brake(20, 1), config=FfnnConfig(hidden=(7,)), folder=tmp_path, resume=True)
    with pytest.raises(ConfigError, match="got a different data"):
        fit_ffnn(brake(60, 3), valid=brake(20, 1), config=QUICK, folder=tmp_path, resume=True)


def test_a_time_limit_ends_the_fit() -> None:
    model = fit_ffnn(brake(60, 0), valid=brake(20, 1), config=FfnnConfig(restarts=50, iterations=100_000, seconds=0.05))
    assert model.origin["iterations"] < 100_000


def test_selection_tries_every_combination_and_keeps_the_best() -> None:
    result = select_ffnn(
        brake(80, 0), valid=brake(30, 1), config=FfnnConfig(restarts=1, iterations=60), hidden=[(2,), (8,)],
        activations=("tanh", "sigmoid"), seeds=(0, 1),
    )  # fmt: skip
    assert len(result.table) == 8
    best = [row for row in result.table if row["chosen"]]
    assert len(best) == 1 and best[0]["valid_mse"] == min(row["valid_mse"] for row in result.table)
    assert best[0]["hidden"] == [8] and result.model.n_parameters == best[0]["parameters"] == 33
    json.dumps(result.table)


def test_selection_needs_candidates() -> None:
    with pytest.raises(ConfigError, match="hidden, activations and seeds of select_ffnn must each name at least one"):
        select_ffnn(brake(20, 0), valid=brake(20, 1), hidden=())


def test_normal_equations_are_the_same_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = scale(brake(50, 0), None)
    layout = data.layout((4,), "tanh")
    problem, theta = Rows(layout, data.X, data.Y), layout.initial(np.random.default_rng(0))
    whole = problem.normal(theta)
    monkeypatch.setattr("training.fit._CHUNK", 7)
    for a, b in zip(whole, problem.normal(theta), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert whole[0] == pytest.approx(problem.error(theta))


def changed(**columns: Any) -> Dataset:
    data = brake(30, 0)
    X, Y = data.X.copy(), data.Y.copy()
    if "constant" in columns:
        X[:, columns["constant"]] = 2.0
    if "nan" in columns:
        Y[columns["nan"], 0] = np.nan
    return Dataset(X, Y, columns.get("inputs", INPUTS), OUTPUTS)


@pytest.mark.parametrize(
    ("train", "valid", "text"),
    [
        (changed(constant=1), None, "training input 'w_rw' must vary, got 2 in every row; leave it out"),
        (changed(nan=[3, 4]), None, "training output 'tau_rw' must be finite, got 2 NaN or infinite values"),
        (brake(3, 0), None, "training data must have at least 4 rows for 2 inputs, got 3"),
        (brake(30, 0), changed(inputs={"F_br": "N", "w_fw": "rad/s"}), r"inputs of the validation data must be those"),
        (brake(30, 0), brake(0, 0), "validation data must have at least one row, got 0"),
    ],
)
def test_bad_data_are_refused(train: Dataset, valid: Dataset | None, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        fit_ffnn(train, valid=valid, config=QUICK)


def test_doubtful_data_are_spoken_of(caplog) -> None:
    data = brake(60, 0)
    fit_ffnn(data, valid=data.take(np.arange(10)), config=QUICK)
    fit_ffnn(data.take(np.r_[0:60, 0:5]), config=QUICK)
    said = [record.getMessage() for record in caplog.records]
    assert any(text.startswith("Validation data share 10 of 10 rows with the training data;") for text in said)
    assert "Training data repeat 5 of 65 rows." in said
    with pytest.warns(UserWarning, match="20 values for 25 parameters"):
        fit_ffnn(brake(20, 0), config=QUICK)


def test_wrong_domain_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"domain of a fit must be lower and upper bounds .* of 2 inputs, got \[0.0\]"
    ):
        fit_ffnn(brake(30, 0), config=QUICK, domain=([0.0], [1.0]))


def test_all_wrong_settings_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        FfnnConfig(hidden=(0,), trainer="sgd", activation="gelu", restarts=0, seed=-1, seconds=0.0, learning_rate=0.0)
    for text in (
        "7 problems",
        "restarts",
        "hidden[0]",
        "seed",
        "one of lm, adam",
        "one of tanh",
        "seconds",
        "learning",
    ):
        assert text in str(error.value)
    with pytest.raises(ConfigError, match="hidden of a fit must name at least one layer"):
        FfnnConfig(hidden=())


def test_an_output_of_little_importance_is_fitted_less_well() -> None:
    """Two outputs, one neuron too few for both: the important one is served first."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (200, 1))
    data = Dataset(X, np.hstack([np.sin(4.0 * X), np.cos(5.0 * X)]), {"x": ""}, {"a": "", "b": ""})
    config = FfnnConfig(hidden=(3,), restarts=4, iterations=200)
    errors = [
        np.mean((fit_ffnn(data, config=config, importance=weights).predict(X) - data.Y) ** 2, axis=0)
        for weights in ([1.0, 0.01], [0.01, 1.0])
    ]
    assert errors[0][0] < 0.1 * errors[1][0] and errors[1][1] < 0.1 * errors[0][1]
