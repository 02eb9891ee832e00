"""The network as arrays: its equation written out, the skip path, every activation, the sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mor.data.ports import Port
from mor.reduced.ffnn import ACTIVATIONS, Ffnn
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import ffnn


def by_hand(model: Ffnn, x: np.ndarray) -> np.ndarray:
    """The equation of the docstring, one row, nothing folded."""
    act = {
        "tanh": np.tanh,
        "sigmoid": lambda a: 1.0 / (1.0 + np.exp(-a)),
        "relu": lambda a: np.where(a > 0.0, a, 0.0),
        "softplus": lambda a: np.log(1.0 + np.exp(a)),
    }[model.activation]
    lower, upper = model.domain
    low, high = model.range
    s = 2.0 * (x - lower) / (upper - lower) - 1.0
    h = s
    for W, b in list(zip(model.weights, model.biases, strict=True))[:-1]:
        h = act(W @ h + b)
    r = model.weights[-1] @ h + model.biases[-1]
    if model.skip is not None:
        r = r + model.skip @ s
    return low + (r + 1.0) / 2.0 * (high - low)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("with_skip", [False, True])
def test_predict_is_the_equation(activation: str, with_skip: bool) -> None:
    model = replace(ffnn(), activation=activation, skip=[[0.3, -0.2], [0.0, 1.5]] if with_skip else None)
    X = np.random.default_rng(0).uniform([0.0, 0.0], [50.0, 49.0], (20, 2))
    np.testing.assert_allclose(model.predict(X), [by_hand(model, x) for x in X], rtol=1e-12)
    evaluate, parameters = model.kernel()
    y = np.empty(2)
    for x in X:
        evaluate(x, y, parameters)
        np.testing.assert_allclose(y, by_hand(model, x), rtol=1e-12)
    h = 1e-6
    ahead, behind = (np.column_stack([by_hand(model, X[0] + d * e) for e in np.eye(2)]) for d in (h, -h))
    slope = (ahead - behind) / (2.0 * h)
    np.testing.assert_allclose(model.jacobian(X[0]), slope, rtol=1e-5, atol=1e-7)


def test_rows_do_not_depend_on_how_many_are_asked_at_once() -> None:
    model = ffnn()
    X = np.random.default_rng(1).uniform([0.0, 0.0], [50.0, 49.0], (10_000, 2))
    np.testing.assert_allclose(model.predict(X)[5000:5010], model.predict(X[5000:5010]), rtol=1e-13)


def test_skip_holds_a_linear_recursion_to_rounding() -> None:
    """A first-order filter z+ = a z + (1 - a) u with both in [0, 50] stays exact for many steps."""
    a = np.exp(-1e-4 / 10.0)
    model = Ffnn(
        (np.zeros((3, 2)), np.zeros((1, 3))), (np.zeros(3), np.zeros(1)), (Port("u"), Port("z_lag1")), (Port("z"),),
        ([0, 0], [50, 50]), ([0.0], [50.0]), skip=[[1 - a, a]],
    )  # fmt: skip
    evaluate, parameters = model.kernel()
    y = np.zeros(1)
    for _ in range(100_000):
        evaluate(np.array([20.0, y[0]]), y, parameters)
    assert y[0] == pytest.approx(20.0 * (1.0 - a**100_000), rel=1e-9)


def test_counts() -> None:
    model = ffnn()
    assert model.n_parameters == 2 * 5 + 5 + 5 * 2 + 2 == model.cost
    assert replace(model, skip=np.zeros((2, 2))).cost == model.cost + 4
    assert model.describe()["layers"] == [2, 5, 2]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"activation": "swish"}, "Activation of a network must be one of tanh, sigmoid, relu, softplus, got 'swish'"),
        ({"biases": ()}, "as many weight matrices as bias vectors and at least one, got 2 and 0"),
        ({"weights": (np.zeros((5, 3)), np.zeros((2, 5)))}, r"Layer 1 of a network must have weights \(5, 2\)"),
        ({"weights": (np.zeros((5, 2)), np.zeros((1, 5)))}, r"Layer 2 of a network must have weights \(2, 5\)"),
        ({"skip": np.zeros((1, 2))}, r"Skip of a network must have shape \(2, 2\), got \(1, 2\)"),
        ({"domain": ([0.0, 3.0], [50.0, 3.0])}, "Domain of input 'w_rw' of a network must be finite with lower"),
        ({"range": ([0.0, 0.0], [1.0, np.inf])}, "Range of output 'p' of a network must be finite"),
        ({"range": ([0.0], [1.0])}, "Range of a network must have 2 lower and 2 upper values, got shapes"),
        ({"biases": (np.full(5, np.nan), np.zeros(2))}, "Weights and biases of a network must be finite"),
    ],
)
def test_sentences(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        replace(ffnn(), **change)
