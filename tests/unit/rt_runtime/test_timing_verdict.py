"""The verdict on a paced run follows the rule of `hmor check`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rt_runtime.engine.host_check import judge_rates, timing_verdict


def timing(wake_us: float, worst_us: float, own_us: float, missed: int) -> Any:
    def times(usual: float, most: float) -> Any:
        return SimpleNamespace(percentile_ns=lambda _: 1e3 * usual, most_ns=1e3 * most)

    kept = {"missed": missed, "skipped": 0, "ticks": 1000}
    return SimpleNamespace(wake=times(wake_us, worst_us), own=times(own_us, own_us), **kept)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (timing(10.0, 20.0, 10.0, 0), "This host is fit for 10000 Hz: 0 % of 1000 periods late."),
        (timing(10.0, 500.0, 10.0, 2), "This host is fit for 10000 Hz with rare misses: 0.2 % of 1000 periods late."),
        (timing(150.0, 900.0, 10.0, 25), "This host is not fit for 10000 Hz: 2.5 % of 1000 periods late; by the same rule fit for up to 2048 Hz."),
        (timing(1e5, 1e5, 10.0, 900), "This host is not fit for 10000 Hz: 90 % of 1000 periods late; fit for none of the usual rates."),
    ],
)  # fmt: skip
def test_a_run_gets_a_verdict(found: Any, sentence: str) -> None:
    assert timing_verdict(found, 10_000.0) == sentence


def test_half_a_period_is_the_limit() -> None:
    assert judge_rates(timing(40.0, 45.0, 9.9, 0), [10_000.0]) == {10_000.0: "holds"}
    assert judge_rates(timing(40.0, 45.0, 10.0, 0), [10_000.0]) == {10_000.0: "does not hold"}
