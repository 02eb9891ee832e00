"""What a reduced model is to a writer: a dense network or a polynomial, alone or as one step of a recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mor.gate import Gate
from mor.memory import Memory
from mor.ports import Port
from mor.reduced import Array, ReducedModel
from rt_runtime.errors import ConfigError

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Dense:
    """h_0 = x, h_l = a(W_l h_{l-1} + b_l), y = W_L h_{L-1} + b_L + S x; scaling is inside the first and last layer."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activation: str
    skip: Array | None


@dataclass(frozen=True)
class Tree:
    """The terms as a depth-first walk: S = c + sum over children of psi_child S_child, one partial sum for each depth.

    `offset` (n_in + 1) says where the psi of each input start in one table of all psi, `row` (n_nodes) which of them
    leads to a node, `depth` (n_nodes) how deep it lies, `coefficients` (n_nodes, n_out) what it adds.
    """

    offset: Indices
    depth: Indices
    row: Indices
    coefficients: Array


@dataclass(frozen=True)
class Polynomial:
    """y = sum_t c_t prod_j psi_{t_j}(z_j), z = (x - location) / scale, psi orthonormal by its three-term recurrence:

        psi_{k+1} = (a_k z + b_k) psi_k - c_k psi_{k-1},   psi_0 = 1, psi_{-1} = 0

    `indices` (n_terms, n_in) holds t_j, `coefficients` (n_terms, n_out) c, `recurrence` (n_in, degree, 3) a, b, c.
    Where `logarithm` is 1, ln x takes the place of x. `tree` is the same sum nested like Horner's rule.
    """

    location: Array
    scale: Array
    logarithm: Indices
    recurrence: Array
    indices: Indices
    coefficients: Array
    tree: Tree

    @property
    def degree(self) -> int:
        """Highest degree in one variable."""
        return int(self.indices.max(initial=0))

    @property
    def interaction(self) -> int:
        """Largest number of variables in one term, at least 1."""
        return int(np.count_nonzero(self.indices, axis=1).max(initial=1))

    def factors(self) -> tuple[list[tuple[int, int]], list[Indices]]:
        """Return the univariate factors in use and, for each place in a term, which factor stands there.

        The factors are pairs (variable, degree), the constant 1 = (0, 0) first; the places are `interaction` arrays
        (n_terms,) of positions in that list.
        """
        used = {(int(j), int(k)) for term in self.indices for j, k in enumerate(term) if k}
        pairs = [(0, 0), *sorted(used)]
        position = {pair: at for at, pair in enumerate(pairs)}
        places = np.zeros((self.interaction, len(self.indices)), dtype=np.int64)
        for t, term in enumerate(self.indices):
            for place, j in enumerate(np.flatnonzero(term)):
                places[place, t] = position[int(j), int(term[j])]
        return pairs, list(places)


@dataclass(frozen=True)
class Recursion:
    """x_k = (u_k, state_k), y_k = clip(f(clip(x_k, domain)), bounds), state_{k+1} = (x_k, y_k)[shift], one step = dt.

    The state is (u_{k-1}, ..., u_{k-n}, y_{k-1}, ..., y_{k-m}); `initial` is state_0.
    """

    dt: float
    input_lags: int
    output_lags: int
    domain: tuple[Array, Array]
    bounds: tuple[Array, Array]
    initial: Array
    shift: Indices


@dataclass(frozen=True)
class Form:
    """A model ready to be written: signals in and out, the map, and its memory if any.

    `regressors` are the ports of the map f: the inputs themselves, or (u_k, state_k) for a model with memory.
    `domain` is their range (lower, upper), finite; the inputs come first. Behind a `gate` the outputs are
    y = c f(u with u_j raised to span), c = clip((u_j - closed) / (span - closed), 0, 1); with memory nothing is raised,
    u_j is one of the regressors, and only the outputs the gate names are multiplied by c, after their bounds.
    """

    name: str
    kind: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    regressors: tuple[Port, ...]
    domain: tuple[Array, Array]
    step: Dense | Polynomial
    recursion: Recursion | None
    cost: int
    gate: Gate | None = None


def form_of(model: ReducedModel, name: str, domain: tuple[Array, Array] | None = None) -> Form:
    """Bring `model` into the form the writers share; `domain` (lower, upper) replaces the range the model states.

    A model whose domain is not finite is refused: golden vectors and range checks would have nothing to stand on.
    """
    if isinstance(model, Memory):
        inner = model.step
        signals, recursion = model.signals, _recursion(model)
    else:
        inner, signals, recursion = model, model.inputs, None
    lower, upper = model.domain if domain is None else domain
    for port, low, high in zip(model.inputs, lower, upper, strict=True):
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ConfigError(
                f"Domain of input '{port.name}' of model '{name}' must be finite with lower < upper to be exported, "
                f"got [{low:g}, {high:g}]; give write(..., domain=(lower, upper))."
            )
    step = _step(inner, name)
    return Form(
        name, inner.kind, signals, model.outputs, model.inputs, (lower, upper), step, recursion, model.cost, model.gate
    )


def _recursion(model: Memory) -> Recursion:
    n_u, n_y = len(model.signals), len(model.outputs)
    n_x = len(model.inputs)
    past_u = n_u * model.input_lags
    u = np.arange(past_u)  # (u_k, u_{k-1}, ...) without the oldest
    y = np.concatenate([n_x + np.arange(n_y), n_u + past_u + np.arange(n_y * (model.output_lags - 1))])
    shift = np.concatenate([u, y if model.output_lags else y[:0]]).astype(np.int64)
    return Recursion(model.dt, model.input_lags, model.output_lags, model.domain, model.bounds, model.initial, shift)


def _step(model: ReducedModel, name: str) -> Dense | Polynomial:
    maker = _MAKERS.get(model.kind)
    if maker is None:
        raise ConfigError(
            f"Kind of model '{name}' must be one of {', '.join(_MAKERS)} to be exported, got '{model.kind}'."
        )
    return maker(model)


def _dense(model: Any) -> Dense:
    weights, biases, skip = model.folded
    return Dense(weights, biases, model.activation, skip)


def _polynomial(model: Any) -> Polynomial:
    program = model.program
    tree = Tree(program.offset, program.depth, program.row, program.coefficients)
    return Polynomial(
        model.location, model.scale, model.logarithm, model.recurrence, model.indices, model.coefficients, tree
    )


_MAKERS: dict[str, Callable[[Any], Dense | Polynomial]] = {"ffnn": _dense, "pce": _polynomial}
