"""Calibration on records made by a known truth."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mor import Dataset, Normal, ParameterSpace, Uniform, fit_pce, lhs
from mor.stochastic import calibrate
from rt_runtime.errors import ConfigError, MissingExtra

TIME = np.linspace(0.0, 2.0, 40)
PRIOR = ParameterSpace({"k": Uniform(20.0, 60.0, unit="N/m"), "c": Uniform(0.2, 2.0, unit="Ns/m")})


def record(P: np.ndarray) -> np.ndarray:
    """Free vibration of a unit mass."""
    k, c = P[:, :1], P[:, 1:]
    return np.asarray(np.exp(-0.5 * c * TIME) * np.cos(np.sqrt(k - 0.25 * c**2) * TIME))


def test_posterior_of_a_linear_model_is_the_closed_form() -> None:
    """Line through noisy points with known sigma and a normal prior: a normal posterior."""
    x = np.linspace(-1.0, 1.0, 15)
    d = 1.5 * x + 0.2 * np.random.default_rng(2).standard_normal(15)
    prior = ParameterSpace({"slope": Normal(0.0, 2.0)})
    found = calibrate(lambda P: P * x, d, prior, sigma=0.2, steps=800, seed=1)
    precision = 1.0 / 4.0 + x @ x / 0.04
    assert found.mean["slope"] == pytest.approx(x @ d / 0.04 / precision, abs=0.15 * precision**-0.5)
    assert found.std["slope"] == pytest.approx(precision**-0.5, rel=0.1)
    assert found.converged and found.names == ("slope",)


def test_truth_lies_in_the_interval_and_bands_cover_the_record() -> None:
    truth = np.array([[37.0, 0.8]])
    d = record(truth)[0] + 0.05 * np.random.default_rng(7).standard_normal(40)
    found = calibrate(record, d, PRIOR, steps=1000, seed=0)
    ends = found.interval(0.99)
    assert ends["k"][0] < 37.0 < ends["k"][1] and ends["c"][0] < 0.8 < ends["c"][1]
    assert 0.03 < found.mean["sigma"] < 0.08
    assert "R-hat" in found.summary() and found.plain()["evaluations"] > 1000
    low, high = found.bands(0.9)
    assert 0.75 < np.mean((d > low) & (d < high)) <= 1.0
    inner = found.bands(0.9, noise=False)
    assert np.all(inner[1] - inner[0] < high - low)


def test_a_reduced_model_makes_it_cheap() -> None:
    X = lhs(PRIOR, 150, seed=0).points
    fitted = fit_pce(
        Dataset(X, record(X)[:, 1::4], PRIOR.ports, [f"y{i}" for i in range(10)]), PRIOR, method="ols", degree=10
    )
    d = record(np.array([[45.0, 1.2]]))[0, 1::4] + 0.02 * np.random.default_rng(5).standard_normal(10)
    found = calibrate(fitted, d, PRIOR, steps=600, seed=3)
    ends = found.interval(0.99)
    assert ends["k"][0] < 45.0 < ends["k"][1] and ends["c"][0] < 1.2 < ends["c"][1]


def test_a_short_chain_is_told() -> None:
    d = record(np.array([[37.0, 0.8]]))[0] + 0.05
    found = calibrate(record, d, PRIOR, steps=60, seed=0)
    assert not found.converged and "NOT converged" in found.summary()


@pytest.mark.parametrize(
    ("measured", "options", "message"),
    [
        ([1.0], {}, "at least two finite numbers"),
        ([1.0, np.nan], {}, "with NaN"),
        (np.ones(40), {}, "must vary"),
        (np.arange(3.0), {}, "must return the 3 values of the measured record, got 40"),
        (np.arange(40.0), {"sigma": -1.0}, "sigma"),
        (np.arange(40.0), {"steps": 10}, "steps"),
        (np.arange(40.0), {"walkers": 2}, "walkers"),
    ],
)
def test_bad_records(measured: np.ndarray, options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        calibrate(record, measured, PRIOR, **options)  # type: ignore[arg-type]


def test_without_emcee(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "emcee", None)
    with pytest.raises(MissingExtra, match="'calibrate' extra"):
        calibrate(record, np.arange(40.0), PRIOR)
