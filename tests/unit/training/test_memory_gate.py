"""Networks with memory behind a gate: derivatives of the free run, silence before contact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mor import Gate, History
from mor.history import Filter, State
from mor.memory_limits import distinct, free_run_error
from tests.unit.mor.test_memory_gate import FILLING, TAU, U, V, runs
from training import FfnnConfig, MemoryConfig, fit_ffnn_memory
from training.freerun import Recursion
from training.scaled import scale

QUICK = FfnnConfig(hidden=(10,), restarts=1, iterations=150)
FED_BACK = History(
    U, (TAU,), 0.01, input_lags=1, output_lags=1, filters=(State("V", 0.1), Filter("tau", 0.2)), hidden=(V,),
    gate=Gate("tau", 2.0, closed=0.1),
)  # fmt: skip


@pytest.mark.parametrize("history", [FILLING, FED_BACK], ids=["state", "output"])
def test_free_run_derivatives_are_slopes(history: History) -> None:
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
    gated = fit_ffnn_memory(train, valid, FILLING, config)
    y = gated.rollout(valid.X[:200])
    closed = np.append(0.0, y[:-1, 1]) <= 0.25
    assert closed.any() and not y[closed, 0].any() and y[~closed, 0].any() and y[closed, 1].any()
    assert free_run_error(gated, valid) < 0.04
