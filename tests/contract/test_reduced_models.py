"""What every reduced model promises, checked on one model of every kind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mor.reduced.base import ReducedModel, rebuild
from mor.reduced.memory import MemoryModel
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import MODELS
from tests.reference.memory_twin import free_run


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> ReducedModel:
    return MODELS[request.param]()


def rows(model: ReducedModel, n: int, margin: float = 0.02) -> np.ndarray:
    """Points well inside the domain; +-2 stands for an unbounded side."""
    lower, upper = (np.nan_to_num(b, posinf=2.0, neginf=-2.0) for b in model.domain)
    unit = np.random.default_rng(7).uniform(margin, 1.0 - margin, (n, len(model.inputs)))
    return lower + unit * (upper - lower)


def answers(model: ReducedModel, X: np.ndarray) -> np.ndarray:
    """What the model says to each row on its own; with memory each of them at rest."""
    if isinstance(model, MemoryModel):
        return model.advance(X, np.tile(model.initial, (len(X), 1)))[0]
    return model.predict(X)


def test_shapes_names_and_units(model: ReducedModel) -> None:
    X = rows(model, 13)
    assert model.predict(X).shape == (13, len(model.outputs))
    assert model.predict(X).dtype == np.float64
    assert model.predict(X[0]).shape == (1, len(model.outputs))
    assert model.predict(X[:0]).shape == (0, len(model.outputs))
    assert model.jacobian(X[0]).shape == (len(model.outputs), len(model.inputs))
    assert all(p.name for p in (*model.inputs, *model.outputs))
    assert [b.shape for b in model.domain] == [(len(model.inputs),)] * 2


def test_same_question_same_answer_whoever_asks(model: ReducedModel) -> None:
    X = rows(model, 300)
    before = X.copy()
    Y = model.predict(X)
    assert np.array_equal(model.predict(X), Y)
    assert np.array_equal(X, before)
    one_by_one = np.concatenate([model.predict(x) for x in X])
    np.testing.assert_allclose(one_by_one, answers(model, X), rtol=1e-12, atol=1e-12 * np.abs(Y).max())
    np.testing.assert_allclose(model.predict(np.asfortranarray(X)), Y, rtol=1e-12, atol=1e-12 * np.abs(Y).max())
    np.testing.assert_array_equal(model.predict(X.tolist()), Y)


def test_file_keeps_every_bit(model: ReducedModel, tmp_path: Path) -> None:
    path = model.save(tmp_path / "model.npz")
    again = ReducedModel.load(path)
    X = rows(model, 50)
    assert type(again) is type(model)
    assert again.header() == model.header()
    assert {k: (v.dtype.str, v.tobytes()) for k, v in again.arrays().items()} == {
        k: (v.dtype.str, v.tobytes()) for k, v in model.arrays().items()
    }
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.jacobian(X[0]).tobytes() == model.jacobian(X[0]).tobytes()
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]


def test_arrays_are_plain_numbers(model: ReducedModel) -> None:
    assert {a.dtype for a in model.arrays().values()} <= {np.dtype(np.float64), np.dtype(np.int64)}
    again = rebuild({k: a.copy() for k, a in model.arrays().items()}, json.loads(json.dumps(model.header())))
    assert again.predict(rows(model, 5)).tobytes() == model.predict(rows(model, 5)).tobytes()


def test_jacobian_is_the_slope_of_predict(model: ReducedModel) -> None:
    lower, upper = (np.nan_to_num(b, posinf=2.0, neginf=-2.0) for b in model.domain)
    h = 1e-5 * (upper - lower)
    for x in rows(model, 20, margin=0.05):
        steps = np.diag(h)
        slope = (answers(model, x + steps) - answers(model, x - steps)).T / (2.0 * h)
        scale = np.abs(slope * (upper - lower)).max() + 1e-12
        np.testing.assert_allclose(model.jacobian(x) * (upper - lower), slope * (upper - lower), atol=1e-6 * scale)


def test_compiled_kernel_gives_the_numbers_of_predict(model: ReducedModel) -> None:
    if isinstance(model, MemoryModel):
        model = model.step
    evaluate, parameters = model.kernel()
    X = rows(model, 40)
    Y = model.predict(X)
    y = np.empty(len(model.outputs))
    for x, expected in zip(X, Y, strict=True):
        evaluate(x, y, parameters)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-13 * np.abs(Y).max())


def test_outside_the_domain_it_answers_and_says_so(model: ReducedModel) -> None:
    X = rows(model, 4)
    lower, upper = model.domain
    far = X.copy()
    finite = np.flatnonzero(np.isfinite(upper))
    if finite.size:
        far[1, finite[0]] = upper[finite[0]] + 10.0 * (upper - lower)[finite[0]]
    far[2, 0] = np.nan
    assert model.outside(X).tolist() == [False] * 4
    assert model.outside(far).tolist() == [False, bool(finite.size), True, False]
    assert np.isfinite(model.predict(far[:2])).all()


def test_summary_is_json_with_units_domain_and_cost(model: ReducedModel) -> None:
    summary = json.loads(json.dumps(model.describe(), allow_nan=False))
    assert summary["kind"] == model.core.kind
    assert [i["name"] for i in summary["inputs"]] == [p.name for p in model.inputs]
    assert [o["unit"] for o in summary["outputs"]] == [p.unit for p in model.outputs]
    assert summary["multiply_adds"] == model.cost > 0
    assert summary["bytes"] > 0


def test_it_cannot_be_changed(model: ReducedModel) -> None:
    with pytest.raises(AttributeError):
        model.outputs = ()
    with pytest.raises(ValueError, match="read-only"):
        model.domain[0][0] = -1.0


def test_wrong_columns_are_refused(model: ReducedModel) -> None:
    n = len(model.inputs)
    with pytest.raises(ConfigError, match=rf"predict must have {n} columns \({model.inputs[0].name}.*got shape"):
        model.predict(np.zeros((3, n + 1)))
    with pytest.raises(ConfigError, match=f"jacobian must be one point of {n} inputs"):
        model.jacobian(np.zeros((1, n)))


def test_free_run_is_what_single_steps_give_and_stays_bounded(model: ReducedModel) -> None:
    rng = np.random.default_rng(3)
    lower, upper = (np.nan_to_num(b, posinf=2.0, neginf=-2.0) for b in model.domain)
    u = lower + rng.uniform(-1.0, 2.0, (200, len(model.inputs))) * (upper - lower)
    y = model.rollout(u)
    state = model.initial[None, :] if isinstance(model, MemoryModel) else np.empty((1, 0))
    for now, got in zip(u, y, strict=True):
        expected, state = model.advance(now[None, :], state)
        np.testing.assert_allclose(got, expected[0], rtol=1e-12, atol=1e-12)
    assert model.rollout(u).tobytes() == y.tobytes() == model.predict(u).tobytes()
    if isinstance(model, MemoryModel):
        n = len(model.outputs)
        assert np.all(y >= model.bounds[0][:n]) and np.all(y <= model.bounds[1][:n])


def test_free_run_is_its_equation_written_down_in_numpy(model: ReducedModel) -> None:
    if not isinstance(model, MemoryModel):
        return
    rng = np.random.default_rng(4)
    lower, upper = model.domain
    u = lower + rng.uniform(-0.2, 1.2, (100, len(model.inputs))) * (upper - lower)
    np.testing.assert_allclose(model.rollout(u), free_run(model, u), rtol=1e-10, atol=1e-10)


def test_it_shows_itself_on_one_screen(model: ReducedModel) -> None:
    assert repr(model) == str(model) and len(str(model)) < 2000
    assert "<table>" in model._repr_html_()
