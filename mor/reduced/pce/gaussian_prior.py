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

Noisy rows leave the prior itself open, and one that fits them best follows their noise. There several priors are
learned (of both decays; odd and even degrees apart or alike, s_i = t_i), and their posterior means are averaged with
weights exp(-AIC / 2), AIC = 2 (parameters) - 2 ln(likelihood).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mor.reduced.pce.basis import Ints, matrix
from mor.reduced.pce.sparse import Fit
from rt_runtime.checks import Array

DECAYS = ("exponential", "algebraic")

_ROWS = 200  # rows that the prior is learned from
_DUAL = 1500  # more rows than this are solved for the coefficients, fewer for the rows
_ITERATIONS = 40
_NUGGET = 1e-10  # smallest noise variance relative to the mean of the kernel's diagonal: keeps the solve accurate
_NOISY = 1e-7  # learned noise above this is looked at again from starts with much noise
_SHARE = 2e-3  # of the variance: with more noise than that, the prior is averaged over
_LIGHT = 1e-3  # share of an average below which a prior is left out
_DROPPED = 0.02  # variance of all dropped terms relative to the leave-one-out error


@dataclass(frozen=True)
class Prior:
    """A learned prior.

    weights: w_i(k) (dimension, degree). noise: nu relative to the kernel's mean diagonal; share: of the variance of y.
    criterion: half the AIC.
    """

    weights: Array
    noise: float
    share: float
    criterion: float


def _features(degree: int, decay: str, *, parity: bool = True) -> Array:
    """Return the functions of k = 1..degree whose combination is ln w_i(k): three, or two without parity."""
    k = np.arange(1.0, degree + 1.0)
    odd = k % 2.0
    fall = -(k - 1.0) if decay == "exponential" else -np.log(k)
    return np.stack([odd, 1.0 - odd, fall] if parity else [np.ones(degree), fall])


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


def learn_priors(psi: Array, y: Array, degrees: Ints, decay: str, spread: Array | None = None) -> list[Prior]:
    """Return the prior that the rows make most likely, or several if they are noisy.

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
    allowed = np.arange(1, degree + 1) <= degrees[:, None]
    y = (y - y.mean()) / y.std()

    def weights(theta: Array, features: Array) -> tuple[Array, Array]:
        shape = theta[:-1].reshape(dimension, -1).copy()
        shape[:, -1] = np.exp(shape[:, -1])
        return np.where(allowed, np.exp(shape @ features), 0.0), shape[:, -1]

    def negative_likelihood(theta: Array, features: Array) -> tuple[float, Array, float]:
        """Return it with its slope and the share of the noise in the variance of y."""
        w, rate = weights(theta, features)
        factors = np.matmul(V * w[:, None, :], V.transpose(0, 2, 1))
        factors += 1.0
        K = np.prod(factors, axis=0)
        diagonal = K.flat[:: n + 1].copy()
        nu = np.exp(theta[-1]) * diagonal.mean()
        noisy = K.copy()
        noisy.flat[:: n + 1] += nu * spread
        solved = _inverse(noisy)
        if solved is None:
            return 1e10, np.zeros_like(theta), 0.0
        inverse, half_determinant = solved
        dual = inverse @ y
        variance = float(y @ dual) / n
        M = 0.5 * (inverse - np.outer(dual, dual) / variance)
        trace = float(np.diag(M) @ spread)
        sensitivity = M * K
        sensitivity.flat[:: n + 1] += trace * np.exp(theta[-1]) / n * diagonal
        slope = np.empty((dimension, len(features)))
        for i in range(dimension):
            by_weight = np.einsum("np,np->p", V[i], (sensitivity / factors[i]) @ V[i]) * w[i]
            slope[i] = features @ by_weight
        slope[:, -1] *= rate
        return 0.5 * n * np.log(variance) + half_determinant, np.append(slope.ravel(), nu * trace), nu * variance

    def likeliest(features: Array, start: Array, noise: tuple[float, float], iterations: int) -> Array:
        bounds = ([(-20.0, 2.0)] * (len(features) - 1) + [(-3.0, 2.5)]) * dimension
        found = minimize(
            lambda theta: negative_likelihood(theta, features)[:2], start, jac=True, method="L-BFGS-B",
            bounds=[*bounds, noise], options={"maxiter": iterations},
        )  # fmt: skip
        return np.asarray(found.x, dtype=np.float64)

    def beginning(features: Array, noise: float) -> Array:
        return np.append(np.tile([*[-3.0] * (len(features) - 1), 0.0], dimension), np.log(noise))

    def prior(features: Array, theta: Array) -> Prior:
        value, _, share = negative_likelihood(theta, features)
        return Prior(weights(theta, features)[0], float(np.exp(theta[-1])), float(share), float(value) + theta.size)

    def with_noise(features: Array, noise: float) -> Prior:
        """Return the prior found from a start with much noise."""
        return prior(features, likeliest(features, beginning(features, noise), (np.log(_NUGGET), 2.0), _ITERATIONS))

    apart, alike = _features(degree, decay), _features(degree, decay, parity=False)
    # First with little noise: else the search may settle where everything is noise.
    theta = likeliest(apart, beginning(apart, 1e-6), (np.log(1e-6), np.log(1e-6)), _ITERATIONS // 2)
    first = prior(apart, likeliest(apart, theta, (np.log(_NUGGET), -1.0), _ITERATIONS // 2))
    if first.noise < _NOISY:
        return [first]
    again = with_noise(apart, 0.03)  # the search above may have bent the prior to follow the noise
    if again.share < _SHARE:
        return [min(first, again, with_noise(apart, 0.3), key=lambda one: one.criterion)]
    return [first, again, with_noise(alike, 0.03)]


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
) -> tuple[Array, Array] | None:
    """Return coefficients and leave-one-out residuals for centred y, those scaled by the precision 1 / spread."""
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
        return scaled.T @ dual, dual / np.diag(inverse) / np.sqrt(spread * np.mean(1.0 / spread))
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
    return root * solve_triangular(R, projected), left_out


def smooth(psi: Array, y: Array, priors: Sequence[Prior], spread: Array | None = None) -> tuple[Ints, Fit] | None:
    """Fit y (n,) by the posterior mean; return the index set it is about and the fit, None when it breaks down.

    psi: (dimension, degree + 1, n) one-variable polynomials at the samples; priors: one, or several to average over;
    spread: (n,) noise variance of each row relative to their mean, the same for all when left out.
    """
    spread = np.ones(y.size) if spread is None else spread
    mean = float(np.average(y, weights=1.0 / spread))
    least = min(prior.criterion for prior in priors)
    # Many rows tell which prior it is, and each of them takes long.
    kept = [p for p in priors if np.exp(least - p.criterion) > (_LIGHT if y.size <= _DUAL else 1.0 - 1e-9)]
    shares = np.exp(least - np.array([prior.criterion for prior in kept]))
    terms, parts, left_out = [], [], np.zeros(y.size)
    for prior, share in zip(kept, shares / shares.sum(), strict=True):
        indices, variances = heaviest(prior.weights, int(np.clip(5 * y.size, 500, 2500)) if y.size <= _DUAL else 1000)
        solved = _posterior(matrix(psi, indices), variances, prior.noise, y - mean, spread)
        if solved is None:
            return None
        terms.append(indices)
        parts.append(share * solved[0])
        left_out += share * solved[1]
    indices, coefficients = terms[0], parts[0]
    if len(kept) > 1:
        indices, place = np.unique(np.vstack(terms), axis=0, return_inverse=True)  # the constant comes first
        coefficients = np.bincount(np.ravel(place), np.concatenate(parts))
    loo = max(
        float(np.mean(left_out**2) / np.var(y)), _NUGGET
    )  # below, the solve itself is not accurate enough to tell
    coefficients[0] += mean
    carried = coefficients**2
    carried[0] = np.inf
    order = np.argsort(carried, kind="stable")
    dropped = np.cumsum(carried[order]) <= _DROPPED * loo * float(np.var(y))
    columns = np.sort(order[~dropped])
    return indices, Fit(columns, coefficients[columns], loo)
