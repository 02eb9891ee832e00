"""Calibration on records made by a known truth."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mor import Dataset, FunctionModel, Normal, ParameterSpace, Trajectory, Uniform, fit_pce, lhs
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


def free_vibration(k: float, c: float) -> Trajectory:
    """The same oscillator as a full-order model: displacement and acceleration, on times of its own."""
    t = np.linspace(0.0, 2.5, 1001)
    x = np.exp(-0.5 * c * t) * np.cos(np.sqrt(k - 0.25 * c**2) * t)
    v = np.gradient(x, t)
    return Trajectory(t, np.column_stack([x, -k * x - c * v]), {"x": "m", "a": "m/s2"})


def test_a_full_order_model_is_read_at_the_times_of_the_record() -> None:
    """Two columns of different size: each has its own measurement error."""
    rng = np.random.default_rng(3)
    truth = free_vibration(41.0, 0.9)
    clean = np.column_stack([np.interp(TIME, truth.time, truth[name]) for name in ("x", "a")])
    measured = Trajectory(TIME, clean + np.array([0.05, 2.0]) * rng.standard_normal((40, 2)), {"x": "m", "a": "m/s2"})
    found = calibrate(FunctionModel(free_vibration), measured, PRIOR, steps=300, seed=1)
    assert found.names == ("k", "c", "sigma_x", "sigma_a")
    ends = found.interval(0.99)
    assert ends["k"][0] < 41.0 < ends["k"][1] and ends["c"][0] < 0.9 < ends["c"][1]
    assert 0.035 < found.mean["sigma_x"] < 0.08 and 1.4 < found.mean["sigma_a"] < 3.0
    low, high = found.bands(0.9)
    assert low.shape == (80,)
    assert 0.75 < np.mean((measured["a"] > low[40:]) & (measured["a"] < high[40:])) <= 1.0


@pytest.mark.parametrize(
    ("measured", "options", "message"),
    [
        ({"x": "mm"}, {}, r"Column 'x' \[mm\].*same unit: x \[m\], a \[m/s2\]"),
        ({"y": "m"}, {}, r"Column 'y' \[m\]"),
        ({"x": "m", "a": "m/s2"}, {"sigma": 0.1}, "sigma of calibrate must be one number for each column"),
        ({"x": "m"}, {"sigma": {"a": 0.1}}, "one number for each column .x., got a"),
        ({"late": "m"}, {}, "must lie inside the run of the model, 0 to 2.5 s, got 1 to 3 s"),
    ],
)
def test_bad_trajectories(measured: dict[str, str], options: dict[str, object], message: str) -> None:
    time = np.linspace(1.0, 3.0, 5) if "late" in measured else TIME[:5]
    ports = {"x" if name == "late" else name: unit for name, unit in measured.items()}
    values = np.arange(5.0 * len(ports)).reshape(5, -1)
    with pytest.raises(ConfigError, match=message):
        calibrate(FunctionModel(free_vibration), Trajectory(time, values, ports), PRIOR, **options)  # type: ignore[arg-type]


def test_the_prior_must_leave_the_error_its_name() -> None:
    with pytest.raises(ConfigError, match="must not name sigma"):
        calibrate(lambda P: P, [1.0, 2.0], ParameterSpace({"sigma": Uniform(0.0, 1.0)}))


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
