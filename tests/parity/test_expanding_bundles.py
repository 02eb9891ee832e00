"""Small files that would grow when they are compiled or run are refused before they cost time or memory."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, helper, numpy_helper

from export import write
from rt_runtime import load_bundle
from rt_runtime.bundle.plan import compile_onnx
from rt_runtime.errors import BundleError
from tests.fixtures.broken_bundles import replace_file
from tests.parity.test_malformed_models import npz
from tests.reference.exported_models import network

NODE = helper.make_node


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(network(), tmp_path / "b", name="rom").path


def before_the_model(folder: Path, nodes: list[NodeProto], constants: dict[str, Any], last: str) -> None:
    """Put nodes between the input u and the model; `last` is gathered back to the width of u."""
    proto = onnx.load_model_from_string((folder / "rom.onnx").read_bytes())
    graph = proto.graph
    for name, value in ({"back": np.array([0, 0])} | constants).items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    for node in graph.node:
        node.input[:] = ["u_back" if name == "u" else name for name in node.input]
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, NODE("Gather", [last, "back"], ["u_back"], axis=1), *rest])
    content = proto.SerializeToString()
    assert len(content) < 64 * 1024
    replace_file(folder, "rom.onnx", content)


def refused_cheaply(folder: Path, problem: str) -> None:
    """Load the bundle: refused with `problem`, in less than 5 s of CPU and 300 MB of Python's memory."""
    load_bundle(write(network(), folder.with_name("warm")).path)  # imports
    tracemalloc.start()
    begun = time.process_time()
    try:
        with pytest.raises(BundleError, match=problem):
            load_bundle(folder)
        assert time.process_time() - begun < 5.0
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()


def test_doubling(folder: Path) -> None:
    nodes = [NODE("Concat", [f"c{k}" if k else "u"] * 2, [f"c{k + 1}"], axis=1) for k in range(40)]
    before_the_model(folder, nodes, {}, "c40")
    refused_cheaply(folder, "must need at most 2097152 numbers in a plan; use a smaller model")


def test_gathering_the_same_again_and_again(folder: Path) -> None:
    nodes = [NODE("Gather", ["u", "many"], ["g1"], axis=1), NODE("Gather", ["g1", "many"], ["g2"], axis=0)]
    before_the_model(folder, nodes, {"many": np.zeros(3000, np.int64)}, "g2")
    refused_cheaply(folder, "must need at most 2097152 numbers in a plan")


def test_broadcasting(folder: Path) -> None:
    constants = {"tall": np.zeros((2000, 1)), "row": np.array([1, -1]), "flags": np.ones((1, 1), bool)}
    nodes = [
        NODE("Add", ["u", "tall"], ["a1"]), NODE("Reshape", ["a1", "row"], ["a2"]), NODE("Add", ["a2", "tall"], ["a3"]),
        NODE("Reshape", ["a3", "row"], ["a4"]),
    ]  # fmt: skip
    before_the_model(folder, nodes, constants, "a4")
    refused_cheaply(folder, r"(must need at most 2097152 numbers|cannot be read)")


def test_the_same_weights_in_many_layers(folder: Path) -> None:
    wide = {"wide": np.zeros(80, np.int64), "weights": np.ones((80, 80))}
    nodes = [NODE("Gather", ["u", "wide"], ["l0"], axis=1)]
    nodes += [NODE("Gemm", [f"l{k}", "weights"], [f"l{k + 1}"]) for k in range(400)]
    before_the_model(folder, nodes, wide, "l400")
    refused_cheaply(folder, r"(must need at most 2097152 numbers|its nodes follow each other too deep)")


def test_golden_vectors_that_take_long(folder: Path) -> None:
    """10 000 rows that are all but one value pack to nothing; so does what each of them would compute."""
    nodes = [NODE("Gather", ["u", "many"], ["g1"], axis=1), NODE("Gather", ["g1", "many"], ["g2"], axis=0)]
    nodes += [NODE("Exp", ["g2"], ["e1"]), NODE("Reshape", ["e1", "row"], ["e2"])]
    before_the_model(folder, nodes, {"many": np.zeros(500, np.int64), "row": np.array([1, -1])}, "e2")
    rows = np.zeros((10_000, 2))
    rows[:200, 0] = np.linspace(0.0, 1.0, 200)
    replace_file(folder, "rom.golden.npz", npz(X=rows, Y=np.ones((10_000, 1))))
    refused_cheaply(folder, "must be repeated in about 3 s, got 10000 rows of .* multiply-adds and .* elements")


def test_a_chain_that_is_deeper_than_the_stack() -> None:
    nodes = [NODE("Neg", [f"n{k}" if k else "u"], [f"n{k + 1}"]) for k in range(900)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [*nodes, NODE("Identity", ["n900"], ["y"])], "g", [value("u", 11, ["N", 1])], [value("y", 11, ["N", 1])]
    )
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()
    with pytest.raises(BundleError, match="Graph cannot be run by the core: its nodes follow each other too deep"):
        compile_onnx(content, "Graph")


def test_an_empty_tensor_of_huge_shape(folder: Path) -> None:
    proto = onnx.load_model_from_string((folder / "rom.onnx").read_bytes())
    tensor = proto.graph.initializer[0]
    tensor.dims[:] = [0, 10**12]
    tensor.raw_data = b""
    replace_file(folder, "rom.onnx", proto.SerializeToString())
    refused_cheaply(folder, "must have constants of 1 to 4 dimensions, none of them empty")
