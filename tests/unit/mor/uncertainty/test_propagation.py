"""Moments, quantiles and probabilities against closed forms; screening; the comparison of surrogates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest

from mor import Dataset, Normal, ParameterSpace, Pce, ishigami, lhs
from mor.uncertainty import borgonovo, failure_probability, fit_best, hsic, morris, propagate
from mor.uncertainty.propagation import _failure_region, reliability_index, weighted_failures
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


@pytest.mark.filterwarnings("ignore:Importance sampling")
def test_intervals_cover_with_twenty_inputs() -> None:
    """The density around the failure region is found from few points in many directions."""
    space = ParameterSpace({f"x{i}": Normal(0.0, 1.0) for i in range(20)})
    inside = 0
    for seed in range(40):
        p = failure_probability(lambda X: X.sum(axis=1), space, 4.0 * np.sqrt(20.0), n=500, seed=seed)
        assert p.lower is not None and p.upper is not None
        inside += bool(p.lower <= ndtr(-4.0) <= p.upper)
    assert inside >= 36


@pytest.mark.parametrize("beta", [2.0, 3.0, 4.5, 6.0])
@pytest.mark.parametrize(("n", "closer"), [(100, 2.3), (100, 1.5), (30, 1.5), (30, 1.0), (100, -1.0), (1000, -1.0)])
@pytest.mark.filterwarnings("ignore:Importance sampling")
def test_intervals_of_few_failures_cover(beta: float, n: int, closer: float) -> None:
    """Points of N(beta - closer, 1) fail beyond beta: 1 to 8 of n, or nearly all with very unequal weights."""
    exact, rng, repetitions = float(ndtr(-beta)), np.random.default_rng(5), 300
    shift = beta - closer
    inside, seen = 0, 0
    for _ in range(repetitions):
        x = shift + rng.standard_normal(n)
        if not (x > beta).any():
            continue
        p = weighted_failures(x - beta, np.exp(0.5 * shift**2 - shift * x))
        assert p.lower is not None and p.upper is not None and 0.0 < p.lower <= p.value <= p.upper <= 1.0
        inside, seen = inside + bool(p.lower <= exact <= p.upper), seen + 1
    assert inside >= 0.9 * seen


def test_equal_weights_have_the_interval_of_clopper_and_pearson() -> None:
    margin = np.repeat([1.0, -1.0], [12, 988])
    p = weighted_failures(margin, np.full(1000, 0.5))
    exact = binomtest(12, 1000).proportion_ci()
    assert p.value == pytest.approx(0.006)
    np.testing.assert_allclose([p.lower, p.upper], [0.5 * exact.low, 0.5 * exact.high], rtol=1e-9)
    assert not p.notes
    everywhere = weighted_failures(np.ones(100), np.ones(100))
    assert everywhere.value == everywhere.upper == 1.0 and everywhere.lower == pytest.approx(0.025 ** (1 / 100))


def test_a_sample_that_does_not_support_its_interval_says_so() -> None:
    with pytest.warns(UserWarning, match="rests on 2 of 100 samples, worth 1.5 failures of equal weight"):
        p = weighted_failures(np.repeat([1.0, -1.0], [2, 98]), np.append([1e-3, 2.7e-4], np.full(98, 2e-3)))
    assert len(p.notes) == 1 and "n of 700 or more" in p.notes[0]
    with pytest.warns(UserWarning, match="All 100 samples failed"):
        weighted_failures(np.ones(100), np.linspace(0.01, 0.02, 100))


def test_a_failure_that_is_never_seen_is_not_called_impossible() -> None:
    """Outputs end at 1: the limit 2 is never passed, and the interval says what n samples can say, not 0 to 0."""
    with pytest.warns(UserWarning, match="found no failure in 1000 samples"):
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
    with pytest.raises(ConfigError, match="limit of failure_probability must be a finite number, got nan"):
        failure_probability(problem, problem.space, np.nan)
    with pytest.raises(ConfigError, match="output of failure_probability must be below 1, the outputs, got 3"):
        failure_probability(problem, problem.space, 10.0, output=3)
    rows = problem.dataset(50, seed=1)
    for column, wrong, sentence in ((1, np.nan, "must be finite, got 1 rows"), (slice(None), 2.0, "must vary, got 2")):
        Y = rows.Y.copy()
        Y[column] = wrong
        data = Dataset(rows.X, Y, rows.inputs, rows.outputs)
        for measure in (hsic, borgonovo):
            with pytest.raises(ConfigError, match=f"Column 'y' of the data of {measure.__name__} {sentence}"):
                measure(data)
    Y[0] = np.nan
    with pytest.raises(ConfigError, match="Column 'y' of the data of fit_best must be finite, got 1 rows"):
        fit_best(Dataset(rows.X, Y, rows.inputs, rows.outputs), problem.space)
    with pytest.raises(ConfigError, match="Importance sampling found no failure"):
        _failure_region(lambda xi: np.full(len(xi), np.nan), 2, 100, np.random.default_rng(0))
