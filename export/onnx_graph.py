"""A form as an ONNX graph: few nodes on whole arrays, physical units in and out, any batch size.

Every graph has the input `u` (N, n_in) and the output `y` (N, n_out); a model with memory has `state` (N, n_state) and
`state_next` beside them. The patterns are written down in docs/bundle_format.md; the runtime recognises them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.forms import Dense, Form, Polynomial, Recursion
from mor.gate import Gate
from mor.ports import Port
from mor.reduced import Array

OPSET = 21
IR_VERSION = 10
PRECISIONS = ("float64", "float32")
TINY = {"float64": 1e-300, "float32": 1e-37}  # a logarithm is never asked of less
_OPERATOR = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"}


class _Graph:
    """Nodes and initializers in the order they are added."""

    def __init__(self, precision: str) -> None:
        self.dtype = np.dtype(precision)
        self.nodes: list[Any] = []
        self.arrays: dict[str, NDArray[Any]] = {}

    def hold(self, name: str, values: NDArray[Any]) -> str:
        """Store an initializer, floats in the precision of the graph, and return its name."""
        floats = np.issubdtype(np.asarray(values).dtype, np.floating)
        with np.errstate(over="ignore"):  # a number too large for float32 is found by the golden vectors
            self.arrays[name] = np.ascontiguousarray(values, dtype=self.dtype if floats else np.int64)
        return name

    def flags(self, name: str, values: NDArray[Any]) -> str:
        """Store an initializer of truth values and return its name."""
        self.arrays[name] = np.ascontiguousarray(values, dtype=np.bool_)
        return name

    def node(
        self, operator: str, inputs: list[str], output: str, attributes: dict[str, int | list[int]] | None = None
    ) -> str:
        """Append a node named after its only output and return that name."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **(attributes or {})))
        return output

    def dense(self, form: Dense, x: str, output: str) -> None:
        """Gemm and activation for each layer; the direct path is a Gemm whose third input is the last layer."""
        h, last = x, len(form.weights)
        for layer, (W, b) in enumerate(zip(form.weights, form.biases, strict=True), 1):
            weights, biases = self.hold(f"weights_{layer}", W), self.hold(f"biases_{layer}", b)
            name = f"dense_{layer}" if layer < last or form.skip is not None else output
            h = self.node("Gemm", [h, weights, biases], name, {"transB": 1})
            if layer < last:
                h = self._activation(form.activation, h, f"hidden_{layer}")
        if form.skip is not None:
            self.node("Gemm", [x, self.hold("skip", form.skip), h], output, {"transB": 1})

    def _activation(self, activation: str, a: str, output: str) -> str:
        if activation in _OPERATOR:
            return self.node(_OPERATOR[activation], [a], output)
        # onnxruntime has no Softplus in double precision: max(a, 0) + log(1 + exp(-|a|)) does not overflow either.
        positive = self.node("Relu", [a], f"{output}_positive")
        decay = self.node("Exp", [self.node("Neg", [self.node("Abs", [a], f"{output}_abs")], f"{output}_neg")],
                          f"{output}_exp")  # fmt: skip
        rest = self.node("Log", [self.node("Add", [decay, self.hold("one", np.ones(1))], f"{output}_sum")],
                         f"{output}_log")  # fmt: skip
        return self.node("Add", [positive, rest], output)

    def polynomial(self, form: Polynomial, x: str, output: str) -> None:
        """Each psi as the product of its linear factors, then one Gather for each place in a term, then one Gemm."""
        pairs, places = form.factors()
        gain, shift = linear_factors(form, pairs)
        constant = ~np.any(form.indices, axis=1)
        terms = np.flatnonzero(~constant)
        if terms.size == 0:  # a constant model keeps the pattern with one term of coefficient zero
            terms, coefficients = np.flatnonzero(constant)[:1], np.zeros((1, form.coefficients.shape[1]))
        else:
            coefficients = form.coefficients[terms]
        if np.any(form.logarithm):
            above = self.node("Max", [x, self.hold("tiny", np.array([TINY[self.dtype.name]]))], "positive")
            logs = self.node("Log", [above], "logarithms")
            x = self.node("Where", [self.flags("logarithm", form.logarithm), logs, x], "plain_or_logarithm")
        z = self.node("Sub", [x, self.hold("location", form.location)], "centred")
        z = self.node("Div", [z, self.hold("scale", form.scale)], "standard")
        z = self.node("Transpose", [z], "columns", {"perm": [1, 0]})
        z = self.node("Gather", [z, self.hold("variables", np.array([j for j, _ in pairs]))], "arguments", {"axis": 0})
        axis = self.hold("axis", np.array([1]))
        z = self.node("Unsqueeze", [z, axis], "argument")
        f = self.node("Mul", [z, self.hold("factor_gain", gain[:, :, None])], "scaled")
        f = self.node("Add", [f, self.hold("factor_shift", shift[:, :, None])], "factors")
        psi = self.node("ReduceProd", [f, axis], "univariate", {"keepdims": 0})
        product = ""
        for place, index in enumerate(places, 1):
            part = self.node("Gather", [psi, self.hold(f"place_{place}", index[terms])], f"part_{place}", {"axis": 0})
            product = part if place == 1 else self.node("Mul", [product, part], f"product_{place}")
        weights = self.hold("coefficients", coefficients)
        mean = self.hold("constant", form.coefficients[constant].sum(axis=0))
        self.node("Gemm", [product, weights, mean], output, {"transA": 1})

    def step(self, form: Dense | Polynomial, x: str, output: str) -> None:
        """Append the map f."""
        if isinstance(form, Dense):
            self.dense(form, x, output)
        else:
            self.polynomial(form, x, output)

    def gate(self, gate: Gate, inputs: tuple[Port, ...], step: Dense | Polynomial) -> None:
        """Ask the map with u_j raised to span, and multiply it by the share of the gate."""
        column = gate.column(inputs)
        lower = np.full(len(inputs), -np.inf)
        lower[column] = gate.span
        self.step(step, self.node("Max", ["u", self.hold("gate_lower", lower)], "u_raised"), "y_free")
        self.node("Mul", ["y_free", self.share(gate, column, "u")], "y")

    def share(self, gate: Gate, column: int, x: str) -> str:
        """Append clip((x_j - closed) / (span - closed), 0, 1) of column j of x.

        Max and Min hand a nan on, which Clip need not.
        """
        c = self.node("Gather", [x, self.hold("gate_column", np.array([column]))], "gate_input", {"axis": 1})
        if gate.closed:
            c = self.node("Sub", [c, self.hold("gate_start", np.array([gate.closed]))], "gate_beyond")
        c = self.node("Div", [c, self.hold("gate_span", np.array([gate.width]))], "gate_share")
        c = self.node("Max", [c, self.hold("gate_closed", np.zeros(1))], "gate_above")
        return self.node("Min", [c, self.hold("gate_open", np.ones(1))], "gate")

    def recursion(self, form: Recursion, whole: Form) -> None:
        """Wrap the map in clipping, let its outputs through the gate if any, and shift the state by one Gather."""
        x = self.node("Concat", ["u", "state"], "x", {"axis": 1})
        inside = self.node("Max", [x, self.hold("domain_lower", form.domain[0])], "x_above")
        inside = self.node("Min", [inside, self.hold("domain_upper", form.domain[1])], "x_inside")
        self.step(whole.step, inside, "y_free")
        gate = whole.gate
        y = self.node("Max", ["y_free", self.hold("bounds_lower", form.bounds[0])], "y_above")
        y = self.node("Min", [y, self.hold("bounds_upper", form.bounds[1])], "y" if gate is None else "y_inside")
        if gate is not None:
            gated = gate.gated(whole.outputs)
            c = self.share(gate, gate.column(whole.regressors), x)
            faded = self.node("Mul", [y, c], "y" if gated.all() else "y_gated")
            if not gated.all():
                self.node("Where", [self.flags("gate_outputs", gated), faded, y], "y")
        everything = self.node("Concat", [x, "y"], "x_and_y", {"axis": 1})
        self.node("Gather", [everything, self.hold("shift", form.shift)], "state_next", {"axis": 1})


def linear_factors(form: Polynomial, pairs: list[tuple[int, int]]) -> tuple[Array, Array]:
    """Write each psi_k of variable j as prod_i (gain_i z + shift_i): arrays (n_pairs, degree), padded with factors 1.

    The zeros of psi_k are the eigenvalues of the leading k x k Jacobi matrix of the recurrence (Golub and Welsch 1969),
    polished by Newton steps in extended precision; each factor carries the k-th root of the leading coefficient.
    """
    width = max(1, form.degree)
    gain, shift = np.zeros((len(pairs), width)), np.ones((len(pairs), width))
    for row, (j, k) in enumerate(pairs):
        if k == 0:
            continue
        a, b, c = form.recurrence[j, :k].T
        off = c[1:] / a[1:]
        zeros = np.linalg.eigvalsh(np.diag(-b / a) + np.diag(off, 1) + np.diag(off, -1))
        for _ in range(2):
            value, slope = _value_and_slope(zeros.astype(np.longdouble), form.recurrence[j, :k])
            zeros = (zeros - value / slope).astype(np.float64)
        root = float(np.exp(np.mean(np.log(a))))
        gain[row, :k], shift[row, :k] = root, -root * zeros
    return gain, shift


def _value_and_slope(z: Any, recurrence: Array) -> tuple[Any, Any]:
    """Return psi and its derivative at z, of the degree that has as many rows as `recurrence`."""
    before, value = np.zeros_like(z), np.ones_like(z)
    slope_before, slope = np.zeros_like(z), np.zeros_like(z)
    for a, b, c in recurrence:
        line = a * z + b
        before, value, slope_before, slope = (
            value,
            line * value - c * before,
            slope,
            a * value + line * slope - c * slope_before,
        )
    return value, slope


def metadata(form: Form, precision: str) -> dict[str, str]:
    """Return what the file says about itself as JSON texts: format, kind, columns with unit and range, memory, gate."""
    lower, upper = form.domain

    def columns(ports: tuple[Port, ...]) -> list[dict[str, Any]]:
        return [
            {"name": p.name, "unit": p.unit, "domain": [float(a), float(b)]}
            for p, a, b in zip(ports, lower, upper, strict=False)
        ]

    facts: dict[str, Any] = {
        "format": 1,
        "kind": form.kind,
        "precision": precision,
        "inputs": columns(form.inputs),
        "outputs": [{"name": p.name, "unit": p.unit} for p in form.outputs],
    }
    if form.recursion is not None:
        facts |= {
            "dt": form.recursion.dt,
            "memory": {
                "input_lags": form.recursion.input_lags,
                "output_lags": form.recursion.output_lags,
                "initial": form.recursion.initial.tolist(),
            },
        }
    if form.gate is not None:
        facts["gate"] = form.gate.plain()
    return {f"hmor.{key}": json.dumps(value, allow_nan=False) for key, value in facts.items()}


def onnx_model(form: Form, precision: str = "float64") -> Any:
    """Build the checked, shape-inferred `onnx.ModelProto` of a form in "float64" or "float32"."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = _Graph(precision)
    if form.recursion is not None:
        graph.recursion(form.recursion, form)
    elif form.gate is not None:
        graph.gate(form.gate, form.inputs, form.step)
    else:
        graph.step(form.step, "u", "y")
    element = TensorProto.DOUBLE if precision == "float64" else TensorProto.FLOAT

    def tensor(name: str, width: int, ports: tuple[Port, ...]) -> Any:
        text = ", ".join(f"{p.name} [{p.unit}]" if p.unit else p.name for p in ports)
        return helper.make_tensor_value_info(name, element, ["N", width], text)

    inputs = [tensor("u", len(form.inputs), form.inputs)]
    outputs = [tensor("y", len(form.outputs), form.outputs)]
    if form.recursion is not None:
        memory = form.regressors[len(form.inputs) :]
        inputs.append(tensor("state", len(memory), memory))
        outputs.append(tensor("state_next", len(memory), memory))
    initializers = [numpy_helper.from_array(array, name) for name, array in graph.arrays.items()]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, form.name, inputs, outputs, initializers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="hybrid-mor",
    )
    helper.set_model_props(proto, metadata(form, precision))
    proto = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    onnx.checker.check_model(proto, full_check=True)
    return proto
