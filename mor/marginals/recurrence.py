"""Three-term recurrences of the polynomials that are orthogonal with respect to a law.

Monic form: pi_{k+1}(z) = (z - alpha_k) pi_k(z) - beta_k pi_{k-1}(z) with pi_{-1} = 0, pi_0 = 1 and beta_0 = 1.
The orthonormal polynomials are psi_k = pi_k / sqrt(beta_1 ... beta_k).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rt_runtime.checks import Array

Recurrence = tuple[Array, Array]


def legendre(degree: int) -> Recurrence:
    """Return alpha, beta (0..degree) of the uniform law on [-1, 1]."""
    k = np.arange(degree + 1, dtype=float)
    beta = np.ones(degree + 1)
    beta[1:] = k[1:] ** 2 / (4 * k[1:] ** 2 - 1)
    return np.zeros(degree + 1), beta


def hermite(degree: int) -> Recurrence:
    """Return alpha, beta (0..degree) of the standard normal law."""
    beta = np.arange(degree + 1, dtype=float)
    beta[0] = 1.0
    return np.zeros(degree + 1), beta


def laguerre(degree: int, shape: float) -> Recurrence:
    """Return alpha, beta (0..degree) of the gamma law with density proportional to z^(shape-1) exp(-z)."""
    k = np.arange(degree + 1, dtype=float)
    beta = k * (k + shape - 1)
    beta[0] = 1.0
    return 2 * k + shape, beta


def jacobi(degree: int, a: float, b: float) -> Recurrence:
    """Return alpha, beta (0..degree) of the law on [-1, 1] with density proportional to (1 - z)^a (1 + z)^b."""
    k = np.arange(degree + 1, dtype=float)
    s = a + b
    alpha, beta = np.empty(degree + 1), np.ones(degree + 1)
    alpha[0] = (b - a) / (s + 2)
    alpha[1:] = (b * b - a * a) / ((2 * k[1:] + s) * (2 * k[1:] + s + 2))
    if degree >= 1:  # the general formula is 0/0 here when a + b = -1
        beta[1] = 4 * (1 + a) * (1 + b) / ((2 + s) ** 2 * (3 + s))
    j = k[2:]
    beta[2:] = 4 * j * (j + a) * (j + b) * (j + s) / ((2 * j + s) ** 2 * (2 * j + s + 1) * (2 * j + s - 1))
    return alpha, beta


def stieltjes_wigert(degree: int, sigma: float) -> Recurrence:
    """Return alpha, beta (0..degree) of the law of exp(sigma N), N standard normal.

    With q = exp(-sigma^2): alpha_k = q^(-2k-1/2) (1 + q - q^(k+1)), beta_k = q^(2-4k) (1 - q^k).
    """
    k = np.arange(degree + 1, dtype=float)
    s2 = sigma * sigma
    alpha = np.exp(s2 * (2 * k + 0.5)) * (1 + np.exp(-s2) - np.exp(-s2 * (k + 1)))
    beta = np.exp(s2 * (4 * k - 2)) * -np.expm1(-s2 * k)
    beta[0] = 1.0
    return alpha, beta


def discretise(
    log_density: Callable[[Array], Array], pieces: Sequence[tuple[float, float]], nodes: int = 1200
) -> tuple[Array, Array]:
    """Replace a density by nodes and weights of sum one: double-exponential quadrature on each smooth piece.

    log_density: logarithm of the density up to a constant, of points (n,). pieces: finite intervals on which it is
    smooth inside; an algebraic singularity at an end does no harm.
    """
    t = np.linspace(-4.8, 4.8, nodes)
    near = 1.0 / (1.0 + np.exp(np.pi * np.sinh(t)))  # distance from the upper end, without cancellation
    far = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(t)))
    z, log_w = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for lower, upper in pieces:
            width = upper - lower
            x = np.where(t < 0, lower + width * far, upper - width * near)
            inside = (x > lower) & (x < upper)
            log_w.append((log_density(x) + np.log(width * near * far * np.cosh(t)))[inside])
            z.append(x[inside])
    points, logs = np.concatenate(z), np.concatenate(log_w)
    weights = np.exp(logs - logs[np.isfinite(logs)].max())
    keep = weights > 0
    return points[keep], weights[keep] / weights[keep].sum()


def stieltjes(z: Array, weights: Array, degree: int) -> Recurrence:
    """Return alpha, beta (0..degree) of the discrete law with the given nodes and weights (Stieltjes procedure).

    Works on orthonormal polynomials, so that nothing grows, and orthogonalises each one twice against all before.
    """
    root = np.sqrt(weights)
    basis = np.empty((degree + 2, z.size))
    basis[0] = root
    alpha, beta = np.empty(degree + 1), np.ones(degree + 1)
    for k in range(degree + 1):
        v = z * basis[k]
        alpha[k] = v @ basis[k]
        v = v - alpha[k] * basis[k]
        for _ in range(2):
            v -= basis[: k + 1].T @ (basis[: k + 1] @ v)
        norm = float(np.linalg.norm(v))
        if k < degree:
            beta[k + 1] = norm * norm
        basis[k + 1] = v / norm
    return alpha, beta


def evaluate(z: Array, alpha: Array, beta: Array) -> Array:
    """Return the orthonormal polynomials psi_0 .. psi_degree at points z (n,), shape (n, degree + 1)."""
    z = np.asarray(z, dtype=float)
    out = np.empty((z.size, alpha.size))
    out[:, 0] = 1.0
    for k in range(alpha.size - 1):
        v = (z - alpha[k]) * out[:, k]
        if k:
            v -= np.sqrt(beta[k]) * out[:, k - 1]
        out[:, k + 1] = v / np.sqrt(beta[k + 1])
    return out
