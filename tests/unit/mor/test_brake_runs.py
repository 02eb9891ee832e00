"""Runs of the full-order brakes for training, and the memory fitted to them."""

from __future__ import annotations

import numpy as np
import pytest

from mor.history import split_runs
from mor.models.motorcycle.brake import brake
from mor.models.motorcycle.brake_runs import brake_channels, brake_history, sample_runs
from rt_runtime.errors import ConfigError


def test_runs_are_those_of_the_full_order_brake() -> None:
    data = sample_runs("rear", (4, 9), duration=1.0, dt=1e-4)
    assert [p.name for p in (*data.inputs, *data.outputs)] == ["F_br", "w_rw", "tau_rw"]
    runs = split_runs(data)
    assert [len(run) for run in runs] == [10_001, 10_001]
    np.testing.assert_array_equal(runs[1].Y[:, 0], brake("rear").simulate(runs[1].X, dt=1e-4)["tau_rw"])
    assert not np.array_equal(runs[0].X, runs[1].X)
    assert np.all(data.X >= 0.0) and np.all(data.X <= [50.0, 470.0])


def test_memory_is_hydraulics_and_heat() -> None:
    history = brake_history("front", dt=1e-3)
    assert [f.of for f in history.filters] == ["F_br", "F_br", "tau_fw*w_fw"]
    values = brake("front").parameter_values()
    assert history.filters[-1].time_constant == values["C_d"] / values["cooling"] > 60.0
    assert history.dt == 1e-3 and history.feedback


def test_sides_are_two() -> None:
    with pytest.raises(ConfigError, match="side of brake_channels must be one of 'front', 'rear', got 'left'"):
        brake_channels("left")
