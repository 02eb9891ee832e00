"""A gate: its equation, the fits behind it, its file, and every sentence."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, Ffnn, Gate, GatedModel, ParameterSpace, Pce, ReducedModel, Uniform, bootstrap, fit_pce, lhs
from mor.reduced.memory import MemoryModel
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import ffnn, memory_of_ffnn, pce
from tests.reference.exported_models import polynomial
from training import FfnnConfig, fit_ffnn

SPACE = ParameterSpace({"F": Uniform(0.0, 10.0, unit="N"), "w": Uniform(-1.0, 1.0)})
GATE = Gate("F", 2.0)
QUICK = FfnnConfig((4,), restarts=1, iterations=60)


def data(n: int = 80, seed: int = 0, below: float = 0.0) -> Dataset:
    """A torque that sets in at F = 2; `below` is what the rows under it say."""
    X = lhs(SPACE, n, seed=seed).points
    y = (X[:, 0] - 2.0) * (3.0 + np.sin(X[:, 1]))
    return Dataset(X, np.where(X[:, 0] < 2.0, below, y), SPACE.ports, {"tau": "Nm"})


@pytest.mark.parametrize("model", [ffnn(), polynomial(5, outputs=2)])
def test_below_the_span_the_outputs_fade_linearly_from_the_edge_to_zero(model: ReducedModel) -> None:
    gated = Gate("F_br", 4.0).around(model)
    edge = model.predict([4.0, 7.0])[0]
    for force, share in ((-np.inf, 0.0), (-3.0, 0.0), (0.0, 0.0), (1.0, 0.25), (3.0, 0.75), (4.0, 1.0)):
        np.testing.assert_array_equal(gated.predict([force, 7.0])[0], share * edge)
    for force in (np.nextafter(4.0, 5.0), 5.0, 50.0, 60.0):
        np.testing.assert_array_equal(gated.predict([force, 7.0]), model.predict([force, 7.0]))
    assert gated.cost == model.cost + 3  # one share, two outputs


@pytest.mark.parametrize("model", [ffnn(), polynomial(5, outputs=2)])
def test_a_nan_stays_one_in_every_evaluation(model: ReducedModel) -> None:
    gated = Gate("F_br", 4.0).around(model)
    evaluate, parameters = gated.kernel()
    y = np.empty(2)
    for point in ([np.nan, 7.0], [0.0, np.nan], [9.0, np.nan]):
        assert np.isnan(gated.predict(point)).all() and np.isnan(gated.jacobian(point)).any()
        evaluate(np.array(point), y, parameters)
        assert np.isnan(y).all()
    kept = np.array([1.0, 7.0])
    evaluate(kept, y, parameters)
    assert kept.tolist() == [1.0, 7.0]
    np.testing.assert_allclose(y, gated.predict(kept)[0], rtol=1e-12)


def test_a_polynomial_that_does_not_look_at_the_input_is_nan_with_it_all_the_same() -> None:
    model = polynomial(3)
    alone = replace(model, coefficients=model.coefficients * (model.indices[:, :1] == 0))
    alone = Gate("F_br", 4.0).around(alone)
    assert np.isnan(alone.predict([np.nan, 7.0])).all() and np.isnan(alone.jacobian([np.nan, 7.0])).all()
    evaluate, parameters = alone.kernel()
    y = np.zeros(1)
    evaluate(np.array([np.nan, 7.0]), y, parameters)
    assert np.isnan(y).all()


def test_the_slope_is_that_of_the_three_pieces() -> None:
    model = ffnn()
    gated = Gate("F_br", 4.0).around(model)
    edge, slope = model.predict([4.0, 7.0])[0], model.jacobian([4.0, 7.0])
    np.testing.assert_allclose(gated.jacobian([1.0, 7.0]), np.column_stack([edge / 4.0, 0.25 * slope[:, 1]]))
    for force in (-1.0, 0.0):
        np.testing.assert_array_equal(gated.jacobian([force, 7.0]), np.zeros((2, 2)))
    for force in (4.0, 9.0):
        np.testing.assert_array_equal(gated.jacobian([force, 7.0]), model.jacobian([force, 7.0]))


def test_files_keep_the_gate_and_files_without_one_are_as_before(tmp_path: Path) -> None:
    gated = Gate("a", 1.5).around(pce())
    again = ReducedModel.load(gated.save(tmp_path / "gated.npz"))
    assert isinstance(again, GatedModel) and again.gate == Gate("a", 1.5)
    assert again.describe()["gate"] == {"input": "a", "span": 1.5} and again.describe()["kind"] == "pce"
    assert "gate" not in pce().header() and "gate" not in pce().describe()
    assert gated.header() == pce().header() | {"gate": {"input": "a", "span": 1.5}}  # as in version 0.1
    with pytest.raises(ConfigError, match="must hold a model of kind 'pce', got 'gated'"):
        Pce.load(tmp_path / "gated.npz")
    head = {
        "format": 1, "kind": "ffnn", "inputs": [["F", "N"]], "outputs": [["tau", "Nm"]], "activation": "tanh",
        "origin": {"seed": 1},
    }  # fmt: skip
    old = io.BytesIO()
    np.savez(
        old, header=np.frombuffer(json.dumps(head).encode(), np.uint8), domain=[[0.0], [10.0]], range=[[-1.0], [3.0]],
        weights_1=[[0.5], [-1.0]], biases_1=[0.1, 0.2], weights_2=[[1.0, 2.0]], biases_2=[0.3],
    )  # fmt: skip
    (tmp_path / "old.npz").write_bytes(old.getvalue())
    model = Ffnn.load(tmp_path / "old.npz")
    s = 2.0 * 4.0 / 10.0 - 1.0
    r = np.tanh(0.5 * s + 0.1) + 2.0 * np.tanh(-s + 0.2) + 0.3
    assert model.predict([4.0])[0, 0] == pytest.approx(-1.0 + (r + 1.0) / 2.0 * 4.0, rel=1e-14)


def test_models_are_fitted_to_the_rows_where_the_gate_is_open() -> None:
    valid, test = data(40, seed=1), data(500, seed=2)
    opened = GATE.open(data())
    assert np.array_equal(opened.X, data().X[data().X[:, 0] >= 2.0])
    assert np.array_equal(GATE.open(data(below=99.0)).Y, opened.Y)
    network = GATE.around(fit_ffnn(opened, valid=GATE.open(valid), config=QUICK))
    assert np.abs(network.predict(test.X) - test.Y).max() < 0.3
    assert opened.X[:, 0].min() > network.domain[0][0] == 0.0  # closed is inside of its domain
    expansion = GATE.around(fit_pce(opened, SPACE))
    assert np.abs(expansion.predict(test.X) - test.Y).max() < 1e-3
    assert network.outside([[0.0, 0.0]]).tolist() == expansion.outside([[0.0, 0.0]]).tolist() == [False]


def test_what_is_inside_is_at_hand() -> None:
    plain = fit_pce(GATE.open(data()), SPACE)
    gated = GATE.around(plain)
    assert gated.core is plain and plain.core is plain
    sure = bootstrap(plain, GATE.open(data()), replicates=5, seed=0)
    assert not GATE.around(sure.models[0]).predict([[0.0, 0.5], [-1.0, 0.5]]).any()


def test_only_the_named_outputs_vanish_and_the_others_are_asked_as_they_are() -> None:
    model = ffnn()
    first, second = (p.name for p in model.outputs)
    gated = Gate("F_br", 4.0, 1.0, (second,)).around(model)
    for force, share in ((0.5, 0.0), (1.0, 0.0), (2.5, 0.5), (4.0, 1.0), (9.0, 1.0)):
        expected = model.predict([force, 7.0])[0] * [1.0, share]
        np.testing.assert_array_equal(gated.predict([force, 7.0])[0], expected)
    x, h = np.array([2.5, 7.0]), 1e-6
    slope = [(gated.predict(x + h * e) - gated.predict(x - h * e))[0] / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(gated.jacobian(x), np.transpose(slope), rtol=1e-7)
    evaluate, parameters = gated.kernel()
    y = np.empty(2)
    evaluate(x, y, parameters)
    np.testing.assert_allclose(y, gated.predict(x)[0], rtol=1e-12)
    with pytest.raises(ConfigError, match=rf"outputs of a gate must be some of {first}, {second}, got \('q',\)"):
        Gate("F_br", 4.0, outputs=("q",)).around(model)


@pytest.mark.parametrize("span", [0.0, -1.0, np.nan, np.inf])
def test_the_span_must_be_positive_and_finite(span: float) -> None:
    with pytest.raises(ConfigError, match="span of a gate must be positive and finite, got"):
        Gate("F", span)


def test_the_input_must_be_one_of_the_model_and_open_in_its_range() -> None:
    for model in (ffnn(), polynomial(3)):
        with pytest.raises(ConfigError, match="input of a gate must be one of F_br, w_rw, got 'thr'"):
            Gate("thr", 1.0).around(model)
        with pytest.raises(ConfigError, match="must be at most the upper bound 50 of its input 'F_br', got 51"):
            Gate("F_br", 51.0).around(model)
    with pytest.raises(ConfigError, match="input of a gate must be one of F, w, got 'F_br'"):
        Gate("F_br", 1.0).open(data())
    with pytest.raises(
        ConfigError, match="Data behind a gate must have rows with F of 11 or more, where it is open, got none of 80;"
    ):
        Gate("F", 11.0).open(data())


def test_a_nan_under_the_gate_is_found_and_not_left_out() -> None:
    X = data().X.copy()
    X[0, 0] = np.nan
    with pytest.raises(ConfigError, match="Column 'F' of the data of fit_pce must be finite, got 1 rows"):
        fit_pce(GATE.open(Dataset(X, data().Y, SPACE.ports, {"tau": "Nm"})), SPACE)


def test_around_a_model_with_memory_it_stands_around_the_step_and_leaves_states_alone() -> None:
    model = memory_of_ffnn()
    with pytest.raises(ConfigError, match="outputs of a gate must be some of tau_rw in a model with memory, got None"):
        Gate("F_br", 1.0).around(model)
    gated = Gate("F_br", 1.0, outputs=("tau_rw",)).around(model)
    assert isinstance(gated, MemoryModel) and isinstance(gated.step, GatedModel) and gated.step.core is model.step


def test_a_gate_around_a_gate_is_refused() -> None:
    with pytest.raises(ConfigError, match="must have none of its own, got one on 'F_br'"):
        Gate("w_rw", 4.0).around(Gate("F_br", 4.0).around(ffnn()))
