"""The ONNX graphs: few nodes, the right names, and the numbers of the model in onnxruntime."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from export.engines import OnnxEngine
from export.forms import Form, Polynomial, Tree, form_of
from export.onnx.graph import linear_factors, onnx_model
from mor.data.ports import Port
from mor.marginals import recurrence
from rt_runtime.bundle.read import difference
from tests.reference.exported_models import network, network_with_memory
from tests.reference.memory_twin import one_step_map

NONE = np.zeros(0, dtype=np.int64)
NO_TREE = Tree(NONE, NONE, NONE, np.zeros((0, 1)))


def table(laws: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """a, b, c of the orthonormal recurrence of each law."""
    rows = []
    for alpha, beta in laws:
        a = 1.0 / np.sqrt(beta[1:])
        rows.append(np.column_stack([a, -alpha[:-1] * a, np.concatenate([[0.0], np.sqrt(beta[1:-1]) * a[1:]])]))
    return np.array(rows)


def polynomial(laws: list, indices: np.ndarray, n_out: int, lower: list, upper: list, log: list | None = None) -> Form:
    d = len(laws)
    coefficients = np.random.default_rng(2).normal(size=(len(indices), n_out))
    logarithm = np.array(log or [0] * d)
    step = Polynomial(
        np.linspace(1.0, 2.0, d), np.linspace(2.0, 0.5, d), logarithm, table(laws), indices, coefficients, NO_TREE
    )
    inputs, outputs = tuple(Port(f"x{i}", "m") for i in range(d)), tuple(Port(f"y{i}") for i in range(n_out))
    location, scale = step.location, step.scale
    box = [location + scale * np.array(side, float) for side in (lower, upper)]
    box = [np.where(logarithm == 1, np.exp(side), side) for side in box]
    return Form("poly", "pce", inputs, outputs, inputs, (box[0], box[1]), step, None, 1)


def by_hand(form: Form, X: np.ndarray) -> np.ndarray:
    """Sum the terms by the three-term recurrence."""
    step = form.step
    assert isinstance(step, Polynomial)
    Z = (np.where(step.logarithm == 1, np.log(np.maximum(X, 1e-300)), X) - step.location) / step.scale
    degree = step.recurrence.shape[1]
    psi = np.ones((degree + 1, *Z.shape))
    for k in range(degree):
        a, b, c = step.recurrence[:, k].T
        psi[k + 1] = (a * Z + b) * psi[k] - (c * psi[k - 1] if k else 0.0)
    total = np.zeros((len(X), step.coefficients.shape[1]))
    for index, c in zip(step.indices, step.coefficients, strict=True):
        total += np.prod([psi[k, :, j] for j, k in enumerate(index)], axis=0)[:, None] * c
    return total


def triangle(degree: int) -> np.ndarray:
    return np.array([(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)])


def draw(form: Form, n: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(*form.domain, (n, len(form.inputs)))


LAWS = {
    "legendre": (recurrence.legendre, -1.0, 1.0),
    "hermite": (recurrence.hermite, -5.0, 5.0),
    "laguerre": (lambda n: recurrence.laguerre(n, 1.5), 0.0, 20.0),
    "jacobi": (lambda n: recurrence.jacobi(n, 0.5, 2.0), -1.0, 1.0),
    "stieltjes_wigert": (lambda n: recurrence.stieltjes_wigert(n, 0.7), 0.1, 9.0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("degree", [1, 10, 20])
def test_factored_polynomials_are_the_recurrence(law: str, degree: int) -> None:
    make, low, high = LAWS[law]
    form = polynomial([make(degree)] * 2, triangle(degree), 2, [low, low], [high, high])
    X = draw(form, 500)
    proto = onnx_model(form)
    got = OnnxEngine(proto.SerializeToString(), None).rows(X)
    assert difference(got, by_hand(form, X)) < 1e-12
    assert len(proto.graph.node) == (12 if degree > 1 else 10)


def test_linear_factors_are_padded_at_the_end() -> None:
    form = polynomial([recurrence.legendre(4)] * 2, triangle(4), 1, [-1, -1], [1, 1])
    assert isinstance(form.step, Polynomial)
    pairs, places = form.step.factors()
    gain, shift = linear_factors(form.step, pairs)
    assert pairs[0] == (0, 0) and len(pairs) == 9 and len(places) == 2
    for (_, k), g, s in zip(pairs, gain, shift, strict=True):
        assert np.all(g[:k] > 0.0) and not g[k:].any() and np.all(s[k:] == 1.0)


def test_sparse_terms_of_many_inputs_stay_small() -> None:
    rng = np.random.default_rng(4)
    indices = np.zeros((150, 8), dtype=np.int64)
    for row in indices[1:]:
        row[rng.choice(8, size=rng.integers(1, 4), replace=False)] = rng.integers(1, 5)
    form = polynomial([recurrence.legendre(5)] * 8, indices, 3, [-1] * 8, [1] * 8)
    X = draw(form, 300)
    proto = onnx_model(form)
    assert len(proto.graph.node) == 14
    assert difference(OnnxEngine(proto.SerializeToString(), None).rows(X), by_hand(form, X)) < 1e-12


def test_inputs_that_enter_by_their_logarithm() -> None:
    form = polynomial([recurrence.hermite(6), recurrence.legendre(6)], triangle(6), 1, [-4, -1], [4, 1], [1, 0])
    X = draw(form, 300)
    X[0, 0] = -3.0  # outside of the law: held at the smallest logarithm, never NaN
    got = OnnxEngine(onnx_model(form).SerializeToString(), None).rows(X)
    assert np.all(np.isfinite(got))
    assert difference(got[1:], by_hand(form, X[1:])) < 1e-12


def test_a_constant_polynomial_keeps_the_pattern() -> None:
    form = polynomial([recurrence.legendre(1)], np.zeros((1, 1), dtype=np.int64), 1, [-1], [1])
    X = draw(form, 5)
    proto = onnx_model(form)
    assert [n.op_type for n in proto.graph.node][-2:] == ["Gather", "Gemm"]
    assert difference(OnnxEngine(proto.SerializeToString(), None).rows(X), by_hand(form, X)) == 0.0


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "softplus"])
@pytest.mark.parametrize("skip", [False, True])
def test_networks_give_their_own_numbers(activation: str, skip: bool) -> None:
    model = network(activation, hidden=(10, 4), outputs=2, skip=skip)
    X = np.random.default_rng(3).uniform(*model.domain, (2000, 2))
    form = form_of(model, "net")
    assert difference(OnnxEngine(onnx_model(form).SerializeToString(), None).rows(X), model.predict(X)) < 1e-14
    single = OnnxEngine(onnx_model(form, "float32").SerializeToString(), None).rows(X)
    assert 1e-9 < difference(single, model.predict(X)) < 1e-5


def test_a_network_is_three_nodes_with_documented_names() -> None:
    proto = onnx_model(form_of(network(), "net"))
    assert [(n.op_type, list(n.input), list(n.output)) for n in proto.graph.node] == [
        ("Gemm", ["u", "weights_1", "biases_1"], ["dense_1"]),
        ("Tanh", ["dense_1"], ["hidden_1"]),
        ("Gemm", ["hidden_1", "weights_2", "biases_2"], ["y"]),
    ]
    assert [n.name for n in proto.graph.node] == ["dense_1", "hidden_1", "y"]


def test_a_polynomial_has_the_documented_nodes() -> None:
    proto = onnx_model(polynomial([recurrence.legendre(10)] * 2, triangle(10), 1, [-1, -1], [1, 1]))
    assert [(n.op_type, list(n.input), list(n.output)) for n in proto.graph.node] == [
        ("Sub", ["u", "location"], ["centred"]),
        ("Div", ["centred", "scale"], ["standard"]),
        ("Transpose", ["standard"], ["columns"]),
        ("Gather", ["columns", "variables"], ["arguments"]),
        ("Unsqueeze", ["arguments", "axis"], ["argument"]),
        ("Mul", ["argument", "factor_gain"], ["scaled"]),
        ("Add", ["scaled", "factor_shift"], ["factors"]),
        ("ReduceProd", ["factors", "axis"], ["univariate"]),
        ("Gather", ["univariate", "place_1"], ["part_1"]),
        ("Gather", ["univariate", "place_2"], ["part_2"]),
        ("Mul", ["part_1", "part_2"], ["product_2"]),
        ("Gemm", ["product_2", "coefficients", "constant"], ["y"]),
    ]


@pytest.mark.parametrize(("input_lags", "output_lags", "outputs"), [(1, 2, 1), (0, 1, 2), (2, 0, 1), (3, 2, 2)])
def test_memory_runs_freely_through_its_state(input_lags: int, output_lags: int, outputs: int) -> None:
    model = network_with_memory(input_lags, output_lags, outputs)
    lower, upper = (b[:2] for b in model.domain)
    u = np.random.default_rng(6).uniform(lower - 10.0, upper + 10.0, (400, 2))
    form = form_of(model, "net")
    engine = OnnxEngine(onnx_model(form).SerializeToString(), model.initial)
    assert difference(engine.run(u), model.rollout(u)) < 1e-12
    X = np.random.default_rng(7).uniform(*model.step.domain, (100, len(model.step.inputs))) * 1.1
    assert difference(engine.rows(X), one_step_map(model, X)) < 1e-13


def test_the_file_describes_itself() -> None:
    proto = onnx_model(form_of(network_with_memory(), "front"))
    said = {p.key: json.loads(p.value) for p in proto.metadata_props}
    assert said["hmor.inputs"][1] == {"name": "w_rw", "unit": "rad/s", "domain": [-5.0, 49.0]}
    assert said["hmor.outputs"] == [{"name": "tau_rw", "unit": "N m"}]
    assert said["hmor.dt"] == 1e-3
    assert said["hmor.memory"] == {"input_lags": 1, "output_lags": 2, "operators": [], "initial": [0.0] * 4}
    assert (said["hmor.format"], said["hmor.kind"], said["hmor.precision"]) == (1, "ffnn", "float64")
    assert [i.name for i in proto.graph.input] == ["u", "state"]
    assert [o.name for o in proto.graph.output] == ["y", "state_next"]
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"
    assert proto.graph.input[0].doc_string == "F_br [N], w_rw [rad/s]"
    assert proto.opset_import[0].version == 21
    inferred = {v.name: v.type.tensor_type.shape for v in proto.graph.value_info}
    assert inferred["hidden_1"].dim[1].dim_value == 8
    onnx.checker.check_model(proto, full_check=True)
