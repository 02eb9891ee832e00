"""Kriging: interpolation, variance, leave-one-out, trends, noise, several outputs, bad input."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, Kriging, LogNormal, ParameterSpace, ReducedModel, Uniform, fit_kriging, lhs
from mor.reduced.kriging.kernels import FACTOR, KERNELS, cross
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Uniform(-1.0, 3.0, unit="m"), "b": LogNormal(0.1, 0.4)})


def truth(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(2.0 * X[:, 0]) + np.log(X[:, 1]) * X[:, 0], 5.0 + 100.0 * X[:, 0] ** 2 / X[:, 1]])


def data(n: int = 40, seed: int = 0) -> Dataset:
    X = lhs(SPACE, n, seed=seed, criterion="maximin").points
    return Dataset(X, truth(X), SPACE.ports, {"p": "N", "q": "m"})


@pytest.fixture(scope="module")
def model() -> Kriging:
    return fit_kriging(data(), SPACE)


def test_it_interpolates_and_is_certain_at_its_rows_only(model: Kriging) -> None:
    rows = data()
    scale = rows.Y.std(axis=0)
    assert np.all(np.abs(model.predict(rows.X) - rows.Y) < 1e-4 * scale)
    assert np.all(model.std(rows.X) < 1e-3 * scale)
    between = SPACE.sample(200, seed=3)
    assert np.all(model.std(between) >= 0.0)
    assert np.median(model.std(between)) > np.median(model.std(rows.X))
    error = np.abs(model.predict(between) - truth(between))
    assert np.mean(error**2 / truth(between).var(axis=0)) < 1e-4


def test_every_output_has_its_own_process(model: Kriging) -> None:
    alone = fit_kriging(Dataset(data().X, data().Y[:, 1], SPACE.ports, {"q": "m"}), SPACE)
    X = SPACE.sample(20, seed=1)
    np.testing.assert_allclose(model.predict(X)[:, 1], alone.predict(X)[:, 0], rtol=1e-9)
    np.testing.assert_allclose(model.std(X)[:, 1], alone.std(X)[:, 0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("trend", ["ordinary", "quadratic", "simple"])
def test_leave_one_out_is_a_refit_without_the_row(trend: str) -> None:
    rows = data(25)
    rows = Dataset(rows.X, rows.Y[:, 0], SPACE.ports, {"p": "N"})
    mean = 0.3 if trend == "simple" else None
    model = fit_kriging(rows, SPACE, kernel="matern52", interactions=False, trend=trend, mean=mean, noise="learned")
    model = replace(model, nugget=np.array([1e-6]), length=np.full((1, 2), 0.8))
    residuals, std = model.loo_residuals()
    for i in (0, 7, 24):
        kept = np.delete(np.arange(25), i)
        Z, z = model.points[kept], model.points[i]
        R = cross("matern52", Z, Z, model.length[0], None) + 1e-6 * np.eye(24)
        r = cross("matern52", z[None], Z, model.length[0], None)[0]
        y = rows.Y[kept, 0]
        F, f = model._trend(Z), model._trend(z[None])[0]
        inverse = np.linalg.inv(R)
        b = np.array([0.3]) if trend == "simple" else np.linalg.solve(F.T @ inverse @ F, F.T @ inverse @ y)
        prediction = f @ b + r @ inverse @ (y - F @ b)
        u = np.zeros(1) if trend == "simple" else F.T @ inverse @ r - f
        G = np.eye(1) if trend == "simple" else F.T @ inverse @ F
        variance = model.variance[0] * (1.0 + 1e-6 - r @ inverse @ r + u @ np.linalg.solve(G, u))
        assert rows.Y[i, 0] - prediction == pytest.approx(residuals[i, 0], rel=1e-8, abs=1e-10)
        assert np.sqrt(variance) == pytest.approx(std[i, 0], rel=1e-8)


def test_loo_is_relative_to_the_variance(model: Kriging) -> None:
    residuals, _ = model.loo_residuals()
    np.testing.assert_allclose(model.loo, np.mean(residuals**2, axis=0) / np.var(data().Y, axis=0), rtol=0.2)


def test_it_is_the_posterior_of_a_gaussian_process() -> None:
    """A direct posterior at the same lengths (also what scikit-learn's regressor computes, without the trend)."""
    rows = data(30)
    model = fit_kriging(rows, SPACE, kernel="gaussian", interactions=False, trend="simple", mean=0.0, noise="learned")
    X = SPACE.sample(15, seed=4)
    for o in range(2):
        Z, z, l = model.points, model._standard(X), model.length[o]
        R = np.exp(-0.5 * (((Z[:, None] - Z) / l) ** 2).sum(-1)) + model.nugget[o] * np.eye(30)
        r = np.exp(-0.5 * (((z[:, None] - Z) / l) ** 2).sum(-1))
        S = np.linalg.solve(R, np.column_stack([rows.Y[:, o], r.T]))
        np.testing.assert_allclose(model.predict(X)[:, o], r @ S[:, 0], rtol=1e-6, atol=1e-8 * rows.Y[:, o].std())
        variance = model.variance[o] * (1.0 - np.einsum("ij,ji->i", r, S[:, 1:]))
        np.testing.assert_allclose(model.std(X)[:, o] ** 2, variance, rtol=1e-5, atol=1e-8 * model.variance[o])


def test_a_trend_that_contains_the_truth_leaves_rounding() -> None:
    X = lhs(SPACE, 20, seed=2).points
    y = 3.0 + 2.0 * X[:, 0] - 0.5 * X[:, 0] ** 2 + np.log(X[:, 1])
    model = fit_kriging(Dataset(X, y, SPACE.ports, {"y": ""}), SPACE, trend="quadratic")
    new = SPACE.sample(100, seed=5)
    np.testing.assert_allclose(
        model.predict(new)[:, 0], 3.0 + 2.0 * new[:, 0] - 0.5 * new[:, 0] ** 2 + np.log(new[:, 1]), atol=1e-8
    )


def test_noise_is_found_and_averaged_out() -> None:
    X = lhs(SPACE, 120, seed=3).points
    clean = truth(X)[:, :1]
    noisy = clean + 0.1 * clean.std() * np.random.default_rng(0).standard_normal(clean.shape)
    model = fit_kriging(Dataset(X, noisy, SPACE.ports, {"p": "N"}), SPACE)
    assert model.noise[0] == pytest.approx(0.1 * clean.std(), rel=0.35)
    assert np.mean((model.predict(X) - clean) ** 2) < 0.3 * np.mean((noisy - clean) ** 2)
    assert fit_kriging(data(60), SPACE).noise[0] < 1e-4 * clean.std()
    wide = model.std(X, noise=True)
    np.testing.assert_allclose(wide**2, model.std(X) ** 2 + model.noise**2, rtol=1e-9)


def test_weights_say_which_rows_are_noisier() -> None:
    rng = np.random.default_rng(2)
    X = lhs(SPACE, 100, seed=6).points
    clean = truth(X)[:, :1]
    bad = rng.random(100) < 0.5
    noisy = clean + np.where(bad, 0.5, 0.02)[:, None] * rng.standard_normal(clean.shape)
    rows = Dataset(X, noisy, SPACE.ports, {"p": "N"})
    new = SPACE.sample(500, seed=7)
    told = fit_kriging(rows, SPACE, noise="learned", weights=np.where(bad, 0.5, 0.02) ** -2.0)
    untold = fit_kriging(rows, SPACE, noise="learned")
    error = [np.mean((m.predict(new)[:, 0] - truth(new)[:, 0]) ** 2) for m in (told, untold)]
    assert error[0] < 0.5 * error[1]


def test_samples_spread_as_the_standard_deviation_says(model: Kriging) -> None:
    X = np.vstack([data().X[:3], SPACE.sample(5, seed=9)])
    draws = model.sample(X, 4000, seed=1)
    scale = data().Y.std(axis=0)
    np.testing.assert_allclose(draws.mean(axis=0), model.predict(X), atol=1e-3 * scale.max())
    np.testing.assert_allclose(draws.std(axis=0), model.std(X), atol=0.1 * model.std(X).max() + 1e-6 * scale.max())
    assert np.array_equal(draws, model.sample(X, 4000, seed=1))


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_fits_and_compiles(kernel: str) -> None:
    model = fit_kriging(data(25), SPACE, kernel=kernel, estimator="loo")
    assert set(model.kernel_names) == {kernel}
    evaluate, parameters = model.kernel()
    X = SPACE.sample(5, seed=2)
    y = np.empty(2)
    for x in X:
        evaluate(x, y, parameters)
        assert np.all(np.abs(y - model.predict(x)[0]) < 1e-14 * np.abs(model.dual).sum(axis=0) + 1e-12)
    assert FACTOR[kernel] > 0


def test_saved_models_still_know_their_uncertainty(model: Kriging, tmp_path: Path) -> None:
    again = ReducedModel.load(model.save(tmp_path / "k.npz"))
    assert isinstance(again, Kriging)
    X = SPACE.sample(9, seed=8)
    assert again.std(X).tobytes() == model.std(X).tobytes()
    assert again.describe() == model.describe()


def test_the_trend_of_smallest_error_is_taken_for_each_output() -> None:
    space = ParameterSpace({"x": Uniform(-2.0, 2.0), "y": Uniform(-2.0, 2.0)})
    X = lhs(space, 30, seed=400).points
    Y = np.column_stack([np.sin(2.0 * X[:, 0]) + (X[:, 1] - 0.3 * X[:, 0] ** 2) ** 2, np.exp(-(X**2).sum(axis=1))])
    rows = Dataset(X, Y, space.ports, {"p": "", "q": ""})
    given = {t: fit_kriging(rows, space, kernel="gaussian", trend=t) for t in ("ordinary", "linear", "quadratic")}
    auto = fit_kriging(rows, space, kernel="gaussian", trend="auto")
    np.testing.assert_array_equal(auto.loo, np.min([m.loo for m in given.values()], axis=0))
    assert auto.loo[0] == given["quadratic"].loo[0]
    few = fit_kriging(rows.take(np.arange(10)), space, kernel="gaussian", trend="auto")
    assert max(len(m["name"]) and m["trend_terms"] for m in few.fit["outputs"]) <= 5  # type: ignore[index, union-attr]


def test_constant_output_is_said_and_kept() -> None:
    rows = Dataset(data().X, np.column_stack([data().Y[:, 0], np.full(40, 7.0)]), SPACE.ports, {"p": "N", "c": ""})
    with pytest.warns(UserWarning, match="Output 'c' of the data of fit_kriging is constant"):
        model = fit_kriging(rows, SPACE, kernel="matern52", interactions=False)
    np.testing.assert_allclose(model.predict(SPACE.sample(5, seed=0))[:, 1], 7.0)
    assert np.all(model.std(SPACE.sample(5, seed=0))[:, 1] == 0.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kernel": "rbf"}, "kernel of fit_kriging must be one of"),
        ({"trend": "cubic"}, "trend of fit_kriging must be one of"),
        ({"trend": [[0.5, 1.0]]}, "multi-indices"),
        ({"trend": "simple"}, "mean of fit_kriging must be given"),
        ({"noise": "some"}, "noise of fit_kriging must be one of"),
        ({"weights": np.zeros(40)}, "weights of fit_kriging must be positive"),
        ({"weights": np.ones(3)}, r"weights of fit_kriging must have shape \(40\)"),
        ({"estimator": "ml"}, "estimator of fit_kriging"),
        ({"interactions": "yes"}, "interactions of fit_kriging"),
        ({"seed": -1}, "seed of fit_kriging"),
    ],
)
def test_wrong_settings_get_a_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        fit_kriging(data(), SPACE, **change)  # type: ignore[arg-type]


def test_bad_rows_get_a_sentence() -> None:
    X, Y = data().X, data().Y
    ports = SPACE.ports

    def refused(X: np.ndarray, Y: np.ndarray, sentence: str, **settings: object) -> None:
        with pytest.raises(ConfigError, match=sentence):
            fit_kriging(Dataset(X, Y, ports, {"p": "N", "q": "m"}), SPACE, **settings)  # type: ignore[arg-type]

    refused(X[:3], Y[:3], "must have at least 4 rows for 2 inputs, got 3")
    refused(X, np.where(np.arange(40)[:, None] == 3, np.nan, Y), "'p' of the data of fit_kriging must be finite, got 1")
    refused(X + [10.0, 0.0], Y, r"Input 'a' .* must lie in \[-1, 3\] as in the space, got 40 of 40 rows outside")
    twice = np.vstack([X, X[:1]])
    refused(twice, np.vstack([Y, Y[:1] + 1.0]), "no repeated rows of inputs when noise is 'none', got row 0 2 times",
            noise="none")  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_kriging(
            Dataset(twice, np.vstack([Y, Y[:1]]), ports, {"p": "N", "q": "m"}), SPACE, kernel="matern52"
        )
    assert np.isfinite(model.predict(X)).all()


def test_few_rows_are_asked_by_the_leave_one_out_error_too() -> None:
    """A polynomial with a wave: the likelihood of 15 rows prefers short lengths, the leave-one-out error does not."""
    space = ParameterSpace({"x": Uniform(-2.0, 2.0), "y": Uniform(-2.0, 2.0)})
    new = space.sample(500, seed=1)

    def wave(X: np.ndarray) -> np.ndarray:
        return np.sin(2.0 * X[:, 0]) + (X[:, 1] - 0.3 * X[:, 0] ** 2) ** 2

    ratios = []
    for seed in range(400, 404):
        X = lhs(space, 15, seed=seed).points
        data = Dataset(X, wave(X), space.ports, {"z": ""})
        models = [fit_kriging(data, space, noise="none", estimator=name) for name in ("auto", "likelihood", "loo")]
        errors = [np.mean((m.predict(new)[:, 0] - wave(new)) ** 2) for m in models]
        far = models[2].loo[0] < 0.1 * models[1].loo[0]
        assert models[0].loo[0] == models[2 if far else 1].loo[0]
        ratios.append(errors[0] / errors[1])
    assert np.median(ratios) < 0.5
