"""Levenberg-Marquardt: a linear problem has closed forms for the minimum and for the evidence; restarts keep the bits."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rt_runtime.errors import ConfigError
from training.trainers.checkpoint import load_state, save_state
from training.trainers.levenberg import iterate, start


class Line:
    """Residuals A theta - b."""

    def __init__(self, n: int = 60, size: int = 6, noise: float = 0.3) -> None:
        rng = np.random.default_rng(0)
        self.A = rng.normal(size=(n, size)) * np.array([1.0, 1.0, 1.0, 0.1, 0.01, 1e-3])[:size]
        self.b = self.A @ np.linspace(-1.0, 1.0, size) + noise * rng.normal(size=n)
        self.n_residuals = n

    def error(self, theta: np.ndarray) -> float:
        r = self.A @ theta - self.b
        return float(r @ r)

    def normal(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        r = self.A @ theta - self.b
        return float(r @ r), self.A.T @ self.A, self.A.T @ r


class Rosenbrock:
    """The banana valley as two residuals; minimum 0 at (1, 1)."""

    n_residuals = 2

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        return np.array([10.0 * (theta[1] - theta[0] ** 2), 1.0 - theta[0]])

    def error(self, theta: np.ndarray) -> float:
        return float(np.sum(self.residuals(theta) ** 2))

    def normal(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        r, J = self.residuals(theta), np.array([[-20.0 * theta[0], 10.0], [-1.0, 0.0]])
        return float(r @ r), J.T @ J, J.T @ r


def test_without_regularisation_it_is_least_squares() -> None:
    problem = Line()
    state = iterate(start(np.zeros(6), problem), problem, iterations=200, bayesian=False)
    np.testing.assert_allclose(state.theta, np.linalg.lstsq(problem.A, problem.b)[0], rtol=1e-6)
    assert state.done and state.alpha == 0.0


def test_a_curved_valley_ends_at_its_minimum() -> None:
    problem = Rosenbrock()
    state = iterate(start(np.array([-1.2, 1.0]), problem), problem, iterations=200, bayesian=False)
    np.testing.assert_allclose(state.theta, [1.0, 1.0], atol=1e-9)
    assert state.iteration < 60


def test_evidence_reaches_its_fixed_point() -> None:
    """alpha = gamma / (2 E_W), beta = (N - gamma) / (2 E_D), gamma = sum lambda / (lambda + alpha / beta), by iteration."""
    problem = Line()
    state = iterate(start(np.full(6, 0.1), problem), problem, iterations=500, tolerance=1e-14)
    alpha, beta = 1.0, 1.0
    for _ in range(2000):
        H = beta * problem.A.T @ problem.A + alpha * np.eye(6)
        theta = np.linalg.solve(H, beta * problem.A.T @ problem.b)
        gamma = 6 - alpha * np.trace(np.linalg.inv(H))
        alpha, beta = gamma / (2.0 * theta @ theta), (60 - gamma) / (2.0 * problem.error(theta))
    np.testing.assert_allclose([state.alpha, state.beta, state.gamma], [alpha, beta, gamma], rtol=1e-5)
    np.testing.assert_allclose(state.theta, theta, rtol=1e-5)
    assert gamma < 5.5  # the weakly seen parameters do not count
    assert math.sqrt(1.0 / (2.0 * state.beta)) == pytest.approx(0.3, rel=0.2)  # the noise that was put in


def test_a_saved_state_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    problem = Line()
    whole = iterate(start(np.full(6, 0.1), problem), problem, iterations=12)
    part = iterate(start(np.full(6, 0.1), problem), problem, iterations=5)
    save_state(tmp_path / "checkpoint.npz", part)
    rest = iterate(load_state(tmp_path / "checkpoint.npz"), problem, iterations=12)
    assert rest.theta.tobytes() == whole.theta.tobytes()
    assert (rest.alpha, rest.beta, rest.mu, rest.iteration) == (whole.alpha, whole.beta, whole.mu, whole.iteration)


def test_a_broken_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.npz").write_bytes(b"no zip")
    with pytest.raises(ConfigError, match=r"Checkpoint '.*checkpoint.npz' cannot be read .*delete it"):
        load_state(tmp_path / "checkpoint.npz")


def test_a_step_into_nowhere_is_not_taken() -> None:
    class Cliff(Line):
        def error(self, theta: np.ndarray) -> float:
            return super().error(theta) if theta[0] > -0.3 else math.inf

    problem = Cliff()
    state = iterate(start(np.zeros(6), problem), problem, iterations=100, bayesian=False)
    assert state.theta[0] > -0.3 and state.error < problem.error(np.zeros(6))
