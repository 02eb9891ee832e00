"""The network as a function of one flat parameter vector, with the exact Jacobian a least-squares trainer needs.

Layer l of L: a_l = W_l h_{l-1} + b_l, h_l = s(a_l), the last layer linear. The parameter vector is
theta = (W_1, b_1, ..., W_L, b_L), each W_l row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mor.reduced.ffnn import ACTIVATIONS
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Layout:
    """Sizes (n_in, hidden..., n_out) and hidden activation of a network."""

    sizes: tuple[int, ...]
    activation: str = "tanh"

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise ConfigError(f"Layer sizes of a network must be two or more positive numbers, got {self.sizes}.")
        if self.activation not in ACTIVATIONS:
            raise ConfigError(
                f"Activation of a network must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}."
            )

    @cached_property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes (n_l, n_{l-1}) of the weight matrices."""
        return tuple((b, a) for a, b in zip(self.sizes[:-1], self.sizes[1:], strict=True))

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        return sum(rows * (columns + 1) for rows, columns in self.shapes)

    def unpack(self, theta: Array) -> tuple[list[Array], list[Array]]:
        """Return the weights and biases as views into `theta` (size,)."""
        weights, biases, at = [], [], 0
        for rows, columns in self.shapes:
            weights.append(theta[at : at + rows * columns].reshape(rows, columns))
            at += rows * columns
            biases.append(theta[at : at + rows])
            at += rows
        return weights, biases

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw a start for inputs in [-1, 1]: unit-sum rows spread over the interval (Nguyen and Widrow, 1990)."""
        parts = []
        for layer, (rows, columns) in enumerate(self.shapes):
            last = layer == len(self.shapes) - 1
            weights = rng.uniform(-1.0, 1.0, (rows, columns))
            if last:
                weights *= 1.0 / np.sqrt(columns)
                bias = np.zeros(rows)
            else:
                scale = 0.7 * rows ** (1.0 / columns)
                weights *= scale / np.linalg.norm(weights, axis=1, keepdims=True)
                bias = rng.permutation(np.linspace(-scale, scale, rows)) if rows > 1 else np.zeros(1)
            parts += [weights.ravel(), bias]
        return np.concatenate(parts)

    def forward(self, theta: Array, X: Array) -> Array:
        """Return the outputs (n, n_out) at scaled inputs (n, n_in)."""
        value, _ = ACTIVATIONS[self.activation]
        weights, biases = self.unpack(theta)
        h = X
        for W, b in zip(weights[:-1], biases[:-1], strict=True):
            h = value(h @ W.T + b)
        out: Array = h @ weights[-1].T + biases[-1]
        return out

    def linearise(self, theta: Array, X: Array) -> tuple[Array, Array, Array]:
        """Return outputs (n, n_out), d out/d theta (n, n_out, size) and d out/d input (n, n_out, n_in)."""
        value, slope = ACTIVATIONS[self.activation]
        weights, biases = self.unpack(theta)
        n, n_out = len(X), self.sizes[-1]
        hidden = [X]
        for W, b in zip(weights[:-1], biases[:-1], strict=True):
            hidden.append(value(hidden[-1] @ W.T + b))
        y = hidden[-1] @ weights[-1].T + biases[-1]
        J = np.empty((n, n_out, self.size))
        delta = np.broadcast_to(np.eye(n_out), (n, n_out, n_out))  # d out / d a_l, from the last layer back
        at = self.size
        for layer in range(len(weights) - 1, -1, -1):
            rows, columns = self.shapes[layer]
            J[:, :, at - rows : at] = delta
            at -= rows
            block = delta[:, :, :, None] * hidden[layer][:, None, None, :]
            J[:, :, at - rows * columns : at] = block.reshape(n, n_out, rows * columns)
            at -= rows * columns
            back = delta @ weights[layer]
            delta = back * slope(hidden[layer])[:, None, :] if layer else back
        return y, J, delta
