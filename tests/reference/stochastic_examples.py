"""Stochastic models whose law is known at every point, the distance of an emulator from it, and the heated plate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from mor.campaign import QuantityModel
from mor.data.dataset import Dataset
from mor.hybrid.latent import detrend, observed, replicate
from mor.hybrid.model import HybridModel
from mor.marginals import Uniform
from mor.models.heated_strip import heated_strip, sensitivity_space
from mor.reduced.base import Array
from mor.reduced.lambda_model.distribution import quantile
from mor.sampling.designs import lhs
from mor.sampling.space import ParameterSpace


@dataclass(frozen=True)
class Example:
    """Quantiles Q(X, u) of the response at rows X for probabilities u (n,)."""

    space: ParameterSpace
    Q: Callable[[Array, Array], Array]

    def data(self, n: int, seed: int) -> Dataset:
        """Return n rows of a Latin hypercube, one run at each point."""
        X = lhs(self.space, n, seed=seed).points
        y = self.Q(X, np.random.default_rng([seed, 1]).random(n))
        return Dataset(X, y[:, None], self.space.ports, {"y": "m"})

    def error(self, quantiles: Callable[[Array, float], Array], *, points: int = 300, levels: int = 200) -> float:
        """Return the mean over x of W2^2(Y(x), Yhat(x)) / Var Y, W2^2 = int (Q - Qhat)^2 du by midpoints."""
        X = self.space.sample(points, seed=987)
        u = (np.arange(levels) + 0.5) / levels
        truth = np.column_stack([self.Q(X, np.full(points, p)) for p in u])
        found = np.column_stack([quantiles(X, float(p)) for p in u])
        return float(np.mean((truth - found) ** 2) / truth.var())


def _lambdas(Z: Array) -> Array:
    a, b = Z.T
    return np.column_stack([2.0 * np.sin(2.0 * a) + b, 0.5 + 0.6 * a - 0.3 * b, 0.2 + 0.1 * b, np.full(len(Z), 0.05)])


def _two_peaks(X: Array, u: Array) -> Array:
    """Inverse of a mixture of two normal variables, by halving."""
    hill = 5.0 * np.sin(np.pi * X[:, 0]) ** 2
    one, two = (hill + 5.0 * X[:, 0] - 2.5) / 1.25, (hill - 5.0 * X[:, 0] + 2.5) / 1.25
    low, high = np.minimum(one, two) - 8.0, np.maximum(one, two) + 8.0
    for _ in range(60):
        y = 0.5 * (low + high)
        below = 0.4 * norm.cdf((y - one) / 0.8) + 0.6 * norm.cdf((y - two) / 0.8) < u
        low, high = np.where(below, y, low), np.where(below, high, y)
    return 0.5 * (low + high)


_SQUARE = ParameterSpace({"z1": Uniform(-1.0, 1.0), "z2": Uniform(-1.0, 1.0)})
_LINE = ParameterSpace({"z": Uniform(-1.0, 1.0)})
EXAMPLES = {
    "geometric Brownian motion": Example(
        ParameterSpace({"x1": Uniform(0.0, 0.1), "x2": Uniform(0.1, 0.4)}),
        lambda X, u: np.exp(X[:, 0] - 0.5 * X[:, 1] ** 2 + X[:, 1] * norm.ppf(u)),
    ),
    "lambda": Example(_SQUARE, lambda X, u: quantile(_lambdas(X), u)),
    "sine": Example(_LINE, lambda X, u: np.sin(3.0 * X[:, 0]) + np.exp(X[:, 0] - 1.0) * norm.ppf(u)),
}
EVEN_NOISE = Example(_LINE, lambda X, u: np.sin(3.0 * X[:, 0]) + 0.2 * norm.ppf(u))
TWO_PEAKS = Example(ParameterSpace({"x": Uniform(0.0, 1.0)}), _two_peaks)


def campaign(seed: int, n: int = 200, strip: HybridModel | None = None) -> tuple[Dataset, ParameterSpace]:
    """Return a campaign of the heated plate as a laboratory knows it, the drift removed."""
    space, strip = sensitivity_space(), strip or heated_strip()
    model = QuantityModel(strip, {"u_max": ("mm", lambda run: 1e3 * float(np.abs(run["deflection_measured"]).max())),
                                  "u_0": ("mm", lambda run: 1e3 * float(run["zero_measured"][0]))})  # fmt: skip
    design = replicate(lhs(space, n, seed=seed), model, seed=seed)
    rows = [model.evaluate(point) for point in design]
    Y = np.array([[float(row[name]) for name in ("u_max", "u_0")] for row in rows])  # type: ignore[arg-type]
    data = detrend(observed(Dataset(design.points, Y, design.space.ports, model.outputs), space.names), "u_max", "u_0")
    return Dataset(data.X, data.Y[:, :1], data.inputs, data.outputs[:1]), space


def repeated_plate(X: Array, n: int, strip: HybridModel | None = None, *, seed: int = 0) -> Array:
    """Return n deflections in mm of the plate at each row of X (rows, n), the fixtures not drifted."""
    strip = strip or heated_strip()
    latent, names = strip.latent.space, sensitivity_space().names
    assert latent is not None
    found = np.empty((len(X), n))
    for x, row in zip(X, found, strict=True):
        given = dict(zip(names, x.tolist(), strict=True))
        for k, z in enumerate(latent.sample(n, seed=seed)):
            run = strip.run(parameters=given | dict(zip(latent.names, z.tolist(), strict=True)))
            row[k] = 1e3 * float(np.abs(run["deflection_measured"]).max())
    return found
