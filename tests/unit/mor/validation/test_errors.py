"""Errors and validation: numbers by hand, models with known errors, and the sentences."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mor import Dataset, ParameterSpace, Uniform, fit_pce, ishigami, lhs
from mor.validation.validate import k_fold, learning_curve, nrmse, peak_error, r2, validate
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import FORCE, TORQUE, linear, memory_of_linear

SPACE = ParameterSpace({"x": Uniform(-1.0, 1.0)})


def test_errors_by_hand() -> None:
    assert nrmse([1.0, 2.0, 2.0], [1.0, 2.0, 3.0]) == pytest.approx(1 / np.sqrt(14))
    assert peak_error([1.0, -5.0], [1.0, -4.0]) == pytest.approx(0.25)
    assert r2([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert r2([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]) == pytest.approx(0.0)
    assert nrmse([[1.0], [2.0]], [[1.0], [2.0]]) == 0.0


@pytest.mark.parametrize("judge", [nrmse, peak_error, r2])
def test_signals_that_cannot_be_compared_are_refused(judge) -> None:
    with pytest.raises(ConfigError, match="must be one signal each and of one length, got shapes"):
        judge([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ConfigError, match="must be one signal each"):
        judge(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(ConfigError, match="must be finite, got NaN or infinity"):
        judge([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ConfigError, match=r"must not be zero throughout|must vary"):
        judge([1.0, 2.0], [0.0, 0.0])


def test_a_perfect_static_model_has_no_error_and_a_cost() -> None:
    model = linear()
    X = np.random.default_rng(0).uniform([0, 0], [50, 49], (30, 2))
    report = validate(model, Dataset(X, model.predict(X), model.inputs, model.outputs), against=lambda X: X @ X.T)
    assert report.worst() == 0.0 and report.worst("peak") == 0.0
    assert [row["output"] for row in report.errors] == ["tau_rw", "p"]
    assert report.errors[0]["r2"] == 1.0 and report.errors[0]["rows"] == 30 and report.errors[0]["outside"] == 0
    assert report.cost["multiply_adds"] == 4
    assert set(report.cost) >= {
        "bytes",
        "time_per_call_us",
        "time_per_row_us",
        "full_order_time_per_row_us",
        "speed_up",
    }
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    assert "tau_rw" in str(report) and "multiply_adds" in str(report)


def test_an_offset_is_seen_as_such() -> None:
    model = linear()
    X = np.random.default_rng(0).uniform([0, 0], [50, 49], (30, 2))
    Y = model.predict(X)
    off = Y.copy()
    off[:, 0] *= 1.01
    report = validate(model, Dataset(X, off, model.inputs, model.outputs))
    assert report.errors[0]["nrmse"] == pytest.approx(0.01 / 1.01)
    assert report.errors[1]["nrmse"] == 0.0


def test_memory_is_judged_one_step_ahead_and_in_free_run() -> None:
    """Measured torque is the model's own plus white noise: one step ahead sees 0.9 of the past noise, free run none."""
    model = memory_of_linear()
    rng = np.random.default_rng(1)
    u = np.abs(rng.normal(size=(4000, 1))) * 15.0
    clean = model.rollout(u)
    noise = rng.normal(size=clean.shape)
    run = np.repeat([0, 1], 2000)
    both = np.concatenate([model.rollout(u[:2000]), model.rollout(u[2000:])]) + noise
    report = validate(model, Dataset(u, both, [FORCE], [TORQUE], run=run))
    size = np.sqrt(np.mean(both**2))
    row = report.errors[0]
    assert row["nrmse"] == pytest.approx(1.0 / size, rel=0.05)
    assert row["one_step_nrmse"] == pytest.approx(np.sqrt(1 + 0.81) / size, rel=0.05)
    assert row["outside"] == int(np.count_nonzero(u > 50.0))
    assert report.cost["time_per_step_us"] > 0.0


def test_data_that_does_not_match_is_refused() -> None:
    model = linear()
    X = np.ones((3, 2))
    with pytest.raises(ConfigError, match=r"must have the inputs F_br \[N\], w_rw \[rad/s\] of the model"):
        validate(model, Dataset(X, X, ["F_br", "w_rw"], ["tau_rw", "p"]))
    with pytest.raises(ConfigError, match="must have the outputs tau_rw, p of the model, missing p"):
        validate(model, Dataset(X, X[:, 0], model.inputs, [TORQUE]))
    with pytest.raises(ConfigError, match=r"must be those of the model \(tau_rw\), got q"):
        validate(memory_of_linear(), Dataset(X[:, :1], X, [FORCE], ["tau_rw", "q"]))


def test_rows_shared_with_training_are_warned_of(caplog) -> None:
    model = linear()
    X = np.random.default_rng(0).uniform([0, 0], [50, 49], (30, 2))
    data = Dataset(X, model.predict(X), model.inputs, model.outputs)
    report = validate(model, data.take(np.arange(20)), training=data.take(np.arange(10, 30)))
    sentence = (
        "Data of validate shares 10 of its 20 rows with the training data; errors on them say nothing about new points."
    )
    assert report.notes == (sentence,) and sentence in str(report)
    assert [record.getMessage() for record in caplog.records] == [
        sentence
    ]  # a sentence, not a warning with a source line


def test_runs_at_rest_share_no_rows_but_copied_ones_do(caplog) -> None:
    """Both kinds of run start at rest and pass the same values; only what repeats and moves is a repeat: 20 values and the way back."""
    model = memory_of_linear()
    rest = np.zeros(40)

    def runs(*moves):
        u = [np.concatenate([rest, move, rest])[:, None] for move in moves]
        return Dataset(
            np.concatenate(u),
            np.concatenate([model.rollout(each) for each in u]),
            model.inputs,
            model.outputs,
            run=np.repeat(np.arange(len(u)), [len(each) for each in u]),
        )

    a, b, c = (np.random.default_rng(seed).uniform(0.0, 50.0, 20) for seed in range(3))
    assert validate(model, runs(c), training=runs(a, b)).notes == () and not caplog.records
    assert "shares 21 of its 200 rows" in validate(model, runs(b, c), training=runs(a, b)).notes[0]


def test_eps_stands_beside_nrmse_and_r2_keeps_its_digits() -> None:
    model = linear()
    X = np.random.default_rng(0).uniform([0, 0], [50, 49], (400, 2))
    Y = model.predict(X)
    noise = np.random.default_rng(1).normal(size=Y.shape)
    noise *= np.sqrt(3e-6) * Y.std(axis=0) / noise.std(axis=0)
    report = validate(model, Dataset(X, Y + noise, model.inputs, model.outputs))
    keys = list(report.errors[0])
    assert keys[keys.index("nrmse") + 1] == "eps"
    row = report.errors[0]
    assert row["eps"] == pytest.approx(np.var(noise[:, 0]) / np.var((Y + noise)[:, 0]), rel=1e-9)
    assert "1 - 3e-6" in str(report) and "1 - 3e-6" in report._repr_html_()


def fit_line(data: Dataset):
    return fit_pce(data, SPACE, method="ols", degree=1)


def test_k_fold_is_the_loop_written_out() -> None:
    x = lhs(SPACE, 12, seed=0).points
    y = np.exp(x[:, 0])
    data = Dataset(x, y, SPACE.ports, ["y"])
    left_out = [y[i] - np.polyval(np.polyfit(np.delete(x[:, 0], i), np.delete(y, i), 1), x[i, 0]) for i in range(12)]
    error = k_fold(fit_line, data, folds=12, seed=0)
    assert error[0] == pytest.approx(np.mean(np.square(left_out)) / np.var(y), rel=1e-9)
    with pytest.raises(ConfigError, match="folds of k_fold must lie between 2 and the 12 rows or runs, got 13"):
        k_fold(fit_line, data, folds=13, seed=0)


def test_learning_curve_falls() -> None:
    problem = ishigami()
    test = problem.dataset(500, seed=77)
    curve = learning_curve(
        lambda d: fit_pce(d, problem.space, method="omp"), lambda n, seed: problem.dataset(n, seed=seed), test,
        [40, 80, 160], seeds=[0, 1],
    )  # fmt: skip
    assert curve["y"].shape == (3, 2)
    assert curve["y"][2].max() < 0.1 * curve["y"][0].min()
