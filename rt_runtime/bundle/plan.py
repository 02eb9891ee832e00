"""Compile an ONNX graph to a plan of the core: tensors become places in one array, operators become steps.

Only one row is evaluated at a time, so every shape is known. What moves numbers about (Gather, Transpose, Concat, ...)
is done here, on the places, and costs nothing later. Dense layers with their activation and the polynomial pattern of
docs/bundle_format.md become one step each; the operators below run one by one; anything else is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rt_runtime import _core
from rt_runtime.bundle.bars import compile_bars
from rt_runtime.bundle.correlations import compile_correlations
from rt_runtime.bundle.order import Step, in_order
from rt_runtime.errors import BundleError

Places = NDArray[np.int64]
_UNARY = ("Tanh", "Sigmoid", "Relu", "Exp", "Log", "Neg", "Abs", "Sqrt", "Softplus")
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Greater")
UNARY = {name: getattr(_core.Unary, name.lower()) for name in _UNARY}
BINARY = {name: getattr(_core.Binary, name.lower()) for name in _BINARY}
MOVING = ("Concat", "Flatten", "Gather", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze", "Where")
OPERATORS = tuple(sorted([*UNARY, *BINARY, *MOVING, "Gemm", "MatMul", "ReduceProd"]))
MAX_NUMBERS = 2**21
"""Constants, results and places of one plan together: more than a tick has time for, and about 100 MB to compile."""


def compile_onnx(content: bytes, what: str, outputs: int | None = None) -> tuple[_core.Plan, int, int]:
    """Return the plan of an ONNX file with input u (and state) and output y (and state_next), n_u and n_state.

    `outputs`: how many of the first columns of y the plan gives, None for all.
    """
    import onnx

    try:
        graph = onnx.load_model_from_string(content).graph
    except Exception as error:  # protobuf raises its own kinds
        raise BundleError(f"{what} must be an ONNX file, got something else ({type(error).__name__}).") from None
    compiler = None
    try:
        compiler = _Compiler(graph, what)
        return compiler.plan(outputs)
    except BundleError:
        raise
    except RecursionError:
        raise BundleError(f"{what} cannot be run by the core: its nodes follow each other too deep.") from None
    except Exception as error:  # numpy and the core raise many kinds where shapes do not fit
        at = compiler.at if compiler is not None else "its constants"
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise BundleError(f"{what} cannot be run by the core: {at}: {why}; export it with export.write.") from None


class _Compiler:
    def __init__(self, graph: Any, what: str) -> None:
        from onnx import numpy_helper

        self.what, self.at = what, "its outputs"
        self.left = MAX_NUMBERS
        self.constants: dict[str, NDArray[Any]] = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        self.nodes = {node.output[0]: node for node in graph.node}
        self.uses: dict[str, int] = {}
        for node in graph.node:
            for name in node.input:
                self.uses[name] = self.uses.get(name, 0) + 1
        inputs = {i.name: i.type.tensor_type.shape.dim[1].dim_value for i in graph.input}
        self.spend(sum(inputs.values()))
        self.n_u, self.n_state = inputs.get("u", -1), inputs.get("state", 0)
        outputs = {o.name for o in graph.output}
        if (
            self.n_u < 1
            or set(inputs) - {"u", "state"}
            or "y" not in outputs
            or (self.n_state > 0) != ("state_next" in outputs)
        ):
            raise BundleError(f"{what} must have input u and output y (and state, state_next with memory).")
        self.array: list[float] = [0.0] * (self.n_u + self.n_state)
        self.tensors: dict[str, Places] = {"u": np.arange(self.n_u)[None, :]}
        if self.n_state:
            self.tensors["state"] = np.arange(self.n_u, self.n_u + self.n_state)[None, :]
        self.sizes: dict[int, int] = {}  # of the rooms for results, by their first place
        self.steps: list[Step] = []

    def plan(self, outputs: int | None = None) -> tuple[_core.Plan, int, int]:
        """Compile what y and state_next need, in order."""
        y = self.places("y")
        following = self.places("state_next").ravel().tolist() if self.n_state else []
        plan = _core.Plan(self.n_u, self.n_state, np.array(self.array), y.ravel().tolist()[:outputs], following)
        for kind, arguments in in_order(self.steps, self.sizes, [*y.ravel().tolist(), *following]):
            getattr(plan, kind)(*arguments)
        return plan, self.n_u, self.n_state

    # Places of tensors ------------------------------------------------------------------------------------------------

    def places(self, name: str) -> Places:
        """Return where a tensor's numbers stand, in its shape; compiles the node behind it first if need be."""
        if name not in self.tensors:
            if name in self.constants:
                values = np.asarray(self.constants[name], dtype=np.float64)
                self.spend(values.size)
                start = len(self.array)
                self.array += values.ravel().tolist()
                self.tensors[name] = np.arange(start, start + values.size).reshape(values.shape)
            else:
                self.tensors[name] = self._compile(self.nodes[name])
        return self.tensors[name]

    def room(self, shape: Sequence[int]) -> Places:
        """Set numbers aside for a result; kernels write whole groups of four."""
        n, start = math.prod(shape), len(self.array)
        self.spend(n)
        self.sizes[start] = n
        self.array += [0.0] * ((n + 3) // 4 * 4)
        return np.arange(start, start + n).reshape(shape)

    def step(self, kind: str, *arguments: Any) -> None:
        """Append a step of the plan."""
        self.spend(sum(np.size(a) if isinstance(a, np.ndarray) else len(a) for a in arguments if hasattr(a, "__len__")))
        self.steps.append((kind, arguments))

    def spend(self, n: int) -> None:
        """Count n more numbers of the plan before they are made."""
        self.left -= n
        if self.left < 0:
            raise BundleError(f"{self.what} must need at most {MAX_NUMBERS} numbers in a plan; use a smaller model.")

    def constant(self, node: Any, i: int) -> NDArray[Any]:
        """Return an input that must be a constant of the file."""
        name = node.input[i]
        if name not in self.constants:
            raise self.refuse(node, f"input {i + 1} must be a constant of the file")
        return self.constants[name]

    def refuse(self, node: Any, why: str) -> BundleError:
        """Say what cannot be compiled."""
        return BundleError(
            f"{self.what} cannot be run by the core: node '{node.name or node.output[0]}' ({node.op_type}): {why}; "
            "export it with export.write or use engine='onnxruntime'."
        )

    # Nodes ------------------------------------------------------------------------------------------------------------

    def _compile(self, node: Any) -> Places:
        operator = node.op_type
        self.at = f"node '{node.name or node.output[0]}' ({operator})"
        if node.domain not in ("", "ai.onnx") or operator not in OPERATORS:
            raise self.refuse(node, f"the operator must be one of {', '.join(OPERATORS)}")
        attributes = {a.name: a for a in node.attribute}
        if operator in MOVING:
            return self._move(node, attributes)
        if operator == "Gemm":
            return self._gemm(node, attributes, _core.Unary.none)
        if operator == "MatMul":
            return self._dense(node, self.places(node.input[0]), self.constant(node, 1), None, _core.Unary.none)
        if operator == "ReduceProd":
            return self._product(node, attributes)
        inner = self._softplus_argument(node)
        function = _core.Unary.softplus if inner else UNARY.get(operator)
        if function is not None:
            x = inner or node.input[0]
            source = self.nodes.get(x)
            alone = self.uses.get(x, 0) == (2 if inner else 1)
            if source is not None and source.op_type == "Gemm" and alone and x not in self.tensors:
                return self._gemm(source, {a.name: a for a in source.attribute}, function)
            argument = self.places(x)
            out = self.room(argument.shape)
            self.step("unary", function, argument.ravel().tolist(), int(out.flat[0]))
            return out
        for pattern in (partial(compile_bars, self), self._clip, self._standard, self._play):
            found = pattern(node)
            if found is not None:
                return found
        result = self.places(node.input[0])
        for name in node.input[1:]:
            a, b = np.broadcast_arrays(result, self.places(name))
            result = self.room(a.shape)
            self.step("binary", BINARY[operator], a.ravel().tolist(), b.ravel().tolist(), int(result.flat[0]))
        return result

    def _by_constant(self, name: str, operator: str, inner: bool = True) -> tuple[str, NDArray[Any]] | None:
        """Return x and c when `name` is operator(x, c), c of the file and nobody else needs the result; else None."""
        node = self.nodes.get(name)
        if node is None or node.op_type != operator or len(node.input) != 2 or node.input[1] not in self.constants:
            return None
        if inner and (self.uses.get(name, 0) != 1 or name in self.tensors):
            return None
        return node.input[0], np.asarray(self.constants[node.input[1]], dtype=np.float64)

    def _clip(self, node: Any) -> Places | None:
        """Min(Max(Div(x, divisor), lower), upper) as one step, each of the three or not, but not all; or None."""
        name, divisor, own = node.output[0], np.ones(1), False
        found: dict[str, Any] = {"Max": -np.inf, "Min": np.inf}
        for operator in ("Min", "Max"):
            if part := self._by_constant(name, operator, inner=own):
                (name, found[operator]), own = part, True
        if not own:
            return None
        if part := self._by_constant(name, "Div"):
            name, divisor = part
        x = self.places(name)
        if any(np.broadcast_shapes(x.shape, np.shape(c)) != x.shape for c in (divisor, *found.values())):
            return None
        out = self.room(x.shape)
        numbers = [np.broadcast_to(c, x.shape).ravel().tolist() for c in (divisor, found["Max"], found["Min"])]
        self.step("clip", x.ravel().tolist(), *numbers, int(out.flat[0]))
        return out

    def _standard(self, node: Any) -> Places | None:
        """Div(Sub(x, mean), divisor) as one step, or None."""
        outer = self._by_constant(node.output[0], "Div", inner=False)
        inner = self._by_constant(outer[0], "Sub") if outer else None
        if outer is None or inner is None:
            return None
        x = self.places(inner[0])
        if any(np.broadcast_shapes(x.shape, c.shape) != x.shape for c in (inner[1], outer[1])):
            return None
        out = self.room(x.shape)
        numbers = [np.broadcast_to(c, x.shape).ravel().tolist() for c in (inner[1], outer[1])]
        self.step("standard", x.ravel().tolist(), *numbers, int(out.flat[0]))
        return out

    def _play(self, node: Any) -> Places | None:
        """Min(Max(p, Sub(x, radius)), Add(x, radius)) as one step, or None."""
        above, high = self.nodes.get(node.input[0]), self._by_constant(node.input[-1], "Add")
        if node.op_type != "Min" or above is None or above.op_type != "Max" or high is None or len(node.input) != 2:
            return None
        low = self._by_constant(above.input[-1], "Sub") if len(above.input) == 2 else None
        if low is None or low[0] != high[0] or not np.array_equal(low[1], high[1]) or self.uses[above.output[0]] != 1:
            return None
        x, p = self.places(high[0]), self.places(above.input[0])
        if x.shape != p.shape or np.broadcast_shapes(x.shape, low[1].shape) != x.shape:
            return None
        out = self.room(x.shape)
        radius = np.broadcast_to(low[1], x.shape).ravel().tolist()
        self.step("play", x.ravel().tolist(), p.ravel().tolist(), radius, int(out.flat[0]))
        return out

    def _softplus_argument(self, node: Any) -> str | None:
        """Return a of Add(Relu(a), Log(Add(Exp(Neg(Abs(a))), 1))), or None for any other node."""
        chain = []
        if node.op_type == "Add" and all(name in self.nodes for name in node.input):
            positive, log = (self.nodes[name] for name in node.input)
            for operator in ("Log", "Add", "Exp", "Neg", "Abs"):
                if log is None or log.op_type != operator:
                    return None
                chain.append(log)
                log = self.nodes.get(log.input[0])
            one = self.constants.get(chain[1].input[1])
            a: str = chain[-1].input[0]
            if one is not None and np.all(one == 1.0) and positive.op_type == "Relu" and positive.input[0] == a:
                return a
        return None

    def _gemm(self, node: Any, attributes: dict[str, Any], function: Any) -> Places:
        scale = {name: attributes[name].f if name in attributes else 1.0 for name in ("alpha", "beta")}
        turned = {name: bool(attributes[name].i) if name in attributes else False for name in ("transA", "transB")}
        weights = np.asarray(self.constant(node, 1), dtype=np.float64) * scale["alpha"]
        weights = weights.T if turned["transB"] else weights  # (k, n)
        third = node.input[2] if len(node.input) > 2 and node.input[2] else None
        if scale["beta"] != 1.0:
            raise self.refuse(node, "beta must be 1")
        if turned["transA"]:
            terms = self._terms(node, weights, third, function)
            if terms is not None:
                return terms
        a = self.places(node.input[0])
        return self._dense(node, a.T if turned["transA"] else a, weights, third, function)

    def _dense(self, node: Any, a: Places, weights: NDArray[Any], third: str | None, function: Any) -> Places:
        if a.ndim != 2 or a.shape[0] != 1 or weights.ndim != 2 or a.shape[1] != weights.shape[0]:
            raise self.refuse(node, f"shapes {a.shape} and {weights.shape} do not fit for one row")
        n = weights.shape[1]
        if third is None:
            zero = self.room((1,))
            c = np.broadcast_to(zero, (1, n))
        else:
            c = np.broadcast_to(self.places(third), (1, n))
        out = self.room((1, n))
        matrix = np.ascontiguousarray(weights.T, dtype=np.float64)
        self.step("dense", a.ravel().tolist(), matrix, c.ravel().tolist(), function, int(out.flat[0]))
        return out

    def _product(self, node: Any, attributes: dict[str, Any]) -> Places:
        axes = self.constant(node, 1) if len(node.input) > 1 else np.array(attributes["axes"].ints)
        keep = attributes["keepdims"].i if "keepdims" in attributes else 1
        if axes.size != 1:
            raise self.refuse(node, "it must reduce one axis")
        axis = int(axes.ravel()[0])
        factors = self._factors(node, axis, bool(keep))
        if factors is not None:
            return factors
        correlated = None if keep else compile_correlations(self, node, axis)
        if correlated is not None:
            return correlated
        x = np.moveaxis(self.places(node.input[0]), axis, -1)
        out = self.room(x.shape[:-1])
        self.step("product", x.ravel().tolist(), x.shape[-1], int(out.flat[0]))
        return np.expand_dims(out, axis) if keep else out

    # The polynomial pattern -------------------------------------------------------------------------------------------

    def _factors(self, node: Any, axis: int, keep: bool) -> Places | None:
        """ReduceProd(Add(Mul(argument (U, 1, 1), gain (U, d, 1)), shift)) as one step, or None."""
        add = self.nodes.get(node.input[0])
        mul = self.nodes.get(add.input[0]) if add is not None and add.op_type == "Add" else None
        if add is None or mul is None or mul.op_type != "Mul" or keep or axis != 1:
            return None
        gain, shift = self.constants.get(mul.input[1]), self.constants.get(add.input[1])
        argument = self.places(mul.input[0])
        rows = argument.shape[0]
        if gain is None or shift is None or gain.shape != shift.shape or gain.ndim != 3:
            return None
        if argument.shape != (rows, 1, 1) or gain.shape[0] != rows or gain.shape[2] != 1:
            return None
        real = [(g != 0.0) | (s != 1.0) for g, s in zip(gain[:, :, 0], shift[:, :, 0], strict=True)]
        by_depth = np.argsort([-int(r.sum()) for r in real], kind="stable")  # equal depths side by side waste least
        gains = [gain[i, real[i], 0].astype(float).tolist() or [0.0] for i in by_depth]
        shifts = [shift[i, real[i], 0].astype(float).tolist() or [1.0] for i in by_depth]
        room = self.room((rows,))
        self.step("factors", argument.ravel()[by_depth].tolist(), gains, shifts, int(room[0]))
        out = np.empty((rows, 1), dtype=np.int64)
        out[by_depth, 0] = room
        return out

    def _terms(self, node: Any, weights: NDArray[Any], third: str | None, function: Any) -> Places | None:
        """Gemm(product of Gathers (T, 1), coefficients; transA) as one step, or None."""
        gathers: list[Any] = []
        name = node.input[0]
        while name in self.nodes and self.nodes[name].op_type == "Mul":
            gathers.insert(0, self.nodes.get(self.nodes[name].input[1]))
            name = self.nodes[name].input[0]
        gathers.insert(0, self.nodes.get(name))
        constant = self.constants.get(third) if third else np.zeros(weights.shape[1])
        if any(g is None or g.op_type != "Gather" for g in gathers) or constant is None:
            return None
        if function != _core.Unary.none:
            return None
        places = [self.places(g.output[0]) for g in gathers]
        if any(p.shape != (weights.shape[0], 1) for p in places):
            return None
        out = self.room((1, weights.shape[1]))
        flat = np.broadcast_to(np.asarray(constant, dtype=float).ravel(), (weights.shape[1],)).tolist()
        matrix = np.ascontiguousarray(weights.T, dtype=np.float64)
        self.step("terms", [p.ravel().tolist() for p in places], matrix, flat, int(out.flat[0]))
        return out

    # What only moves numbers ------------------------------------------------------------------------------------------

    def _move(self, node: Any, attributes: dict[str, Any]) -> Places:
        operator = node.op_type
        axis = attributes["axis"].i if "axis" in attributes else 0
        if operator == "Where":
            a, b = self.places(node.input[1]), self.places(node.input[2])
            given = node.input[0] in self.constants
            condition = self.constant(node, 0) if given else self.places(node.input[0])
            self.spend(math.prod(np.broadcast_shapes(condition.shape, a.shape, b.shape)))
            if given:
                chosen: Places = np.where(condition, a, b)
                return chosen
            condition, a, b = np.broadcast_arrays(condition, a, b)
            out = self.room(a.shape)
            sides = (condition.ravel().tolist(), a.ravel().tolist(), b.ravel().tolist())
            self.step("select", *sides, int(out.flat[0]))
            return out
        if operator == "Concat":
            parts = [self.places(name) for name in node.input]
            self.spend(sum(part.size for part in parts))
            return np.concatenate(parts, axis=axis)
        x = self.places(node.input[0])
        if operator == "Gather":
            chosen_places = self.constant(node, 1)
            self.spend(x.size // max(x.shape[axis], 1) * chosen_places.size)
            return np.take(x, chosen_places, axis=axis)
        if operator == "Transpose":
            return x.transpose(list(attributes["perm"].ints) if "perm" in attributes else None)
        if operator == "Unsqueeze":
            return np.expand_dims(x, tuple(int(i) for i in self.constant(node, 1)))
        if operator == "Squeeze":
            return x.squeeze(tuple(int(i) for i in self.constant(node, 1)) if len(node.input) > 1 else None)
        if operator == "Reshape":
            shape = [x.shape[i] if n == 0 else int(n) for i, n in enumerate(self.constant(node, 1))]
            return x.reshape(shape)
        if operator == "Flatten":
            return x.reshape(1, -1)
        return x  # Identity
