"""Stochastic polynomial chaos: laws of two peaks, answers, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mor import Spce, fit_glam, fit_spce
from rt_runtime.errors import ConfigError
from tests.reference.stochastic_examples import TWO_PEAKS


@pytest.fixture(scope="module")
def peaks() -> Spce:
    return fit_spce(TWO_PEAKS.data(500, 2), TWO_PEAKS.space, degree=5, latent="uniform")


def test_two_peaks_are_followed(peaks: Spce) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glam = fit_glam(TWO_PEAKS.data(500, 2), TWO_PEAKS.space)
    ours, other = (
        TWO_PEAKS.error(lambda X, p, m=m: m.quantile(X, p)[:, 0], points=60, levels=40) for m in (peaks, glam)
    )
    assert peaks.fit["outputs"][0]["fits"]
    assert ours < 0.015 and ours < other
    y = np.linspace(-4.0, 6.0, 400)
    density = np.concatenate([peaks.pdf([[0.02]], v)[0] for v in y])
    higher = density[1:-1] > np.maximum(density[:-2], density[2:])
    assert np.count_nonzero(higher & (density[1:-1] > 0.02)) == 2


def test_answers_agree_with_each_other(peaks: Spce) -> None:
    X = TWO_PEAKS.space.sample(8, seed=1)
    np.testing.assert_allclose(peaks.cdf(X, peaks.quantile(X, 0.3)), 0.3, atol=1e-12)
    draws = peaks.sample(X, 800, seed=3)
    np.testing.assert_allclose(draws.mean(axis=0), peaks.mean(X), atol=5.0 * peaks.std(X).max() / np.sqrt(800))
    np.testing.assert_allclose(draws.std(axis=0), peaks.std(X), rtol=0.12)
    y = np.linspace(-12.0, 15.0, 3001)
    assert np.trapezoid(np.exp(peaks._log_density(np.tile(X[:1], (3001, 1)), y[:, None]))[:, 0], y) == pytest.approx(
        1.0, abs=1e-6
    )


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        (60, {"degree": 9}, "three rows for each of the"),
        (60, {"degree": 0}, "degree"),
        (60, {"latent": "gamma"}, "latent"),
        (8, {}, "Data of fit_spce must have at least 16 rows"),
    ],
)
def test_bad_input_is_one_sentence(rows: int, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit_spce(TWO_PEAKS.data(rows, 0), TWO_PEAKS.space, **settings)  # type: ignore[arg-type]
