"""Networks with memory behind a gate: derivatives of the free run, silence before contact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mor import Gate, MemorySpec
from mor.reduced.history import LowPassMemory, State
from mor.reduced.ranges import distinct, free_run_error
from rt_runtime.errors import ConfigError
from tests.unit.mor.reduced.test_memory_gate import FILLING, TAU, U, V, runs
from training import FfnnConfig, MemoryConfig, fit_ffnn_memory
from training.memory_models.freerun import Recursion
from training.trainers.checkpoint import claim
from training.trainers.scaled import scale

QUICK = FfnnConfig(hidden=(10,), restarts=1, iterations=150)
FED_BACK = MemorySpec(
    U, (TAU,), 0.01, input_lags=1, output_lags=1, filters=(State("V", 0.1), LowPassMemory("tau", 0.2)), hidden=(V,),
    gate=Gate("tau", 2.0, closed=0.1),
)  # fmt: skip


@pytest.mark.parametrize("history", [FILLING, FED_BACK], ids=["state", "output"])
def test_free_run_derivatives_are_slopes(history: MemorySpec) -> None:
    data = runs(range(3))
    scaled = scale(distinct(history.table(data, rows=300)), None)
    layout = scaled.layout((4,), "tanh")
    problem = Recursion(history, scaled).segments(data, layout, horizon=12, count=7, seed=0)
    theta = 0.3 * layout.initial(np.random.default_rng(0))
    error, _, Jr = problem.normal(theta)
    assert error == pytest.approx(problem.error(theta), rel=1e-12)
    assert error != pytest.approx(replace(problem, gate=None).error(theta), rel=1e-3)
    h = 1e-6
    for i in range(layout.size):
        e = h * np.eye(layout.size)[i]
        slope = (problem.error(theta + e) - problem.error(theta - e)) / (2.0 * h)
        assert 2.0 * Jr[i] == pytest.approx(slope, rel=1e-3, abs=1e-4)


def test_the_gate_in_scaled_units_is_the_gate() -> None:
    scaled = scale(distinct(FILLING.table(runs(range(3)), rows=300)), None)
    gate = Recursion(FILLING, scaled).gate
    assert gate is not None
    rng = np.random.default_rng(0)
    phi, t = rng.uniform(-1.0, 1.0, (50, len(FILLING.features))), rng.uniform(-1.0, 1.0, (50, 3))

    def physical(unit: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return low + 0.5 * (unit + 1.0) * (high - low)

    y = physical(t, *scaled.range)
    share = FILLING.memory_gate.share(physical(phi, *scaled.domain), FILLING.features)  # type: ignore[union-attr]
    assert 0.0 in share and 1.0 in share and ((share > 0.0) & (share < 1.0)).any()
    y[:, 0] *= share
    np.testing.assert_allclose(physical(gate.values(phi, t), *scaled.range), y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("iterations", [0, 20])
def test_it_is_silent_before_contact_and_right_after(iterations: int) -> None:
    train, valid = runs(range(8)), runs(range(50, 52))
    config = MemoryConfig(QUICK, rows=1000, iterations=iterations, horizon=40, segments=30)
    gated = fit_ffnn_memory(train, FILLING, valid=valid, config=config)
    y = gated.everything(valid.X[:200])
    closed = np.append(0.0, y[:-1, 1]) <= 0.25
    assert closed.any() and not y[closed, 0].any() and y[~closed, 0].any() and y[closed, 1].any()
    assert free_run_error(gated, valid) < 0.04


def test_a_free_run_is_resumed_only_as_it_was_begun(tmp_path: Path) -> None:
    train, valid = runs(range(3)), runs(range(50, 51))
    history = MemorySpec(U, (TAU,), 0.01, output_lags=1, filters=(State("V", 0.1),), hidden=(V,), gate=Gate("V", 0.5))
    network = FfnnConfig(hidden=(3,), restarts=1, iterations=3)
    config = MemoryConfig(network, rows=200, iterations=2, horizon=10, segments=5)
    fitted = fit_ffnn_memory(train, history, valid=valid, config=config, folder=tmp_path)
    again = fit_ffnn_memory(train, history, valid=valid, config=config, folder=tmp_path, resume=True)
    np.testing.assert_array_equal(again.rollout(valid.X), fitted.rollout(valid.X))
    for other, settings, changed in (
        (replace(history, gate=Gate("V", 0.4)), config, "gate"),
        (replace(history, gate=Gate("V", 0.5, closed=0.1)), config, "gate"),
        (history, replace(config, horizon=12), "horizon"),
        (history, replace(config, segments=6), "segments"),
    ):
        with pytest.raises(
            ConfigError, match=rf"free_run' was begun with other settings .* got a different {changed};"
        ):
            fit_ffnn_memory(train, other, valid=valid, config=settings, folder=tmp_path, resume=True)
    (tmp_path / "free_run" / "fit.json").unlink()  # what nobody can tell is begun anew
    kept = tmp_path / "free_run" / "checkpoint.npz"
    assert kept.exists()
    claim(kept.parent, {}, resume=True)
    assert not kept.exists()
