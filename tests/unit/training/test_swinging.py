"""Motion of a mass on a part whose force is wrong: against an oscillator stepped here, its slopes, and a fit with it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, MemorySpec, Peaks, Play, Port
from rt_runtime.errors import ConfigError
from training import FfnnConfig, MemoryConfig, fit_ffnn_memory
from training.fit import Rows
from training.trainers.scaled import scale
from training.trainers.swinging import ZETA, Swing, Swinging, slopes, swinging

X, F = Port("x", "m"), Port("F", "N")
RADII = np.linspace(0.02, 0.5, 12)
SPEC = MemorySpec([X], [F], operators=(Play("x", radii=(0.05, 0.2, 0.4)), Peaks("x")))
CONFIG = MemoryConfig(FfnnConfig(hidden=(6,), restarts=1, iterations=30), rows=600, iterations=0)


def swings(seeds: range, n: int = 240) -> Dataset:
    """Slipping springs in parallel under oscillations that grow, change their frequency and die down."""
    signals, forces = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        t = np.arange(n) / n
        x = np.sin(2 * np.pi * (rng.uniform(3, 5) * t + rng.uniform(0, 2) * t**2)) * np.sin(np.pi * t) ** 0.7
        p = np.zeros(len(RADII))
        for value in x:
            p = np.clip(p, value - RADII, value + RADII)
            forces.append(0.1 * value + np.mean(value - p))
        signals.append(x)
    return Dataset(
        np.concatenate(signals)[:, None], np.array(forces), [X], [F], run=np.repeat(np.arange(len(seeds)), n)
    )


def test_the_motion_is_the_difference_of_two_oscillators() -> None:
    """Spring k x and spring k x + e under the same load, both by central differences with the same mass."""
    n, k = 200, 3.0
    x = np.sin(0.15 * np.arange(n)) * np.linspace(0, 1, n)
    force = k * x
    e = 0.02 * np.cos(0.11 * np.arange(n))
    size = np.sqrt(np.mean((x - x.mean()) ** 2)), np.sqrt(np.mean((force - force.mean()) ** 2))
    v = np.sqrt(np.mean(np.gradient(x) ** 2))
    M, C = size[0] * size[1] / v**2, 2 * ZETA * size[1] / v
    load = np.random.default_rng(0).normal(0, 0.1, n)

    def swing(wrong: np.ndarray) -> np.ndarray:
        u = np.zeros(n)
        for i in range(1, n - 1):
            rest = load[i] - k * u[i] - wrong[i] + 2 * M * u[i] - (M - C / 2) * u[i - 1]
            u[i + 1] = rest / (M + C / 2)
        return u

    found = Swing.of(x, force, x[:, None], force[:, None], 1.0).moved(e[:, None])[:, 0]
    expected = (swing(e) - swing(np.zeros(n)))[2:] / np.sqrt(np.mean(x**2))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


def test_slopes_hold_where_nothing_moves_and_are_not_negative() -> None:
    x = np.r_[0.0, 0.0, np.linspace(0, 1, 11), np.ones(5), np.linspace(1, 0.5, 6)[1:]]
    k = slopes(x, np.where(np.arange(len(x)) < 18, 2.0 * x, 2.0 - x))
    assert np.allclose(k[:17], 2.0) and np.all(k >= 0.0) and np.allclose(k[-3:], 0.0)


def problem() -> tuple[Swinging, np.ndarray]:
    data = swings(range(4))
    spec = SPEC.resolved(data)
    rows = spec.table(data, rows=200, seed=0)
    scaled = scale(rows, None, None)
    layout = scaled.layout((4,), "tanh")
    theta = layout.initial(np.random.default_rng(1))
    return swinging(Rows(layout, scaled.X, scaled.Y), theta, spec, data, scaled, instants=500, seed=0), theta


def test_normal_equations_are_those_of_differences() -> None:
    both, theta = problem()
    error, JJ, Jr = both.normal(theta)
    assert len(both.swings) == 3 and error == pytest.approx(both.error(theta)) == pytest.approx(
        2 * both.rows.error(theta)
    )
    h = 1e-6 * np.eye(theta.size)
    by_hand = np.array([(both.error(theta + step) - both.error(theta - step)) / 4e-6 for step in h])
    np.testing.assert_allclose(Jr, by_hand, rtol=1e-5, atol=1e-6 * np.abs(Jr).max())
    np.testing.assert_allclose(JJ, JJ.T)
    assert np.linalg.eigvalsh(JJ).min() > -1e-9 * np.trace(JJ)


def test_a_fit_that_heeds_the_motion_swings_better() -> None:
    train, valid = swings(range(8)), swings(range(20, 24))
    plain, heeding = (
        fit_ffnn_memory(train, SPEC, valid=valid, config=replace(CONFIG, swing=steps)) for steps in (0, 12)
    )

    def motion(model) -> float:  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(4):
            x, force = valid.X[240 * i : 240 * (i + 1)], valid.Y[240 * i : 240 * (i + 1), 0]
            wrong = model.rollout(x)[:, :1] - force[:, None]
            total += float(np.sum(Swing.of(x[:, 0], force, x, wrong, 1.0).moved(wrong) ** 2))
        return total

    assert motion(heeding) < 0.7 * motion(plain)


def test_an_interrupted_fit_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    train, valid = swings(range(4)), swings(range(20, 21))
    config = replace(CONFIG, network=replace(CONFIG.network, iterations=8), rows=200)
    fit = partial(fit_ffnn_memory, train, SPEC, valid=valid)
    fit(config=replace(config, swing=2), folder=tmp_path)
    resumed = fit(config=replace(config, swing=5), folder=tmp_path, resume=True)
    assert np.array_equal(resumed.rollout(valid.X), fit(config=replace(config, swing=5)).rollout(valid.X))


def test_what_cannot_swing_is_refused() -> None:
    data = swings(range(2))
    two = Dataset(np.column_stack([data.X, data.X]), data.Y, [X, Port("v", "m/s")], [F], run=data.run)
    spec = MemorySpec(two.inputs, [F], operators=(Peaks("x"),))
    with pytest.raises(ConfigError, match="swing of a fit with memory must be 0 unless one displacement goes in"):
        fit_ffnn_memory(two, spec, valid=two, config=replace(CONFIG, swing=3))
    with pytest.raises(ConfigError, match="valid of a fit with memory must hold other trajectories than train"):
        fit_ffnn_memory(data, SPEC, valid=data, config=CONFIG)
    with pytest.raises(ConfigError, match="swing of a fit with memory must be 0 or more, got -1"):
        replace(CONFIG, swing=-1)
    with pytest.raises(ConfigError, match="swing of a fit with memory must be 0 with trainer 'adam'"):
        MemoryConfig(FfnnConfig(trainer="adam"), swing=2)


def test_a_run_without_force_is_left_out_and_one_that_swings_is_needed() -> None:
    """A gap that never closes has no mass that would swing as it does: its motion was 0 / 0, and spoiled all others."""
    data = swings(range(3))
    spec = SPEC.resolved(data)
    rows = spec.table(data, rows=200, seed=0)
    scaled = scale(rows, None, None)
    layout = scaled.layout((4,), "tanh")
    theta, force = layout.initial(np.random.default_rng(1)), data.Y.copy()
    force[:240] = 0.0
    slack = Dataset(data.X, force, [X], [F], run=data.run)
    rows_problem = Rows(layout, scaled.X, scaled.Y)
    both = swinging(rows_problem, theta, spec, slack, scaled, instants=10_000, seed=0)
    assert len(both.swings) == 2 and np.isfinite(both.weight) and np.isfinite(both.normal(theta)[1]).all()
    for none in (Dataset(data.X, 0.0 * force, [X], [F], run=data.run), swings(range(3), n=8)):
        with pytest.raises(ConfigError, match="must have a run in which displacement and force change, of at least 10"):
            swinging(rows_problem, theta, spec, none, scaled, instants=10_000, seed=0)


def test_a_run_whose_stiffness_feeds_its_swing_does_not_outweigh_the_others() -> None:
    """Softening F = tanh(4 x), stiff twice a swing: d grows without end, and was all that a fit looked at."""
    data, n = swings(range(5)), 2400
    x = np.sin(2 * np.pi * 60 * np.arange(n) / n)
    fed = Dataset(
        np.vstack([data.X, x[:, None]]),
        np.append(data.Y, np.tanh(4 * x)),
        [X],
        [F],
        run=np.append(data.run, np.full(n, 5)),
    )
    spec = SPEC.resolved(fed)
    scaled = scale(spec.table(fed, rows=300, seed=0), None, None)
    layout = scaled.layout((4,), "tanh")
    theta = layout.initial(np.random.default_rng(1))
    wrong = Swing.of(x, np.tanh(4 * x), x[:, None], x[:, None], 1.0).moved(np.full((n, 1), 1e-3))
    assert np.abs(wrong[-100:]).max() > 100 * np.abs(wrong[:100]).max()
    both = swinging(Rows(layout, scaled.X, scaled.Y), theta, spec, fed, scaled, instants=10_000, seed=0)
    found = np.sort(both.motions(theta))
    assert len(found) == 6 and found[-1] <= 10.001 * np.median(found)
    assert both.weight * found.sum() == pytest.approx(both.rows.error(theta))
