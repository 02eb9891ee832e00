"""A gate of a model with memory: what it multiplies, what it leaves alone, what a fit makes of it, files, sentences."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, Gate, LowPassMemory, MemoryModel, MemorySpec, Port, ReducedModel, fit_pce, fit_pce_memory
from mor.reduced.history import State
from mor.reduced.pce.fit_memory import _space, assemble
from mor.reduced.pce.free_run import _FreeRuns
from mor.reduced.ranges import free_run_error, memory_limits
from rt_runtime.errors import ConfigError
from tests.reference.exported_models import network_with_memory
from tests.reference.gated_memories import CLOSED, MODELS, SPAN, bare, behind, gate_of
from tests.reference.memory_twin import free_run

U, TAU, V = (Port("F", "N"), Port("w", "rad/s")), Port("tau", "Nm"), Port("V", "cm3")
FILLING = MemorySpec(
    U,
    (TAU,),
    0.01,
    filters=(State("V", 0.1), LowPassMemory("tau*w", 0.5)),
    hidden=(V,),
    gate=Gate("V", 0.5, closed=0.25),
)
PLAIN = replace(FILLING, gate=None)


def runs(seeds: range, n: int = 200) -> Dataset:
    """A volume that follows F with 0.1 s; pads touch at V = 0.5 and then press with V - 0.5, times w."""
    X, Y = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        steps = np.column_stack([rng.choice([0.0, 0.0, 0.5, 1.0, 2.0], 10), rng.uniform(0.0, 3.0, 10)])
        u, volume = np.repeat(steps, n // 10, axis=0), np.zeros(n)
        for k in range(1, n):
            volume[k] = 0.9 * volume[k - 1] + 0.1 * u[k, 0]
        X.append(u)
        Y.append(np.column_stack([np.maximum(volume - 0.5, 0.0) * u[:, 1], volume]))
    return Dataset(np.concatenate(X), np.concatenate(Y), U, (TAU, V), run=np.repeat(np.arange(len(X)), n))


def all_of(model: MemoryModel, X: np.ndarray) -> np.ndarray:
    """One step from regressors X, which are (u, state) here."""
    return model.advance(X[:, :2], X[:, 2:])[0]


def test_the_share_multiplies_the_bounded_output_and_nothing_else() -> None:
    model = MODELS["state"]()
    plain = bare(model)
    j = [p.name for p in model.step.inputs].index("p_lag1")
    X = np.tile(0.5 * (model.step.domain[0] + model.step.domain[1]), (5, 1))
    X[:, j] = [-1.0, CLOSED, 0.5 * (CLOSED + SPAN), SPAN, 2.0 * SPAN]
    y, free = all_of(model, X), all_of(plain, X)
    assert free.all()
    assert y[:, 0].tolist() == (free[:, 0] * [0.0, 0.0, 0.5, 1.0, 1.0]).tolist()
    assert y[:, 1].tobytes() == free[:, 1].tobytes()
    assert model.cost == plain.cost + 2
    assert np.isnan(all_of(model, np.where(np.arange(X.shape[1]) == j, np.nan, X))[:, 0]).all()


@pytest.mark.parametrize("name", MODELS)
def test_what_comes_back_in_free_run_is_the_gated_output(name: str) -> None:
    model = MODELS[name]()
    u = np.random.default_rng(1).uniform(-5.0, 50.0, (300, 2))
    y, free = model.rollout(u), bare(model).rollout(u)
    assert not np.array_equal(y, free)
    np.testing.assert_allclose(y, free_run(model, u), rtol=1e-9, atol=1e-9)


def test_a_saved_model_comes_back_with_its_gate_and_so_does_one_of_version_0_1(tmp_path: Path) -> None:
    model = MODELS["state"]()
    again = MemoryModel.load(model.save(tmp_path / "m.npz"))
    assert gate_of(again) == gate_of(model) == Gate("p_lag1", SPAN, CLOSED, ("tau_rw",))
    said = {"input": "p_lag1", "span": SPAN, "closed": CLOSED, "outputs": ["tau_rw"]}
    assert again.describe()["gate"] == said and again.header()["step"]["gate"] == said
    assert again.arrays().keys() == model.arrays().keys()
    content = io.BytesIO()  # a file of version 0.1 has the gate beside the step
    header = bare(model).header() | {"format": 1, "gate": said}
    np.savez(content, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **model.arrays())
    (tmp_path / "first.npz").write_bytes(content.getvalue())
    first = MemoryModel.load(tmp_path / "first.npz")
    assert gate_of(first) == gate_of(model)
    u = np.random.default_rng(1).uniform(0.0, 50.0, (50, 2))
    assert first.rollout(u).tobytes() == model.rollout(u).tobytes()


def test_a_file_from_before_there_were_gates_has_none(tmp_path: Path) -> None:
    plain = network_with_memory()
    assert "gate" not in plain.header()["step"]
    content = io.BytesIO()  # a file as it was written before there were gates
    header = {key: value for key, value in plain.header().items() if key in ("kind", "signals", "outputs", "step")}
    text = json.dumps({"format": 1, **header}).encode()
    np.savez(content, allow_pickle=False, header=np.frombuffer(text, np.uint8), **plain.arrays())
    (tmp_path / "old.npz").write_bytes(content.getvalue())
    old = ReducedModel.load(tmp_path / "old.npz")
    assert "gate" not in old.describe() and old.predict(np.zeros(2)).tobytes() == plain.predict(np.zeros(2)).tobytes()


def test_a_gate_that_does_not_fit_is_refused() -> None:
    model = MODELS["state"]()
    own = gate_of(model)
    for gate, message in (
        (replace(own, input="V"), "input of a gate must be one of F_br, w_rw, F_br_lag1, .*, got 'V'"),
        (
            replace(own, span=9e6),
            r"span of a gate must be at most the upper bound 4e\+06 of its input 'p_lag1', got 9e",
        ),
        (replace(own, outputs=None), "outputs of a gate must be some of tau_rw, p in a model with memory, got None"),
        (replace(own, outputs=("q",)), r"outputs of a gate must be some of tau_rw, p, got \('q',\)"),
        (replace(own, outputs=("p",)), r"Bounds of 'p' behind a gate must contain 0, got \[1e\+06, 3e\+06\]"),
    ):
        with pytest.raises(ConfigError, match=message):
            behind(gate, bare(model))
    for closed in (-1.0, 2.0, np.nan):
        with pytest.raises(ConfigError, match=r"closed of a gate must lie in \[0, 2\), below its span, got"):
            Gate("F", 2.0, closed=closed)
    with pytest.raises(ConfigError, match="slope of 'tau_rw' behind a gate must be 0 outside of the domain"):
        replace(model, outside_rule="tangent", slope=np.ones((2, 2)))


def test_a_history_names_what_it_looks_at() -> None:
    assert FILLING.memory_gate == Gate("V_lag1", 0.5, 0.25, ("tau",))
    signal = replace(FILLING, gate=Gate("F", 1.0), input_lags=1)
    assert signal.memory_gate == Gate("F", 1.0, outputs=("tau",))
    assert replace(signal, gate=Gate("w_lag1", 1.0)).memory_gate == Gate("w_lag1", 1.0, outputs=("tau",))
    assert PLAIN.memory_gate is None
    with pytest.raises(
        ConfigError, match="input of the gate of a history must be one of F, w, V_lag1, tau_w_f2_lag1, got 'p'"
    ):
        replace(FILLING, gate=Gate("p", 1.0))
    with pytest.raises(
        ConfigError, match="outputs of the gate of a history must be left out: all of its outputs vanish"
    ):
        replace(FILLING, gate=Gate("V", 1.0, outputs=("tau",)))


def test_a_filter_of_a_gated_output_learns_what_drives_it() -> None:
    """Its row of the one-step map would follow the output in front of the gate otherwise."""
    history = replace(FILLING, filters=(State("V", 0.1), LowPassMemory("tau", 0.2)))
    assert [p.name for p in history.targets] == ["tau", "V_drive", "tau_f2_drive"]
    assert [p.name for p in replace(history, gate=None).targets] == ["tau", "V_drive"]
    train = runs(range(8))
    model = fit_pce_memory(train, history, valid=train, rows=1200, iterations=0, degree=(2, 3, 4), q=1.0)
    y = model.everything(train.X[:200])
    shown = history.filtered(np.column_stack([np.zeros(200), train.Y[:200, 0]]))[:, 1]
    assert np.abs(y[:, 2] - shown).max() < 0.1 * np.abs(shown).max()


@pytest.mark.parametrize("name", ["tau", "tau_lag1", "tau_lag2"])
def test_a_gate_that_never_opens_from_rest_is_not_fitted(name: str) -> None:
    history = replace(FILLING, output_lags=2, gate=Gate(name, 0.8))
    with pytest.raises(
        ConfigError,
        match=f"input of the gate of a history must not be an output of it, got '{name}', which is zero at rest and so "
        "stays zero; name a signal, a state or a filter",
    ):
        fit_pce_memory(runs(range(2)), history, valid=runs(range(50, 51)), rows=60, degree=2, iterations=0)


def test_the_best_of_several_draws_comes_back() -> None:
    train, valid = runs(range(4)), runs(range(50, 52))

    def fit(seed: int, draws: int) -> MemoryModel:
        return fit_pce_memory(train, FILLING, valid=valid, rows=60, degree=2, iterations=0, seed=seed, draws=draws)

    errors = [free_run_error(fit(seed, 1), valid) for seed in (3, 4, 5)]
    assert len(set(errors)) == 3
    assert free_run_error(fit(3, 3), valid) == min(errors)
    with pytest.raises(ConfigError, match="draws of fit_pce_memory must be a whole number of at least 1, got 0"):
        fit(3, 0)


def test_a_fit_behind_a_gate_is_silent_before_contact_and_better_after() -> None:
    train, valid = runs(range(8)), runs(range(50, 52))
    gated, plain = (
        fit_pce_memory(train, h, valid=valid, rows=1500, iterations=0, degree=(2, 3), q=1.0) for h in (FILLING, PLAIN)
    )
    assert [p.name for p in gated.outputs] == ["tau"]
    assert [p.name for p in gated.states] == ["tau_lag1", "V_lag1", "tau_w_f2_lag1"]
    y = gated.everything(valid.X[:200])
    closed = np.append(0.0, y[:-1, 1]) <= 0.25
    assert closed.any() and not y[closed, 0].any() and y[~closed, 0].any() and y[closed, 1].any()
    assert np.abs(plain.rollout(valid.X[:200])[closed, 0]).max() > 1e-4
    assert free_run_error(gated, valid) < 0.7 * free_run_error(plain, valid)
    assert [o["name"] for o in gated.step.core.fit["outputs"]] == ["tau", "V_drive", "tau_w"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "history",
    [FILLING, MemorySpec(U, (TAU,), 0.01, output_lags=1, filters=(State("V", 0.1),), hidden=(V,), gate=Gate("V", 0.8))],
)
def test_refinement_in_free_run_knows_the_gate(history: MemorySpec) -> None:
    train = runs(range(2), n=100)
    limits = memory_limits(history, train)
    table = history.table(train)
    data = Dataset(np.clip(table.X, *limits.features), table.Y, table.inputs, table.outputs)
    step = fit_pce(data, _space(history, limits), method="ols", degree=2)
    problem = _FreeRuns(history, step, limits, train)
    C = step.coefficients
    error, gradient, _ = problem(C)
    model = assemble(history, step, limits)
    y = np.concatenate([model.everything(part) for part in np.split(train.X, 2)])
    assert history.gate is not None
    share = np.clip((y[:, 1] - history.gate.closed) / history.gate.width, 0.0, 1.0)
    assert np.count_nonzero((share > 0.0) & (share < 1.0)) > 10 and np.count_nonzero(share == 1.0) > 10
    wrong = y[:, 0] - train.Y[:, 0]
    assert error == pytest.approx(np.mean(wrong**2) / np.var(train.Y[:, 0]), rel=1e-9)
    for i in (0, 1, 5, C.size - 3):
        move = np.zeros(C.size)
        move[i] = 1e-6
        move = move.reshape(C.T.shape).T
        slope = (problem.error(C + move) - problem.error(C - move)) / 2e-6
        assert slope == pytest.approx(2.0 * gradient[i], rel=1e-3, abs=1e-7)
