"""Orthonormal polynomials of several variables: index sets, values and slopes, all without a loop over points or terms.

A polynomial of degree k of one standard variable z follows from the recurrence of its law (alpha, beta as in
`Marginal.recurrence`), normalised to unit variance:

    psi_0 = 1,    psi_{k+1} = (a_k z + b_k) psi_k - c_k psi_{k-1},
    a_k = 1 / sqrt(beta_{k+1}),  b_k = -alpha_k a_k,  c_k = sqrt(beta_k) a_k  (c_0 = 0)

A term of several variables is the product psi_alpha(z) = prod_i psi_{alpha_i}(z_i), alpha a row of an index set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mor.marginals import LogNormal, Marginal
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

Ints = NDArray[np.int64]

TINY = 1e-300  # lower clip for the logarithm
_LARGEST_SET = 200_000


def index_set(dimension: int, degree: int, *, q: float = 1.0, interaction: int | None = None) -> Ints:
    """Return all multi-indices (n, dimension) with (sum_i alpha_i^q)^(1/q) <= degree, lowest total degree first.

    q = 1 is the total degree, q < 1 the hyperbolic truncation that favours few variables; `interaction` limits how
    many variables a term may join.
    """
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 1:
        raise ConfigError(f"degree of a polynomial basis must be a whole number of at least 1, got {degree!r}.")
    if not 0.0 < q <= 1.0:
        raise ConfigError(f"q of a polynomial basis must lie in (0, 1], got {q!r}.")
    if interaction is not None and interaction < 1:
        raise ConfigError(f"interaction of a polynomial basis must be at least 1, got {interaction!r}.")
    share = (np.arange(degree + 1) / degree) ** q
    rows, used = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for _ in range(dimension):
        total = used[:, None] + share
        fits = total <= 1.0 + 1e-9
        if interaction is not None:
            fits &= (np.count_nonzero(rows, axis=1)[:, None] + (share > 0)) <= interaction
        parent, k = np.nonzero(fits)
        if parent.size > _LARGEST_SET:
            raise ConfigError(
                f"Basis of degree {degree}, q {q:g} in {dimension} variables must have at most {_LARGEST_SET} terms; "
                "use a lower degree, q or interaction."
            )
        rows, used = np.column_stack([rows[parent], k]), total[parent, k]
    return rows[np.lexsort((*rows.T, rows.sum(axis=1)))]


def standard_map(marginal: Marginal) -> tuple[float, float, int]:
    """Return location, scale and whether a logarithm comes first: z = ((ln x or x) - location) / scale.

    Polynomials of a lognormal variable are not complete; those of its logarithm (normal) are.
    """
    if isinstance(marginal, LogNormal):
        return marginal.mu, marginal.sigma, 1
    z = np.asarray(marginal.from_standard(np.array([0.0, 1.0])))
    return float(z[0]), float(z[1] - z[0]), 0


def standard_maps(marginals: tuple[Marginal, ...]) -> tuple[Array, Array, Ints]:
    """Return location, scale and logarithm (each (dimension,)) of `standard_map` for each marginal."""
    location, scale, logarithm = zip(*(standard_map(m) for m in marginals), strict=True)
    return np.array(location), np.array(scale), np.array(logarithm, dtype=np.int64)


def standardise(X: Array, location: Array, scale: Array, logarithm: Ints) -> Array:
    """Map physical rows X (n, dimension) to standard variables."""
    log = logarithm == 1
    inside = np.where(log, np.log(np.where(log, np.maximum(X, TINY), 1.0)), X)
    z: Array = (inside - location) / scale
    return z


def recurrence_table(marginals: tuple[Marginal, ...], degree: int) -> Array:
    """Return a_k, b_k, c_k (see above) of each marginal, shape (dimension, degree, 3)."""
    from mor.marginals import Normal

    table = np.zeros((len(marginals), degree, 3))
    for i, marginal in enumerate(marginals):
        law = Normal(0.0, 1.0) if isinstance(marginal, LogNormal) else marginal
        alpha, beta = law.recurrence(degree)
        a = 1.0 / np.sqrt(beta[1 : degree + 1])
        table[i, :, 0], table[i, :, 1] = a, -alpha[:degree] * a
        table[i, 1:, 2] = np.sqrt(beta[1:degree]) * a[1:]
    return table


def values(Z: Array, table: Array) -> Array:
    """Return psi_k(z_i) for standard points Z (n, dimension) as (dimension, degree + 1, n)."""
    dimension, degree = table.shape[:2]
    psi = np.empty((dimension, degree + 1, len(Z)))
    psi[:, 0] = 1.0
    z = Z.T
    for k in range(degree):
        a, b, c = (table[:, k, j, None] for j in range(3))
        psi[:, k + 1] = (a * z + b) * psi[:, k] - (c * psi[:, k - 1] if k else 0.0)
    return psi


def slopes(Z: Array, table: Array, psi: Array) -> Array:
    """Return d psi_k / dz_i in the shape of `psi` = values(Z, table)."""
    slope = np.zeros_like(psi)
    z = Z.T
    for k in range(table.shape[1]):
        a, b, c = (table[:, k, j, None] for j in range(3))
        slope[:, k + 1] = (a * z + b) * slope[:, k] + a * psi[:, k] - (c * slope[:, k - 1] if k else 0.0)
    return slope


def matrix(psi: Array, indices: Ints) -> Array:
    """Return the terms (n, terms) at the points of `psi` = values(Z, table)."""
    columns: Array = psi[0][indices[:, 0]]
    for i in range(1, indices.shape[1]):
        used = np.flatnonzero(indices[:, i])
        columns[used] *= psi[i][indices[used, i]]
    return columns.T
