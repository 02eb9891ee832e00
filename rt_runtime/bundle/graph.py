"""What an ONNX file of a bundle may hold, and whether it says the same as bundle.json. Outside the loop.

The file is checked in three steps, each of bounded work: it is small and plain (no subgraph, no other file, operators
of the core alone, every constant whole and finite), it is valid ONNX, and its metadata agree with bundle.json.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rt_runtime.bundle.checks import AROUND
from rt_runtime.bundle.files import strict_json
from rt_runtime.bundle.plan import OPERATORS

OPSETS = (21,)
MAX_NODES = 1000
ELEMENTS = {"float64": 11, "float32": 1}
"""Precision -> ONNX element type."""
_CONSTANTS: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 11: np.dtype("<f8"), 7: np.dtype("<i8"), 9: np.dtype("?")}
_FLOAT, _INT, _INTS = 1, 2, 7  # types of attributes


def check_onnx(entry: dict[str, Any], content: bytes) -> list[str]:
    """Return every way in which an ONNX file contradicts its entry in bundle.json; the file is not executed."""
    import onnx

    what = f"ONNX file '{entry['onnx']}'"
    try:
        proto = onnx.load_model_from_string(content)
        found = next(_unusual(proto), None)
        if found is not None:
            return [f"{what} {found}; export it again."]
        onnx.checker.check_model(proto, full_check=True)
    except Exception as error:  # protobuf and onnx raise many kinds, none of them derived from one another
        return [f"{what} cannot be read: {' '.join(str(error).split())[:300]}; export it again."]
    return [*_check_ports(proto.graph, entry, what), *_check_metadata(proto, entry, what)]


def _unusual(proto: Any) -> Iterator[str]:
    """Say what a file holds that export.write does not write, from the cheapest check on."""
    graph = proto.graph
    if len(proto.functions) or len(proto.training_info) or len(graph.sparse_initializer):
        yield "must have neither functions nor sparse numbers"
    if len(graph.node) > MAX_NODES or len(graph.initializer) > MAX_NODES:
        yield f"must have at most {MAX_NODES} nodes and constants, got {len(graph.node)} and {len(graph.initializer)}"
    opsets = [(o.domain, o.version) for o in proto.opset_import]
    if len(opsets) != 1 or opsets[0][0] != "" or opsets[0][1] not in OPSETS:
        yield f"must use operator set {OPSETS[0]} of the standard operators alone, got {opsets}"
    known = {value.name for value in graph.input}
    infinite: set[str] = set()
    yield from _unusual_constants(graph, known, infinite)
    yield from _unusual_nodes(graph, known, infinite)


def _unusual_constants(graph: Any, known: set[str], infinite: set[str]) -> Iterator[str]:
    """Do so for the constants; add their names to `known`, and to `infinite` those that hold an infinity."""
    for tensor in graph.initializer:
        where = f"constant {tensor.name!r}"
        if tensor.data_location or len(tensor.external_data):
            yield f"must hold its numbers itself, got a reference to another file in {where}"
        kind, dims = _CONSTANTS.get(tensor.data_type), list(tensor.dims)
        if kind is None or not 1 <= len(dims) <= 4 or min(dims) < 1:
            yield f"must have constants of 1 to 4 dimensions, none of them empty, in known types, got {where} {dims}"
            return
        if math.prod(dims) * kind.itemsize != len(tensor.raw_data):
            yield f"must hold {math.prod(dims)} numbers in {where}, got {len(tensor.raw_data)} bytes"
        if kind.kind == "f":
            values = np.frombuffer(tensor.raw_data, kind)
            if np.isnan(values).any():
                yield f"must have finite numbers, got nan in {where}"
            if np.isinf(values).any():
                infinite.add(tensor.name)
        if not tensor.name or tensor.name in known:
            yield f"must name each tensor once, got {where} again"
        known.add(tensor.name)


def _unusual_nodes(graph: Any, known: set[str], infinite: set[str]) -> Iterator[str]:
    """Do so for the nodes, in their order; only a bound may be infinite."""
    for node in graph.node:
        where = f"node {node.name or ', '.join(node.output)!r} ({node.op_type})"
        if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
            yield f"must have the operators {', '.join(OPERATORS)} alone, got {where}"
        if any(a.type not in (_FLOAT, _INT, _INTS) or a.ref_attr_name for a in node.attribute):
            yield f"must have attributes that are whole numbers or floats, got others at {where}"
        if not node.input or not set(node.input) <= known:
            yield f"must have nodes that read what stands before them, got {list(node.input)} at {where}"
        if len(node.output) != 1 or not node.output[0] or node.output[0] in known:
            yield f"must have nodes with one output of their own, got {list(node.output)} at {where}"
        bounds = set(node.input[1:]) if node.op_type in ("Max", "Min") else set()
        if bad := infinite & (set(node.input) - bounds):
            yield f"must have finite numbers, got infinity in constant {min(bad)!r}, which is no bound of {where}"
        known.update(node.output)


def _check_ports(graph: Any, entry: dict[str, Any], what: str) -> list[str]:
    """Compare the inputs and outputs of the graph with the signals and the state."""
    n_state = 0 if entry["memory"] is None else len(entry["memory"]["state"])
    expected_in = {"u": len(entry["inputs"])} | ({"state": n_state} if n_state else {})
    expected_out = {"y": len(entry["outputs"])} | ({"state_next": n_state} if n_state else {})
    element = ELEMENTS[entry["precision"]]
    problems = []
    for side, values, expected in (("inputs", graph.input, expected_in), ("outputs", graph.output, expected_out)):
        got = {v.name: _shape(v) for v in values}
        need = {name: (element, None, width) for name, width in expected.items()}
        if got != need or len(values) != len(need):
            shapes = ", ".join(f"{name} (N, {width})" for name, width in expected.items())
            problems.append(f"{side} of {what} must be {shapes} in {entry['precision']}; export it again.")
    return problems


def _shape(value: Any) -> tuple[int, int | None, int] | None:
    tensor = value.type.tensor_type
    dims = tensor.shape.dim
    if len(dims) != 2:
        return None
    return tensor.elem_type, (dims[0].dim_value or None), dims[1].dim_value


def own_words(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what the metadata of the ONNX file must say for an entry of bundle.json, by key without "hmor."."""
    words: dict[str, Any] = {
        "format": 1,
        "kind": entry["kind"],
        "precision": entry["precision"],
        "inputs": entry["inputs"],
        "outputs": [{"name": s["name"], "unit": s["unit"]} for s in entry["outputs"]],
    }
    if entry["memory"] is not None:
        words["dt"] = entry["dt"]
        told = [key for key in ("input_lags", "output_lags", "operators", "initial") if key in entry["memory"]]
        words["memory"] = {key: entry["memory"][key] for key in told}
    return words | {key: entry[key] for key in AROUND if key in entry}


def _check_metadata(proto: Any, entry: dict[str, Any], what: str) -> list[str]:
    """Compare what the file says of itself (signals, memory, what stands around the model) with bundle.json."""
    said = {p.key: p.value for p in proto.metadata_props}
    need = {f"hmor.{key}": value for key, value in own_words(entry).items()}
    optional = {f"hmor.{key}" for key in ("dt", "memory", *AROUND)}
    problems = []
    for key in sorted({*need, *(k for k in said if k in optional)}):
        try:
            got = strict_json(said[key])
        except (KeyError, TypeError, ValueError):  # a text that is not UTF-8 comes as bytes
            got = None
        if got != need.get(key):
            problems.append(
                f"{key} of {what} must be that of bundle.json, {need.get(key)}, got {got}; the file is of another "
                "model or bundle.json was edited, export it again."
            )
    return problems
