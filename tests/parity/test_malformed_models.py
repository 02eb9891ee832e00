"""ONNX files and golden vectors of a bundle that are broken, or contradict bundle.json, are refused with a sentence."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import rt_runtime.bundle.golden as bundle_golden
from export import write
from rt_runtime.bundle.read import difference, read_bundle
from rt_runtime.errors import BundleError
from tests.fixtures.broken_bundles import replace_file
from tests.reference.exported_models import network_with_memory, polynomial


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original") / "brakes"
    models = {"front": network_with_memory(), "rear": polynomial(4)}
    write(models, folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "moved"))


def changed_onnx(folder: Path, change: Callable[[Any], Any]) -> None:
    proto = onnx.load_model_from_string((folder / "front.onnx").read_bytes())
    change(proto)
    replace_file(folder, "front.onnx", proto.SerializeToString())


def external(proto: Any) -> None:
    tensor = proto.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


BAD_ONNX: dict[str, Callable[[Any], Any]] = {
    "must hold its numbers itself, got a reference to another file": external,
    "must have neither functions nor sparse numbers": lambda p: p.functions.add(name="f", domain="d"),
    "must use operator set 21 of the standard operators alone": lambda p: p.opset_import.add(domain="x", version=1),
    "inputs of ONNX file 'front.onnx' must be u": lambda p: p.graph.input.append(
        helper.make_tensor_value_info("more", 11, ["N", 1])
    ),
    "outputs of ONNX file 'front.onnx' must be y": lambda p: p.graph.output.pop(),
    "hmor.inputs of ONNX file 'front.onnx' must be that of bundle.json, .* got None": lambda p: p.metadata_props.pop(3),
    "must have nodes that read what stands before them, got .*'nowhere'": lambda p: p.graph.node[1].input.append(
        "nowhere"
    ),
    "ONNX file 'front.onnx' cannot be read: .*": lambda p: p.graph.node[1].input.append("u"),
    "must have the operators Abs, .* alone, got node 'x' \\(Loop\\)": lambda p: setattr(
        p.graph.node[0], "op_type", "Loop"
    ),
    "must have attributes that are whole numbers or floats": lambda p: p.graph.node[0].attribute.append(
        helper.make_attribute("body", helper.make_graph([], "g", [], []))
    ),
    "must have nodes with one output of their own": lambda p: p.graph.node[1].output.append("more"),
    "must have at most 1000 nodes and constants": lambda p: p.graph.node.extend([p.graph.node[0]] * 1000),
    "must name each tensor once, got constant 'weights_1' again": lambda p: p.graph.initializer.append(
        next(i for i in p.graph.initializer if i.name == "weights_1")
    ),
    "must have constants of 1 to 4 dimensions, none of them empty": lambda p: p.graph.initializer[0].dims.append(0),
    "must hold 18 numbers in constant .*, got 48 bytes": lambda p: p.graph.initializer[0].dims.append(3),
    "must have finite numbers, got nan in constant 'weights_1'": lambda p: poison(p, "weights_1", np.nan),
    "must have finite numbers, got infinity in constant 'weights_1'": lambda p: poison(p, "weights_1", np.inf),
}


def poison(proto: Any, name: str, value: float) -> None:
    tensor = next(i for i in proto.graph.initializer if i.name == name)
    tensor.raw_data = np.array(value).tobytes() + tensor.raw_data[8:]


def change_words(key: str, old: str, new: str) -> Callable[[Any], None]:
    def change(proto: Any) -> None:
        prop = next(p for p in proto.metadata_props if p.key == key)
        assert old in prop.value
        prop.value = prop.value.replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("hmor.dt", "0.001", "0.002"),
        ("hmor.memory", '"initial": [0.0', '"initial": [1.0'),
        ("hmor.memory", '"input_lags": 1', '"input_lags": 2'),
        ("hmor.inputs", '"unit": "N"', '"unit": "kN"'),
        ("hmor.inputs", "50.0", "5000.0"),
        ("hmor.outputs", "tau_rw", "tau_fw"),
        ("hmor.kind", "ffnn", "pce"),
    ],
)
def test_what_a_model_says_of_itself_is_compared(folder: Path, key: str, old: str, new: str) -> None:
    """A file of another model with the right shapes, or an edited bundle.json, all hashes corrected."""
    changed_onnx(folder, change_words(key, old, new))
    with pytest.raises(
        BundleError, match=f"{key} of ONNX file 'front.onnx' must be that of bundle.json, .*, got .*export"
    ):
        read_bundle(folder)


@pytest.mark.parametrize("problem", BAD_ONNX)
def test_onnx_files_that_contradict_the_description(folder: Path, problem: str) -> None:
    changed_onnx(folder, BAD_ONNX[problem])
    with pytest.raises(BundleError, match=problem):
        read_bundle(folder)


def test_onnx_files_that_are_none(folder: Path) -> None:
    for content in (b"", b"not an onnx file", (folder / "front.onnx").read_bytes()[:-30]):
        replace_file(folder, "front.onnx", content)
        with pytest.raises(BundleError, match=r"ONNX file 'front.onnx' .*; export it again"):
            read_bundle(folder)


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def test_golden_vectors_of_another_shape(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = dict(np.load(folder / "front.golden.npz"))
    huge = {**good, "X": np.array(["x" * 10])}
    for problem, content in {
        "it must hold the arrays X, Y, u, y, got X": npz(X=good["X"]),
        "must have finite float64 rows of 6 values in 'X', got shape": npz(**{**good, "X": good["X"][:, 1:]}),
        "cannot be read: array 'Y' must be float64, got float32": npz(**{**good, "Y": good["Y"].astype("f4")}),
        "must have 200 to 10000 rows in 'X', got 199": npz(**{**good, "X": good["X"][1:], "Y": good["Y"][1:]}),
        "must have 200 to 10000 rows in 'u', got 20000": npz(
            **{**good, "u": np.tile(good["u"], (10, 1)), "y": np.tile(good["y"], (10, 1))}
        ),
        "must have at least 100 different rows in 'X', got 1;": npz(**{**good, "X": good["X"][:1].repeat(200, axis=0)}),
        "must have finite float64 rows of 1 values in 'y'": npz(**{**good, "y": np.full((2000, 1), np.nan)}),
        "must have as many rows in 'u' as in 'y'": npz(**{**good, "u": good["u"][:-1]}),
        "array 'X' must be float64, got <U10": npz(**huge),
        "array 'X' must be float64, got object": npz(**{**good, "X": np.array([object()])}),
        r"cannot be read: File is not a zip file": b"no zip",
    }.items():
        replace_file(folder, "front.golden.npz", content)
        with pytest.raises(BundleError, match=problem):
            read_bundle(folder)
    monkeypatch.setattr(bundle_golden, "MAX_MODEL", 20_000)
    replace_file(folder, "front.golden.npz", npz(**good))
    with pytest.raises(BundleError, match="it unpacks to more than 20000 bytes"):
        read_bundle(folder)


def test_differences_are_relative_to_the_largest_value_of_a_column() -> None:
    expected = np.array([[1.0, 1e6], [-4.0, 0.0]])
    assert difference(expected + [[0.0, 1.0], [0.0, 0.0]], expected) == pytest.approx(1e-6)
    assert difference(expected + [[0.0, 0.0], [0.2, 0.0]], expected) == pytest.approx(0.05)
    assert difference(np.full_like(expected, np.nan), expected) == float("inf")
    assert difference(expected[:1], expected) == float("inf")
    assert difference(np.zeros((0, 2)), np.zeros((0, 2))) == 0.0
    assert difference(np.zeros((3, 1)), np.zeros((3, 1))) == 0.0
