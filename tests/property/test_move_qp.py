"""The quadratic programme of the core: optimality on random problems, and an independent solver beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_runtime._core import MoveQp, QpStatus
from tests.reference.control import running_sum, solve_moves


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


def test_a_hessian_that_is_not_positive_definite_is_refused() -> None:
    assert not MoveQp(1, 2).set_hessian(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_wrong_sizes_are_refused() -> None:
    qp = MoveQp(1, 2)
    with pytest.raises(ValueError, match="h must be n x n"):
        qp.set_hessian(np.eye(3))
    qp.set_hessian(np.eye(2))
    with pytest.raises(ValueError, match="f must have n, lower and upper 2n numbers"):
        qp.solve(np.zeros(2), np.zeros(2), np.zeros(2))
