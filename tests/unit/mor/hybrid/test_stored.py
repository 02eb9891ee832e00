"""A hybrid model with a stored response: the response for itself, a run for its copies."""

from __future__ import annotations

import numpy as np
import pytest

from mor import HybridModel, LinearSubstructure, Trajectory
from mor.hybrid.stored import StoredHybrid
from rt_runtime.errors import ConfigError


def part(pole: float) -> LinearSubstructure:
    return LinearSubstructure("lag", ([[pole]], [[1.0]], [[1.0]], [[0.0]]), inputs={"u": "m"}, outputs={"y": "m"})


def test_the_response_is_given_and_a_swapped_copy_runs() -> None:
    wiring: dict = {"dt": 0.1, "excitations": {"u": 1.0}, "duration": 1.0}
    response = Trajectory([0.0, 0.1], [[7.0], [8.0]], {"y": "m"})
    full = HybridModel("model", [part(-1.0)], **wiring)
    stored = StoredHybrid(full, response=response, seconds=3.0)
    assert stored.run() is response and stored.run(record=["y"]).names == ("y",)
    other = stored.swap("lag", part(-2.0))
    plain = HybridModel("model", [part(-2.0)], **wiring)
    np.testing.assert_array_equal(other.run().values, plain.run().values)
    np.testing.assert_array_equal(stored.run(0.5).values, full.run(0.5).values)
    with pytest.raises(ConfigError, match="'z' of the stored response"):
        StoredHybrid(full, response=Trajectory([0, 1], [0, 1], ["z"]), seconds=1.0)
