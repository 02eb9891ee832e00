"""tanh and sigmoid of the core: two units in the last place, every special value, the same bits on any host."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rt_runtime import _core

SPECIAL = np.array([0.0, -0.0, 0.625, np.nextafter(0.625, 0), 1e-300, -1e-300, 5e-324, 21.9, 22.0, 23.0, 1e3, 1e308])
POINTS = np.concatenate([np.linspace(-25, 25, 200_001), np.geomspace(1e-12, 800.0, 20_000), SPECIAL, -SPECIAL])


def exact(name: str, x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.longdouble)
    with np.errstate(over="ignore"):
        value = np.tanh(wide) if name == "tanh" else 1 / (1 + np.exp(-wide))
    return value


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_within_two_units_in_the_last_place(name: str) -> None:
    points = POINTS if name == "tanh" else POINTS[np.abs(POINTS) < 700]
    expected = exact(name, points)
    got = getattr(_core, name)(points)
    units = np.abs(got - expected) / np.spacing(np.maximum(np.abs(expected).astype(float), 1e-307))
    assert float(units.max()) <= 2.0


def test_special_values() -> None:
    assert np.isnan(_core.tanh(np.array([np.nan, 1.0]))[0]) and np.isnan(_core.sigmoid(np.array([np.nan]))[0])
    assert _core.tanh(np.array([np.inf, -np.inf, 0.0, 50.0, -50.0])).tolist() == [1.0, -1.0, 0.0, 1.0, -1.0]
    low, high, middle = _core.sigmoid(np.array([-np.inf, np.inf, 0.0]))
    assert 0.0 <= low < 1e-300 and high == 1.0 and middle == 0.5


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.integers(0, 13), elements=st.floats(width=64)))
def test_every_host_gives_the_same_bits_for_every_length(x: np.ndarray) -> None:
    for name in ("tanh", "sigmoid"):
        wide, plain = getattr(_core, name)(x), getattr(_core, f"{name}_of_any_host")(x)
        number = ~np.isnan(x)  # the bits of a nan mean nothing
        assert wide[number].tobytes() == plain[number].tobytes() and np.isnan(wide[~number]).all()
        assert (np.abs(wide[number]) <= 1.0).all()


def test_exp_and_log_are_those_of_numpy_to_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(3)
    exponents = rng.uniform(-708.0, 708.0, 20_001)
    sizes = np.concatenate([np.exp(exponents), 1.0 + rng.uniform(-1e-3, 1e-3, 5000), rng.uniform(0.5, 2.0, 5000)])
    for name, x in (("exp", exponents), ("exp", rng.uniform(-2.0, 2.0, 5000)), ("log", sizes)):
        expected = getattr(np, name)(x.astype(np.longdouble))
        got = getattr(_core, name)(x)
        assert float((np.abs(got - expected) / np.spacing(np.abs(expected).astype(float))).max()) <= 2.0
        assert got.tobytes() == getattr(_core, f"{name}_of_any_host")(x).tobytes()


def test_exp_and_log_of_special_values() -> None:
    assert _core.exp(np.array([-np.inf, -1000.0, 0.0, 1000.0, np.inf])).tolist() == [0.0, 0.0, 1.0, np.inf, np.inf]
    assert _core.log(np.array([0.0, 1.0, np.inf])).tolist() == [-np.inf, 0.0, np.inf]
    assert _core.log(np.array([5e-324]))[0] == pytest.approx(-744.4400719213812)
    assert np.isnan(_core.exp(np.array([np.nan, 1.0]))[0]) and np.isnan(_core.log(np.array([-1.0]))[0])


def test_tanh_is_odd_and_never_falls() -> None:
    x = np.sort(np.abs(POINTS))
    y = _core.tanh(x)
    assert (_core.tanh(-x) == -y).all()
    assert (np.diff(y) >= -np.spacing(1.0)).all()
