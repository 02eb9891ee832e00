"""What every export promises of every kind of reduced model. A new kind gets these tests by its line in MODELS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import verify, write
from mor.reduced.base import ReducedModel
from mor.reduced.lambda_model.model import Glam
from rt_runtime import load_bundle
from rt_runtime.bundle.read import Bundle, read_bundle
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import MODELS

# the linear model is a stand-in of the tests; a random answer with a latent variable is refused, below
EXPORTED = [name for name in MODELS if "linear" not in name and name != "stochastic polynomial chaos"]


@pytest.fixture(scope="module", params=EXPORTED)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReducedModel, Bundle]:
    model = MODELS[request.param]()
    folder = tmp_path_factory.mktemp("export") / "bundle"
    bundle = write(model, folder, targets=("onnx", "c", "fmu", "fmu3"))
    return (model.expansion if isinstance(model, Glam) else model), bundle  # of a lambda model its expansion is written


def test_a_model_with_a_latent_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="to be exported, got 'spce'"):
        write(MODELS["stochastic polynomial chaos"](), tmp_path / "bundle")


def test_every_engine_gives_its_numbers(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    results = verify(bundle, {"model": model})
    assert [r.engine for r in results] == ["numpy", "onnxruntime", "rt_runtime", "c", "fmu", "fmu3"]
    assert all(r.ok for r in results), [r.to_dict() for r in results]
    assert max(load_bundle(bundle.path).differences.values()) < 1e-9


def test_signals_units_and_ranges_are_the_models(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    written = bundle.model
    assert [(s.name, s.unit) for s in written.inputs] == [(p.name, p.unit) for p in model.inputs]
    assert [(s.name, s.unit) for s in written.outputs] == [(p.name, p.unit) for p in model.outputs]
    for i, signal in enumerate(written.inputs):
        assert (signal.lower, signal.upper) == (model.domain[0][i], model.domain[1][i])
    assert written.dt == model.dt
    assert written.description["multiply_adds"] == model.cost


def test_golden_answers_are_the_models(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    golden = read_bundle(bundle.path).model.golden
    assert len(golden.X) == 200
    n_u = len(model.inputs)
    np.testing.assert_array_equal(golden.Y, model.advance(golden.X[:, :n_u], golden.X[:, n_u:])[0])
    assert (golden.u is not None) == bool(model.states)
    if golden.u is not None:
        np.testing.assert_array_equal(golden.y, model.rollout(golden.u))


def test_states_are_in_the_bundle_with_their_meaning(exported: tuple[ReducedModel, Bundle]) -> None:
    model, bundle = exported
    memory = bundle.model.memory
    assert [(s.name, s.unit) for s in (memory.state if memory else ())] == [(p.name, p.unit) for p in model.states]
    assert all(memory.meaning) if memory else not model.states
