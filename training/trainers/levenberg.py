"""Levenberg-Marquardt with Bayesian regularisation for any least-squares problem that gives residuals and a Jacobian.

Minimise F(theta) = beta E_D + alpha E_W with E_D = sum of squared residuals and E_W = theta' theta. Before every step
MacKay's evidence formulas renew both factors (MacKay, Neural Computation 4, 1992; Foresee and Hagan, 1997):

    H = 2 beta J'J + 2 alpha I,  gamma = n - 2 alpha tr(H^-1),  alpha = gamma / (2 E_W),  beta = (N - gamma) / (2 E_D)

gamma is the effective number of parameters: how many of the n the data determine. The systems are positive definite
and solved as they stand: for a few hundred parameters that is several times faster than an eigenvalue decomposition.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rt_runtime.checks import Array

_MU_MAX = 1e14
_TRIALS = 20


class Problem(Protocol):
    """A least-squares problem in theta with N residuals."""

    @property
    def n_residuals(self) -> int:
        """N, the number of residuals."""
        ...

    def error(self, theta: Array) -> float:
        """Return the sum of squared residuals; inf when the model ran away."""
        ...

    def normal(self, theta: Array) -> tuple[float, Array, Array]:
        """Return (sum of squared residuals, J'J, J'r) at theta, r = model - data."""
        ...


@dataclass(frozen=True)
class State:
    """Everything one iteration hands to the next; saving it and going on gives the same bits as never stopping."""

    theta: Array
    alpha: float = 0.0
    beta: float = 1.0
    mu: float = 1e-3
    gamma: float = math.nan
    error: float = math.nan
    iteration: int = 0
    still: int = 0
    done: bool = False


def start(theta: Array, problem: Problem) -> State:
    """Return the state before the first iteration."""
    return State(theta=theta.copy(), gamma=float(theta.size), error=problem.error(theta))


def iterate(
    state: State,
    problem: Problem,
    *,
    iterations: int,
    tolerance: float = 1e-7,
    patience: int = 10,
    bayesian: bool = True,
    deadline: float | None = None,
    after: Callable[[State], None] | None = None,
) -> State:
    """Go on from `state` until converged, `iterations` in all are done, or `time.perf_counter()` passes `deadline`.

    Converged means `patience` accepted steps in a row lowered F by less than `tolerance` relative. `after` sees the
    state of every iteration. With `bayesian=False` alpha stays 0: plain Levenberg-Marquardt.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # threads waiting for each other make small matrices slow
        while not state.done and state.iteration < iterations:
            if deadline is not None and time.perf_counter() > deadline:
                break
            state = _iteration(state, problem, tolerance, patience, bayesian)
            if after is not None:
                after(state)
    return state


def _iteration(state: State, problem: Problem, tolerance: float, patience: int, bayesian: bool) -> State:
    theta, mu = state.theta, state.mu
    error, JJ, Jr = problem.normal(theta)
    alpha, beta, gamma = state.alpha, state.beta, state.gamma
    weight = float(theta @ theta)
    if bayesian:
        alpha, beta, gamma = _evidence(state, problem.n_residuals, error, weight, JJ)
    objective = beta * error + alpha * weight
    gradient = beta * Jr + alpha * theta
    hessian = beta * JJ
    diagonal = np.einsum("ii->i", hessian)
    diagonal += alpha
    scale = float(diagonal.max())
    undamped = diagonal.copy()
    for _ in range(_TRIALS):
        diagonal[:] = undamped + mu * scale
        step = _solve(hessian, gradient)
        new = theta - step
        new_error = problem.error(new)
        new_objective = beta * new_error + alpha * float(new @ new)
        if math.isfinite(new_objective) and new_objective < objective:
            small = objective - new_objective <= tolerance * objective
            still = state.still + 1 if small else 0
            return State(
                theta=new, alpha=alpha, beta=beta, gamma=gamma, error=new_error, iteration=state.iteration + 1,
                mu=max(0.2 * mu, 1e-16), still=still, done=still >= patience,
            )  # fmt: skip
        mu *= 4.0
        if mu > _MU_MAX:
            break
    return replace(state, alpha=alpha, beta=beta, gamma=gamma, mu=mu, iteration=state.iteration + 1, done=True)


def _evidence(state: State, n_residuals: int, error: float, weight: float, JJ: Array) -> tuple[float, float, float]:
    """Renew alpha, beta and gamma by one fixed-point step of the evidence; both factors stay finite and positive."""
    n = len(JJ)
    if state.alpha > 0.0:
        ratio = state.alpha / state.beta
        gamma = n - ratio * float(np.trace(_inverse(JJ + ratio * np.eye(n))))
    else:
        gamma = float(min(n, n_residuals - 1))
    gamma = min(max(gamma, 1e-3), n_residuals - 1e-3)
    floor = np.finfo(np.float64).tiny
    return gamma / (2.0 * max(weight, floor)), (n_residuals - gamma) / (2.0 * max(error, 1e-30)), gamma


def _solve(matrix: Array, right: Array) -> Array:
    """Solve, or return no step when the matrix is singular to rounding; a larger damping follows."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), np.float64)
    except np.linalg.LinAlgError:
        return np.zeros_like(right)


def _inverse(matrix: Array) -> Array:
    try:
        return np.asarray(np.linalg.inv(matrix), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix, hermitian=True), np.float64)
