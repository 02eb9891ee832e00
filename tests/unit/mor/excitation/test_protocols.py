"""Loading protocols: consistent displacement and velocity, the amplitude reached, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from mor import lhs
from mor.excitation import LoadingProtocols, loading_protocol
from mor.excitation.protocols import KINDS
from mor.marginals import Beta
from mor.reduced.hysteresis.operators import turning_points
from rt_runtime.errors import ConfigError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 7])
def test_a_protocol_starts_at_rest_reaches_its_amplitude_and_has_its_velocity(kind: str, seed: int) -> None:
    run = loading_protocol(kind, amplitude=0.12, seed=seed, duration=4.0, rate=1000.0)
    x, v = run["x"], run["v"]
    assert x[0] == 0.0 and abs(v[0]) < 1e-9 and np.abs(x).max() == pytest.approx(0.12)
    travelled = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]))]) * 1e-3
    np.testing.assert_allclose(travelled, x, atol=2e-3 * 0.12)
    np.testing.assert_array_equal(
        loading_protocol(kind, amplitude=0.12, seed=seed, duration=4.0, rate=1000.0).values, run.values
    )
    other = loading_protocol(kind, amplitude=0.12, seed=seed + 1, duration=4.0, rate=1000.0)
    assert np.abs(other["x"] - x).max() > 0.01


def test_the_rate_does_not_change_a_protocol_of_turning_points() -> None:
    coarse = loading_protocol("reversals", amplitude=1.0, seed=3, duration=4.0, rate=100.0)
    fine = loading_protocol("reversals", amplitude=1.0, seed=3, duration=4.0, rate=400.0)
    np.testing.assert_allclose(fine["x"][::4], coarse["x"], atol=5e-3)


def test_a_family_draws_each_kind_by_its_share() -> None:
    family = LoadingProtocols((0.01, 0.1), shares={"ramps": 0.25, "reversals": 0.5, "response": 0.25}, duration=1.0)
    kinds = [family.kind(p["kind"]) for p in lhs(family.space, 40, seed=0)]
    assert (kinds.count("ramps"), kinds.count("reversals"), kinds.count("response")) == (10, 20, 10)
    p = lhs(family.space, 5, seed=0).parameters(2)
    assert np.abs(family.history(p)["x"]).max() == pytest.approx(p["amplitude"])


def test_small_amplitudes_may_be_preferred() -> None:
    family = LoadingProtocols(Beta(1.0, 3.0, 0.01, 0.1, unit="m"), shares={"ring_down": 1.0}, duration=1.0)
    points = lhs(family.space, 200, seed=0).points[:, 1]
    assert points.min() >= 0.01 and points.max() <= 0.1 and np.mean(points < 0.04) > 0.65


def test_a_protocol_rings_down_about_an_offset() -> None:
    """The last half cycles are small against the first ones, most of them smaller than the one before."""
    ends, falls = [], []
    for seed in range(20):
        turns = np.abs(
            np.diff(turning_points(loading_protocol("ring_down", amplitude=1.0, seed=seed, duration=6.0)["x"]))
        )
        ends.append(turns[-3:].max() / turns.max())
        falls.append(np.mean(np.diff(turns[-9:]) < 0.0))
    assert np.median(ends) < 0.15 and np.mean(falls) > 0.6


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"shares": {"ramps": 0.5}}, "add up to 1"),
        ({"shares": {"ramp": 1.0}}, "kind of LoadingProtocols must be"),
        ({"amplitude": Beta(1.0, 3.0, 0.0, 0.1)}, "0 < lower < upper"),
        ({"amplitude": (0.1, 0.05)}, "0 < lower < upper"),
        ({"duration": 0.001}, "at least 3 samples"),
    ],
)
def test_a_family_that_makes_no_sense_is_refused(change: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        LoadingProtocols(**{"amplitude": (0.01, 0.1), **change})
