"""Runs of the full-order brakes for training, and the memory fitted to them."""

from __future__ import annotations

import numpy as np
import pytest

from mor.models.motorcycle.brake_runs import brake_channels, brake_domain, brake_history, sample_runs, touching_volume
from mor.models.motorcycle.hydraulic_brake import brake
from mor.reduced.history import split_runs
from rt_runtime.errors import ConfigError


def test_runs_are_those_of_the_full_order_brake() -> None:
    data = sample_runs("rear", (4, 9), duration=1.0, dt=1e-4)
    assert [p.name for p in (*data.inputs, *data.outputs)] == ["F_br", "w_rw", "tau_rw"]
    runs = split_runs(data)
    assert [len(run) for run in runs] == [10_001, 10_001]
    np.testing.assert_array_equal(runs[1].Y[:, 0], brake("rear").simulate(runs[1].X, dt=1e-4)["tau_rw"])
    assert not np.array_equal(runs[0].X, runs[1].X)
    lower, upper = brake_domain("rear")
    assert np.all(lower <= data.X) and np.all(upper >= data.X)
    assert lower.tolist() == [0.0, -10.0] and upper.tolist() == pytest.approx([55.0, 470.0])  # 50 N held lies inside


def test_the_volume_in_the_caliper_can_be_watched() -> None:
    plain, watched = (sample_runs("front", (2,), duration=1.0, volume=v) for v in (False, True))
    assert [(p.name, p.unit) for p in watched.outputs] == [("tau_fw", "Nm"), ("V_fw", "cm3")]
    np.testing.assert_array_equal(watched.Y[:, 0], plain.Y[:, 0])


@pytest.mark.parametrize("side", ["front", "rear"])
def test_there_is_no_torque_before_the_pads_touch(side: str) -> None:
    data = sample_runs(side, (2, 3), duration=10.0, volume=True)
    torque, volume = np.abs(data.Y).T
    never, touch = touching_volume(side)
    values = brake(side).parameter_values()
    assert never == pytest.approx(1e6 * values["A_c"] * values["gap"], rel=1e-12) and 0.04 < never < touch < 0.06
    assert np.count_nonzero(volume <= never) > 1000 and not torque[volume <= never].any()
    assert volume[torque > 0.0].min() == pytest.approx(touch, rel=2e-3)  # a little less when the piston moves fast
    moving = (volume > touch) & (data.X[:, 1] > 1.0)
    assert np.mean(torque[moving] > 0.0) > 0.99
    gate = brake_history(side, volume=True).gate
    assert gate is not None and (gate.closed, gate.span) == (never, touch)
    assert brake_history(side).gate is None


def test_memory_is_hydraulics_and_heat() -> None:
    history = brake_history("front", dt=1e-3)
    assert [f.of for f in history.filters] == ["F_br", "F_br", "tau_fw*w_fw"]
    values = brake("front").parameter_values()
    assert history.filters[-1].time_constant == values["C_d"] / values["cooling"] > 60.0
    assert history.dt == 1e-3 and history.feedback
    state = brake_history("front", volume=True)
    assert [f.of for f in state.filters] == ["V_fw", "tau_fw*w_fw"] and [p.name for p in state.hidden] == ["V_fw"]


def test_sides_are_two() -> None:
    with pytest.raises(ConfigError, match="side of brake_channels must be one of 'front', 'rear', got 'left'"):
        brake_channels("left")
