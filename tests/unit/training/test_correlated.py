"""Errors correlated along the way: the fit is generalised least squares with their covariance."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, Port
from rt_runtime.errors import ConfigError
from training import FfnnConfig, MemoryConfig
from training.fit import Rows
from training.trainers.correlated import Correlated, along_the_way
from training.trainers.network import Layout

X, F = Port("x", "m"), Port("F", "N")


def test_white_errors_are_those_of_the_covariance() -> None:
    """e' V^-1 e with V_ij = s_i s_j exp(-way / length) within a run, 0 between runs."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.uniform(0.0, 0.1, 12))  # one direction: the way is the distance
    run = np.repeat([0, 1], 6)
    size = np.where(run == 0, 1.0, 3.0)
    data = Dataset(x[:, None], (size * rng.choice([-1.0, 1.0], 12))[:, None], [X], [F], run=run)
    noise = along_the_way(data, data, 1, 0.3)
    far = np.abs(x[:, None] - x) / (0.5 * np.ptp(x))
    V = np.where(run[:, None] == run, np.exp(-far / 0.3), 0.0) * size[:, None] * size
    e = rng.normal(size=12)
    white = noise.white(e[:, None], slice(None))[:, 0]
    assert white @ white == pytest.approx(e @ np.linalg.solve(V, e) / np.mean(1.0 / size**2))


def test_slopes_are_those_of_differences() -> None:
    rng = np.random.default_rng(1)
    layout = Layout((2, 3, 1))
    theta = layout.initial(rng)
    noise = Correlated(rng.uniform(0.5, 2.0, 30), np.concatenate([[0.0], rng.uniform(0.0, 0.9, 29)]))
    rows = Rows(layout, rng.normal(size=(30, 2)), rng.normal(size=(30, 1)), noise)
    error, JJ, Jr = rows.normal(theta)
    assert error == pytest.approx(rows.error(theta))
    h = 1e-6 * np.eye(layout.size)
    slope = [(rows.error(theta + d) - rows.error(theta - d)) / 2e-6 for d in h]
    np.testing.assert_allclose(2.0 * Jr, slope, rtol=1e-6, atol=1e-6)
    assert np.all(np.linalg.eigvalsh(JJ) > -1e-9)


def test_a_correlation_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="correlation of a fit with memory must not be negative"):
        MemoryConfig(correlation=-0.1)
    with pytest.raises(ConfigError, match="and 0 with trainer 'adam'"):
        MemoryConfig(FfnnConfig(trainer="adam"), correlation=0.2)
