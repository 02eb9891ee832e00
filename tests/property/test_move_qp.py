"""The quadratic programme of the core: optimality on random problems, and an independent solver beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from rt_runtime._core import MoveQp, QpStatus
from tests.reference.control import running_sum, solve_moves

TOLERANCE = 1e-10
"""Of every bound, relative to 1 + |bound|."""


def problem(rng: np.random.Generator, channels: int, moves: int):
    """A random H of condition up to 1e4, bounds that contain zero, some of them infinite or touching it."""
    n = channels * moves
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    h = q @ np.diag(10 ** rng.uniform(-2, 2, n)) @ q.T
    f = rng.normal(size=n) * 10 ** rng.uniform(-1, 1)
    sides = rng.uniform(0.01, 1.0, (2, 2, channels)) * np.array([[1.0], [2.0]])
    sides[rng.random(sides.shape) < 0.1] = np.inf
    sides[:, 1][rng.random((2, channels)) < 0.1] = 0.0
    lower, upper = (np.concatenate([np.tile(s[0], moves), np.tile(s[1], moves)]) for s in sides)
    return 0.5 * (h + h.T), f, -lower, upper


def optimality(h, f, lower, upper, x, multipliers, channels: int) -> tuple[float, float, float]:
    """How far gradient, bounds and complementarity are from the conditions of Karush, Kuhn and Tucker."""
    rows = np.vstack([np.eye(len(f)), running_sum(channels, len(f) // channels)])
    v = rows @ x
    gradient = np.abs(h @ x + f + rows.T @ multipliers).max() / (1 + np.abs(f).max())
    outside = max((v - upper).max(), (lower - v).max())
    active = np.where(multipliers > 0, v - upper, np.where(multipliers < 0, v - lower, 0.0))
    return gradient, outside, np.abs(active).max()


def test_optimal_on_ten_thousand_random_problems_and_equal_to_an_independent_solver() -> None:
    rng = np.random.default_rng(0)
    worst, most, apart = np.zeros(3), 0.0, 0.0
    for _ in range(10_000):
        channels, moves = int(rng.integers(1, 4)), int(rng.integers(1, 11))
        h, f, lower, upper = problem(rng, channels, moves)
        qp = MoveQp(channels, moves)
        assert qp.set_hessian(h)
        x, status, iterations = qp.solve(f, lower, upper)
        assert status == QpStatus.optimal
        worst = np.maximum(worst, optimality(h, f, lower, upper, x, qp.multipliers, channels))
        most = max(most, iterations / (channels * moves))
        apart = max(apart, np.abs(x - solve_moves(h, f, lower, upper, channels)).max())
    assert worst.max() < 1e-9
    assert most < 5
    assert apart < 2e-6  # the other solver stops at 1e-6


@given(st.integers(0, 10**6))
def test_a_warm_start_gives_the_same_minimum_as_a_cold_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h, f, lower, upper = problem(rng, 2, 8)
    warm = MoveQp(2, 8)
    warm.set_hessian(h)
    for k in range(200):  # more changes than the kept inverse lives for
        g = f * np.cos(0.1 * k) + 0.3 * rng.normal(size=len(f))
        cold = MoveQp(2, 8)
        cold.set_hessian(h)
        x, status, _ = warm.solve(g, lower, upper)
        assert status == QpStatus.optimal
        np.testing.assert_allclose(x, cold.solve(g, lower, upper)[0], rtol=0, atol=1e-9)


def test_a_new_hessian_and_new_bounds_between_solves() -> None:
    rng = np.random.default_rng(7)
    qp = MoveQp(1, 10)
    for _ in range(300):
        h, f, lower, upper = problem(rng, 1, 10)
        qp.set_hessian(h)
        x, status, _ = qp.solve(f, lower, upper)
        assert status == QpStatus.optimal
        assert max(optimality(h, f, lower, upper, x, qp.multipliers, 1)) < 1e-9


def test_infeasible_bounds_hold_the_command_as_near_to_them_as_its_rate_allows() -> None:
    qp = MoveQp(1, 3)
    qp.set_hessian(np.eye(3))
    lower = np.array([-0.1] * 3 + [1.0] * 3)  # the input is 1 below its bound, the rate allows 0.1
    upper = np.array([0.1] * 3 + [2.0] * 3)
    x, status, _ = qp.solve(np.zeros(3), lower, upper)
    assert status == QpStatus.infeasible
    np.testing.assert_array_equal(x, [0.1, 0.0, 0.0])


def hard(channels: int = 6, moves: int = 10, bound: float = 0.05):
    """Drives that lag behind, weakly coupled, far from their targets: most bounds are active. H, f row by row, bounds."""
    n = channels * moves
    lag = 1.0 - np.exp(-0.2 * np.arange(1, moves + 1))
    theta = np.array([[lag[i - j] if i >= j else 0.0 for j in range(moves)] for i in range(moves)])
    theta = np.kron(theta, 0.9 * np.eye(channels) + 0.1)
    rng = np.random.default_rng(1)
    rows = -np.tile(rng.normal(size=(200, channels)), moves) @ theta
    limits = np.concatenate([np.full(n, bound), np.full(n, 7.3 * bound)])
    return theta.T @ theta + 1e-4 * np.eye(n), rows, limits


def test_at_the_iteration_cap_the_move_is_feasible_and_better_than_none() -> None:
    h, rows, limits = hard()
    capped, whole = MoveQp(6, 10, 1), MoveQp(6, 10)
    assert (capped.max_iterations, whole.max_iterations) == (1, 240)
    found = 0
    for f in rows:
        for qp in (capped, whole):
            qp.set_hessian(h)
            qp.reset()
        x, status, iterations = capped.solve(f, -limits, limits)
        best, _, _ = whole.solve(f, -limits, limits)
        if status == QpStatus.optimal:
            continue
        found += 1
        assert (status, iterations) == (QpStatus.iteration_limit, 1)
        assert (np.abs(np.concatenate([x, running_sum(6, 10) @ x])) <= limits * (1 + 1e-12)).all()
        cost, least = (0.5 * v @ h @ v + f @ v for v in (x, best))
        assert least - 1e-12 <= cost < 0.95 * least < 0.0  # near the minimum, far below that of a command that is held
    assert found >= 5


def test_a_cold_start_and_a_wrong_one_take_few_iterations_and_give_the_optimum() -> None:
    h, rows, limits = hard()
    qp = MoveQp(6, 10)
    qp.set_hessian(h)
    cold, wrong = [], []
    for f in rows:
        qp.reset()
        x, status, iterations = qp.solve(f, -limits, limits)
        cold.append(iterations)
        assert status == QpStatus.optimal
        assert max(optimality(h, f, -limits, limits, x, qp.multipliers, 6)) < 1e-9
        assert qp.solve(-f, -limits, limits)[1] == QpStatus.optimal  # every active bound is now on the other side
        y, status, iterations = qp.solve(f, -limits, limits)
        wrong.append(iterations)
        assert status == QpStatus.optimal
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
    assert np.mean(cold) < 15 and max(cold) < 60  # the active set alone has some 50 bounds
    assert np.mean(wrong) < 40 and max(wrong) < 120


def test_degenerate_corners_end_at_a_feasible_move() -> None:
    """Sums whose bound is a whole number of largest moves: several active sets describe one corner."""
    h, rows, limits = hard()
    limits[60:] = 5 * limits[0]
    qp = MoveQp(6, 10)
    qp.set_hessian(h)
    for f in rows:
        x, status, iterations = qp.solve(f, -limits, limits)
        assert iterations <= qp.max_iterations and status != QpStatus.infeasible
        assert (np.abs(np.concatenate([x, running_sum(6, 10) @ x])) <= limits * (1 + 1e-9)).all()


def outside(x, lower, upper, channels: int) -> float:
    """How far moves and sums lie beyond their bounds, relative to 1 + |bound|."""
    v = np.concatenate([x, running_sum(channels, len(x) // channels) @ x])
    finite_lower, finite_upper = np.where(np.isfinite(lower), lower, 0.0), np.where(np.isfinite(upper), upper, 0.0)
    return max(((v - upper) / (1 + np.abs(finite_upper))).max(), ((lower - v) / (1 + np.abs(finite_lower))).max())


def conditioned(rng: np.random.Generator, n: int, decades: float) -> np.ndarray:
    """A random H with a condition of so many decades."""
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    h = q @ np.diag(10.0 ** np.linspace(-decades / 2, decades / 2, n)) @ q.T
    return 0.5 * (h + h.T)


@pytest.mark.parametrize("decades", [2.0, 8.0])
def test_bounds_are_kept_whatever_the_numbers(decades: float) -> None:
    """The minimum lies up to 16 decades beyond the bounds: what rounding leaves of it is moved into them."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(500):
        channels, moves = int(rng.integers(1, 4)), int(rng.integers(2, 9))
        _, f, lower, upper = problem(rng, channels, moves)
        upper, lower = np.minimum(upper, 5.0), np.maximum(lower, -5.0)
        f *= 10.0 ** rng.uniform(2, 12)
        h, qp = conditioned(rng, len(f), decades), MoveQp(channels, moves)
        assert qp.set_hessian(h)
        for g in (f, -f):  # cold, then warm from the opposite corner
            x, status, _ = qp.solve(g, lower, upper)
            assert outside(x, lower, upper, channels) <= TOLERANCE
            assert status != QpStatus.infeasible
            assert 0.5 * x @ h @ x + g @ x <= TOLERANCE * np.abs(g).sum()  # not to move at all is feasible
            seen.add(status)
            if status == QpStatus.optimal:
                excess = g @ x - least_corner(g, lower, upper, channels) if np.abs(g).max() > 1e10 else 0.0
                assert excess <= 1e-3 * np.abs(g).max()  # what rounding leaves of 1e12
    assert seen == {QpStatus.optimal, QpStatus.iteration_limit}


def least_corner(g, lower, upper, channels: int) -> float:
    """The least of g'x within the bounds, by a linear programme: the minimum where the gradient is all that counts."""
    n, sums = len(g), running_sum(channels, len(g) // channels)
    rows, limits = np.vstack([sums, -sums]), np.concatenate([upper[n:], -lower[n:]])
    box, size = np.column_stack([lower, upper])[:n], np.abs(g).max()
    return float(linprog(g / size, A_ub=rows, b_ub=limits, bounds=box).fun * size)


def varying(rng: np.random.Generator, channels: int, moves: int):
    """Bounds that differ from step to step around moves that keep all of them, some without any room or infinite."""
    rows = np.vstack([np.eye(channels * moves), running_sum(channels, moves)])
    inside = rows @ rng.normal(size=channels * moves)
    lower, upper = (inside + side * rng.uniform(0.0, 0.5, len(inside)) for side in (-1.0, 1.0))
    for bounds, none in ((lower, -np.inf), (upper, np.inf)):
        tight = rng.random(len(inside)) < 0.1
        bounds[tight] = inside[tight]
        bounds[rng.random(len(inside)) < 0.2] = none
    return lower, upper


@pytest.mark.parametrize("cap", [1, 2, 3, 0])
def test_no_feasible_problem_is_called_infeasible(cap: int) -> None:
    rng = np.random.default_rng(11 + cap)
    for _ in range(500):
        channels, moves = int(rng.integers(1, 4)), int(rng.integers(1, 11))
        h, f, _, _ = problem(rng, channels, moves)
        qp = MoveQp(channels, moves, cap)
        qp.set_hessian(h)
        for _ in range(3):  # the active set of other bounds is the start
            lower, upper = varying(rng, channels, moves)
            x, status, _ = qp.solve(f, lower, upper)
            assert status != QpStatus.infeasible
            assert outside(x, lower, upper, channels) <= 2 * TOLERANCE


def test_infeasible_problems_are_told_from_feasible_ones() -> None:
    """Random bounds from step to step; a linear programme knows which can be kept."""
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(200):
        channels, moves = int(rng.integers(1, 3)), int(rng.integers(2, 6))
        n = channels * moves
        h, f, _, _ = problem(rng, channels, moves)
        sums = running_sum(channels, moves)
        centre = rng.normal(size=2 * n) * rng.uniform(0.0, 0.6)
        lower, upper = centre - rng.uniform(0.1, 0.8, 2 * n), centre + rng.uniform(0.1, 0.8, 2 * n)
        qp = MoveQp(channels, moves, int(rng.integers(0, 4)))
        qp.set_hessian(h)
        _, status, _ = qp.solve(f, lower, upper)
        box = np.column_stack([lower, upper])[:n]
        rows, limits = np.vstack([sums, -sums]), np.concatenate([upper[n:], -lower[n:]])
        feasible = linprog(np.zeros(n), A_ub=rows, b_ub=limits, bounds=box).success
        assert feasible == (status != QpStatus.infeasible)
        seen.add(feasible)
    assert seen == {True, False}


def test_a_hessian_that_is_not_positive_definite_is_refused() -> None:
    assert not MoveQp(1, 2).set_hessian(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_wrong_sizes_are_refused() -> None:
    qp = MoveQp(1, 2)
    with pytest.raises(ValueError, match="h must be n x n"):
        qp.set_hessian(np.eye(3))
    qp.set_hessian(np.eye(2))
    with pytest.raises(ValueError, match="f must have n, lower and upper 2n numbers"):
        qp.solve(np.zeros(2), np.zeros(2), np.zeros(2))


NOT_NUMBERS = [np.nan, np.inf, -np.inf]


@given(st.integers(0, 10**6), st.sampled_from(["f", "lower", "upper"]), st.sampled_from(NOT_NUMBERS))
def test_numbers_that_are_none_hold_the_command_and_leave_nothing_behind(seed: int, which: str, number: float) -> None:
    rng = np.random.default_rng(seed)
    h, f, lower, upper = problem(rng, 2, 5)
    qp, fresh = MoveQp(2, 5), MoveQp(2, 5)
    qp.set_hessian(h)
    fresh.set_hessian(h)
    qp.solve(f, lower, upper)
    bad = {"f": f.copy(), "lower": lower.copy(), "upper": upper.copy()}
    i = int(rng.integers(len(bad[which])))
    bad[which][i] = number
    x, status, _ = qp.solve(**bad)
    if (which, number) in (("lower", -np.inf), ("upper", np.inf)):  # no bound
        assert status == QpStatus.optimal
        return
    assert status == QpStatus.not_finite
    np.testing.assert_array_equal(x, np.zeros(10))  # zero keeps all bounds of `problem`
    np.testing.assert_array_equal(qp.solve(f, lower, upper)[0], fresh.solve(f, lower, upper)[0])


@pytest.mark.parametrize("size", [1e150, 1e200, 1e300, 1e308])
def test_numbers_that_overflow_on_the_way_never_give_a_move_that_is_none(size: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        h, f, lower, upper = problem(rng, 2, 5)
        qp = MoveQp(2, 5)
        qp.set_hessian(h)
        x, status, _ = qp.solve(size * np.sign(f), lower, upper)
        assert np.isfinite(x).all()
        v = np.concatenate([x, running_sum(2, 5) @ x])
        inside = (v <= upper + TOLERANCE * (1 + np.abs(upper))) & (v >= lower - TOLERANCE * (1 + np.abs(lower)))
        assert inside[np.isfinite(lower) & np.isfinite(upper)].all()
        assert status in QpStatus


def test_a_first_move_into_its_bounds_passes_by_bounds_that_are_none() -> None:
    qp = MoveQp(1, 2)
    qp.set_hessian(np.eye(2))
    lower, upper = np.array([-0.1, -0.1, 1.0, np.nan]), np.array([0.1, 0.1, 2.0, 2.0])
    np.testing.assert_array_equal(qp.solve(np.zeros(2), lower, upper)[0], [0.1, 0.0])
    lower[2] = np.inf
    x, status, _ = qp.solve(np.zeros(2), lower, np.full(4, np.inf))
    assert status == QpStatus.not_finite
    np.testing.assert_array_equal(x, [0.0, 0.0])
