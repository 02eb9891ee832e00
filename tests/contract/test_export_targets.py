"""What every export promises of every kind of reduced model. A new kind gets these tests by its line in MODELS."""

from __future__ import annotations

import numpy as np
import pytest

from export import verify, write
from mor.memory import Memory
from mor.reduced import ReducedModel
from rt_runtime import load_bundle
from rt_runtime.bundle import Bundle, read_bundle
from tests.contract.reduced_models import MODELS

EXPORTED = [name for name in MODELS if "linear" not in name]  # the linear model is a stand-in of the tests


@pytest.fixture(scope="module", params=EXPORTED)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReducedModel, Bundle]:
    model = MODELS[request.param]()
    folder = tmp_path_factory.mktemp("export") / "bundle"
    return model, write(model, folder, targets=("onnx", "c", "fmu", "fmu3"))


def test_every_engine_gives_its_numbers(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    results = verify(bundle, {"model": model})
    assert [r.engine for r in results] == ["numpy", "onnxruntime", "rt_runtime", "c", "fmu", "fmu3"]
    assert all(r.ok for r in results), [r.to_dict() for r in results]
    assert max(load_bundle(bundle.path).differences.values()) < 1e-9


def test_signals_units_and_ranges_are_the_models(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    signals = model.signals if isinstance(model, Memory) else model.inputs
    written = bundle.model
    assert [(s.name, s.unit) for s in written.inputs] == [(p.name, p.unit) for p in signals]
    assert [(s.name, s.unit) for s in written.outputs] == [(p.name, p.unit) for p in model.outputs]
    for i, signal in enumerate(written.inputs):
        assert (signal.lower, signal.upper) == (model.domain[0][i], model.domain[1][i])
    assert written.dt == (model.dt if isinstance(model, Memory) else None)
    assert written.description["multiply_adds"] == model.cost


def test_golden_answers_are_the_models(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    golden = read_bundle(bundle.path).model.golden
    assert len(golden.X) == 200
    np.testing.assert_array_equal(golden.Y, model.predict(golden.X))
    assert (golden.u is not None) == isinstance(model, Memory)
