"""A gate: its equation, the fits behind it, its file, and every sentence."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, Ffnn, Gate, ParameterSpace, ReducedModel, Uniform, bootstrap, fit_pce, lhs
from mor.reduced.memory import MemoryModel
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import ffnn, memory_of_ffnn, pce
from tests.reference.exported_models import polynomial
from training import FfnnConfig, fit_ffnn, select_ffnn

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
    gated = replace(model, gate=Gate("F_br", 4.0))  # type: ignore[type-var]
    edge = model.predict([4.0, 7.0])[0]
    for force, share in ((-np.inf, 0.0), (-3.0, 0.0), (0.0, 0.0), (1.0, 0.25), (3.0, 0.75), (4.0, 1.0)):
        np.testing.assert_array_equal(gated.predict([force, 7.0])[0], share * edge)
    for force in (np.nextafter(4.0, 5.0), 5.0, 50.0, 60.0):
        np.testing.assert_array_equal(gated.predict([force, 7.0]), model.predict([force, 7.0]))
    assert gated.cost == model.cost + 3  # one share, two outputs


@pytest.mark.parametrize("model", [ffnn(), polynomial(5, outputs=2)])
def test_a_nan_stays_one_in_every_evaluation(model: ReducedModel) -> None:
    gated = replace(model, gate=Gate("F_br", 4.0))  # type: ignore[type-var]
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
    alone = replace(model, coefficients=model.coefficients * (model.indices[:, :1] == 0), gate=Gate("F_br", 4.0))
    assert np.isnan(alone.predict([np.nan, 7.0])).all() and np.isnan(alone.jacobian([np.nan, 7.0])).all()
    evaluate, parameters = alone.kernel()
    y = np.zeros(1)
    evaluate(np.array([np.nan, 7.0]), y, parameters)
    assert np.isnan(y).all()


def test_the_slope_is_that_of_the_three_pieces() -> None:
    model = ffnn()
    gated = replace(model, gate=Gate("F_br", 4.0))
    edge, slope = model.predict([4.0, 7.0])[0], model.jacobian([4.0, 7.0])
    np.testing.assert_allclose(gated.jacobian([1.0, 7.0]), np.column_stack([edge / 4.0, 0.25 * slope[:, 1]]))
    for force in (-1.0, 0.0):
        np.testing.assert_array_equal(gated.jacobian([force, 7.0]), np.zeros((2, 2)))
    for force in (4.0, 9.0):
        np.testing.assert_array_equal(gated.jacobian([force, 7.0]), model.jacobian([force, 7.0]))


def test_files_keep_the_gate_and_files_without_one_are_as_before(tmp_path: Path) -> None:
    gated = replace(pce(), gate=Gate("a", 1.5))
    again = ReducedModel.load(gated.save(tmp_path / "gated.npz"))
    assert again.gate == gated.gate and again.describe()["gate"] == {"input": "a", "span": 1.5}
    assert "gate" not in pce().header() and pce().describe()["gate"] is None
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
    assert model.gate is None
    s = 2.0 * 4.0 / 10.0 - 1.0
    r = np.tanh(0.5 * s + 0.1) + 2.0 * np.tanh(-s + 0.2) + 0.3
    assert model.predict([4.0])[0, 0] == pytest.approx(-1.0 + (r + 1.0) / 2.0 * 4.0, rel=1e-14)


def test_a_network_is_fitted_to_the_rows_where_the_gate_is_open() -> None:
    valid = data(40, seed=1)
    model = fit_ffnn(data(), valid, QUICK, gate=GATE)
    other = fit_ffnn(data(below=99.0), data(40, seed=1, below=-99.0), QUICK, gate=GATE)
    assert model.arrays().keys() == other.arrays().keys()
    assert all(np.array_equal(a, other.arrays()[name]) for name, a in model.arrays().items())
    assert model.domain[0][0] == data().X[:, 0].min() < 2.0  # the range is that of all rows
    test = data(500, seed=2)
    assert np.abs(model.predict(test.X) - test.Y).max() < 0.3
    chosen = select_ffnn(data(), valid, QUICK, hidden=[(2,), (4,)], gate=GATE).model
    assert chosen.gate == GATE


def test_an_expansion_is_fitted_to_the_rows_where_the_gate_is_open() -> None:
    model, other = fit_pce(data(), SPACE, gate=GATE), fit_pce(data(below=99.0), SPACE, gate=GATE)
    assert np.array_equal(model.coefficients, other.coefficients)
    assert model.fit["rows"] == np.count_nonzero(data().X[:, 0] >= 2.0)
    test = data(500, seed=2)
    assert np.abs(model.predict(test.X) - test.Y).max() < 1e-3


def test_moments_and_sensitivities_are_those_of_the_expansion_itself() -> None:
    gated = fit_pce(data(), SPACE, gate=GATE)
    plain = replace(gated, gate=None)
    assert np.array_equal(gated.sobol_total(), plain.sobol_total())
    assert np.array_equal(gated.mean, plain.mean) and np.array_equal(gated.variance, plain.variance)


def test_the_bootstrap_leaves_out_the_same_rows_and_is_sure_of_no_output() -> None:
    gated = fit_pce(data(), SPACE, gate=GATE)
    sure, other = (bootstrap(gated, data(below=b), replicates=5, seed=0) for b in (0.0, 99.0))
    assert np.array_equal(sure.sobol_total.upper, other.sobol_total.upper)
    interval = sure.predict(np.array([[0.0, 0.5], [-1.0, 0.5]]))
    assert not interval.lower.any() and not interval.upper.any()
    with pytest.raises(
        ConfigError, match=r"Data of bootstrap must have at least 2 rows with F of 2 or more.*got 0 of 3"
    ):
        bootstrap(gated, data().take(np.argsort(data().X[:, 0])[:3]), replicates=5, seed=0)


@pytest.mark.parametrize("span", [0.0, -1.0, np.nan, np.inf])
def test_the_span_must_be_positive_and_finite(span: float) -> None:
    with pytest.raises(ConfigError, match="span of a gate must be positive and finite, got"):
        Gate("F", span)


def test_the_input_must_be_one_of_the_model_and_open_in_its_range() -> None:
    for model in (ffnn(), polynomial(3)):
        with pytest.raises(ConfigError, match="input of a gate must be one of F_br, w_rw, got 'thr'"):
            replace(model, gate=Gate("thr", 1.0))
        with pytest.raises(ConfigError, match="must be at most the upper bound 50 of its input 'F_br', got 51"):
            replace(model, gate=Gate("F_br", 51.0))
    for fit in (lambda gate: fit_pce(data(), SPACE, gate=gate), lambda gate: fit_ffnn(data(), data(9), gate=gate)):
        with pytest.raises(ConfigError, match="input of a gate must be one of F, w, got 'F_br'"):
            fit(Gate("F_br", 1.0))
        with pytest.raises(
            ConfigError, match=r"span of a gate must be at most the upper bound .* of its input 'F', got 11"
        ):
            fit(Gate("F", 11.0))


def test_enough_rows_must_be_left() -> None:
    few = data().take(np.argsort(data().X[:, 0])[:19])  # three of them at F >= 2
    assert np.count_nonzero(few.X[:, 0] >= 2.0) == 3
    left = (
        r"must have at least {} rows with F of 2 or more, where its gate is open, got {} of {}; sample more or choose"
    )
    with pytest.raises(ConfigError, match="Data of fit_pce " + left.format(4, 3, 19)):
        fit_pce(few, SPACE, gate=GATE)
    with pytest.raises(ConfigError, match="training data " + left.format(4, 3, 19)):
        fit_ffnn(few, data(), gate=GATE)
    with pytest.raises(ConfigError, match="validation data " + left.format(1, 0, 5)):
        fit_ffnn(data(), few.take(range(5)), gate=GATE)
    constant = Dataset(data().X, np.where(data().X[:, :1] < 2.0, 0.0, 5.0), SPACE.ports, {"tau": "Nm"})
    with pytest.raises(ConfigError, match="training output 'tau' must vary, got 5 in every row"):
        fit_ffnn(constant, None, gate=GATE)


def test_a_nan_under_the_gate_is_found_and_not_left_out() -> None:
    X = data().X.copy()
    X[0, 0] = np.nan
    with pytest.raises(ConfigError, match="Column 'F' of the data of fit_pce must be finite, got 1 rows"):
        fit_pce(Dataset(X, data().Y, SPACE.ports, {"tau": "Nm"}), SPACE, gate=GATE)


def test_a_checkpoint_belongs_to_its_gate(tmp_path: Path) -> None:
    fit_ffnn(data(), None, QUICK, gate=GATE, folder=tmp_path / "fit")
    shifted = Gate("F", 2.0 + 1e-9)  # the same rows
    with pytest.raises(ConfigError, match=r"was begun with other settings .*, got a different data"):
        fit_ffnn(data(), None, QUICK, gate=shifted, folder=tmp_path / "fit", resume=True)


def test_the_step_of_a_model_with_memory_has_none() -> None:
    model = memory_of_ffnn()
    assert isinstance(model, MemoryModel) and model.gate is None
    with pytest.raises(
        ConfigError, match="must have no gate: what is remembered would vanish as well; give it to the model itself"
    ):
        replace(model, step=replace(model.step, gate=Gate("F_br", 1.0)))  # type: ignore[type-var]
