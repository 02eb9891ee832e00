"""A model behind a gate gives the same numbers everywhere: closed, in between, at the edge, open, and for a nan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from export import verify, write
from export.c.compiler import find_compiler
from export.engines import CEngine, OnnxEngine
from export.fmu.host import FmuHost
from hmor.views.bundle import bundle_text
from mor import Gate, GatedModel
from mor.reduced.base import ReducedModel
from rt_runtime import load_bundle
from rt_runtime.bundle.read import Bundle, difference, read_bundle
from rt_runtime.bundle.rom import Rom
from rt_runtime.errors import BundleError, ConfigError
from tests.parity.test_malformed_bundles import rewrite
from tests.reference.exported_models import (
    constant_polynomial,
    network,
    network_with_memory,
    polynomial,
    sparse_polynomial,
)

SPAN = 0.7  # not a power of two: u / span and u * (1 / span) differ
MODELS: dict[str, Callable[[], ReducedModel]] = {
    "network": lambda: Gate("F_br", SPAN).around(network()),
    "softplus with direct path": lambda: Gate("w_rw", SPAN).around(network("softplus", outputs=2, skip=True)),
    "polynomial": lambda: Gate("F_br", SPAN).around(polynomial()),
    "logarithm": lambda: Gate("c", SPAN).around(sparse_polynomial()),
    "constant": lambda: Gate("F_br", SPAN).around(constant_polynomial()),
    "one of two outputs": lambda: Gate("F_br", SPAN, 0.21, (network(outputs=2).outputs[0].name,)).around(
        network(outputs=2)
    ),
    "closed for a while": lambda: Gate("F_br", SPAN, closed=0.21).around(network()),
}
REMEMBERED = {"input": "tau_rw_lag1", "span": 1.0, "outputs": ["tau_rw"]}
SHARES = np.array([-np.inf, -3.0, -1e-9, 0.0, 1e-9, 0.3, 0.5, 0.999, 1.0, 1.0 + 1e-9, 1.2])


@pytest.fixture(scope="module", params=MODELS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReducedModel, Bundle]:
    model = MODELS[request.param]()
    return model, write(model, tmp_path_factory.mktemp("gate") / "b", targets=("onnx", "c", "fmu", "fmu3"))


def engines(bundle: Bundle) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    model = bundle.model
    compiler = find_compiler()
    assert compiler is not None
    files = {name.split("/")[-1]: bundle.content[name] for name in model.description["c"]}
    rom = Rom(model)
    return {
        "onnxruntime": OnnxEngine(model.onnx, None).rows,
        "core": lambda X: np.asarray(rom.evaluate(X)),
        "c": CEngine(model.name, files, len(model.outputs), model.precision, compiler).rows,
    }


def rows(model: ReducedModel) -> tuple[np.ndarray, int]:
    assert isinstance(model, GatedModel)
    j = model.gate.column(model.inputs)
    X = np.tile(0.5 * (model.domain[0] + model.domain[1]), (len(SHARES), 1))
    X[:, j] = np.where(np.isfinite(SHARES), model.gate.closed + SHARES * model.gate.width, SHARES)
    X[SHARES == 1.0, j] = SPAN  # to the last bit
    return X, j


def fmu(bundle: Bundle, file: str, X: np.ndarray) -> np.ndarray:
    with FmuHost(bundle.content[file], len(bundle.model.inputs), len(bundle.model.outputs)) as host:
        return host.run(X, 1e-3)


def test_every_engine_repeats_golden_vectors_that_pass_through_the_gate(
    exported: tuple[ReducedModel, Bundle],
) -> None:
    model, bundle = exported
    _, j = rows(model)
    asked = bundle.model.golden.X[:, j]
    low = model.domain[0][j]
    assert isinstance(model, GatedModel)
    assert max(model.gate.closed, low) in asked and SPAN in asked and (asked > SPAN).any()
    assert ((asked > model.gate.closed) & (asked < SPAN)).sum() > 5
    if low <= 0.0:
        assert not bundle.model.golden.Y[asked <= model.gate.closed][:, model.vanishing].any()
    results = verify(bundle, {"model": model})
    assert [r.engine for r in results] == ["numpy", "onnxruntime", "rt_runtime", "c", "fmu", "fmu3"]
    assert all(r.ok for r in results), [r.to_dict() for r in results]


def test_closed_is_exactly_zero_and_the_rest_is_the_model(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    X, _ = rows(model)
    Y = model.predict(X)
    closed = SHARES <= 0.0
    assert isinstance(model, GatedModel)
    gone = model.vanishing
    assert not Y[closed][:, gone].any() and Y[~closed].all()
    answers = {name: answer(X) for name, answer in engines(bundle).items()}
    for file in bundle.model.description["fmu"]:
        answers[file] = np.vstack([np.zeros((1, Y.shape[1])), fmu(bundle, file, X[1:])])  # an FMU takes no infinity
    finite = slice(0 if gone.all() else 1, None)  # an output that goes on is asked at -inf itself
    for name, got in answers.items():
        assert not got[closed][:, gone].any(), name
        assert difference(got[finite], Y[finite]) < 1e-12, name


def test_a_nan_stays_one(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    X, j = rows(model)
    X = X[[3, 5, 10]]
    X[:, j] = np.nan
    assert np.isnan(model.predict(X)).all()
    for name, answer in engines(bundle).items():
        assert np.isnan(answer(X)).all(), name
    for file in bundle.model.description["fmu"]:
        with pytest.raises(ConfigError, match="FMU must accept fmi"):  # it refuses it, gate or not
            fmu(bundle, file, X)


def test_another_input_that_is_nan_is_not_hidden_by_a_closed_gate(tmp_path: Path) -> None:
    model = MODELS["network"]()
    bundle = write(model, tmp_path / "b", targets=("c",))
    X = np.array([[0.0, np.nan], [0.3, np.nan]])
    assert np.isnan(model.predict(X)).all()
    for name, answer in engines(bundle).items():
        assert np.isnan(answer(X)).all(), name


def test_the_graph_has_six_nodes_more_and_the_plan_three_steps(tmp_path: Path) -> None:
    plain, gated = (write(m, tmp_path / n) for n, m in (("a", network()), ("b", MODELS["network"]())))
    nodes = [[n.op_type for n in onnx.load_model_from_string(b.model.onnx).graph.node] for b in (plain, gated)]
    assert nodes[1] == ["Max", *nodes[0], "Gather", "Div", "Max", "Min", "Mul"]
    assert Rom(gated.model).plan.steps == Rom(plain.model).plan.steps + 3  # two clips and a product
    assert gated.model.description["multiply_adds"] == plain.model.description["multiply_adds"] + 2


def test_it_is_described_and_runs_in_a_loop(tmp_path: Path) -> None:
    bundle = write(MODELS["network"](), tmp_path / "b", targets=("c",))
    assert bundle.model.description["gate"] == {"input": "F_br", "span": SPAN}
    assert b"The outputs vanish with F_br: below 0.7 they fade linearly to zero" in bundle.content["c/model.h"]
    block = load_bundle(tmp_path / "b").block()
    assert block.step(0.0, np.array([0.0, 20.0])).tolist() == [0.0]
    assert "gate      no output without F_br, all of it from 0.7 on" in bundle_text(bundle)
    plain = write(network(), tmp_path / "c")
    assert "gate" not in plain.model.description and "gate" not in bundle_text(plain)


def test_single_precision_closes_too(tmp_path: Path) -> None:
    model = MODELS["network"]()
    bundle = write(model, tmp_path / "b", targets=("c", "fmu"), precision="float32")
    assert all(r.ok for r in verify(bundle) if not r.skipped)
    for name, answer in engines(bundle).items():
        assert not answer(np.array([[0.0, 20.0], [-1.0, 20.0]])).any(), name


@pytest.mark.parametrize(
    ("model", "gate", "message"),
    [
        (0, {"input": "thr", "span": 1.0}, r"gate of models\[0\] must have an input out of F_br, w_rw and a span, got"),
        (0, {"input": "F_br"}, r"gate of models\[0\] must have an input out of F_br, w_rw and a span, got"),
        (0, None, r"gate of models\[0\] must have an input out of F_br, w_rw and a span, got None"),
        (0, {"input": "F_br", "span": 0}, r"span of the gate of models\[0\] must be positive, got 0"),
        (0, {"input": "F_br", "span": 10**400}, r"span of the gate of models\[0\] must be positive, got 1000"),
        (
            0,
            {"input": "F_br", "span": 1.0, "closed": 1.0},
            r"closed of the gate of models\[0\] must lie in \[0, 1\), below",
        ),
        (
            0,
            {"input": "F_br", "span": 1.0, "outputs": ["p"]},
            r"outputs of the gate of models\[0\] must be some of tau_rw, got \['p'\]",
        ),
        (
            1,
            {"input": "F_br", "span": 1.0},
            r"gate of models\[1\] must have .* tau_rw_lag2, the outputs that vanish and a",
        ),
        (
            1,
            REMEMBERED | {"input": "tau"},
            r"gate of models\[1\] must have an input out of F_br, w_rw, F_br_lag1, w_rw_lag1",
        ),
        (1, REMEMBERED | {"outputs": ["p"]}, r"outputs of the gate of models\[1\] must be some of tau_rw, got \['p'\]"),
        (1, REMEMBERED | {"outputs": []}, r"outputs of the gate of models\[1\] must be some of tau_rw, got \[\]"),
        (
            1,
            REMEMBERED,
            r"bounds of 'tau_rw' in outputs of models\[1\] must contain 0 behind a gate, got \[10.0, 80.0\]",
        ),
        (
            0,
            {"input": "F_br", "span": 1.0},
            r"hmor.gate of ONNX file 'rear.onnx' must be that of bundle.json, .*, got None",
        ),
    ],
)
def test_a_bundle_that_names_a_wrong_gate_is_refused(tmp_path: Path, model: int, gate: object, message: str) -> None:
    write({"rear": network(), "front": network_with_memory()}, tmp_path / "b")
    rewrite(tmp_path / "b", lambda d: d["models"][model].update(gate=gate))
    with pytest.raises(BundleError, match=message):
        read_bundle(tmp_path / "b")


@pytest.mark.parametrize("memory", [7, {}, {"input_lags": 1, "output_lags": 2, "state": 7, "initial": []}])
def test_a_gate_beside_a_broken_memory_is_refused_in_words(tmp_path: Path, memory: object) -> None:
    write({"rear": network_with_memory()}, tmp_path / "b")
    rewrite(tmp_path / "b", lambda d: d["models"][0].update(gate=REMEMBERED, memory=memory))
    with pytest.raises(BundleError, match=r"(memory|state) of models\[0\] must "):
        read_bundle(tmp_path / "b")
