"""Moments, quantiles and probabilities against closed forms; screening; the comparison of surrogates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from mor import Dataset, Normal, ParameterSpace, Pce, ishigami, lhs
from mor.uncertainty import borgonovo, failure_probability, fit_best, hsic, morris, propagate
from mor.uncertainty.propagation import _failure_region, reliability_index
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Normal(1.0, 2.0), "b": Normal(-1.0, 1.0)})
STD = np.sqrt(5.0)


def test_moments_quantiles_and_exceedance(tmp_path: Path) -> None:
    found = propagate(lambda X: X.sum(axis=1), SPACE, n=2**13)
    assert abs(found.mean.value[0]) <= 3 * found.mean.half_width[0] + 1e-9
    assert found.std.value[0] == pytest.approx(STD, abs=3 * found.std.half_width[0])
    np.testing.assert_allclose(found.quantiles.value[:, 0], [-1.645 * STD, 0.0, 1.645 * STD], atol=0.03)
    p = found.exceedance("y1", STD)
    assert p.lower is not None and p.upper is not None and p.lower < 1 - ndtr(1.0) < p.upper
    assert "5 %" in found.summary()
    assert found.plot(tmp_path / "laws.png").exists()


@pytest.mark.parametrize("beta", [2.0, 4.0, 5.0])
def test_rare_failures_by_importance_sampling(beta: float) -> None:
    exact = float(ndtr(-beta))
    found = failure_probability(lambda X: X.sum(axis=1), SPACE, beta * STD, n=4000, seed=2)
    assert found.value == pytest.approx(exact, rel=0.2)
    assert found.half_width < 0.2 * exact
    assert reliability_index(float(found.value)) == pytest.approx(beta, abs=0.06)
    below = failure_probability(lambda X: -X.sum(axis=1), SPACE, -beta * STD, side="below", n=4000, seed=3)
    assert below.value == pytest.approx(exact, rel=0.2)


def test_intervals_of_failure_probabilities_cover() -> None:
    exact = float(ndtr(-3.0))
    inside = 0
    for seed in range(60):
        p = failure_probability(lambda X: X[:, 0] + X[:, 1], SPACE, 3.0 * STD, n=1000, seed=seed)
        assert p.lower is not None and p.upper is not None
        inside += bool(p.lower <= exact <= p.upper)
    assert inside >= 50


def test_a_failure_that_is_never_seen_is_not_called_impossible() -> None:
    """Outputs end at 1: the limit 2 is never passed, and the interval says what n samples can say, not 0 to 0."""
    p = failure_probability(lambda X: np.tanh(X[:, 0]), SPACE, 2.0, n=1000)
    assert p.value == 0.0 and p.upper is not None and 0.003 < p.upper < 0.005


def test_plain_monte_carlo() -> None:
    p = failure_probability(lambda X: X.sum(axis=1), SPACE, STD, method="monte_carlo", n=20_000)
    assert p.lower is not None and p.upper is not None and p.lower < 1 - ndtr(1.0) < p.upper


def test_screening_finds_the_idle_input() -> None:
    space = ParameterSpace({name: Normal(0, 1) for name in "abcd"})
    found = morris(lambda X: X[:, 0] * X[:, 1] + 3 * X[:, 2], space, trajectories=30)
    assert found.mean_size.value[0, 3] == 0.0
    assert found.std[0, 2] < 0.5 * found.std[0, 0] + 1.0
    assert found.evaluations == 150
    X = lhs(space, 300, seed=1).points
    data = Dataset(X, np.column_stack([X[:, 0] ** 2, X[:, 2]]), space.ports, {"p": "", "q": ""})
    value, p = hsic(data)
    assert np.argmax(value[0]) == 0 and p[0, 0] < 0.01 and p[0, 3] > 0.01
    delta = borgonovo(data)
    assert np.argmax(delta.value[0]) == 0 and np.argmax(delta.value[1]) == 2
    assert delta.value[0, 3] < 0.12


def test_hsic_is_the_trace_of_centred_kernels_and_uses_every_permutation() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_t(2, (60, 2))  # far outliers need more features
    y = X[:, :1] ** 2 + rng.normal(size=(60, 1))
    value, p = hsic(Dataset(X, y, {"a": "", "b": ""}, {"y": ""}), permutations=1000)

    def kernel(v: np.ndarray) -> np.ndarray:
        K = np.exp(-0.5 * (v[:, None] - v) ** 2 / v.var())
        H = np.eye(60) - 1 / 60
        return np.asarray(H @ K @ H)

    L = kernel(y[:, 0])
    for i in range(2):
        K = kernel(X[:, i])
        assert value[0, i] == pytest.approx(np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L)), rel=1e-8)
    assert p[0, 0] == pytest.approx(1 / 1001)  # resolved by a thousand permutations, not by two hundred
    assert p[0, 1] > 0.01


def test_the_best_surrogate_is_found_and_said() -> None:
    problem = ishigami()
    found = fit_best(problem.dataset(120, seed=1), problem.space, kinds=("pce", "kriging"), folds=2)
    assert found.kind == "pce" and isinstance(found.model, Pce)
    assert set(found.errors) == {"pce", "kriging"}
    assert found.summary().splitlines()[1].startswith("pce *")


def test_wrong_input_gets_a_sentence() -> None:
    problem = ishigami()
    with pytest.raises(ConfigError, match=r"kinds of fit_best must be of pce, kriging, pck, got svm"):
        fit_best(problem.dataset(50, seed=1), problem.space, kinds=("svm",))
    with pytest.raises(ConfigError, match="levels of propagate must lie between 0 and 1"):
        propagate(problem, problem.space, levels=(0.0,))
    with pytest.raises(ConfigError, match="levels of morris must be even"):
        morris(problem, problem.space, levels=5)
    with pytest.raises(ConfigError, match="Importance sampling found no failure"):
        _failure_region(lambda xi: np.full(len(xi), np.nan), 2, 100, np.random.default_rng(0))
