"""A solver for many terms and few samples: Gaussian prior on the coefficients, its decay learned from the data.

Each coefficient c_alpha has the prior N(0, lambda_alpha) with a product of one-variable weights,

    lambda_alpha = prod_{i: alpha_i > 0} w_i(alpha_i),
    ln w_i(k) = s_i (k odd) or t_i (k even) - d_i (k - 1)    "exponential" decay, for smooth functions
                                            - d_i ln k       "algebraic" decay, for kinks

so importance, smoothness and symmetry of every variable are found by the marginal likelihood (type-II maximum
likelihood, analytic gradient, on at most a few hundred rows: the prior needs no more). The terms with the largest
weights then make the basis, and the posterior mean is one linear solve

    c = L A' (A L A' + nu I)^-1 y,   L = diag(lambda),

with leave-one-out residuals in closed form, [K^-1 y]_i / [K^-1]_ii. Last, terms are dropped while the variance they
carry together stays far below the leave-one-out error.
"""

from __future__ import annotations

import numpy as np

from mor.reduced.pce.basis import Ints, matrix
from mor.reduced.pce.sparse import Fit
from rt_runtime.checks import Array

DECAYS = ("exponential", "algebraic")

_ROWS = 200  # rows that the prior is learned from
_DUAL = 1500  # more rows than this are solved for the coefficients, fewer for the rows
_ITERATIONS = 40
_NUGGET = 1e-10  # smallest noise variance relative to the mean of the kernel's diagonal: keeps the solve accurate
_NOISY = 1e-7  # learned noise above this is looked at again from a start with much noise
_DROPPED = 0.02  # variance of all dropped terms relative to the leave-one-out error


def _features(degree: int, decay: str) -> Array:
    """Return the three functions of k = 1..degree whose combination is ln w_i(k)."""
    k = np.arange(1.0, degree + 1.0)
    odd = k % 2.0
    return np.stack([odd, 1.0 - odd, -(k - 1.0) if decay == "exponential" else -np.log(k)])


def _inverse(K: Array) -> tuple[Array, float] | None:
    """Return the inverse of a positive definite matrix and half its log-determinant, or None."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(K, lower=1, clean=0)
    if failed:
        return None
    half = float(np.log(np.diag(factor)).sum())
    lower, failed = dpotri(factor, lower=1)
    if failed:
        return None
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T, half


def learn_prior(psi: Array, y: Array, degrees: Ints, decay: str, spread: Array | None = None) -> tuple[Array, float]:
    """Return the weights w_i(k) (dimension, degree) and the noise nu relative to the kernel's mean diagonal.

    psi: (dimension, degree + 1, n) one-variable polynomials at the samples, y: (n,), degrees: highest degree allowed
    in each variable, spread: (n,) noise variance of each row relative to their mean.
    """
    from scipy.optimize import minimize

    spread = np.ones(y.size) if spread is None else spread

    if y.size > _ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(y.size)[:_ROWS])
        psi, y, spread = psi[:, :, rows], y[rows], spread[rows]
    dimension, degree, n = psi.shape[0], psi.shape[1] - 1, y.size
    V = np.ascontiguousarray(psi[:, 1:].transpose(0, 2, 1))
    features = _features(degree, decay)
    allowed = np.arange(1, degree + 1) <= degrees[:, None]
    y = (y - y.mean()) / y.std()

    def weights(theta: Array) -> tuple[Array, Array]:
        shape = theta[:-1].reshape(dimension, 3).copy()
        shape[:, 2] = np.exp(shape[:, 2])
        return np.where(allowed, np.exp(shape @ features), 0.0), shape[:, 2]

    def negative_likelihood(theta: Array) -> tuple[float, Array]:
        w, rate = weights(theta)
        factors = np.matmul(V * w[:, None, :], V.transpose(0, 2, 1))
        factors += 1.0
        K = np.prod(factors, axis=0)
        diagonal = K.flat[:: n + 1].copy()
        nu = np.exp(theta[-1]) * diagonal.mean()
        noisy = K.copy()
        noisy.flat[:: n + 1] += nu * spread
        solved = _inverse(noisy)
        if solved is None:
            return 1e10, np.zeros_like(theta)
        inverse, half_determinant = solved
        dual = inverse @ y
        variance = float(y @ dual) / n
        M = 0.5 * (inverse - np.outer(dual, dual) / variance)
        trace = float(np.diag(M) @ spread)
        sensitivity = M * K
        sensitivity.flat[:: n + 1] += trace * np.exp(theta[-1]) / n * diagonal
        slope = np.empty((dimension, 3))
        for i in range(dimension):
            by_weight = np.einsum("np,np->p", V[i], (sensitivity / factors[i]) @ V[i]) * w[i]
            slope[i] = features @ by_weight
        slope[:, 2] *= rate
        return 0.5 * n * np.log(variance) + half_determinant, np.append(slope.ravel(), nu * trace)

    start = np.append(np.tile([-3.0, -3.0, 0.0], dimension), np.log(1e-6))
    bounds = [(-20.0, 2.0), (-20.0, 2.0), (-3.0, 2.5)] * dimension
    # First with little noise: else the search may settle where everything is noise.
    for noise in ((np.log(1e-6), np.log(1e-6)), (np.log(_NUGGET), -1.0)):
        found = minimize(
            negative_likelihood, start, jac=True, method="L-BFGS-B", bounds=[*bounds, noise],
            options={"maxiter": _ITERATIONS // 2},
        )  # fmt: skip
        start = found.x
    best = found
    if start[-1] > np.log(_NOISY):  # noisy rows: the search above may have bent the prior to follow the noise
        for level in (0.3, 0.03):
            again = minimize(
                negative_likelihood, np.append(np.tile([-3.0, -3.0, 0.0], dimension), np.log(level)), jac=True,
                method="L-BFGS-B", bounds=[*bounds, (np.log(_NUGGET), 2.0)], options={"maxiter": _ITERATIONS},
            )  # fmt: skip
            best = again if again.fun < best.fun else best
    return weights(best.x)[0], float(np.exp(best.x[-1]))


def heaviest(weights: Array, count: int) -> tuple[Ints, Array]:
    """Return the `count` multi-indices with the largest products of weights (dimension, degree), and the products.

    Exact: the heaviest products of i + 1 factors are found among the heaviest of i.
    """
    rows, prior = np.zeros((1, 0), dtype=np.int64), np.ones(1)
    for w in weights:
        products = np.outer(prior, np.append(1.0, w)).ravel()
        best = np.argsort(-products, kind="stable")[:count]
        best = best[products[best] > 0.0]
        rows = np.column_stack([rows[best // (w.size + 1)], best % (w.size + 1)])
        prior = products[best]
    constant = np.flatnonzero(~rows.any(axis=1))
    if constant.size == 0:
        rows, prior = np.vstack([np.zeros_like(rows[:1]), rows[:-1]]), np.append(1.0, prior[:-1])
        constant = np.array([0])
    order = np.append(constant, np.delete(np.arange(len(rows)), constant))
    return rows[order], prior[order]


def _posterior(
    A: Array, prior: Array, noise: float, y: Array, spread: Array | None = None
) -> tuple[Array, float] | None:
    """Return coefficients and relative leave-one-out error for centred y; rows count by their precision 1 / spread."""
    n = y.size
    spread = np.ones(n) if spread is None else spread
    scaled = A * prior
    nu = noise * float(np.einsum("ij,ij->i", scaled, A).mean())
    if n <= _DUAL:
        K = scaled @ A.T
        K.flat[:: n + 1] += nu * spread
        solved = _inverse(K)
        if solved is None:
            return None
        inverse = solved[0]
        dual = inverse @ y
        left_out = dual / np.diag(inverse)
        return scaled.T @ dual, float(np.average(left_out**2, weights=1.0 / spread) / np.var(y))
    root = np.sqrt(prior)
    precision = 1.0 / np.sqrt(spread)
    stacked = np.vstack([A * root * precision[:, None], np.sqrt(nu) * np.eye(prior.size)])
    Q, R = np.linalg.qr(stacked)
    from scipy.linalg import solve_triangular

    top = Q[:n]
    y = y * precision
    projected = top.T @ y
    leverage = np.minimum(np.einsum("ij,ij->i", top, top), 1.0 - 1e-12)
    left_out = (y - top @ projected) / (1.0 - leverage)
    return root * solve_triangular(R, projected), float(np.mean(left_out**2) / np.var(y))


def smooth(psi: Array, y: Array, degrees: Ints, decay: str, spread: Array | None = None) -> tuple[Ints, Fit] | None:
    """Fit y (n,) by the posterior mean; return the index set it is about and the fit, None when it breaks down.

    psi: (dimension, degree + 1, n) one-variable polynomials at the samples; degrees: highest in each variable; spread:
    (n,) noise variance of each row relative to their mean, the same for all when left out.
    """
    spread = np.ones(y.size) if spread is None else spread
    weights, noise = learn_prior(psi, y, degrees, decay, spread)
    indices, prior = heaviest(weights, int(np.clip(5 * y.size, 500, 2500)) if y.size <= _DUAL else 1000)
    mean = float(np.average(y, weights=1.0 / spread))
    solved = _posterior(matrix(psi, indices), prior, noise, y - mean, spread)
    if solved is None:
        return None
    coefficients, loo = solved[0], max(solved[1], _NUGGET)  # below, the solve itself is not accurate enough to tell
    coefficients[0] += mean
    carried = coefficients**2
    carried[0] = np.inf
    order = np.argsort(carried, kind="stable")
    dropped = np.cumsum(carried[order]) <= _DROPPED * loo * float(np.var(y))
    kept = np.sort(order[~dropped])
    return indices, Fit(kept, coefficients[kept], loo)
