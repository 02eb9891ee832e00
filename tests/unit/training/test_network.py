"""The network as a function of one vector: its derivatives against finite differences, its parts against the Ffnn."""

from __future__ import annotations

import numpy as np
import pytest

from mor.data.ports import Port
from mor.reduced.ffnn import ACTIVATIONS, Ffnn
from rt_runtime.errors import ConfigError
from training.trainers.network import Layout


@pytest.mark.parametrize("sizes", [(2, 10, 1), (3, 4, 5, 2), (1, 3)])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_both_jacobians_are_slopes(sizes: tuple[int, ...], activation: str) -> None:
    layout = Layout(sizes, activation)
    rng = np.random.default_rng(0)
    theta, X = rng.normal(size=layout.size), rng.uniform(-1.0, 1.0, (7, sizes[0]))
    y, J, J_x = layout.linearise(theta, X)
    np.testing.assert_array_equal(y, layout.forward(theta, X))
    h = 1e-6
    for i in range(layout.size):
        e = h * np.eye(layout.size)[i]
        slope = (layout.forward(theta + e, X) - layout.forward(theta - e, X)) / (2.0 * h)
        np.testing.assert_allclose(J[:, :, i], slope, atol=1e-7)
    for i in range(sizes[0]):
        e = h * np.eye(sizes[0])[i]
        slope = (layout.forward(theta, X + e) - layout.forward(theta, X - e)) / (2.0 * h)
        np.testing.assert_allclose(J_x[:, :, i], slope, atol=1e-7)


def test_the_vector_is_the_weights_and_biases_of_an_ffnn() -> None:
    layout = Layout((2, 4, 3), "sigmoid")
    theta = np.random.default_rng(1).normal(size=layout.size)
    weights, biases = layout.unpack(theta)
    names = [Port(name) for name in "abcde"]
    unit = (-np.ones(2), np.ones(2))
    model = Ffnn(
        tuple(weights), tuple(biases), tuple(names[:2]), tuple(names[2:]), unit, (-np.ones(3), np.ones(3)), "sigmoid"
    )
    X = np.random.default_rng(2).uniform(-1.0, 1.0, (9, 2))
    np.testing.assert_allclose(model.predict(X), layout.forward(theta, X), rtol=1e-13)


def test_starts_are_seeded_and_spread() -> None:
    layout = Layout((2, 10, 1))
    a, b, c = (layout.initial(np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    (W, _), (bias, _) = layout.unpack(a)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 0.7 * 10**0.5)
    assert np.ptp(bias) == pytest.approx(1.4 * 10**0.5)


def test_sentences() -> None:
    with pytest.raises(ConfigError, match=r"Layer sizes of a network must be two or more positive numbers, got \(2,\)"):
        Layout((2,))
    with pytest.raises(ConfigError, match=r"Activation of a network must be one of tanh, .* got 'gelu'"):
        Layout((2, 1), "gelu")
