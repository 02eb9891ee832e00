"""A polynomial chaos expansion term by term and point by point, from scipy's polynomials: slow and readable."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import eval_hermitenorm, eval_legendre

from mor.reduced.pce.model import Pce
from mor.sampling.space import ParameterSpace


def psi(law: str, k: int, z: float) -> float:
    """Orthonormal polynomial of degree k under the uniform law on [-1, 1] or the standard normal law."""
    if law == "uniform":
        return math.sqrt(2 * k + 1) * float(eval_legendre(k, z))
    return float(eval_hermitenorm(k, z)) / math.sqrt(math.factorial(k))


def predict(model: Pce, space: ParameterSpace, X: np.ndarray) -> np.ndarray:
    """Sum the terms of `model` over uniform, normal and lognormal inputs."""
    Y = np.zeros((len(X), model.coefficients.shape[1]))
    for n, x in enumerate(X):
        for alpha, c in zip(model.indices, model.coefficients, strict=True):
            value = 1.0
            for k, v, marginal in zip(alpha.tolist(), x, space.marginals, strict=True):
                if marginal.law == "lognormal":
                    value *= psi("normal", k, (math.log(v) - marginal.mu) / marginal.sigma)
                else:
                    value *= psi(marginal.law, k, float(marginal.to_standard(v)))
            Y[n] += c * value
    return Y
