"""Fits behind hysteresis operators: learned numbers, behaviour outside, selection, recurrent units."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from mor import BoucWen, Dataset, MemorySpec, Peaks, Play, Port, Power, Reversals, Stop
from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.steel import MenegottoPinto
from rt_runtime.errors import ConfigError
from tests.unit.mor.reduced.hysteresis.test_learned_operators import walk
from training import (
    FfnnConfig,
    GruConfig,
    MemoryConfig,
    fit_ffnn_memory,
    fit_gru_memory,
    free_run_error,
    memory_candidates,
    select_memory,
)
from training.memory_models.operators import LearnedOperators, with_numbers
from training.trainers.scaled import scale

X, V, F = Port("x", "m"), Port("v", "m/s"), Port("F", "N")
QUICK = MemoryConfig(FfnnConfig(hidden=(5,), restarts=1, iterations=30), rows=400, iterations=40)


@cache
def brace(seeds: range) -> Dataset:
    """A Bouc-Wen cell with hardening beside a damper of exponent 0.4; 600 instants a run."""
    U = [np.column_stack([x := walk(s, 600), np.gradient(x) * 10.0]) for s in seeds]
    cell = Front((BoucWen("x", lengths=(0.15,), sharpness=(1.2,), beta=(0.6,)),), (X,))
    Y = [0.3 * u[:, 0] + cell.run(u[:, :1])[0][:, 0] + 0.5 * np.sign(u[:, 1]) * np.abs(u[:, 1]) ** 0.4 for u in U]
    return Dataset(np.concatenate(U), np.concatenate(Y), [X, V], [F], run=np.repeat(np.arange(len(U)), 600))


SPEC = MemorySpec([X, V], [F], operators=(BoucWen("x"), Power("v", 0.6, learned=True)))


def test_slopes_by_the_numbers_of_operators_are_those_of_differences() -> None:
    memory = replace(SPEC, operators=(Play("x", 2, learned=True), *SPEC.operators)).resolved(brace(range(2)))
    data = scale(memory.table(brace(range(2)), rows=200), None)
    layout = data.layout((3,), "tanh")
    chosen = memory.draw(brace(range(2)), rows=200)
    problem = LearnedOperators(memory, layout, brace(range(2)), chosen, data)
    assert problem.n_learned == 2 + 3 + 1
    theta = np.concatenate([layout.initial(np.random.default_rng(0)), np.full(6, 0.01)])
    error, _, Jr = problem.normal(theta)
    assert error == pytest.approx(problem.error(theta), rel=1e-12)
    for i in (0, layout.size - 1, *range(layout.size, theta.size)):
        e = 1e-5 * np.eye(theta.size)[i]
        slope = (problem.error(theta + e) - problem.error(theta - e)) / 2e-5
        assert 2.0 * Jr[i] == pytest.approx(slope, rel=1e-3, abs=1e-4 * np.abs(Jr).max())
    assert problem.error(np.concatenate([theta[:-1], [9.0]])) == np.inf


def test_the_numbers_of_a_brace_are_found() -> None:
    train, valid, test = brace(range(6)), brace(range(20, 22)), brace(range(30, 32))
    patient = replace(QUICK, rows=800, iterations=120)
    model = fit_ffnn_memory(train, SPEC, valid=valid, config=patient)
    cell, power = model.operators
    assert isinstance(cell, BoucWen) and isinstance(power, Power)
    assert cell.lengths[0] == pytest.approx(0.15, rel=0.05) and cell.sharpness[0] == pytest.approx(1.2, rel=0.1)
    assert power.exponent == pytest.approx(0.4, abs=0.05)
    assert free_run_error(model, test) < 0.01
    assert model.step.origin["learned_operators"] is True
    again = fit_ffnn_memory(train, SPEC, valid=valid, config=patient)
    assert again.rollout(test.X).tobytes() == model.rollout(test.X).tobytes()


def test_outside_of_the_data_it_does_what_was_declared() -> None:
    train, valid = brace(range(4)), brace(range(20, 21))
    memory = MemorySpec([X, V], [F], operators=(Play("x", 4), Power("v", 0.4)))
    far = np.column_stack([np.linspace(0.0, 1.5, 300), np.zeros(300)])
    clip, tangent, trip = (
        fit_ffnn_memory(train, memory, valid=valid, config=QUICK, outside_rule=rule)
        for rule in ("clip", "tangent", "trip")
    )
    edge = clip.domain[1][0]
    beyond = far[:, 0] > edge
    assert np.ptp(clip.rollout(far)[beyond]) == 0.0 and trip.outside(far).tolist() == beyond.tolist()
    assert np.array_equal(trip.rollout(far), clip.rollout(far)) and trip.outside_rule == "trip"
    assert tangent.slope is not None and 0.05 < tangent.slope[0, 0] < 3.0
    inside, outside = tangent.rollout(far)[~beyond, 0], tangent.rollout(far)[beyond, 0]
    np.testing.assert_allclose(
        outside,
        np.minimum(inside[-1] + 0.0 * outside + tangent.slope[0, 0] * (far[beyond, 0] - edge), tangent.bounds[1][0]),
        atol=0.02,
    )
    assert np.all(np.diff(outside) >= 0.0) and outside[-1] > inside[-1]


def test_the_memory_that_fits_is_chosen_and_scatter_is_told(caplog: pytest.LogCaptureFixture) -> None:
    train, valid = brace(range(4)), brace(range(20, 22))
    candidates = {"peaks": MemorySpec([X, V], [F], operators=(Peaks("x"),)), "cell": SPEC}
    config = replace(QUICK, rows=250, iterations=25)
    with caplog.at_level(logging.WARNING, "training"):
        chosen = select_memory(train, valid=valid, candidates=candidates, hidden=((4,),), seeds=(0, 1), config=config)
    assert [row["chosen"] for row in chosen.table] == [False, True]
    assert chosen.table[1]["free_run_nrmse"] < 0.2 * chosen.table[0]["free_run_nrmse"]
    assert "cell" in str(chosen) and "*" in str(chosen)
    scatter = chosen.table[1]["scatter"] > 0.5 * chosen.table[1]["free_run_nrmse"]
    assert any("gives errors from" in record.message for record in caplog.records) == scatter
    with pytest.raises(ConfigError, match="candidates, hidden and seeds of select_memory must each name at least one"):
        select_memory(train, valid=valid, candidates=candidates, seeds=())


def test_every_kind_of_memory_is_a_candidate() -> None:
    kinds = {
        type(operator)
        for spec in memory_candidates(brace(range(1)), velocity="v").values()
        for operator in spec.operators
    }
    assert kinds == {Play, Stop, Peaks, Reversals, MenegottoPinto, BoucWen, Power}
    with pytest.raises(ConfigError, match="displacement and velocity of memory_candidates must be inputs"):
        memory_candidates(brace(range(1)), displacement="y")


def test_a_recurrent_unit_learns_and_is_repeatable() -> None:
    train, valid = brace(range(4)), brace(range(20, 22))
    memory = MemorySpec([X, V], [F], 0.1, input_lags=1)
    one, two = (
        fit_gru_memory(train, memory, valid=valid, config=GruConfig(units=4, chunk=100, epochs=n, seed=1))
        for n in (1, 8)
    )
    assert free_run_error(two, valid) < free_run_error(one, valid) < 2.0
    again = fit_gru_memory(train, memory, valid=valid, config=GruConfig(units=4, chunk=100, epochs=1, seed=1))
    assert again.rollout(valid.X).tobytes() == one.rollout(valid.X).tobytes()
    assert [p.name for p in two.outputs] == ["F"] and two.step.kind == "gru"
    with pytest.raises(ConfigError, match="memory of a recurrent fit must have dt and neither filters"):
        fit_gru_memory(train, replace(memory, dt=None, input_lags=0, operators=(Peaks("x"),)), valid=valid)
    with pytest.raises(ConfigError, match="units of a recurrent fit must be a positive whole number, got 0"):
        GruConfig(units=0)


def test_numbers_move_by_factors() -> None:
    memory = SPEC.resolved(brace(range(2)))
    moved = with_numbers(memory, np.log([2.0, 1.0, 1.0, 0.5]))
    cell, power = moved.operators
    assert isinstance(cell, BoucWen) and isinstance(power, Power)
    assert cell.lengths[0] == pytest.approx(2.0 * memory.operators[0].learnable[0]) and power.exponent == 0.3
