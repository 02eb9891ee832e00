"""A fitted feed-forward network as numpy arrays: weights, biases and the scaling to [-1, 1] on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port, as_ports
from mor.reduced.base import Arrays, Header, ReducedModel, as_domain, frozen, header_ports
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_CHUNK = 4096  # rows that pass through the layers together, so that they stay in the cache


def _sigmoid(a: Array) -> Array:
    value: Array = 0.5 * (1.0 + np.tanh(0.5 * a))  # does not overflow
    return value


def _softplus(a: Array) -> Array:
    value: Array = np.logaddexp(0.0, a)
    return value


# name -> (value of the activation, its derivative as a function of that value); the order is the code in the kernel
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "tanh": (np.tanh, lambda h: 1.0 - h * h),
    "sigmoid": (_sigmoid, lambda h: h * (1.0 - h)),
    "relu": (lambda a: np.maximum(a, 0.0), lambda h: (h > 0.0).astype(np.float64)),
    "softplus": (_softplus, lambda h: -np.expm1(-h)),
}


@dataclass(frozen=True, eq=False, repr=False)
class Ffnn(ReducedModel):
    """A feed-forward network with linear output layer, in physical units:

        s = 2 (x - lower) / (upper - lower) - 1,   h_0 = s,   h_l = a(W_l h_{l-1} + b_l),
        r = W_L h_{L-1} + b_L + S s,               y = low + (r + 1) / 2 (high - low)

    with (lower, upper) = `domain` of the inputs, (low, high) = `range` of the outputs, a = `activation` and S = `skip`,
    a direct linear path that is zero in an ordinary network (None) and lets a one-step map hold a linear recursion.
    `origin` says how the network came to be: plain values such as trainer, seed and effective number of parameters.

    Parameters
    ----------
    weights, biases
        W_l and b_l of each layer, the output layer last.
    """

    kind: ClassVar[str] = "ffnn"
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    range: tuple[Array, Array]
    activation: str = "tanh"
    skip: Array | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold = object.__setattr__
        hold(self, "inputs", as_ports(self.inputs, "inputs of a network"))
        hold(self, "outputs", as_ports(self.outputs, "outputs of a network"))
        hold(self, "domain", as_domain(*self.domain, self.inputs))
        hold(self, "range", (frozen(self.range[0]), frozen(self.range[1])))
        hold(self, "weights", tuple(frozen(W) for W in self.weights))
        hold(self, "biases", tuple(frozen(b) for b in self.biases))
        hold(self, "skip", None if self.skip is None else frozen(self.skip))
        hold(self, "origin", dict(self.origin))
        self._check()

    def _check(self) -> None:
        n_in, n_out = len(self.inputs), len(self.outputs)
        if self.activation not in ACTIVATIONS:
            raise ConfigError(
                f"Activation of a network must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}."
            )
        if not self.weights or len(self.weights) != len(self.biases):
            raise ConfigError(
                "A network must have as many weight matrices as bias vectors and at least one, "
                f"got {len(self.weights)} and {len(self.biases)}."
            )
        width = n_in
        for layer, (W, b) in enumerate(zip(self.weights, self.biases, strict=True), 1):
            rows = n_out if layer == len(self.weights) else b.size
            if W.shape != (rows, width) or b.shape != (rows,):
                raise ConfigError(
                    f"Layer {layer} of a network must have weights ({rows}, {width}) and biases ({rows},), "
                    f"got {W.shape} and {b.shape}."
                )
            width = rows
        if self.skip is not None and self.skip.shape != (n_out, n_in):
            raise ConfigError(f"Skip of a network must have shape ({n_out}, {n_in}), got {self.skip.shape}.")
        for what, ports, (low, high) in (
            ("Domain of input", self.inputs, self.domain),
            ("Range of output", self.outputs, self.range),
        ):
            if low.shape != (len(ports),) or high.shape != (len(ports),):
                raise ConfigError(
                    f"Range of a network must have {len(ports)} lower and {len(ports)} upper values, "
                    f"got shapes {low.shape} and {high.shape}."
                )
            for port, a, b in zip(ports, low, high, strict=True):
                if not (np.isfinite(a) and np.isfinite(b) and a < b):
                    raise ConfigError(
                        f"{what} '{port.name}' of a network must be finite with lower < upper, got [{a:g}, {b:g}]."
                    )
        if not all(np.all(np.isfinite(a)) for a in (*self.weights, *self.biases)):
            raise ConfigError("Weights and biases of a network must be finite, got NaN or infinity.")

    @cached_property
    def folded(self) -> tuple[tuple[Array, ...], tuple[Array, ...], Array | None]:
        """The network with the scaling inside its first and last layer: weights, biases, skip for physical units."""
        weights, biases = list(self.weights), list(self.biases)
        lower, upper = self.domain
        gain = 2.0 / (upper - lower)
        offset = -1.0 - lower * gain
        half = 0.5 * (self.range[1] - self.range[0])
        biases[0] = biases[0] + weights[0] @ offset
        weights[0] = weights[0] * gain
        skip = None
        last = biases[-1]
        if self.skip is not None:
            last = last + self.skip @ offset
            skip = frozen(half[:, None] * self.skip * gain)
        biases[-1] = self.range[0] + half * (last + 1.0)
        weights[-1] = half[:, None] * weights[-1]
        return tuple(frozen(W) for W in weights), tuple(frozen(b) for b in biases), skip

    @cached_property
    def _columns(self) -> tuple[tuple[tuple[Array, Array], ...], Array | None]:
        weights, biases, skip = self.folded
        layers = tuple((np.ascontiguousarray(W.T), b) for W, b in zip(weights, biases, strict=True))
        return layers, None if skip is None else np.ascontiguousarray(skip.T)

    def _predict(self, X: Array) -> Array:
        if len(X) <= _CHUNK:
            return self._rows(X)
        out = np.empty((len(X), len(self.outputs)))
        for at in np.arange(0, len(X), _CHUNK):
            out[at : at + _CHUNK] = self._rows(X[at : at + _CHUNK])
        return out

    def _rows(self, X: Array) -> Array:
        layers, skip = self._columns
        value = ACTIVATIONS[self.activation][0]
        h = X
        for W, b in layers[:-1]:
            h = value(h @ W + b)
        W, b = layers[-1]
        out: Array = h @ W + b
        if skip is not None:
            out += X @ skip
        return out

    def _jacobian(self, x: Array) -> Array:
        weights, biases, skip = self.folded
        value, slope = ACTIVATIONS[self.activation]
        h, J = x, None
        for W, b in zip(weights[:-1], biases[:-1], strict=True):
            h = value(W @ h + b)
            J = slope(h)[:, None] * (W if J is None else W @ J)
        out: Array = weights[-1].copy() if J is None else weights[-1] @ J
        return out if skip is None else out + skip

    @property
    def cost(self) -> int:
        """Multiply-adds of one evaluation, one for each activation."""
        layers = sum(W.size + b.size for W, b in zip(self.weights, self.biases, strict=True))
        return layers + (0 if self.skip is None else self.skip.size)

    @property
    def n_parameters(self) -> int:
        """Number of fitted weights and biases."""
        return sum(W.size + b.size for W, b in zip(self.weights, self.biases, strict=True))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return weights, biases, skip (when there is one) and both scalings."""
        arrays: dict[str, NDArray[Any]] = {"domain": np.stack(self.domain), "range": np.stack(self.range)}
        for layer, (W, b) in enumerate(zip(self.weights, self.biases, strict=True), 1):
            arrays |= {f"weights_{layer}": W, f"biases_{layer}": b}
        return arrays if self.skip is None else arrays | {"skip": self.skip}

    def header(self) -> dict[str, Any]:
        """Return the header of the contract with activation and origin."""
        return super().header() | {"activation": self.activation, "origin": self.origin}

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the network, bit for bit."""
        depth = sum(name.startswith("weights_") for name in arrays)
        return cls(
            tuple(arrays[f"weights_{layer}"] for layer in np.arange(1, depth + 1)),
            tuple(arrays[f"biases_{layer}"] for layer in np.arange(1, depth + 1)),
            inputs=header_ports(header, "inputs"),
            outputs=header_ports(header, "outputs"),
            domain=(arrays["domain"][0], arrays["domain"][1]),
            range=(arrays["range"][0], arrays["range"][1]),
            activation=header["activation"],
            skip=arrays.get("skip"),
            origin=header["origin"],
        )

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with layer sizes, activation and origin."""
        sizes = [len(self.inputs), *(b.size for b in self.biases)]
        return super().describe() | {
            "layers": sizes,
            "activation": self.activation,
            "skip": self.skip is not None,
            "parameters": self.n_parameters,
            "origin": self.origin,
        }

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled `evaluate(x, y, parameters)` and its parameters: flat weights, sizes, skip, work."""
        weights, biases, skip = self.folded
        flat = np.concatenate([part for W, b in zip(weights, biases, strict=True) for part in (W.ravel(), b)])
        code = list(ACTIVATIONS).index(self.activation)
        sizes = np.array([code, len(self.inputs), *(b.size for b in biases)], dtype=np.int64)
        direct = np.zeros((0, 0)) if skip is None else np.array(skip)
        return _evaluate(), (flat, sizes, direct, np.zeros((2, int(sizes[1:].max()))))


@cache
def _evaluate() -> Callable[..., None]:
    """Compile the evaluation of one row; parameters are (flat, (activation code, sizes...), skip, work)."""
    from numba import njit

    @njit
    def evaluate(x, y, parameters):  # type: ignore[no-untyped-def]
        flat, sizes, skip, work = parameters
        code, depth, at = sizes[0], sizes.size - 2, 0
        for i in range(sizes[1]):
            work[0, i] = x[i]
        for layer in range(depth):
            n_from, n_to = sizes[layer + 1], sizes[layer + 2]
            source, target = layer % 2, (layer + 1) % 2
            for i in range(n_to):
                a = flat[at + n_to * n_from + i]
                for j in range(n_from):
                    a += flat[at + i * n_from + j] * work[source, j]
                if layer < depth - 1:
                    if code == 0:
                        a = np.tanh(a)
                    elif code == 1:
                        a = 0.5 * (1.0 + np.tanh(0.5 * a))
                    elif code == 2:
                        a = max(a, 0.0)
                    else:
                        a = max(a, 0.0) + np.log1p(np.exp(-abs(a)))
                work[target, i] = a
            at += n_to * (n_from + 1)
        for i in range(y.size):
            y[i] = work[depth % 2, i]
            if skip.size > 0:
                for j in range(x.size):
                    y[i] += skip[i, j] * x[j]

    return evaluate  # type: ignore[no-any-return]
