"""Tracking indices: shifts, gains and the benchmark's conventions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mor.validation.tracking import benchmark_indices, delay, tracking
from rt_runtime.errors import ConfigError

RATE = 1024.0
T = np.arange(0, 8, 1 / RATE)


def motion(t: np.ndarray) -> np.ndarray:
    window = np.exp(-(((t - 4) / 1.2) ** 2))
    return np.asarray(window * (np.sin(2 * np.pi * 3.1 * t) + 0.4 * np.sin(2 * np.pi * 9.7 * t + 1)))


@pytest.mark.parametrize("shift", [0.0, 0.00042, 0.003, 0.0517, -0.0008, -0.021])
def test_delay_is_found_between_the_samples(shift: float) -> None:
    assert delay(motion(T - shift), motion(T), RATE) == pytest.approx(1000 * shift, abs=0.01)


def test_one_sided_search_hides_a_lead_and_counts_whole_samples() -> None:
    assert delay(motion(T + 0.004), motion(T), RATE, one_sided=True) == 0.0
    assert delay(motion(T - 3.2 / RATE), motion(T), RATE, one_sided=True) == pytest.approx(3000 / RATE)


def test_gain_error_and_perfect_tracking() -> None:
    r = motion(T)
    late = tracking(1.02 * r, r, RATE)
    assert pytest.approx(0.0, abs=1e-6) == late.J1
    assert pytest.approx(2.0) == late.J2 and pytest.approx(2.0) == late.J3
    perfect = tracking(r, r, RATE)
    assert (perfect.J2, perfect.J3) == (0.0, 0.0)


@given(frequency=st.floats(1.0, 8.0), shift=st.floats(-0.02, 0.02))
def test_a_shifted_sine_costs_what_the_formula_says(frequency: float, shift: float) -> None:
    """The rms error of a sine late by s is 2 |sin(pi f s)| of its rms, over whole periods."""
    t = np.arange(int(RATE * round(8 * frequency) / frequency)) / RATE
    r, y = np.sin(2 * np.pi * frequency * t), np.sin(2 * np.pi * frequency * (t - shift))
    got = tracking(y, r, RATE, max_lag=0.4 / frequency)
    assert pytest.approx(200 * abs(np.sin(np.pi * frequency * shift)), abs=0.2) == got.J2
    assert pytest.approx(1000 * shift, abs=0.05) == got.J1


def test_benchmark_indices_use_deviations_and_the_reference() -> None:
    r = motion(T)
    whole = np.column_stack([r, 2 * r, 3 * r])
    hybrid = np.column_stack([r, 2.2 * r, 3.6 * r])
    y = 1.1 * r + 5.0  # an offset does not count in a standard deviation
    got = benchmark_indices(y, r, hybrid, whole, RATE)
    np.testing.assert_allclose([got.J2, got.J4, got.J6, got.J7, got.J8, got.J9], [10, 10, 10, 20, 10, 20], rtol=1e-9)
    assert pytest.approx(100 * np.abs(y - r).max() / np.abs(r).max()) == got.J3
    assert pytest.approx(got.J3) == got.J5
    assert got.as_array().shape == (9,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tracking([1.0, 2.0, 3.0], [1.0, 2.0], 1.0), "of one length"),
        (lambda: tracking([1.0, np.nan, 3.0], [1.0, 2.0, 3.0], 1.0), "must be finite"),
        (lambda: tracking([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 1.0), "target must not be zero throughout"),
        (lambda: tracking([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 0.0), "rate of tracking must be a positive"),
        (lambda: benchmark_indices([1.0, 2, 3], [1.0, 2, 3], np.ones((3, 2)), np.ones((3, 3)), 1.0), r"shape \(3, 3\)"),
    ],
)
def test_bad_input_is_named(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
