"""Bundles and model files of format 1, written by the version that had it, still load and give their numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import verify, write
from mor import ReducedModel
from rt_runtime import load_bundle
from rt_runtime.bundle.read import difference, read_bundle

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "bundle_format_1"
NAMES = sorted(file.stem for file in (FOLDER / "models").iterdir())


def test_the_bundle_loads_and_every_engine_repeats_its_golden_vectors() -> None:
    assert read_bundle(FOLDER / "bundle").description["format"] == 1
    for engine in ("core", "onnxruntime"):
        assert max(load_bundle(FOLDER / "bundle", engine=engine).differences.values()) < 1e-12
    assert set(load_bundle(FOLDER / "bundle").bundle.models) == set(NAMES) and len(NAMES) == 11


@pytest.mark.parametrize("name", NAMES)
def test_saved_models_load_and_give_the_answers_of_then(name: str) -> None:
    model, golden = (
        ReducedModel.load(FOLDER / "models" / f"{name}.npz"),
        read_bundle(FOLDER / "bundle").models[name].golden,
    )
    n_u = len(model.inputs)
    assert difference(model.advance(golden.X[:, :n_u], golden.X[:, n_u:])[0], golden.Y) < 1e-12
    assert ("memory" in name or "filters" in name) == bool(model.states)
    if golden.u is not None and golden.y is not None:
        assert difference(model.rollout(golden.u), golden.y) < 1e-12


def test_a_block_of_an_old_model_runs() -> None:
    loaded = load_bundle(FOLDER / "bundle")
    golden = loaded.bundle.models["gated_memory_state"].golden
    assert golden.u is not None and golden.y is not None
    block = loaded.block("gated_memory_state")
    got = np.array([block.step(1e-3 * k, row) for k, row in enumerate(golden.u[:300])])
    np.testing.assert_allclose(got, golden.y[:300], rtol=1e-9, atol=1e-9)


def test_an_old_model_behind_a_gate_is_saved_and_exported_again_with_its_numbers(tmp_path: Path) -> None:
    """Its bounds stand in front of the gate, those of a new one behind it."""
    name = "gated_memory_pce"
    model = ReducedModel.load(FOLDER / "models" / f"{name}.npz")
    golden = read_bundle(FOLDER / "bundle").models[name].golden
    assert golden.u is not None and golden.y is not None
    again = ReducedModel.load(model.save(tmp_path / "again.npz"))
    assert difference(again.rollout(golden.u), golden.y) < 1e-12
    bundle = write(model, tmp_path / "b", targets=("onnx", "c"))
    results = verify(bundle, {"model": model})
    assert all(r.ok for r in results), [r.to_dict() for r in results]
    assert difference(model.advance(golden.X[:, :2], golden.X[:, 2:])[0], golden.Y) < 1e-12
