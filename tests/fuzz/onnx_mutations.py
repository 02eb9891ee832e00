"""Mutations of an ONNX file: fields, constants, nodes, metadata, bytes, and graphs that grow out of a few KiB."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.fuzz.json_mutations import WORDS, Files, Rng, anything, of_kind, paths, spoiled

OPERATORS = [
    "Abs", "Add", "Concat", "Div", "Exp", "Flatten", "Gather", "Gemm", "Identity", "Log", "MatMul", "Max", "Min", "Mul",
    "Neg", "ReduceProd", "Relu", "Reshape", "Sigmoid", "Softplus", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose",
    "Unsqueeze", "Where", "Loop", "If", "Scan", "ConstantOfShape", "Expand", "Tile", "Range", "Constant", "Sin", "", "Nope",
]  # fmt: skip


def onnx_change(change: Callable[[Rng, Any], None]) -> Callable[[Rng, Files], None]:
    """Apply a change of a parsed model to one of the ONNX files."""

    def apply(rng: Rng, files: Files) -> None:
        name = of_kind(rng, files, ".onnx")
        if name is None:
            return
        try:
            proto = onnx.load_model_from_string(files[name])
            change(rng, proto)
            files[name] = proto.SerializeToString()
        except Exception:  # what cannot be built is no attack
            return

    return apply


def field(rng: Rng, proto: Any) -> None:
    """Change any field of any message of the file."""
    message = proto
    while True:
        inner = [v for f, v in message.ListFields() if f.message_type is not None]
        flat = [m for v in inner for m in (list(v) if not hasattr(v, "DESCRIPTOR") else [v])]
        if not flat or rng.random() < 0.25:
            break
        message = rng.choice(flat)
    fields = [f for f, _ in message.ListFields()] if rng.random() < 0.7 else list(message.DESCRIPTOR.fields)
    if not fields:
        return
    f = rng.choice(fields)
    value = getattr(message, f.name)
    if rng.random() < 0.15:
        message.ClearField(f.name)
        return
    repeated = not isinstance(value, int | float | str | bytes) and not hasattr(value, "DESCRIPTOR")
    if repeated:
        if len(value) and rng.random() < 0.7:
            at = rng.randrange(len(value))
            if rng.random() < 0.4:
                del value[at]
            elif f.message_type is not None:
                copies = [value[at]] * rng.choice((1, 2, 100))
                value.extend(copies)
            else:
                value[at] = plain(rng, value[at])
        elif f.message_type is None:
            value.append(plain(rng, {9: "", 12: b""}.get(f.type, 0)))
        else:
            value.add()
    elif f.message_type is None:
        setattr(message, f.name, plain(rng, value))
    else:
        value.SetInParent()


def plain(rng: Rng, value: Any) -> Any:
    """Return another value of the type of `value`."""
    if isinstance(value, bytes):
        at = rng.randrange(len(value) + 1)
        noise = rng.randbytes(8)
        nan = np.array(rng.choice((np.nan, np.inf, 1e300, 0.0))).tobytes()
        return rng.choice([b"", value[:at], value + noise, value[:at] + noise + value[at + 8 :], value[: at // 8 * 8] + nan + value[at // 8 * 8 + 8 :], rng.choice(WORDS).encode(errors="replace")])  # fmt: skip
    if isinstance(value, str):
        return rng.choice([*WORDS[:10], *WORDS[11:], value + "x", value[:-1], *OPERATORS])
    if isinstance(value, float):
        return rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
    return rng.choice((0, 1, -1, 2, 3, 7, 11, 16, 255, 10**6, 2**31 - 1))


def tensor(rng: Rng, proto: Any) -> None:
    """Change shape, type or numbers of a constant."""
    one = rng.choice(proto.graph.initializer)
    array = numpy_helper.to_array(one)
    way = rng.randrange(9)
    if way == 0:
        one.dims[:] = [rng.choice((0, 1, -1, 2, 10**9, 2**40)) for _ in range(rng.randrange(4))]
        return
    if way == 1:
        one.data_type = rng.choice((0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 14, 16, 999))
        return
    if way == 2:
        array = array.astype(rng.choice((np.float32, np.float64, np.int64, np.int32, np.bool_, np.complex128)))
    elif way == 3:
        array = np.array(array)
        if array.size:
            array.flat[rng.randrange(array.size)] = rng.choice((0, 1, -1, 5, 10**9)) if array.dtype.kind in "ib" else rng.choice((np.nan, np.inf, -np.inf, 1e300, 0.0, 1.0))  # fmt: skip
    elif way == 4:
        array = array.reshape(rng.choice([(-1,), (1, -1), (-1, 1), (1, 1, -1)]))
    elif way == 5:
        array = np.repeat(array.ravel(), rng.choice((2, 50)))
    elif way == 6:
        array = array.ravel()[: rng.randrange(array.size + 1)]
    elif way == 7:
        array = np.zeros((0, 10**6)) if rng.random() < 0.5 else np.array(3.0)
    else:
        array = array.T
    one.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), one.name))


def node(rng: Rng, proto: Any) -> None:
    """Change operator, inputs, outputs or attributes of a node, or add one."""
    graph = proto.graph
    one = rng.choice(graph.node)
    names = [
        *(i.name for i in graph.initializer),
        *(n.output[0] for n in graph.node if n.output),
        "u",
        "state",
        "",
        "nowhere",
    ]
    way = rng.randrange(8)
    if way == 0:
        one.op_type = rng.choice(OPERATORS)
    elif way == 1 and one.input:
        one.input[rng.randrange(len(one.input))] = rng.choice(names)
    elif way == 2:
        one.input.append(rng.choice(names))
    elif way == 3 and one.input:
        del one.input[rng.randrange(len(one.input))]
    elif way == 4:
        one.output[:] = rng.choice(([], ["y", "y"], ["y"], [rng.choice(names)], ["", "x"]))
    elif way == 5:
        name = rng.choice(("axis", "perm", "transA", "transB", "alpha", "beta", "keepdims", "axes", "allowzero", "to"))
        value = rng.choice((0, 1, -1, 99, 2**40, 0.5, [1, 0], [0, 0], [5, 6, 7], [], "text", float("nan")))
        if value != []:
            one.attribute.append(helper.make_attribute(name, value))
    elif way == 6:
        graph.node.insert(rng.randrange(len(graph.node)), rng.choice(graph.node))
    else:
        bomb(rng, graph)


def bomb(rng: Rng, graph: Any) -> None:
    """Let an input grow: doubled, gathered or broadcast again and again, from a file of a few KiB."""
    way = rng.randrange(5)
    steps = rng.choice((5, 12, 24, 40))
    name = graph.node[0].input[0]
    chain = []
    if way == 0:
        for k in range(steps):
            chain.append(helper.make_node("Concat", [name, name], [f"bomb{k}"], axis=1))
            name = f"bomb{k}"
    elif way == 1:
        graph.initializer.append(numpy_helper.from_array(np.zeros(500, np.int64), "many"))
        for k in range(min(steps, 6)):
            chain.append(helper.make_node("Gather", [name, "many"], [f"bomb{k}"], axis=1))
            name = f"bomb{k}"
    elif way == 2:
        graph.initializer.append(numpy_helper.from_array(np.zeros((1000, 1)), "tall"))
        for k in range(steps):
            shape = np.array([1, -1] if k % 2 else [-1, 1])
            graph.initializer.append(numpy_helper.from_array(shape, f"shape{k}"))
            chain.append(helper.make_node("Add", [name, "tall"], [f"wide{k}"]))
            chain.append(helper.make_node("Reshape", [f"wide{k}", f"shape{k}"], [f"bomb{k}"]))
            name = f"bomb{k}"
    elif way == 3:
        for k in range(steps * 100):
            chain.append(helper.make_node("Neg", [name], [f"bomb{k}"]))
            name = f"bomb{k}"
    else:
        width = 60
        graph.initializer.append(numpy_helper.from_array(np.ones((width, width)), "weights_again"))
        graph.initializer.append(numpy_helper.from_array(np.zeros(width, np.int64), "wider"))
        chain.append(helper.make_node("Gather", [name, "wider"], ["bomb"], axis=1))
        name = "bomb"
        for k in range(steps * 50):
            chain.append(helper.make_node("Gemm", [name, "weights_again"], [f"bomb{k}"]))
            name = f"bomb{k}"
    graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 0]), "back"))
    chain.append(helper.make_node("Gather", [name, "back"], ["bombed"], axis=1))
    graph.node[0].input[0] = "bombed"
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*chain, *rest])


def metadata(rng: Rng, proto: Any) -> None:
    """Change what the file says about itself."""
    one = rng.choice(proto.metadata_props)
    try:
        value = json.loads(one.value)
        place = rng.choice(paths(value))
        if not place:
            value = anything(rng, value)
        else:
            target = value
            for key in place[:-1]:
                target = target[key]
            target[place[-1]] = anything(rng, target[place[-1]])
        one.value = json.dumps(value)
    except (ValueError, OverflowError):
        one.value = rng.choice(["", "[" * 2000, "NaN", "{}"])


def onnx_bytes(rng: Rng, files: Files) -> None:
    """Flip, insert or cut bytes of an ONNX file."""
    name = of_kind(rng, files, ".onnx")
    if name is not None:
        files[name] = spoiled(rng, files[name])
