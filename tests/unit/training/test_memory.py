"""Networks with memory: derivatives of the free run, the assembled one-step map, accuracy on unseen runs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.excitation import Channel, operating_range
from mor.reduced.history import LowPassMemory, MemorySpec, split_runs
from mor.reduced.ranges import distinct
from rt_runtime.errors import ConfigError
from training import FfnnConfig, MemoryConfig, fit_ffnn, fit_ffnn_memory, free_run_error, select_history
from training.memory_models.freerun import Recursion
from training.trainers.scaled import scale, to_unit

U = (Port("F", "N"), Port("w", "rad/s"))
Y = (Port("tau", "N m"),)
DT = 0.01


@cache
def lagging_brake(count: int, seed: int) -> Dataset:
    """Torque mu(w) p with a pressure that lags the force by 50 ms and a fade by heat with a 5 s memory, by Euler steps."""
    X, T, run = [], [], []
    channels = [Channel("F", 0.0, 50.0, fastest=0.05), Channel("w", 0.0, 49.0, fastest=1.0, ripple=1.0)]
    for k in range(count):
        drive = operating_range(channels, duration=20.0, rate=1.0 / DT, seed=1000 * seed + k)
        F, w = drive["F"].values, drive["w"].values
        pressure, heat, torque = 0.0, 0.0, np.empty(len(F))
        for i in range(len(F)):
            pressure += DT / 0.05 * (F[i] - pressure)
            torque[i] = 3.0 * pressure * (1.0 - 0.1 * heat) * np.tanh(w[i] / 5.0)
            heat += DT / 5.0 * (torque[i] * w[i] / 5000.0 - heat)
        X.append(np.column_stack([F, w]))
        T.append(torque)
        run.append(np.full(len(F), k))
    return Dataset(np.concatenate(X), np.concatenate(T), U, Y, run=np.concatenate(run))


HISTORIES = {
    "lags": MemorySpec(U, Y, DT, input_lags=1, output_lags=2),
    "filters": MemorySpec(U, Y, DT, filters=(LowPassMemory("F", 0.05), LowPassMemory("tau*w", 5.0))),
    "both": MemorySpec(
        U, Y, DT, input_lags=1, output_lags=1, filters=(LowPassMemory("tau", 0.2), LowPassMemory("tau*w", 5.0))
    ),
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_free_run_derivatives_are_slopes(history: MemorySpec) -> None:
    data = lagging_brake(2, 0)
    scaled = scale(distinct(history.table(data, rows=300)), None)
    layout = scaled.layout((4,), "tanh")
    problem = Recursion(history, scaled).segments(data, layout, horizon=12, count=5, seed=0)
    theta = 0.3 * layout.initial(np.random.default_rng(0))
    error, JJ, Jr = problem.normal(theta)
    assert error == pytest.approx(problem.error(theta), rel=1e-12)
    assert problem.n_residuals == 12 * 5 * len(history.targets)
    h = 1e-5
    for i in range(layout.size):
        e = h * np.eye(layout.size)[i]
        assert 2.0 * Jr[i] == pytest.approx(
            (problem.error(theta + e) - problem.error(theta - e)) / (2 * h), rel=1e-4, abs=1e-5
        )
    assert np.linalg.eigvalsh(JJ).min() > -1e-9 * np.linalg.eigvalsh(JJ).max()


def test_a_run_that_draws_no_segment_is_left_out() -> None:
    """One segment of two runs: the other run has none."""
    history, data = HISTORIES["lags"], lagging_brake(2, 0)
    scaled = scale(distinct(history.table(data, rows=300)), None)
    layout = scaled.layout((4,), "tanh")
    for seed in range(3):
        problem = Recursion(history, scaled).segments(data, layout, horizon=12, count=1, seed=seed)
        assert problem.U.shape[:2] == (12, 1) and np.isfinite(problem.error(np.zeros(layout.size)))


def test_the_step_of_the_data_must_be_that_of_the_history() -> None:
    data = lagging_brake(1, 0)
    known = Dataset(data.X, data.Y, U, Y, run=data.run, dt=2 * DT)
    with pytest.raises(
        ConfigError, match=r"must be sampled every dt = 0\.01 s of its history, got a row every 0\.02 s; resample"
    ):
        fit_ffnn_memory(known, HISTORIES["lags"], valid=data)
    with pytest.raises(ConfigError, match=r"every dt = 0\.01 s"):
        fit_ffnn_memory(data, HISTORIES["lags"], valid=known)


def test_a_run_that_leaves_the_data_counts_as_infinite() -> None:
    history = HISTORIES["lags"]
    scaled = scale(distinct(history.table(lagging_brake(1, 0), rows=200)), None)
    layout = scaled.layout((2,), "relu")
    problem = Recursion(history, scaled).segments(lagging_brake(1, 0), layout, horizon=50, count=3, seed=0)
    assert problem.error(np.full(layout.size, 2.0)) == np.inf


@pytest.mark.parametrize("name", HISTORIES)
def test_the_one_step_map_does_what_the_history_says(name: str) -> None:
    """rollout of the finished model = network on features by hand, filters by recursion in physical units."""
    history = HISTORIES[name]
    train, valid = lagging_brake(3, 0), lagging_brake(1, 1)
    config = MemoryConfig(FfnnConfig(hidden=(5,), restarts=1, iterations=20), rows=300, iterations=0)
    model = fit_ffnn_memory(train, history, valid=valid, config=config, bounds=(-1e4, 1e4))
    assert [p.name for p in model.outputs] == ["tau"]
    assert [p.name for p in model.step.outputs] == ["tau", *(p.name for p in history.states)]
    u = split_runs(valid)[0].X[:300]
    rows = history.table(train, rows=300, seed=0)
    features = [[p.name for p in model.step.inputs].index(p.name) for p in history.features]
    domain = tuple(b[features] for b in model.step.domain)
    kept = distinct(rows)
    check = distinct(history.table(valid, rows=300, seed=1), kept)
    net = fit_ffnn(kept, valid=check, config=config.network, domain=domain)
    inside = (model.step.domain[0][features], model.step.domain[1][features])
    y, z = np.zeros((300 + 2, 1)), np.zeros((301, len(history.filters)))
    past_u = np.vstack([np.zeros((1, 2)), u])
    for k in range(300):
        lags = (
            [*past_u[k]] * history.input_lags
            + [*y[k + 1]] * (history.output_lags > 0)
            + [*y[k]] * (history.output_lags > 1)
        )
        target = net.predict(np.clip([*u[k], *lags, *z[k]], *inside))[0]
        y[k + 2] = target[0]
        drive = {"F": u[k, 0], "tau": target[0], "tau*w": target[-1]}
        for j, (f, a) in enumerate(zip(history.filters, history.poles, strict=True)):
            limit = (model.bounds[0][1 + j], model.bounds[1][1 + j])
            z[k + 1, j] = np.clip(a * z[k, j] + (1 - a) * drive[f.of], *limit)
    got = model.everything(u)
    np.testing.assert_array_equal(model.rollout(u), got[:, :1])
    np.testing.assert_allclose(got[:, 0], y[2:, 0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(got[:, 1:], z[1:], rtol=1e-7, atol=1e-7)


def test_filters_follow_lag_and_fade_on_unseen_runs() -> None:
    train, valid, test = lagging_brake(6, 0), lagging_brake(2, 1), lagging_brake(2, 2)
    config = MemoryConfig(FfnnConfig(hidden=(12,), restarts=1, iterations=200), rows=1500, iterations=0)
    domain = ([0.0, 0.0], [50.0, 49.0])
    model = fit_ffnn_memory(train, HISTORIES["filters"], valid=valid, config=config, domain=domain)
    assert free_run_error(model, test) < 0.01
    assert model.bounds[0][0] == 0.0  # a torque that never drives does not in free run either
    y = model.everything(np.random.default_rng(0).uniform(-1e3, 1e3, (500, 2)))
    assert np.all(y >= model.bounds[0]) and np.all(y <= model.bounds[1])


def test_training_in_free_run_beats_training_one_step_ahead() -> None:
    train, valid = lagging_brake(6, 0), lagging_brake(2, 1)
    network = FfnnConfig(hidden=(6,), restarts=1, iterations=60)
    history = MemorySpec(U, Y, DT, input_lags=1, output_lags=2)
    one_step, free = (
        fit_ffnn_memory(
            train, history, valid=valid, config=MemoryConfig(network, rows=800, iterations=n, horizon=100, segments=60)
        )
        for n in (0, 40)
    )
    assert free.step.origin["free_run"] is True
    assert free_run_error(free, valid) < 0.5 * free_run_error(one_step, valid)


def test_histories_are_chosen_by_free_run() -> None:
    train, valid = lagging_brake(4, 0), lagging_brake(2, 1)
    config = MemoryConfig(FfnnConfig(hidden=(8,), restarts=1, iterations=150), rows=1500, iterations=0)
    candidates = [
        MemorySpec(U, Y, DT, filters=(LowPassMemory("F", lag), LowPassMemory("tau*w", 5.0)))
        for lag in (0.01, 0.05, 0.5)
    ]
    result = select_history(train, candidates, valid=valid, config=config)
    assert [row["chosen"] for row in result.table] == [False, True, False]
    assert result.table[1]["free_run_nrmse"] == free_run_error(result.model, valid)
    with pytest.raises(ConfigError, match="memories of select_history must name at least one, got none"):
        select_history(train, [], valid=valid)


def test_sentences() -> None:
    with pytest.raises(ConfigError) as error:
        MemoryConfig(rows=3, horizon=1, segments=0, iterations=-1)
    for text in (
        "4 problems",
        "rows of a fit with memory must be 10 or more, got 3",
        "horizon",
        "segments",
        "iterations",
    ):
        assert text in str(error.value)


def test_scaling_maps_to_unit_interval() -> None:
    np.testing.assert_array_equal(
        to_unit(np.array([[0.0], [5.0], [10.0]]), np.zeros(1), np.full(1, 10.0))[:, 0], [-1, 0, 1]
    )
