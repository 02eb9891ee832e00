"""The soak test for two seconds, and that it would notice what it looks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.soak.soak import Memory, problems, soak


@pytest.mark.paced
def test_a_short_soak_is_clean_and_every_fault_is_noticed() -> None:
    record, memory, traffic = soak(2.0)
    assert record.timing is not None
    steady = Memory([1000.0] * 50)
    assert problems(record, steady, traffic, 2.0) == [] and memory.kilobytes

    def found(record: object = record, memory: Memory = steady, traffic: dict[str, int] = traffic) -> str:
        return " ".join(problems(record, memory, traffic, 2.0))  # type: ignore[arg-type]

    assert "Memory must grow by less" in found(memory=Memory(list(np.linspace(0.0, 20_000.0, 50))))
    assert "Every frame must be recorded" in found(replace(record, frames_lost=3))
    timing = record.timing
    short = replace(timing.own, counts=(timing.own.counts[0] + 1, *timing.own.counts[1:]))
    assert "Histogram of own time" in found(replace(record, timing=replace(timing, own=short)))
    assert "Answers of the rig" in found(traffic={**traffic, "damaged": 1})
    broken = np.array(record.values)
    broken[7, 0] = np.nan
    assert "must be finite" in found(replace(record, values=broken))
