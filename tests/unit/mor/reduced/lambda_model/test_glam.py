"""Lambda models: accuracy, choice of terms, answers, tests of the fit, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from mor import Dataset, Glam, ParameterSpace, Pce, Port, Uniform, check_emulator, fit_glam
from mor.reduced.lambda_model.fit import refit_glam
from mor.reduced.lambda_model.model import lambda_ports
from rt_runtime.errors import ConfigError
from tests.reference.stochastic_examples import EVEN_NOISE, EXAMPLES, TWO_PEAKS

SINE = EXAMPLES["sine"]


@pytest.fixture(scope="module")
def sine() -> Glam:
    return fit_glam(SINE.data(400, 3), SINE.space)


@pytest.mark.parametrize(
    ("name", "n", "most"),
    # medians of the specification times 1.3
    [("geometric Brownian motion", 1000, 2.2e-2), ("lambda", 1000, 2.5e-3), ("sine", 1000, 2.2e-3)],
)
def test_error_of_the_published_examples(name: str, n: int, most: float) -> None:
    example = EXAMPLES[name]
    errors = []
    for seed in range(200, 205):
        model = fit_glam(example.data(n, seed), example.space)
        errors.append(example.error(lambda X, p, model=model: model.quantile(X, p)[:, 0], points=150, levels=60))
    assert np.median(errors) < most


def test_scale_is_constant_for_even_noise_and_never_for_uneven() -> None:
    even = [fit_glam(EVEN_NOISE.data(200, s), EVEN_NOISE.space, check=False).terms()["ln_lambda2"] for s in range(20)]
    uneven = [fit_glam(SINE.data(200, s), SINE.space, check=False).terms()["ln_lambda2"] for s in range(20)]
    assert sum(n == 1 for n in even) >= 18
    assert min(uneven) > 1


def test_answers_agree_with_each_other(sine: Glam) -> None:
    X = SINE.space.sample(50, seed=1)
    p = np.array([0.05, 0.5, 0.95])
    Q = sine.quantile(X, p)
    assert Q.shape == (50, 1, 3) and np.all(np.diff(Q, axis=2) > 0.0)
    np.testing.assert_array_equal(sine.summary("quantile", 0.5)(X), Q[:, :, 1])
    np.testing.assert_allclose(sine.cdf(X, Q[:, :, 0]), 0.05, atol=1e-12)
    np.testing.assert_allclose(sine.pdf(X, Q[:, :, 1]), (1e-6 / np.diff(sine.quantile(X, [0.5 - 5e-7, 0.5 + 5e-7]))[..., 0]),
                               rtol=1e-5)  # fmt: skip
    draws = sine.sample(X, 4000, seed=2)
    assert draws.shape == (4000, 50, 1)
    np.testing.assert_allclose(draws.mean(axis=0), sine.mean(X), atol=5.0 * sine.std(X).max() / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=0), sine.std(X), rtol=0.08)
    np.testing.assert_array_equal(sine.sample(X, 2, seed=9), sine.sample(X, 2, seed=9))
    np.testing.assert_array_equal(sine.predict(X), sine.mean(X))
    np.testing.assert_allclose(sine.summary("variance")(X), sine.std(X) ** 2)


def test_fit_does_not_depend_on_units() -> None:
    data = SINE.data(200, 5)
    far = Dataset(data.X, 1e-3 * data.Y + 7.0, data.inputs, data.outputs)
    one, other = fit_glam(data, SINE.space), fit_glam(far, SINE.space)
    X = SINE.space.sample(20, seed=0)
    np.testing.assert_allclose(other.quantile(X, 0.9), 1e-3 * one.quantile(X, 0.9) + 7.0, rtol=1e-7)
    facts, moved = (model.fit["outputs"][0]["log_likelihood"] for model in (one, other))
    assert moved == pytest.approx(facts + 200 * np.log(1e3), rel=1e-6)
    assert one.log_likelihood(data.X, data.Y)[0] == pytest.approx(facts, rel=1e-9)


def test_replications_are_used_and_tested() -> None:
    X = np.repeat(SINE.space.from_unit(np.linspace(0.05, 0.95, 20)[:, None]), 20, axis=0)
    y = SINE.Q(X, np.random.default_rng(4).random(len(X)))
    data = Dataset(X, y[:, None], SINE.space.ports, {"y": "m"})
    model = fit_glam(data, SINE.space)
    facts = model.fit["outputs"][0]
    assert facts["repeated_points"] == 20 and facts["fits"]
    moved = Dataset(X, np.where(X[0] == X, y[:, None] + 1.0, y[:, None]), data.inputs, data.outputs)
    assert check_emulator(model, moved).outputs[0].repetition < 1e-3  # type: ignore[operator]
    assert "repeated" in check_emulator(model, moved).sentences()[0] or not check_emulator(model, moved).fits


def test_two_peaks_are_said() -> None:
    with pytest.warns(UserWarning, match="does not follow the emulator.*fit_spce"):
        model = fit_glam(TWO_PEAKS.data(800, 1), TWO_PEAKS.space)
    assert model.fit["outputs"][0]["fits"] is False


def test_a_right_model_is_not_blamed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(15):
            fit_glam(EVEN_NOISE.data(150, seed), EVEN_NOISE.space)


def test_refit_of_the_same_rows_is_the_same_model(sine: Glam) -> None:
    data = SINE.data(400, 3)
    X = SINE.space.sample(20, seed=0)
    np.testing.assert_allclose(refit_glam(sine, data).quantile(X, 0.2), sine.quantile(X, 0.2), atol=2e-3)


def with_lambdas(*values: float) -> Glam:
    """A model of constant parameters, the third one falling with the input."""
    one = fit_glam(SINE.data(100, 0), SINE.space, degrees=(1, 0, 0, 0), check=False).expansion
    y = (Port("y", "m"),)
    C = np.array([values, (0.0, 0.0, -1.0, 0.0)])
    indices = np.array([[0], [1]])
    return Glam(y, replace(one, outputs=lambda_ports(y), indices=indices, coefficients=C))


def test_infinite_variance_is_refused_and_quantiles_remain() -> None:
    model = with_lambdas(0.0, 0.0, 0.3, 0.1)  # l3 runs from 2 to -1.4
    assert np.isfinite(model.std([[0.0]])).all()
    with pytest.raises(ConfigError, match=r"Variance of output 'y' must be finite.*quantiles"):
        model.std([[0.0], [0.6]])
    with pytest.raises(ConfigError, match="Mean of output 'y'"):
        model.mean([[0.9]])
    assert np.isfinite(model.quantile([[0.9]], [0.01, 0.99])).all()


def test_responses_outside_the_support_are_refused() -> None:
    model = with_lambdas(0.0, 0.0, 0.3, 0.1)
    assert model.pdf([[0.0]], 11.0)[0, 0] == 0.0 and model.cdf([[0.0]], 11.0)[0, 0] == 1.0
    with pytest.raises(ConfigError, match=r"Output 'y' must lie inside the support.*row 0, got 11"):
        model.log_likelihood([[0.0]], [[11.0]])
    data = Dataset([[0.0], [0.1]], [[11.0], [0.0]], model.inputs, model.outputs)
    assert "1 rows outside the support" in check_emulator(model, data).sentences()[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 10}, "must have at least 16 rows for 1 inputs.*got 10"),
        ({"constant": True}, "Output 'y' of the data of fit_glam must vary.*got 2 in every row"),
        ({"degrees": (3, 2)}, "degrees of fit_glam must be four whole numbers"),
        ({"criterion": "r2"}, "criterion"),
    ],
)
def test_bad_input_is_one_sentence(change: dict[str, object], message: str) -> None:
    data = SINE.data(int(change.pop("rows", 60)), 0)  # type: ignore[call-overload]
    if change.pop("constant", False):
        data = Dataset(data.X, np.full_like(data.Y, 2.0), data.inputs, data.outputs)
    with pytest.raises(ConfigError, match=message):
        fit_glam(data, SINE.space, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.quantile([[0.0]], 1.0), "p of Glam.quantile must lie between 0 and 1"),
        (lambda m: m.quantile([[0.0, 1.0]], 0.5), "X of Glam must have 1 columns"),
        (lambda m: m.summary("quantile"), "p of Glam.summary must be given"),
        (lambda m: m.summary("mode"), "what"),
        (lambda m: m.cdf([[0.0]], [[1.0], [2.0]]), "y of Glam must have one row a point"),
        (lambda m: m.sample([[0.0]], 0, seed=1), "n of Glam.sample"),
        (lambda m: Glam((Port("z", "m"),), m.expansion), "Outputs of the expansion of a Glam must be z_lambda1"),
    ],
)
def test_bad_questions_are_refused(sine: Glam, call: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        call(sine)  # type: ignore[operator]


def test_two_outputs_of_four_inputs() -> None:
    space = ParameterSpace({n: Uniform(-1.0, 1.0) for n in "abcd"})
    X = space.sample(300, seed=0)
    noise = np.random.default_rng(0).standard_normal((300, 2))
    Y = np.column_stack([X[:, 0] + 0.1 * noise[:, 0], X[:, 1] * X[:, 2] + np.exp(X[:, 3]) * 0.1 * noise[:, 1]])
    model = fit_glam(Dataset(X, Y, space.ports, {"u": "m", "v": "N"}), space)
    assert model.terms("u")["ln_lambda2"] == 1 and model.terms("v")["ln_lambda2"] > 1
    assert isinstance(model.expansion, Pce) and len(model.expansion.outputs) == 8
    assert model.describe()["terms"]["u"]["lambda1"] >= 2
