"""Bouc-Wen cells and relaxations against their equations, and slipping springs that are passive by construction."""

from __future__ import annotations

import numpy as np
import pytest

from mor import BoucWen, Dataset, MemorySpec, Port, Power, Relaxation, closed_cycles, fit_stops
from mor.reduced.hysteresis.front import Front
from mor.reduced.ranges import free_run_error
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import hysteresis

X, V, F = Port("x", "m"), Port("v", "m/s"), Port("F", "N")


def walk(seed: int, n: int = 1200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.interp(np.arange(n), np.arange(0, n, 60), np.append(0.0, rng.uniform(-1.0, 1.0, n // 60 - 1)))


def test_a_cell_follows_its_differential_equation() -> None:
    """Against many small Euler steps of dz/du."""
    u, r, n, beta = walk(1), 0.1, 1.4, 0.6
    z, expected = 0.0, []
    for before, now in zip(np.append(0.0, u[:-1]), u, strict=True):
        for _ in range(400):
            du = (now - before) / 400
            z += (1.0 - abs(z) ** n * (beta * np.sign(z * du) + 1.0 - beta)) * du / r
        expected.append(z)
    phi, states = Front((BoucWen("x", lengths=(r,), sharpness=(n,), beta=(beta,)),), (X,)).run(u[:, None])
    np.testing.assert_allclose(phi[:, 0], expected, atol=2e-3)
    np.testing.assert_array_equal(states[:, 0], u)
    assert np.abs(phi).max() <= 1.0


def test_a_cell_is_constant_in_a_hold_and_bounded_for_every_step() -> None:
    front = Front((BoucWen("x", lengths=(0.1, 0.4)),), (X,))
    held, _ = front.run(np.append(walk(2), np.full(5000, 0.2))[:, None])
    assert np.ptp(held[1201:], axis=0).max() == 0.0
    wild, _ = front.run(np.random.default_rng(0).normal(size=(2000, 1)) * 1e3)
    assert np.isfinite(wild).all() and np.abs(wild).max() <= 1.0


def test_a_cell_hardly_depends_on_the_sampling_rate() -> None:
    front, coarse = Front((BoucWen("x", lengths=(0.1,)),), (X,)), walk(3)
    fine = np.interp(np.arange(0, 1200, 0.125), np.arange(1200), coarse)
    np.testing.assert_allclose(front.run(fine[:, None])[0][::8], front.run(coarse[:, None])[0], atol=2e-3)


def test_a_relaxation_is_the_low_pass_of_its_time_constant() -> None:
    phi, _ = Front((Relaxation("v", (0.05, 0.5)),), (V,), 0.01).run(np.ones((100, 1)))
    for column, T in zip(phi.T, (0.05, 0.5), strict=True):
        np.testing.assert_allclose(column, 1.0 - np.exp(-0.01 * np.arange(1, 101) / T), rtol=1e-12)
    with pytest.raises(ConfigError, match="dt of a memory with lags or filters must be given"):
        MemorySpec([V], [F], operators=(Relaxation("v"),))


def test_slipping_springs_are_found_again_and_are_passive() -> None:
    radii = np.array([0.1, 0.3, 0.6])

    def runs(seeds: range) -> Dataset:
        X_, Y_ = [], []
        for seed in seeds:
            u, p = walk(seed), np.zeros(3)
            for v in u:
                p = np.clip(p, v - radii, v + radii)
                Y_.append(0.5 * v + np.sum((v - p) * [2.0, 1.0, 0.5]))
            X_.append(u)
        return Dataset(np.concatenate(X_)[:, None], np.array(Y_), [X], [F], run=np.repeat(np.arange(len(X_)), 1200))

    model = fit_stops(runs(range(6)), count=40, spacing="even")
    assert free_run_error(model, runs(range(20, 23))) < 0.02
    report = closed_cycles(model, count=20)
    assert report.passive and report.monotone and report.energy.min() > 0.0
    assert "passive in all of 20 sampled closed cycles; skeleton monotone" in str(report)
    with pytest.raises(ConfigError, match="Data of fit_stops must have one input and one output, got 2 and 1"):
        fit_stops(Dataset(np.zeros((9, 2)), np.zeros(9), [X, V], [F]))


def test_a_model_that_gives_energy_is_reported() -> None:
    report = closed_cycles(hysteresis(), velocity="v", count=10)  # random weights
    said = report.to_dict()
    assert said["cycles"] == 10 and (said["negative"] > 0) == (not report.passive)
    assert not report.monotone and report.dip > 0.0
    with pytest.raises(ConfigError, match="Signal 'q' of closed_cycles must be one of x, v"):
        closed_cycles(hysteresis(), displacement="q")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BoucWen("x", 0), "count of the Bouc-Wen cells of 'x' must be 1 or more, got 0"),
        (lambda: BoucWen("x", lengths=(0.1,), beta=(0.5, 0.5)), "lengths, sharpness and beta of the Bouc-Wen cells"),
        (lambda: Relaxation("v", ()), "time_constants of the relaxation of 'v' must be positive"),
        (lambda: Power("v", -1.0), "exponent of the power of 'v' must lie in"),
    ],
)
def test_sentences(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
