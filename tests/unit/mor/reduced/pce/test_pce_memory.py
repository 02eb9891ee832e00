"""Expansions with memory: a system they can hold exactly, slopes in free run, bounds, and the sentences."""

from __future__ import annotations

import numpy as np
import pytest

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.reduced.gate import Gate
from mor.reduced.history import LowPassMemory, MemorySpec, split_runs
from mor.reduced.hysteresis.operators import Play
from mor.reduced.pce.basis import matrix, values
from mor.reduced.pce.fit import fit_pce
from mor.reduced.pce.fit_memory import _space, _without_terms, assemble, fit_pce_memory, select_pce_history
from mor.reduced.pce.free_run import _FreeRuns, refined
from mor.reduced.pce.pruning import elimination
from mor.reduced.pce.side_by_side import SideBySide
from mor.reduced.ranges import free_run_error, memory_limits
from rt_runtime.errors import ConfigError

U, Y = (Port("F", "N"), Port("w", "rad/s")), (Port("tau", "N m"),)
DT = 0.01
RANGES = {"domain": ([0.0, -1.0], [10.0, 1.0]), "bounds": (0.0, 5.0)}
LAGGED = MemorySpec(U, Y, DT, output_lags=1)
FILTERED = MemorySpec(U, Y, DT, filters=(LowPassMemory("F", 0.1), LowPassMemory("tau*w", 2.0)))


def runs(seeds: range, noise: float = 0.0, n: int = 300) -> Dataset:
    """tau_k = 0.9 tau_{k-1} + 0.02 F_k (1 + w_k^2): polynomial in its features, one lag of the output."""
    X, T = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        u = np.repeat(rng.uniform([0.0, -1.0], [10.0, 1.0], (n // 10, 2)), 10, axis=0)
        tau, past = np.empty(n), 0.0
        for k in range(n):
            past = 0.9 * past + 0.02 * u[k, 0] * (1.0 + u[k, 1] ** 2)
            tau[k] = past
        X.append(u)
        T.append(tau + noise * rng.normal(size=n))
    return Dataset(np.concatenate(X), np.concatenate(T), U, Y, run=np.repeat(np.arange(len(X)), n))


def test_a_system_of_the_same_form_is_found_exactly() -> None:
    model = fit_pce_memory(runs(range(3)), LAGGED, valid=runs(range(50, 52)), method="omp", rows=300, **RANGES)
    assert free_run_error(model, runs(range(90, 92))) < 1e-9
    assert (model.output_lags, model.input_lags, model.inputs) == (1, 0, U)


def test_free_run_fit_beats_one_step_fit_on_noisy_outputs() -> None:
    """Noise on the fed-back output pulls the one-step pole towards zero; the free-run fit is not misled by it."""
    train, valid, truth = runs(range(6), 0.1), runs(range(50, 52), 0.1), runs(range(90, 92))
    one_step = fit_pce_memory(train, LAGGED, valid=valid, method="omp", degree=3, rows=1000, iterations=0, **RANGES)
    free_run = fit_pce_memory(train, LAGGED, valid=valid, method="omp", degree=3, rows=1000, **RANGES)
    assert free_run_error(free_run, truth) < 0.3 * free_run_error(one_step, truth)


@pytest.mark.parametrize("history", [LAGGED, FILTERED, MemorySpec(U, Y, DT, input_lags=1, output_lags=2)])
def test_slope_in_free_run_is_that_of_finite_differences(history: MemorySpec) -> None:
    train = runs(range(2), 0.05, n=80)
    limits = memory_limits(history, train)
    step = fit_pce(
        Dataset(*_clipped(history, train, limits)), _space(history, limits), method="ols", degree=2
    )  # fmt: skip
    problem = _FreeRuns(history, step, limits, train)
    C = step.coefficients
    _, gradient, _ = problem(C)
    for i, h in ((0, 1e-6), (3, 1e-6), (C.size - 1, 1e-6)):
        change = np.zeros(C.T.size)
        change[i] = h
        move = change.reshape(C.T.shape).T
        slope = (problem(C + move)[0] - problem(C - move)[0]) / (2 * h)
        assert slope == pytest.approx(2.0 * gradient[i], rel=1e-4, abs=1e-9)


def _clipped(history: MemorySpec, data: Dataset, limits):
    table = history.table(data)
    return np.clip(table.X, *limits.features), table.Y, table.inputs, table.outputs


def test_free_run_of_the_fit_is_that_of_the_finished_model() -> None:
    """The recursion inside the fit and the rollout of `MemoryModel` are two codes for one thing."""
    train = runs(range(2), n=120)
    limits = memory_limits(FILTERED, train)
    step = fit_pce(Dataset(*_clipped(FILTERED, train, limits)), _space(FILTERED, limits), method="omp", degree=3)
    error = _FreeRuns(FILTERED, step, limits, train)(step.coefficients)[0]
    model = assemble(FILTERED, step, limits)
    wrong = np.concatenate([model.rollout(train.X[:120]), model.rollout(train.X[120:])])[:, 0] - train.Y[:, 0]
    assert error == pytest.approx(np.mean(wrong**2) / np.var(train.Y), rel=1e-9)


@pytest.mark.parametrize("gate", [None, Gate("F_f1", 4.0, closed=1.0), Gate("F", 3.0)])
def test_runs_side_by_side_have_the_errors_of_single_ones(gate: Gate | None) -> None:
    """Nine runs of unequal length (eight go together), lags of input and output, an operator, filters, a gate."""
    history = MemorySpec(
        U, Y, DT, 1, 2, filters=(LowPassMemory("F", 0.1), LowPassMemory("tau*w", 2.0)), operators=(Play("F", radii=(1.0,)),),
        gate=gate,
    )  # fmt: skip
    train = runs(range(9), 0.1, n=80)
    limits = memory_limits(history, train, [[2.0, -0.5], [8.0, 0.5]])
    step = fit_pce(Dataset(*_clipped(history, train, limits)), _space(history, limits), method="ols", degree=1)
    model = assemble(history, step, limits)
    some = [run.take(np.arange(len(run) - 7 * i)) for i, run in enumerate(split_runs(train))]
    judge, wrong = SideBySide(model, some), sum(np.sum((model.rollout(r.X) - r.Y) ** 2, axis=0) for r in some)
    np.testing.assert_allclose(judge.wrong(model, np.array([np.inf])), wrong, rtol=1e-11)
    assert judge.size == pytest.approx(sum(np.sum(run.Y**2) for run in some))
    assert judge.wrong(model, 1.001 * wrong) < np.inf
    assert judge.wrong(model, 0.999 * wrong) == np.inf


def test_filters_of_the_finished_model_are_those_of_the_history() -> None:
    train = runs(range(2), n=200)
    model = fit_pce_memory(train, FILTERED, valid=train, method="omp", degree=3, rows=300, iterations=0)
    y = model.everything(train.X[:200])
    z = FILTERED.filtered(FILTERED.driving(train.X[:200], y[:, :1]))
    np.testing.assert_allclose(y[:, 1], z[:, 0], rtol=1e-9, atol=1e-9)
    assert [p.name for p in model.step.outputs] == ["tau", "F_f1", "tau_w_f2"]
    assert [p.name for p in model.outputs] == ["tau"]


def test_refinement_never_makes_the_training_error_worse() -> None:
    train = runs(range(2), 0.05, n=100)
    limits = memory_limits(LAGGED, train)
    step = fit_pce(Dataset(*_clipped(LAGGED, train, limits)), _space(LAGGED, limits), method="omp", degree=2)
    problem = _FreeRuns(LAGGED, step, limits, train)
    better = refined(LAGGED, step, limits, train, iterations=5)
    assert problem(better.coefficients)[0] < problem(step.coefficients)[0]


def test_it_stays_bounded_far_outside() -> None:
    model = fit_pce_memory(runs(range(2)), LAGGED, valid=runs(range(50, 51)), method="omp", rows=200)
    wild = np.random.default_rng(0).normal(size=(5000, 2)) * 1e4
    y = model.rollout(wild)
    assert np.isfinite(y).all()
    assert y.min() >= model.bounds[0][0] and y.max() <= model.bounds[1][0]
    assert model.outside(wild).all()


def test_the_better_history_is_chosen_by_validation() -> None:
    poor = MemorySpec(U, Y, DT, input_lags=1)
    chosen = select_pce_history(
        runs(range(2)), [poor, LAGGED], valid=runs(range(50, 52)), method="omp", rows=200, **RANGES
    )
    model, table = chosen.model, chosen.table
    assert [row["chosen"] for row in table] == [False, True]
    assert table[1]["free_run_nrmse"] < 1e-3 * table[0]["free_run_nrmse"]
    assert model.output_lags == 1
    with pytest.raises(ConfigError, match="memories of select_pce_history must name at least one, got none"):
        select_pce_history(runs(range(1)), [], valid=runs(range(1)))


def test_pruning_leaves_out_terms_that_the_free_runs_do_not_miss() -> None:
    train, valid, unseen = runs(range(4), noise=0.01), runs(range(10, 12), noise=0.01), runs(range(20, 22))
    settings = {"valid": valid, "iterations": 0, "method": "ols", "degree": 4, "q": 1.0, **RANGES}
    whole = fit_pce_memory(train, LAGGED, **settings)
    fewer = fit_pce_memory(train, LAGGED, **settings, prune=0.01)
    assert fewer.step.terms <= 12 < 30 < whole.step.terms  # four terms are there, the others fit noise
    assert free_run_error(fewer, valid) <= 1.01 * free_run_error(whole, valid)
    assert free_run_error(fewer, unseen) <= 1.05 * free_run_error(whole, unseen)


def test_pruning_needs_validation_runs_in_which_every_output_moves() -> None:
    data = runs(range(10, 11))
    still = Dataset(0.0 * data.X, 0.0 * data.Y, U, Y, run=data.run)
    with pytest.raises(ConfigError, match=r"Output 'tau' must move in the validation runs .* prune .*; add runs"):
        fit_pce_memory(runs(range(3)), LAGGED, valid=still, rows=300, iterations=0, prune=0.01, **RANGES)


def test_pruning_takes_nothing_from_a_model_without_any_error() -> None:
    """The error to compare with is 0: its square was 0 too, growth 0 / 0, and every term went."""
    data = runs(range(3))
    limits = memory_limits(LAGGED, data, *RANGES.values())
    table = LAGGED.table(data, rows=400)
    step = fit_pce(table, _space(LAGGED, limits), method="ols", degree=2, q=1.0)
    model = assemble(LAGGED, step, limits)
    exact = [Dataset(run.X, model.rollout(run.X), U, Y) for run in split_runs(data)]
    found = _without_terms(LAGGED, step, table, limits, exact[:1], exact[1:], 0.01)
    np.testing.assert_array_equal(found.rollout(exact[0].X), exact[0].Y)


def test_backward_elimination_fits_the_terms_that_are_left_again() -> None:
    data = runs(range(3), noise=0.02)
    limits = memory_limits(LAGGED, data, *RANGES.values())
    table = LAGGED.table(data, rows=400)
    step = fit_pce(table, _space(LAGGED, limits), method="ols", degree=3, q=1.0)
    path = elimination(step, 0, table)
    assert [len(at) for at, _ in path] == list(range(step.terms, 0, -1))
    A = matrix(values(step._standard(table.X), step.recurrence), step.indices)
    squares = []
    for at, c in path[:15]:
        again = np.linalg.lstsq(A[:, at], table.Y[:, 0], rcond=None)[0]
        np.testing.assert_allclose(c, again, rtol=1e-6, atol=1e-9)
        squares.append(np.sum((A[:, at] @ c - table.Y[:, 0]) ** 2))
    for (at, _), least in zip(path[:5], squares[1:6], strict=True):  # no other term would have cost less
        others = [np.delete(at, j) for j in range(len(at)) if step.indices[at[j]].any()]
        costs = [np.linalg.lstsq(A[:, some], table.Y[:, 0], rcond=None)[1] for some in others]
        assert least <= min(float(c[0]) for c in costs) * (1 + 1e-9)


def test_what_cannot_be_learned_is_refused() -> None:
    still = runs(range(1))
    flat = Dataset(np.column_stack([still.X[:, 0], np.ones(300)]), still.Y, U, Y)
    with pytest.raises(ConfigError, match=r"Every feature .* must vary in the training runs, got w constant"):
        fit_pce_memory(flat, LAGGED, valid=flat)
    with pytest.raises(ConfigError, match="rows of fit_pce_memory must be a whole number of at least 10, got 3"):
        fit_pce_memory(still, LAGGED, valid=still, rows=3)
