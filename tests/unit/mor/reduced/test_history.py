"""What a model with memory remembers: rows by hand, filters by recursion, the sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.reduced.history import LowPassMemory, MemorySpec, State, split_runs
from rt_runtime.errors import ConfigError

U = (Port("F", "N"), Port("w", "rad/s"))
Y = (Port("tau", "N m"),)


def runs(lengths: tuple[int, ...] = (7, 5)) -> Dataset:
    rng = np.random.default_rng(0)
    n = sum(lengths)
    return Dataset(
        rng.normal(size=(n, 2)), rng.normal(size=(n, 1)), U, Y, run=np.repeat(np.arange(len(lengths)), lengths)
    )


def test_rows_by_hand() -> None:
    history = MemorySpec(
        U, Y, 0.1, input_lags=1, output_lags=2, filters=(LowPassMemory("F", 0.3), LowPassMemory("tau*w", 2.0))
    )
    data = runs()
    table = history.table(data)
    names = [p.name for p in table.inputs]
    assert names == ["F", "w", "F_lag1", "w_lag1", "tau_lag1", "tau_lag2", "F_f1_lag1", "tau_w_f2_lag1"]
    assert [(p.name, p.unit) for p in table.outputs] == [("tau", "N m"), ("tau_w", "N m rad/s")]
    a, b = np.exp(-0.1 / 0.3), np.exp(-0.1 / 2.0)
    at = 0
    for run in (data.take(np.arange(7)), data.take(np.arange(7, 12))):
        u1, y1, y2, zF, zq = np.zeros(2), 0.0, 0.0, 0.0, 0.0
        for u, (y,) in zip(run.X, run.Y, strict=True):
            np.testing.assert_allclose(table.X[at], [*u, *u1, y1, y2, zF, zq], rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(table.Y[at], [y, y * u[1]], rtol=1e-12)
            zF, zq = a * zF + (1 - a) * u[0], b * zq + (1 - b) * y * u[1]
            u1, y1, y2 = u, y, y1
            at += 1
    assert at == len(table) and table.run is not None and table.run.tolist() == [0] * 7 + [1] * 5


def test_drawn_rows_are_rows_of_the_whole() -> None:
    history = MemorySpec(U, Y, 0.1, input_lags=2, filters=(LowPassMemory("tau", 1.0),))
    whole, some = history.table(runs()), history.table(runs(), rows=4, seed=3)
    assert len(some) == 4
    assert {row.tobytes() for row in some.X} <= {row.tobytes() for row in whole.X}


def test_feedback_is_seen() -> None:
    assert MemorySpec(U, Y, 0.1, output_lags=1).feedback
    assert MemorySpec(U, Y, 0.1, filters=(LowPassMemory("tau*w", 1.0),)).feedback
    assert not MemorySpec(U, Y, 0.1, input_lags=3, filters=(LowPassMemory("F*w", 1.0),)).feedback
    assert MemorySpec(U, Y, 0.1, filters=(LowPassMemory("F", 1.0),)).lags == 1


def test_runs_must_stand_together() -> None:
    data = runs()
    mixed = Dataset(data.X, data.Y, U, Y, run=np.arange(12) % 2)
    with pytest.raises(ConfigError, match="Rows of one run must stand together"):
        split_runs(mixed)
    assert len(split_runs(Dataset(data.X, data.Y, U, Y))) == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "A history must have lags, filters or operators, got none; without memory fit a static model"),
        ({"input_lags": -1, "output_lags": 2}, "Lags of a history must not be negative, got input_lags=-1"),
        ({"input_lags": 1, "dt": 0.0}, "dt of a history must be positive, got 0 s"),
        ({"filters": (LowPassMemory("p", 1.0),)}, "Filter of 'p' must follow one of F, w, tau, got 'p'"),
        (
            {"filters": (LowPassMemory("F", 0.01),)},
            "Time constant of the filter of 'F' must be at least dt = 0.1 s, got 0.01 s",
        ),
    ],
)
def test_sentences(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        MemorySpec(U, Y, **{"dt": 0.1, **settings})


def test_sentences_of_a_filter_and_of_data() -> None:
    with pytest.raises(ConfigError, match="Time constant of the filter of 'F' must be positive, got -1 s"):
        LowPassMemory("F", -1.0)
    with pytest.raises(ConfigError, match=r"must be a name or a product of two, got 'a\*b\*c'"):
        LowPassMemory("a*b*c", 1.0)
    history = MemorySpec(U, Y, 0.1, input_lags=1)
    data = runs()
    with pytest.raises(ConfigError, match=r"must have the inputs F \[N\], w \[rad/s\], got F \[kN\], w \[rad/s\]"):
        history.table(Dataset(data.X, data.Y, {"F": "kN", "w": "rad/s"}, Y, run=data.run))
    data.Y[2] = np.nan
    with pytest.raises(ConfigError, match="Data for a model with memory must be finite"):
        history.table(data)


def test_a_state_is_driven_so_that_it_is_what_it_follows() -> None:
    hidden = (Port("V", "cm3"),)
    history = MemorySpec(U, Y, 0.1, filters=(State("V", 0.3), LowPassMemory("F", 0.5)), hidden=hidden)
    rng = np.random.default_rng(1)
    u, y = rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    driving = history.driving(u, y)
    np.testing.assert_allclose(history.filtered(driving)[:, 0], y[:, 1], rtol=1e-12)
    a = np.exp(-0.1 / 0.3)
    np.testing.assert_allclose(driving[1:, 0], (y[1:, 1] - a * y[:-1, 1]) / (1.0 - a), rtol=1e-12)
    assert [p.name for p in history.states] == ["V", "F_f2"] and history.feedback
    assert [p.name for p in history.targets] == ["tau", "V_drive"]
    features, targets = history.rows(u, y, np.array([4]))
    np.testing.assert_allclose(features[0], [*u[4], y[3, 1], history.filtered(driving)[3, 1]], rtol=1e-12)
    np.testing.assert_allclose(targets[0], [y[4, 0], driving[4, 0]], rtol=1e-12)


def test_a_state_must_be_hidden() -> None:
    with pytest.raises(ConfigError, match=r"State 'tau' must be one of the hidden signals \(V\)"):
        MemorySpec(U, Y, 0.1, filters=(State("tau", 0.3),), hidden=(Port("V"),))


def test_rows_lie_where_something_happens() -> None:
    """A quick ramp in a long rest: half of the rows over time, half along the way."""
    force = np.interp(np.arange(10_000), [0, 5000, 5020, 10_000], [0.0, 0.0, 50.0, 50.0])
    X = np.column_stack([force, np.ones(10_000)])
    table = MemorySpec(U, Y, 0.01, filters=(LowPassMemory("F", 0.05),)).table(Dataset(X, force, U, Y), rows=400, seed=0)
    moving = (table.X[:, 0] > 0.0) & (table.X[:, 0] < 50.0)
    assert moving.sum() > 15
