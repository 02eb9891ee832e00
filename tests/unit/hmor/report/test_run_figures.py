"""Figures of a run: over which frames, and at which rate, they are taken."""

from __future__ import annotations

import numpy as np
import pytest

from hmor.console.summary import tracking_figures, while_running
from rt_runtime import Record, Signal
from rt_runtime.engine.pacing import STATES


def recorded(every: int) -> Record:
    """4 s at 1 kHz: a sine and the same 8 ms later, a hold in the third second in which the target runs on alone."""
    time = np.arange(0, 4000, every) / 1000.0
    target, measured = np.sin(2 * np.pi * time), np.sin(2 * np.pi * (time - 0.008))
    holding = (time >= 2.0) & (time < 3.0)
    state = np.where(holding, STATES.index("holding"), STATES.index("running")).astype(float)
    values = np.column_stack([target, np.where(holding, 0.0, measured), state, 1000.0 * time])
    signals = [Signal(n, u) for n, u in (("x", "m"), ("x_m", "m"), ("monitor.state", ""), ("monitor.test_tick", ""))]
    return Record(time, values, signals, 1000.0, 4000, "finished")


@pytest.mark.parametrize("every", [1, 4])
def test_tracking_counts_neither_a_hold_nor_the_ticks_that_were_not_recorded(every: int) -> None:
    record = recorded(every)
    assert while_running(record).sum() == 3000 // every
    found = tracking_figures(record, {"target": "x", "measured": "x_m"})
    assert found is not None and found["J1_ms"] == pytest.approx(8.0, abs=0.05)
    assert found["J2_percent"] == pytest.approx(100 * 2 * np.sin(np.pi * 0.008), rel=0.02)
