"""Laws from data, from entropy and from Bayes: closed forms, hit rate of BIC, tabulated laws, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mor import Beta, Exponential, Gamma, Gumbel, LogNormal, Marginal, Normal, ParameterSpace, Uniform, Weibull
from mor.marginals import marginal_from
from mor.uncertainty import Tabulated, fit_marginal, fit_space, maximum_entropy, posterior
from rt_runtime.errors import ConfigError

TRUE: tuple[Marginal, ...] = (
    Normal(1.0, 2.0), LogNormal(1.0, 0.5), Gamma(2.0, 3.0), Weibull(3.0, 2.0), Gumbel(5.0, 2.0), Exponential(4.0),
    Uniform(2.0, 5.0), Beta(2.0, 5.0, 1.0, 3.0),
)  # fmt: skip


def draws(law: Marginal, n: int, seed: int) -> np.ndarray:
    return law.ppf(np.random.default_rng(seed).random(n))


def test_bic_finds_the_law() -> None:
    hits = []
    for law in TRUE:
        bounds = {"lower": law.lower, "upper": law.upper} if isinstance(law, Beta) else {}
        for seed in range(30):
            hits.append(fit_marginal(draws(law, 200, seed), **bounds).ranking[0].law == law.law)
    assert np.mean(hits) >= 0.85


@pytest.mark.parametrize("law", TRUE[:6], ids=lambda m: m.law)
def test_maximum_likelihood_is_the_maximum(law: Marginal) -> None:
    x = draws(law, 300, 1)
    found = next(c for c in fit_marginal(x).ranking if c.law == law.law)
    level = found.log_likelihood
    assert level >= float(np.log(law.pdf(x)).sum()) - 1e-9
    assert found.marginal.mean == pytest.approx(law.mean, rel=0.2)
    plain = {k: v for k, v in found.marginal.to_dict().items() if k not in ("law", "unit")}
    for name, value in plain.items():
        for factor in (0.99, 1.01):
            near = marginal_from({"law": law.law, **plain, name: value * factor})
            with np.errstate(divide="ignore"):
                assert float(np.log(near.pdf(x)).sum()) <= level + 1e-6


def test_ranking_table_and_picture(tmp_path: Path) -> None:
    fit = fit_marginal(draws(LogNormal(1.0, 0.5), 100, 0), criterion="aic", unit="m")
    assert fit.best.unit == "m"
    assert fit.summary().splitlines()[0].split() == ["law", "k", "ln", "L", "AIC", "BIC", "mean", "std"]
    assert fit.plot(tmp_path / "fit.png").stat().st_size > 5000


def test_maximum_entropy_closed_cases() -> None:
    assert maximum_entropy(lower=1.0, upper=3.0) == Uniform(1.0, 3.0)
    assert maximum_entropy(lower=0.0, mean=2.0) == Exponential(2.0)
    assert maximum_entropy(mean=1.0, std=2.0, unit="N") == Normal(1.0, 2.0, unit="N")
    assert maximum_entropy(mean_log=0.3, std_log=0.2) == LogNormal(0.3, 0.2)
    law = maximum_entropy(lower=0.0, upper=1.0, mean=0.3)
    rate, x = 2.6721, np.linspace(0.0, 1.0, 50)
    np.testing.assert_allclose(law.pdf(x), rate * np.exp(-rate * x) / -np.expm1(-rate), rtol=2e-4)
    assert law.mean == pytest.approx(0.3, abs=1e-6)
    bell = maximum_entropy(lower=-1.0, upper=2.0, mean=0.4, std=0.3)
    assert bell.law == "truncated_normal"
    assert (bell.mean, bell.std) == (pytest.approx(0.4, abs=1e-6), pytest.approx(0.3, abs=1e-6))
    bath = maximum_entropy(lower=0.0, upper=1.0, mean=0.5, std=0.4)
    assert (bath.mean, bath.std) == (pytest.approx(0.5, abs=1e-6), pytest.approx(0.4, abs=1e-6))
    assert bath.pdf(0.01) > bath.pdf(0.5)
    beta = Beta(2.0, 3.0)
    u = beta.ppf((np.arange(200_000) + 0.5) / 200_000)
    found = maximum_entropy(mean_log=float(np.log(u).mean()), mean_log_rest=float(np.log1p(-u).mean()))
    assert isinstance(found, Beta)
    assert (found.a, found.b) == (pytest.approx(2.0, rel=1e-3), pytest.approx(3.0, rel=1e-3))


def test_posterior_on_a_grid_and_by_chain_is_the_conjugate_one() -> None:
    x = np.array([4.8, 5.6, 5.1])
    prior = {"mean": Normal(4.0, 1.0), "std": 0.7}
    exact = posterior(x, "normal", prior)
    precision = 1.0 + 3 / 0.49
    assert exact.method == "conjugate"
    assert exact.mean["mean"] == pytest.approx((4.0 + x.sum() / 0.49) / precision, rel=1e-4)
    assert exact.predictive.std == pytest.approx(np.sqrt(1 / precision + 0.49))
    grid = posterior(x, "normal", prior, method="grid")
    assert grid.mean["mean"] == pytest.approx(exact.mean["mean"], abs=1e-3)
    assert grid.std["mean"] == pytest.approx(exact.std["mean"], rel=1e-2)
    assert grid.predictive.mean == pytest.approx(exact.predictive.mean, abs=1e-3)
    assert grid.predictive.std == pytest.approx(exact.predictive.std, rel=2e-3)
    chain = posterior(x, "normal", prior, method="chain", draws=6000, seed=3)
    assert chain.mean["mean"] == pytest.approx(exact.mean["mean"], abs=0.05)
    assert "mean" in chain.summary()


def test_posterior_of_two_parameters() -> None:
    x = draws(LogNormal(1.0, 0.4), 40, 5)
    found = posterior(x, "lognormal", {"mu": Normal(0.0, 2.0), "sigma": Uniform(0.05, 2.0)})
    assert found.method == "grid"
    assert found.mean["mu"] == pytest.approx(np.log(x).mean(), abs=0.02)
    assert found.mean["sigma"] == pytest.approx(np.log(x).std(ddof=1), abs=0.03)
    assert found.predictive.std > LogNormal(found.mean["mu"], found.mean["sigma"]).std * 0.95


def test_tabulated_law_is_a_marginal_like_any_other() -> None:
    import scipy.stats

    for source, exact in (
        (scipy.stats.norm(2.0, 0.5), Normal(2.0, 0.5)),
        (scipy.stats.uniform(1, 2), Uniform(1.0, 3.0)),
    ):
        law = Tabulated.of(source, unit="m")
        assert (law.mean, law.std) == (pytest.approx(exact.mean, abs=1e-4), pytest.approx(exact.std, rel=1e-3))
        u = np.linspace(0.01, 0.99, 30)
        np.testing.assert_allclose(law.cdf(law.ppf(u)), u, atol=1e-12)
        np.testing.assert_allclose(law.ppf(u), exact.ppf(u), atol=2e-4)
        again = ParameterSpace.from_dict(ParameterSpace({"x": law}).to_dict())["x"]
        assert again == law
    alpha, beta = Tabulated.of(scipy.stats.uniform(-1, 2)).recurrence(6)
    k = np.arange(1, 7)
    np.testing.assert_allclose(beta[1:] / beta[1], (k**2 / (4 * k**2 - 1)) / (1 / 3), rtol=1e-3)
    assert np.abs(alpha).max() < 1e-6


def test_chaospy_distributions_are_marginals() -> None:
    chaospy = pytest.importorskip("chaospy")
    law = Tabulated.of(chaospy.Laplace(1.0, 0.5))
    assert law.mean == pytest.approx(1.0, abs=1e-3)
    assert law.std == pytest.approx(np.sqrt(2) * 0.5, rel=5e-3)


def test_a_space_from_data_knows_the_dependence() -> None:
    rng = np.random.default_rng(1)
    z = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 300)
    space = fit_space({"a": 10 + 2 * z[:, 0], "b": np.exp(z[:, 1])}, units={"a": "N"})
    assert space["a"].law == "normal" and space["b"].law == "lognormal" and space["a"].unit == "N"
    assert space.copula is not None
    assert space.copula.correlation[0, 1] == pytest.approx(0.7, abs=0.08)  # type: ignore[attr-defined]
    free = fit_space({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    assert free.copula is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fit_marginal([1.0, 2.0]), "at least 5 finite numbers, got 2"),
        (lambda: fit_marginal(["a", "b"]), "must be numbers, got"),
        (lambda: fit_marginal(np.ones(9)), "must vary, got 1 only"),
        (lambda: fit_marginal(np.arange(9.0), families=["gamma"]), "must be positive for the law 'gamma', got 0"),
        (lambda: fit_marginal(np.arange(9.0), lower=2.0), r"must lie in \[2, inf\], got \[0, 8\]"),
        (lambda: fit_marginal(np.arange(9.0), families=["cauchy"]), "families of fit_marginal must be one of"),
        (lambda: maximum_entropy(), "must know both bounds, or a mean"),
        (lambda: maximum_entropy(lower=0.0, upper=1.0, mean=2.0), "mean of maximum_entropy must lie between 0 and 1"),
        (lambda: maximum_entropy(lower=0.0, upper=1.0, mean=0.5, std=0.6), "below 0.5, the largest that bounds and mean"),
        (lambda: posterior([1.0], "normal", {"mean": 3.0}), "at least one unknown parameter"),
        (lambda: posterior([1.0], "normal", {"mode": Normal(0, 1), "std": 1.0}), "must name the parameters"),
        (lambda: posterior([1.0, -2.0], "lognormal", {"mu": Normal(0, 1), "sigma": 1.0}), "must be positive for .*, got -2"),
        (lambda: posterior([1.0], "normal", {"mean": Normal(0, 1), "std": 0.0}), "std of the prior of posterior must be"),
        (lambda: fit_space({"a": np.arange(9.0), "b": np.ones(9)}), "Input 'b' of fit_space: .* must vary, got 1 only"),
        (lambda: Tabulated((0.0, 1.0), (-1.0, 2.0)), "density of Tabulated must be at least 0"),
        (lambda: Tabulated((1.0, 0.0), (1.0, 2.0)), "points of Tabulated must increase"),
    ],
)  # fmt: skip
def test_wrong_input_gets_a_sentence(call: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        call()  # type: ignore[operator]
