"""What a reduced model is to a writer: a network, a polynomial or kernels, alone or as one step of a recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port
from mor.reduced.base import ReducedModel
from mor.reduced.gate import GatedModel
from mor.reduced.hysteresis.front import Front
from mor.reduced.kriging.kernels import FACTOR
from mor.reduced.kriging.model import Kriging
from mor.reduced.lambda_model.model import Glam
from mor.reduced.memory import MemoryModel
from mor.reduced.pce.kernels import program_of
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

Indices = NDArray[np.int64]
ROUNDING = 1e-8  # largest rounding of a Kriging prediction, relative to the spread of its rows


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
class Gru:
    """A gated recurrent unit: r, z = sigmoid(W_rz x + U_rz h + b_rz), n = tanh(W_n x + b_n + r (U_n h + c)),

        h' = n + z (h - n),   y = V h' + D x + d

    The map takes (x, h) and gives (y, h'); the scaling is inside. Rows of W, U and b stand in the order r, z, n.
    """

    W: Array
    U: Array
    b: Array
    c: Array
    V: Array
    D: Array
    d: Array


@dataclass(frozen=True)
class Correlated:
    """One output of a sum of kernels: family, rate and weight (n_in), dual (N,)."""

    family: str
    rate: Array
    weight: Array
    dual: Array

    @property
    def plain(self) -> bool:
        """Whether all weights are 1: one exponential function for all inputs."""
        return bool(np.all(self.weight == 1.0))


@dataclass(frozen=True)
class Kernel:
    """y_o = trend_o(x) + sum_j dual_j prod_i (1 - w_i + w_i k(|z_i - points_ji| rate_i)), z as in the trend.

    k is one of the correlations of `mor.reduced.kriging.kernels`, rate its factor over the length.
    """

    trend: Polynomial
    points: Array
    outputs: tuple[Correlated, ...]


@dataclass(frozen=True)
class Gated:
    """A map behind a gate on its input x_j, j = `column`: y = c f(x with x_j raised to floor) for the outputs that are
    `vanishing` (n_out,), f(...) for the others; c = clip((x_j - closed) / width, 0, 1). No floor is -inf; `bounds`
    (lower, upper) of f, if any, come before c."""

    map: Map
    n_in: int
    column: int
    closed: float
    width: float
    floor: float
    vanishing: NDArray[np.bool_]
    bounds: tuple[Array, Array] | None


Map = Dense | Polynomial | Kernel | Gru
Step = Map | Gated


@dataclass(frozen=True)
class Recursion:
    """x_k = (u_k, past u, phi_k, past z), z_k = clip(f(clip(x_k, domain)) + slope (u_k - clip(u_k)), bounds).

    The state is (u_{k-1}, ..., u_{k-n}, z_{k-1}, ..., z_{k-m}, p_{k-1}) with the `states` and their `meaning`;
    phi_k and p_k come from the operators of `front`. `initial` is state_0, `outputs` are the names of z, of which the
    first `responses` are the outputs of the model.
    """

    input_lags: int
    output_lags: int
    domain: tuple[Array, Array]
    bounds: tuple[Array, Array]
    initial: Array
    states: tuple[Port, ...]
    state_domain: tuple[Array, Array]
    meaning: tuple[str, ...]
    outputs: tuple[Port, ...]
    responses: int
    front: Front
    outside_rule: str
    slope: Array | None

    @property
    def past(self) -> tuple[int, int]:
        """How many of the states are past signals, and past z."""
        n_z = len(self.outputs) * self.output_lags
        return len(self.states) - n_z - len(self.front.states), n_z


@dataclass(frozen=True)
class Form:
    """A model ready to be written: signals in and out, the map, and its memory if any.

    `regressors` are the ports of the map f: the inputs themselves, or x_k for a model with memory. `domain` is the
    range (lower, upper) of the inputs, finite; `dt` the step where it matters. `facts` are the plain
    values that the files repeat about what stands around the model. `law`: the outputs are l1, ln l2, l3, l4 of lambda
    distributions, whose quantiles are a closed form of them.
    """

    name: str
    kind: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    regressors: tuple[Port, ...]
    domain: tuple[Array, Array]
    step: Step
    recursion: Recursion | None
    cost: int
    dt: float | None = None
    law: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


def written_map(model: ReducedModel) -> ReducedModel:
    """Return the map that is written of a model: of a lambda model its expansion, whose outputs are l1 to l4."""
    return model.expansion if isinstance(model, Glam) else model


def form_of(model: ReducedModel, name: str, domain: tuple[Array, Array] | None = None) -> Form:
    """Bring `model` into the form the writers share; `domain` (lower, upper) replaces the range the model states.

    A model whose domain is not finite is refused: golden vectors and range checks would have nothing to stand on.
    """
    if isinstance(model, MemoryModel):
        inner, recursion = model.step, _recursion(model)
    else:
        inner, recursion = model, None
    lower, upper = model.domain if domain is None else domain
    for port, low, high in zip(model.inputs, lower, upper, strict=True):
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ConfigError(
                f"Domain of input '{port.name}' of model '{name}' must be finite with lower < upper to be exported, "
                f"got [{low:g}, {high:g}]; give write(..., domain=(lower, upper))."
            )
    step = _step(inner, name)
    return Form(
        name, inner.core.kind, model.inputs, model.outputs, inner.inputs, (lower, upper), step, recursion, model.cost,
        model.dt, facts=model.facts(),
    )  # fmt: skip


def _recursion(model: MemoryModel) -> Recursion:
    assert model.responses is not None
    return Recursion(
        model.input_lags, model.output_lags, model.step.domain, model.bounds, model.initial, model.states,
        model.state_domain, model.meaning, model.step.outputs, model.responses, model.front, model.outside_rule,
        model.slope,
    )  # fmt: skip


def _step(model: ReducedModel, name: str) -> Step:
    if isinstance(model, GatedModel):
        gate = model.gate
        return Gated(
            _map(model.model, name), len(model.inputs), model.column, gate.closed, gate.width, model.floor,
            model.vanishing, model.bounds,
        )  # fmt: skip
    return _map(model, name)


def _map(model: ReducedModel, name: str) -> Map:
    maker = _MAKERS.get(model.kind)
    if maker is None:
        raise ConfigError(
            f"Kind of model '{name}' must be one of {', '.join(_MAKERS)} to be exported, got '{model.kind}'."
        )
    if isinstance(model, Kriging) and model.rounding.max() > ROUNDING:
        worst = model.outputs[int(np.argmax(model.rounding))].name
        raise ConfigError(
            f"Rounding of the Kriging model '{name}' must be at most {ROUNDING:g} of the spread of its rows to give "
            f"the same numbers on every host, got {model.rounding.max():.1e} for output '{worst}'; fit it again with "
            f"rounding={ROUNDING:g}."
        )
    return maker(model)


def _kernel(model: Kriging) -> Kernel:
    program = program_of(
        model.location, model.scale, model.logarithm, model.recurrence, model.indices, model.coefficients
    )
    tree = Tree(program.offset, program.depth, program.row, program.coefficients)
    trend = Polynomial(
        model.location, model.scale, model.logarithm, model.recurrence, model.indices, model.coefficients, tree
    )
    outputs = tuple(
        Correlated(family, FACTOR[family] / model.length[o], model.weight[o], model.dual[:, o])
        for o, family in enumerate(model.kernel_names)
    )
    return Kernel(trend, model.points, outputs)


def _dense(model: Any) -> Dense:
    weights, biases, skip = model.folded
    return Dense(weights, biases, model.activation, skip)


def _polynomial(model: Any) -> Polynomial:
    program = model.program
    tree = Tree(program.offset, program.depth, program.row, program.coefficients)
    return Polynomial(
        model.location, model.scale, model.logarithm, model.recurrence, model.indices, model.coefficients, tree
    )


def _gru(model: Any) -> Gru:
    W, b, V, D, d = model.folded
    return Gru(W, model.hidden, b, model.hidden_bias, V, D, d)


_MAKERS: dict[str, Callable[[Any], Map]] = {
    "ffnn": _dense, "pce": _polynomial, "kriging": _kernel, "gru": _gru,
}  # fmt: skip
