"""A form as an ONNX graph: few nodes on whole arrays, physical units in and out, any batch size.

Every graph has the input `u` (N, n_in) and the output `y` (N, n_out); a model with memory has `state` (N, n_state) and
`state_next` beside them. The patterns are written down in docs/bundle_format.md; the runtime recognises them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.forms import Dense, Form, Gated, Gru, Kernel, Polynomial, Recursion, Step
from export.onnx.gate import gate_nodes
from export.onnx.gru import gru_nodes
from export.onnx.operators import TINY, operators
from mor.data.ports import Port
from rt_runtime.checks import Array

OPSET = 21
IR_VERSION = 10
PRECISIONS = ("float64", "float32")
SIDES = ("lower", "upper")
_OPERATOR = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"}


class Graph:
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
        z = self._standard(form, x)
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

    def step(self, form: Step, x: str, output: str) -> None:
        """Append the map f."""
        if isinstance(form, Gated):
            gate_nodes(self, form, x, output)
        elif isinstance(form, Dense):
            self.dense(form, x, output)
        elif isinstance(form, Kernel):
            self.kernel(form, x, output)
        elif isinstance(form, Gru):
            gru_nodes(self, form, x, output)
        else:
            self.polynomial(form, x, output)

    def kernel(self, form: Kernel, x: str, output: str) -> None:
        """Correlations of the point with all rows (N, rows, inputs), their product, one Gemm each; then the trend."""
        trend = form.trend
        z = self._standard(trend, x, "kernel_")
        z = self.node("Unsqueeze", [z, self.hold("kernel_rows", np.array([1]))], "kernel_point")
        distance = self.node("Sub", [z, self.hold("kernel_points", form.points)], "kernel_difference")
        distance = self.node("Abs", [distance], "kernel_distance")
        constant = ~np.any(trend.indices, axis=1)
        level = trend.coefficients[constant].sum(axis=0)
        moving = not constant.all()
        parts = []
        for o, one in enumerate(form.outputs, 1):
            a = self.node("Mul", [distance, self.hold(f"kernel_rate_{o}", one.rate)], f"kernel_scaled_{o}")
            k = self._correlation(one.family, a, f"kernel_{o}")
            if not one.plain:
                k = self.node("Mul", [k, self.hold(f"kernel_weight_{o}", one.weight)], f"kernel_share_{o}")
                k = self.node("Add", [k, self.hold(f"kernel_rest_{o}", 1.0 - one.weight)], f"kernel_factor_{o}")
            r = self.node("ReduceProd", [k, self.hold("kernel_axis", np.array([2]))], f"kernel_r_{o}", {"keepdims": 0})
            dual = self.hold(f"kernel_dual_{o}", one.dual[:, None])
            bias = self.hold(f"kernel_constant_{o}", np.zeros(1) if moving else level[o - 1 : o])
            single = len(form.outputs) == 1 and not moving
            parts.append(self.node("Gemm", [r, dual, bias], output if single else f"kernel_y_{o}"))
        if len(parts) > 1:
            parts = [self.node("Concat", parts, "kernel_y" if moving else output, {"axis": 1})]
        if moving:
            self.polynomial(trend, x, "trend")
            self.node("Add", [parts[0], "trend"], output)

    def _correlation(self, family: str, a: str, name: str) -> str:
        """Append k(a); the patterns are recognised by rt_runtime/bundle/correlations.py."""
        one = self.hold("kernel_one", np.ones(1))
        if family == "linear":
            left = self.node("Sub", [one, a], f"{name}_left")
            return self.node("Max", [left, self.hold("kernel_zero", np.zeros(1))], f"{name}_k")
        if family == "gaussian":
            square = self.node("Mul", [a, a], f"{name}_square")
            half = self.node("Mul", [square, self.hold("kernel_minus_half", np.array([-0.5]))], f"{name}_exponent")
            return self.node("Exp", [half], f"{name}_k")
        decay = self.node("Exp", [self.node("Neg", [a], f"{name}_minus")], f"{name}_decay")
        if family == "exponential":
            return decay
        if family == "matern52":
            inner = self.node("Mul", [a, self.hold("kernel_third", np.array([1.0 / 3.0]))], f"{name}_third")
            inner = self.node("Add", [inner, one], f"{name}_inner")
            front = self.node("Mul", [a, inner], f"{name}_rising")
        else:
            front = a
        return self.node("Mul", [decay, self.node("Add", [front, one], f"{name}_front")], f"{name}_k")

    def _standard(self, form: Polynomial, x: str, prefix: str = "") -> str:
        """Append z = (x - location) / scale, of ln x where the form says so."""
        if np.any(form.logarithm):
            tiny = self.hold(f"{prefix}tiny", np.array([TINY[self.dtype.name]]))
            logs = self.node("Log", [self.node("Max", [x, tiny], f"{prefix}positive")], f"{prefix}logarithms")
            where = [self.flags(f"{prefix}logarithm", form.logarithm), logs, x]
            x = self.node("Where", where, f"{prefix}plain_or_logarithm")
        z = self.node("Sub", [x, self.hold(f"{prefix}location", form.location)], f"{prefix}centred")
        return self.node("Div", [z, self.hold(f"{prefix}scale", form.scale)], f"{prefix}standard")

    def recursion(self, form: Recursion, whole: Form) -> None:
        """Operators, then the map between its clips, and the next state by one Gather."""
        past_u, past_z = form.past
        here, moved = ["u", "state"], list[str]()
        if form.front.table.size:
            n_u = len(whole.inputs)
            lower, upper = (self.hold(f"signal_{side}", b[:n_u]) for side, b in zip(SIDES, form.domain, strict=True))
            inside = self.node("Min", [self.node("Max", ["u", lower], "u_above"), upper], "u_inside")
            first = past_u + past_z
            phi, moved = operators(self, form.front, inside, "state", first)
            before = [self.part("state", 0, past_u, "past_u")] if past_u else []
            here = ["u", *before, *phi, *([self.part("state", past_u, first, "past_z")] if past_z else [])]
        x = self.node("Concat", here, "x", {"axis": 1})
        inside = self.node("Max", [x, self.hold("domain_lower", form.domain[0])], "x_above")
        inside = self.node("Min", [inside, self.hold("domain_upper", form.domain[1])], "x_inside")
        self.step(whole.step, inside, "z_free")
        free = "z_free"
        if form.slope is not None:
            seen = self.part("x_inside", 0, len(whole.inputs), "u_held")
            excess = self.node("Sub", ["u", seen], "u_excess")
            free = self.node("Gemm", [excess, self.hold("slope", form.slope), free], "z_tangent", {"transB": 1})
        every = len(form.outputs) == form.responses
        name = "y" if every else "z"
        z = self.node("Max", [free, self.hold("bounds_lower", form.bounds[0])], "z_above")
        z = self.node("Min", [z, self.hold("bounds_upper", form.bounds[1])], name)
        if not every:
            self.part(z, 0, form.responses, "y")
        n_u, n_state, n_z = len(whole.inputs), len(form.states), len(form.outputs)
        everything = self.node("Concat", ["u", "state", z, *moved], "everything", {"axis": 1})
        now, last = np.arange(n_u), n_u + np.arange(n_state)
        following = [
            np.concatenate([now, last])[:past_u],
            np.concatenate([n_u + n_state + np.arange(n_z), last[past_u:]])[:past_z],
            n_u + n_state + n_z + np.arange(n_state - past_u - past_z),
        ]
        shift = self.hold("shift", np.concatenate(following).astype(np.int64))
        self.node("Gather", [everything, shift], "state_next", {"axis": 1})

    def part(self, x: str, start: int, end: int, output: str) -> str:
        """Append columns start to end of x."""
        return self.node("Gather", [x, self.hold(f"{output}_columns", np.arange(start, end))], output, {"axis": 1})


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
    """Return what the file says about itself as JSON texts: format, kind, columns with unit and range, memory."""
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
            "dt": form.dt,
            "memory": {
                "input_lags": form.recursion.input_lags,
                "output_lags": form.recursion.output_lags,
                "operators": [operator.plain() for operator in form.recursion.front.operators],
                "initial": form.recursion.initial.tolist(),
            },
        }
    return {f"hmor.{key}": json.dumps(value, allow_nan=False) for key, value in (facts | form.facts).items()}


def onnx_model(form: Form, precision: str = "float64") -> Any:
    """Build the checked, shape-inferred `onnx.ModelProto` of a form in "float64" or "float32"."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = Graph(precision)
    if form.recursion is not None:
        graph.recursion(form.recursion, form)
    else:
        graph.step(form.step, "u", "y")
    element = TensorProto.DOUBLE if precision == "float64" else TensorProto.FLOAT

    def tensor(name: str, width: int, ports: tuple[Port, ...]) -> Any:
        text = ", ".join(f"{p.name} [{p.unit}]" if p.unit else p.name for p in ports)
        return helper.make_tensor_value_info(name, element, ["N", width], text)

    inputs = [tensor("u", len(form.inputs), form.inputs)]
    outputs = [tensor("y", len(form.outputs), form.outputs)]
    if form.recursion is not None:
        memory = form.recursion.states
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
