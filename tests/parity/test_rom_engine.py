"""The core's ROM engine against onnxruntime and the models themselves, and everything it must refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from export import write
from mor import fit_pce
from mor.problems.functions import brake_map, ishigami
from mor.reduced.base import ReducedModel
from mor.reduced.memory import MemoryModel
from rt_runtime import BundleError, ConfigError, Loop, Pacing, Rom, Table, Tripped, load_bundle
from rt_runtime.bundle.plan import OPERATORS, compile_onnx
from rt_runtime.bundle.read import difference
from rt_runtime.bundle.rom import golden_difference
from tests.reference.exported_models import network, network_with_memory

MODELS: dict[str, ReducedModel] = {
    **{f"net_{a}": network(a) for a in ("tanh", "sigmoid", "relu", "softplus")},
    "net_deep": network(hidden=(7, 5, 3), outputs=2),
    "net_wide": network(hidden=(40,)),
    "net_skip": network("relu", outputs=2, skip=True),
    "memory": network_with_memory(),
    "memory_two": network_with_memory(2, 1, outputs=2),
}


def pce(degree: int) -> ReducedModel:
    function = brake_map()
    return fit_pce(function.dataset(200, seed=1), function.space, method="ols", degree=degree, q=1.0)


@pytest.fixture(scope="module", params=[*MODELS, "pce_3", "pce_10", "pce_ishigami"])
def model(request: pytest.FixtureRequest) -> ReducedModel:
    if request.param == "pce_ishigami":
        function = ishigami()
        return fit_pce(function.dataset(300, seed=1), function.space, method="ols", degree=6, q=1.0)
    if request.param.startswith("pce"):
        return pce(int(request.param.split("_")[1]))
    return MODELS[request.param]


def test_the_core_agrees_with_model_and_onnxruntime_to_1e_9(model: ReducedModel, tmp_path: Path) -> None:
    write(model, tmp_path / "b", name="rom")
    loaded = load_bundle(tmp_path / "b")
    assert loaded.differences["rom"] <= 1e-9
    rom = loaded.block()
    assert isinstance(rom, Rom)
    golden = rom.model.golden
    if isinstance(model, MemoryModel):
        u = golden.u
        assert u is not None
        assert difference(rom.rollout(u), model.rollout(u)) <= 1e-9
        assert rom.period == model.dt
    else:
        rows = golden.X
        assert difference(rom.predict(rows), model.predict(rows)) <= 1e-9


def test_core_and_onnxruntime_give_the_same_loop(tmp_path: Path) -> None:
    write(network_with_memory(), tmp_path / "b", name="rom")
    records = {}
    for engine in ("core", "onnxruntime"):
        loop = Loop(1000.0)
        for name, unit in (("F", "N"), ("w", "rad/s"), ("tau", "N m")):
            loop.signal(name, unit=unit)
        t = np.linspace(0.0, 0.2, 201)
        loop.add("excitation", Table(t, np.stack([25 + 20 * np.sin(40 * t), 20 + 90 * t], axis=1)), outputs=["F", "w"])
        block = load_bundle(tmp_path / "b", engine=engine).block()
        loop.add("rom", block, inputs=["F", "w"], outputs=["tau"])
        records[engine] = [loop.run(0.2)["tau"], loop.run(0.2)["tau"]]  # a second run starts from the beginning
        assert block.real_time is (engine == "core")
    for first, second in records.values():
        assert first.tobytes() == second.tobytes()
    assert difference(records["core"][0][:, None], records["onnxruntime"][0][:, None]) <= 1e-9


def test_a_paced_loop_refuses_onnxruntime_unless_insisted(tmp_path: Path) -> None:
    write(network(), tmp_path / "b")
    loop = Loop(200.0)
    for name in ("F", "w", "tau"):
        loop.signal(name)
    loop.add("table", Table([0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]]), outputs=["F", "w"])
    loop.add("rom", load_bundle(tmp_path / "b", engine="onnxruntime").block(), inputs=["F", "w"], outputs=["tau"])
    with pytest.raises(ConfigError, match="Block 'rom' is not made for a clock"):
        loop.run(0.05, paced=True)
    insisted = Pacing(not_real_time=True, priority=0, lock_memory=False)
    assert loop.run(0.05, paced=True, pacing=insisted).ticks == 10


def test_watching_the_domain_counts_inputs_outside(tmp_path: Path) -> None:
    write(network(), tmp_path / "b")
    loaded = load_bundle(tmp_path / "b")
    watched, plain = loaded.block(watch=True), loaded.block()
    assert watched.n_out == 2 and plain.n_out == 1
    inside = watched.step(0.0, np.array([25.0, 10.0]))
    assert inside[1] == 0.0 and inside[0] == plain.step(0.0, np.array([25.0, 10.0]))[0]
    assert watched.step(0.0, np.array([51.0, 10.0]))[1] == 1.0
    assert watched.step(0.0, np.array([-1.0, 90.0]))[1] == 2.0
    assert watched.step(0.0, np.array([np.nan, 10.0]))[1] == 1.0
    with pytest.raises(ConfigError, match="watch and outputs of a block need engine 'core', got engine 'onnxruntime'"):
        load_bundle(tmp_path / "b", engine="onnxruntime").block(watch=True)


@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus", "sigmoid"])
def test_a_nan_into_a_model_comes_out_and_stops_the_loop(activation: str, tmp_path: Path) -> None:
    write(network(activation), tmp_path / "b")
    block = load_bundle(tmp_path / "b").block()
    assert np.isnan(block.step(0.0, np.array([np.nan, 10.0]))[0])
    loop = Loop(1000.0)
    for name in ("F", "w", "tau"):
        loop.signal(name)
    loop.add("table", Table([0.0, 1.0], [[1e200, 1e200], [1e308, 1e308]]), outputs=["F", "w"])
    loop.add("rom", block, inputs=["F", "w"], outputs=["tau"])
    if activation == "relu":
        with pytest.raises(Tripped, match="signal 'tau' of block 'rom' is"):
            loop.run(1.0)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "softplus"])
@pytest.mark.parametrize("hidden", [(3,), (7, 5), (8,), (18,)])
def test_an_infinite_input_gives_what_onnxruntime_gives(
    activation: str, hidden: tuple[int, ...], tmp_path: Path
) -> None:
    """Also in layers that do not fill their registers; where no number comes out, none does here."""
    write(network(activation, hidden=hidden), tmp_path / "b")
    core, reference = (load_bundle(tmp_path / "b", engine=engine).block() for engine in ("core", "onnxruntime"))
    numbers = 0
    for u in ([np.inf, 0.3], [-np.inf, 0.3], [0.3, np.inf], [-np.inf, np.inf], [1e300, -1e300]):
        found, expected = (block.step(0.0, np.array(u)) for block in (core, reference))
        assert np.isfinite(found) == np.isfinite(expected)
        if np.isfinite(expected):
            numbers += 1
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert numbers or activation in ("relu", "softplus")


def test_dense_layers_and_the_polynomial_pattern_become_one_step_each(tmp_path: Path) -> None:
    plans = {}
    for name, one in (("net", network()), ("softplus", network("softplus")), ("pce", pce(10))):
        write(one, tmp_path / name)
        block = load_bundle(tmp_path / name).block()
        assert isinstance(block, Rom)
        plans[name] = block.plan
    assert plans["net"].steps == 1 and plans["net"].multiply_adds == 30  # the only output with its layer
    assert plans["softplus"].steps == 2
    assert plans["pce"].steps == 3  # standard, univariate, terms
    assert plans["pce"].multiply_adds < 66 * 2 + 2 * 10 * 11


def test_a_changed_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(network(), tmp_path / "b", name="rom")
    from rt_runtime.bundle import rom

    monkeypatch.setattr(rom, "difference", lambda got, expected: 2e-9)
    with pytest.raises(
        BundleError, match=r"Model 'rom' .* differs from its golden vectors by 2e-09, its tolerance is 1e-09"
    ):
        load_bundle(tmp_path / "b")


def test_a_corrupted_bundle_is_refused_before_the_first_tick(tmp_path: Path) -> None:
    write(network(), tmp_path / "b", name="rom")
    file = tmp_path / "b" / "rom.onnx"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(BundleError, match=r"File 'rom\.onnx' was changed or cut off"):
        load_bundle(tmp_path / "b")


def test_the_first_outputs_alone_can_be_kept(tmp_path: Path) -> None:
    write(network(outputs=2), tmp_path / "b", name="rom")
    loaded = load_bundle(tmp_path / "b")
    u = np.array([20.0, 100.0])
    whole, first = loaded.block().step(0.0, u), loaded.block(outputs=1).step(0.0, u)
    assert len(whole) == 2
    np.testing.assert_array_equal(first, whole[:1])
    with pytest.raises(ConfigError, match=r"outputs of Model 'rom' must lie between 1 and 2, got 3"):
        loaded.block(outputs=3)


def test_names_are_checked(tmp_path: Path) -> None:
    write({"a": network(), "b": network("relu")}, tmp_path / "b")
    loaded = load_bundle(tmp_path / "b")
    assert set(loaded.differences) == {"a", "b"} and len(loaded.hashes) == 1
    with pytest.raises(ConfigError, match=r"Model 'c' of bundle .* is unknown; it has a, b"):
        loaded.block("c")
    with pytest.raises(ConfigError, match="engine of load_bundle must be one of 'core', 'onnxruntime', got 'gpu'"):
        load_bundle(tmp_path / "b", engine="gpu")


def graph_file(nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], n_u: int = 2, n_y: int = 2) -> bytes:
    def tensor(name: str, width: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["N", width])

    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", [tensor("u", n_u)], [tensor("y", n_y)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return model.SerializeToString()


def run_both(content: bytes, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import onnxruntime

    from rt_runtime import _core

    plan, n_u, _ = compile_onnx(content, "Graph")
    rom = _core.Rom(plan, np.empty(0), np.full(n_u, -np.inf), np.full(n_u, np.inf), False, 0.0)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return np.asarray(rom.evaluate(rows)), np.concatenate([session.run(["y"], {"u": row[None]})[0] for row in rows])


ROWS = np.array([[0.3, 2.0], [1.5, 0.7], [0.9, 0.1]])
NODE = helper.make_node
GRAPHS = {
    "unary": [NODE("Exp", ["u"], ["a"]), NODE("Sqrt", ["a"], ["b"]), NODE("Log", ["b"], ["c"]), NODE("Abs", ["c"], ["d"]),
              NODE("Neg", ["d"], ["y"])],
    "binary": [NODE("Add", ["u", "row"], ["a"]), NODE("Mul", ["a", "one"], ["b"]), NODE("Div", ["u", "b"], ["c"]),
               NODE("Max", ["c", "one", "u"], ["d"]), NODE("Min", ["d", "row"], ["e"]), NODE("Sub", ["e", "u"], ["y"])],
    "moving": [NODE("Transpose", ["u"], ["a"], perm=[1, 0]), NODE("Gather", ["a", "turn"], ["b"], axis=0),
               NODE("Transpose", ["b"], ["c"], perm=[1, 0]), NODE("Concat", ["c", "u"], ["d"], axis=1),
               NODE("Reshape", ["d", "two_by_two"], ["e"]), NODE("Unsqueeze", ["e", "axis0"], ["f"]),
               NODE("Squeeze", ["f", "axis0"], ["g"]), NODE("Flatten", ["g"], ["h"], axis=0),
               NODE("Identity", ["h"], ["i"]), NODE("Gather", ["i", "turn"], ["k"], axis=1),
               NODE("Where", ["flags", "k", "u"], ["y"])],
    "comparing": [NODE("Less", ["u", "row"], ["a"]), NODE("Where", ["a", "u", "row"], ["b"]),
                  NODE("Greater", ["b", "one"], ["c"]), NODE("Where", ["c", "one", "b"], ["y"])],
    "matmul": [NODE("MatMul", ["u", "matrix"], ["a"]), NODE("Tanh", ["a"], ["b"]), NODE("Softplus", ["b"], ["c"]),
               NODE("Gemm", ["c", "matrix", "u"], ["d"], alpha=0.5), NODE("Sigmoid", ["d"], ["e"]),
               NODE("Gemm", ["e", "matrix"], ["y"], transB=1)],
    "product": [NODE("Concat", ["u", "u"], ["a"], axis=1), NODE("Reshape", ["a", "two_by_two_row"], ["b"]),
                NODE("ReduceProd", ["b", "axis1"], ["c"], keepdims=0), NODE("Relu", ["c"], ["y"])],
}  # fmt: skip
CONSTANTS = {
    "row": np.array([[0.5, -0.25]]), "one": np.array([1.5]), "turn": np.array([1, 0]), "two_by_two": np.array([2, 2]),
    "two_by_two_row": np.array([1, 2, 2]), "axis0": np.array([0]), "axis1": np.array([1]),
    "flags": np.array([True, False]), "matrix": np.array([[0.3, -1.2], [2.0, 0.4]]),
}  # fmt: skip


def needed(nodes: list[onnx.NodeProto]) -> dict[str, np.ndarray]:
    used = {name for node in nodes for name in node.input}
    return {name: value for name, value in CONSTANTS.items() if name in used}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_operator_of_the_white_list_agrees_with_onnxruntime(name: str) -> None:
    content = graph_file(GRAPHS[name], needed(GRAPHS[name]))
    if name == "matmul":  # onnxruntime has no Softplus in double precision; compare with numpy
        from rt_runtime import _core

        plan, *_ = compile_onnx(content, "Graph")
        rom = _core.Rom(plan, np.empty(0), np.full(2, -np.inf), np.full(2, np.inf), False, 0.0)
        m = CONSTANTS["matrix"]
        c = np.log1p(np.exp(np.tanh(ROWS @ m)))
        expected = (1.0 / (1.0 + np.exp(-(0.5 * c @ m + ROWS)))) @ m.T
        assert np.allclose(rom.evaluate(ROWS), expected, rtol=1e-14)
        return
    got, expected = run_both(content, ROWS)
    assert np.allclose(got, expected, rtol=1e-14, atol=0)


def test_the_white_list_is_covered_by_the_graphs_above() -> None:
    assert set(OPERATORS) == {node.op_type for nodes in GRAPHS.values() for node in nodes}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([NODE("Sin", ["u"], ["y"])], r"node 'y' \(Sin\): the operator must be one of Abs, Add"),
        ([NODE("MatMul", ["u", "u"], ["y"])], r"\(MatMul\): input 2 must be a constant of the file"),
        ([NODE("Gemm", ["u", "matrix", "row"], ["y"], beta=0.5)], r"\(Gemm\): beta must be 1"),
        ([NODE("Gemm", ["u", "matrix"], ["y"], transA=1)], r"\(Gemm\): shapes \(2, 1\) and \(2, 2\) do not fit"),
    ],
)
def test_what_the_core_cannot_run_is_refused_with_what_to_do(nodes: list[onnx.NodeProto], message: str) -> None:
    with pytest.raises(BundleError, match=message + r".*use engine='onnxruntime'"):
        compile_onnx(graph_file(nodes, needed(nodes)), "Graph")


def test_a_file_that_is_no_onnx_file_is_refused() -> None:
    with pytest.raises(BundleError, match="Graph must be an ONNX file, got something else"):
        compile_onnx(b"not a model at all", "Graph")
    renamed = graph_file([NODE("Tanh", ["u"], ["y"])], {}).replace(b"\x01u", b"\x01v")
    with pytest.raises(BundleError, match="Graph must have input u and output y"):
        compile_onnx(renamed, "Graph")


def test_float32_bundles_run_in_double_within_their_tolerance(tmp_path: Path) -> None:
    write(network(), tmp_path / "b", precision="float32", name="rom")
    rom = load_bundle(tmp_path / "b").block()
    assert isinstance(rom, Rom)
    assert golden_difference(rom) <= rom.model.tolerance
