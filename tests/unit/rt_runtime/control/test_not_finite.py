"""A predictive controller whose numbers are none stops the loop in words instead of holding its command in silence."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import Command, Horizon, Loop, Mpc, Polynomial, PredictionModel, Table, TrackingMpc, Tripped, protect

DT = 1e-3
MODEL = PredictionModel(np.array([[0.9]]), np.array([[0.1]]), np.array([[1.0]]), np.array([[0.1]]), DT)
HORIZON = Horizon(5, output_weight=1.0, move_weight=0.1, bounds=(-2.0, 2.0))


@pytest.mark.parametrize("kind", ["mpc", "tracking"])
def test_a_finite_reference_that_overflows_inside_trips_and_the_command_comes_to_rest(kind: str) -> None:
    loop = Loop(1.0 / DT)
    for name in ("reference", "measured", "wanted", "iterations", "status"):
        loop.signal(name)
    values = np.zeros((1000, 2))
    values[:, 0] = 0.1
    values[300:, 0] = 1e308  # finite, as every signal is
    loop.add("table", Table(DT * np.arange(1000), values), outputs=["reference", "measured"])
    mpc = Mpc(MODEL, HORIZON) if kind == "mpc" else TrackingMpc(MODEL, HORIZON, preview=Polynomial(1, 4))
    loop.add("mpc", mpc, inputs=["reference", "measured"], outputs=["wanted", "iterations", "status"])
    protect(loop, [Command("wanted", "command", -2.0, 2.0, rate=100.0)])
    words = "block 'mpc' could not step: its reference, measurement or estimate is not finite"
    with pytest.raises(Tripped, match=words) as caught:
        loop.run(1.0)
    record = caught.value.record
    assert np.isfinite(record.values).all() and record["command"][-1] == 0.0
    at = int(np.flatnonzero(record["status"] == 3.0)[0])
    assert at == 300 and record["wanted"][at] == record["wanted"][at - 1]
