"""Project a Kriging model on orthonormal polynomials: its moments and Sobol' indices are then those of an expansion.

The mean of a Kriging model is a sum of products over the inputs, so its coefficients are products of integrals of one
variable,

    c_alpha = b_alpha + sum_j q_j prod_i t(i, alpha_i, j),
    t(i, k, j) = E[(1 - w_i + w_i k_i(|z_i - z_ji| / l_i)) psi_k(z_i)]

by Gauss quadrature. They are linear in q. The variance as a quadratic form in q is exact too, but cancels
catastrophically where the correlation matrix is nearly singular.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mor.marginals import LogNormal, Marginal, Normal
from mor.reduced.kriging.kernels import FACTOR, correlation
from mor.reduced.kriging.model import Kriging
from mor.reduced.pce.basis import Ints, recurrence_table, values
from mor.reduced.pce.gaussian_prior import heaviest
from mor.reduced.pce.model import Pce
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

_NODES = 96
_HIGHEST = 24  # degree in one input; half of it where the law has no bounds
_POINTS = 4096  # where the expansion is compared with the model


def project(model: Kriging, space: ParameterSpace, *, terms: int = 3000) -> Pce:
    """Return the expansion of a Kriging or PC-Kriging model over the laws of its inputs.

    Parameters
    ----------
    model : Kriging
        Kriging or PC-Kriging.
    space : ParameterSpace
        Laws of the inputs, independent.
    terms : int
        Number of polynomials, those with the largest products of one-variable integrals.

    Returns
    -------
    Pce
        Its `loo` is the mean squared difference to the model relative to the variance of the outputs: what the
        polynomials leave out.
    """
    whole(terms, "terms", "project", 1)
    if tuple(p.name for p in model.inputs) != space.names or space.copula is not None:
        raise ConfigError(
            f"Model of project must have the independent inputs {', '.join(space.names)}, got "
            f"{', '.join(p.name for p in model.inputs)}; sobol and kucherenko take any model."
        )
    highest = np.array([_HIGHEST if np.isfinite(m.upper - m.lower) else _HIGHEST // 2 for m in space.marginals])
    table = recurrence_table(space.marginals, int(max(_HIGHEST, model.recurrence.shape[1])))
    found = [_one_output(model, o, space, table, highest, terms) for o in range(len(model.outputs))]
    union = np.unique(np.vstack([model.indices, *(indices for indices, _ in found)]), axis=0)
    coefficients = np.zeros((len(union), len(found)))
    for o, (indices, c) in enumerate(found):
        coefficients[_places(union, indices), o] += c
    coefficients[_places(union, model.indices)] += model.coefficients
    expansion = Pce(
        inputs=model.inputs, outputs=model.outputs, domain=model.domain, location=model.location, scale=model.scale,
        logarithm=model.logarithm, recurrence=table[:, : max(1, int(union.max()))], indices=union,
        coefficients=coefficients, loo=np.zeros(len(found)), fit={"projected": model.kind, "rows": model.rows},
    )  # fmt: skip
    X = space.sample(_POINTS, seed=0)
    Y = model.predict(X)
    spread = np.where(np.ptp(Y, axis=0) > 0.0, Y.var(axis=0), 1.0)
    left = np.mean((expansion.predict(X) - Y) ** 2, axis=0) / spread
    return replace(expansion, loo=left)


def _one_output(
    model: Kriging, o: int, space: ParameterSpace, table: Array, highest: Ints, terms: int
) -> tuple[Ints, Array]:
    """Return the heaviest multi-indices of the sum over the rows, and their coefficients."""
    kernel, dual = model.kernel_names[o], model.dual[:, o]
    integrals = []
    for i, marginal in enumerate(space.marginals):
        nodes, weights = _gauss(marginal)
        a = np.abs(nodes[:, None] - model.points[:, i]) * (FACTOR[kernel] / model.length[o, i])
        factor = 1.0 - model.weight[o, i] + model.weight[o, i] * correlation(kernel, a)
        psi = values(nodes[:, None], table[i : i + 1])[0, : highest[i] + 1]
        integrals.append((psi * weights) @ factor)  # (degree + 1, N)
    importance = np.zeros((len(integrals), int(highest.max())))
    for i, t in enumerate(integrals):
        importance[i, : len(t) - 1] = np.mean(t[1:] ** 2, axis=1) / max(float(np.mean(t[0] ** 2)), 1e-300)
    indices, _ = heaviest(importance, terms)
    coefficients = np.empty(len(indices))
    for start in range(0, len(indices), 500):
        block = indices[start : start + 500]
        products = integrals[0][block[:, 0]]
        for i, t in enumerate(integrals[1:], 1):
            products *= t[block[:, i]]
        coefficients[start : start + 500] = products @ dual
    return indices, coefficients


def _gauss(marginal: Marginal) -> tuple[Array, Array]:
    """Return nodes and weights for the law of the standard variable (Golub, Welsch 1969)."""
    from scipy.linalg import eigh_tridiagonal

    law = Normal(0.0, 1.0) if isinstance(marginal, LogNormal) else marginal
    alpha, beta = law.recurrence(_NODES)
    nodes, vectors = eigh_tridiagonal(alpha[:_NODES], np.sqrt(beta[1:_NODES]))
    weights: Array = vectors[0] ** 2
    return nodes, weights


def _places(union: Ints, indices: Ints) -> Ints:
    _, place = np.unique(np.vstack([union, indices]), axis=0, return_inverse=True)
    found: Ints = np.ravel(place)[len(union) :]
    return found
