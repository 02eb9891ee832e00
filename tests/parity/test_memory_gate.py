"""A model with memory behind a gate gives the same numbers everywhere: one step, free run, closed, open, and a nan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from export import verify, write
from export.c.compiler import find_compiler
from export.engines import CEngine, OnnxEngine
from hmor.views.bundle import bundle_text
from mor.reduced.memory import MemoryModel
from rt_runtime import load_bundle
from rt_runtime.bundle.read import Bundle, difference
from rt_runtime.bundle.rom import Rom
from tests.reference.gated_memories import CLOSED, MODELS, SPAN, bare, gate_of
from tests.reference.memory_twin import one_step_map


@pytest.fixture(scope="module", params=MODELS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryModel, Bundle]:
    model = MODELS[request.param]()
    return model, write(model, tmp_path_factory.mktemp("gate") / "b", targets=("onnx", "c", "fmu", "fmu3"))


def engines(bundle: Bundle) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    model = bundle.model
    compiler = find_compiler()
    assert compiler is not None and model.memory is not None
    files = {name.split("/")[-1]: bundle.content[name] for name in model.description["c"]}
    rom = Rom(model)
    return {
        "onnxruntime": OnnxEngine(model.onnx, model.memory.initial).rows,
        "core": lambda X: np.asarray(rom.evaluate(X)),
        "c": CEngine(model.name, files, len(model.outputs), model.precision, compiler).rows,
    }


def test_every_engine_repeats_golden_vectors_that_pass_through_the_gate(exported: tuple[MemoryModel, Bundle]) -> None:
    model, bundle = exported
    gate, golden = gate_of(model), bundle.model.golden
    assert golden.u is not None and golden.y is not None
    asked = golden.X[:, gate.column(model.step.inputs)]
    gated = gate.vanishing(model.outputs)
    assert gate.closed in asked and gate.span in asked and ((asked > gate.closed) & (asked < gate.span)).sum() > 5
    assert not golden.Y[asked <= gate.closed][:, gated].any()
    run = bare(model).rollout(golden.u)
    assert not golden.y[0, gated].any() or gate.input == "F_br"
    for i in np.flatnonzero(gated):
        share = golden.y[:, i] / np.where(run[:, i] == 0.0, 1.0, run[:, i])
        assert (golden.y[:, i] == 0.0).sum() > 100 and (share > 0.5).sum() > 100
    results = verify(bundle, {"model": model})
    assert [r.engine for r in results] == ["numpy", "onnxruntime", "rt_runtime", "c", "fmu", "fmu3"]
    assert all(r.ok for r in results), [r.to_dict() for r in results]
    assert all(r.run is not None for r in results)


def test_closed_is_exactly_zero_open_is_the_model_and_a_nan_stays_one(exported: tuple[MemoryModel, Bundle]) -> None:
    model, bundle = exported
    gate = gate_of(model)
    j, gated = gate.column(model.step.inputs), gate.vanishing(model.outputs)
    X = np.tile(0.5 * (model.step.domain[0] + model.step.domain[1]), (7, 1))
    middle = 0.5 * (gate.closed + gate.span)
    X[:, j] = [-1e9, 0.0, gate.closed, middle, gate.span, 1.5 * gate.span, np.nan]
    Y, free = one_step_map(model, X), one_step_map(bare(model), X)
    assert not Y[:3, gated].any() and Y[3:6].all() and np.array_equal(Y[4:6], free[4:6])
    for name, answer in engines(bundle).items():
        got = answer(X)
        assert not got[:3, gated].any(), name
        assert difference(got[:6], Y[:6]) < 1e-12, name
        assert np.isnan(got[6, gated]).all(), name


def test_the_graph_has_seven_nodes_more_and_the_plan_three_steps(tmp_path: Path) -> None:
    gated = MODELS["state"]()
    bundles = [write(m, tmp_path / n) for n, m in (("a", bare(gated)), ("b", gated))]
    plain, more = ([n.op_type for n in onnx.load_model_from_string(b.model.onnx).graph.node] for b in bundles)
    assert more == [*plain[:-4], "Gather", "Sub", "Div", "Max", "Min", "Mul", "Where", *plain[-4:]]
    steps = [Rom(b.model).plan.steps for b in bundles]
    assert steps[1] == steps[0] + 3  # (x - closed) / width, clip, product; Gather and Where only name places
    cost = [b.model.description["multiply_adds"] for b in bundles]
    assert cost[1] == cost[0] + 2


def test_it_is_described_and_runs_in_a_loop(tmp_path: Path) -> None:
    model = MODELS["state"]()
    bundle = write(model, tmp_path / "b", targets=("c",))
    said = {"input": "p_lag1", "span": SPAN, "closed": CLOSED, "outputs": ["tau_rw"]}
    assert bundle.model.description["gate"] == said
    text = b"tau_rw vanish with p_lag1: below 1400000 they fade linearly to zero at 1100000, and stay there."
    assert text in bundle.content["c/model.h"]
    assert "gate      no tau_rw up to 1.1e+06 of p_lag1, all of it from 1.4e+06 on" in bundle_text(bundle)
    u = np.random.default_rng(0).uniform(0.0, 50.0, (200, 2))
    block = load_bundle(tmp_path / "b").block(outputs=1)
    got = np.array([block.step(1e-3 * k, row)[0] for k, row in enumerate(u)])
    np.testing.assert_allclose(got, model.rollout(u)[:, 0], rtol=1e-9, atol=1e-9)
    assert (got == 0.0).any() and got.any()


def test_single_precision_closes_too(tmp_path: Path) -> None:
    model = MODELS["state"]()
    bundle = write(model, tmp_path / "b", targets=("c", "fmu"), precision="float32")
    assert all(r.ok for r in verify(bundle) if not r.skipped)
    x = np.concatenate([[20.0, 20.0], np.zeros(model.initial.size)])
    for name, answer in engines(bundle).items():
        got = answer(x[None, :])[0]
        assert got[0] == 0.0 and got[1] > 0.0, name
