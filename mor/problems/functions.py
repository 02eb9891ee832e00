"""Reference problems with published or closed-form answers, for tests, benchmarks and first steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.marginals import LogNormal, Marginal, Normal, Uniform
from mor.sampling.designs import lhs
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array


@dataclass(frozen=True, eq=False)
class ReferenceFunction:
    """A function of independent parameters and what is known about it.

    mean, variance: of the output. first, total: Sobol' indices (inputs,). All None where there is no closed form.

    Parameters
    ----------
    name, space
        Name and laws of the inputs.
    formula
        Function of rows (n, inputs) that returns (n,).
    """

    name: str
    space: ParameterSpace
    output: Port
    formula: Callable[[Array], Array]
    mean: float | None = None
    variance: float | None = None
    first: Array | None = None
    total: Array | None = None

    def __call__(self, X: ArrayLike) -> Array:
        """Evaluate rows X (n, inputs) in physical units -> (n,)."""
        return self.formula(np.asarray(X, dtype=np.float64))

    def dataset(self, n: int, *, seed: int) -> Dataset:
        """Evaluate a Latin hypercube of n points."""
        X = lhs(self.space, n, seed=seed).points
        return Dataset(X, self(X), self.space.ports, [self.output], space=self.space)


def ishigami(a: float = 7.0, b: float = 0.1) -> ReferenceFunction:
    """y = sin x1 + a sin^2 x2 + b x3^4 sin x1, x uniform on [-pi, pi] (Ishigami, Homma 1990)."""
    pi4 = math.pi**4
    v1, v2, v13 = 0.5 * (1 + b * pi4 / 5) ** 2, a**2 / 8, b**2 * pi4**2 * 8 / 225
    variance = v1 + v2 + v13
    space = ParameterSpace({f"x{i}": Uniform(-math.pi, math.pi) for i in (1, 2, 3)})
    return ReferenceFunction(
        "ishigami",
        space,
        Port("y"),
        lambda X: np.sin(X[:, 0]) + a * np.sin(X[:, 1]) ** 2 + b * X[:, 2] ** 4 * np.sin(X[:, 0]),
        mean=a / 2,
        variance=variance,
        first=np.array([v1, v2, 0.0]) / variance,
        total=np.array([v1 + v13, v2, v13]) / variance,
    )


def sobol_g(a: Sequence[float] = (1, 2, 5, 10, 20, 50, 100, 500)) -> ReferenceFunction:
    """y = prod_i (|4 x_i - 2| + a_i) / (1 + a_i), x uniform on [0, 1]: a kink in every variable (Sobol' 2003)."""
    weight = np.asarray(a, dtype=np.float64)
    part = 1.0 / (3.0 * (1.0 + weight) ** 2)
    variance = float(np.prod(1.0 + part) - 1.0)
    return ReferenceFunction(
        "sobol_g",
        ParameterSpace({f"x{i + 1}": Uniform(0.0, 1.0) for i in range(weight.size)}),
        Port("y"),
        lambda X: np.prod((np.abs(4.0 * X - 2.0) + weight) / (1.0 + weight), axis=1),
        mean=1.0,
        variance=variance,
        first=part / variance,
        total=part / (1.0 + part) * (1.0 + variance) / variance,
    )


def borehole() -> ReferenceFunction:
    """Water flow through a borehole (Harper, Gupta 1983; laws as in Morris et al. 1993), eight parameters."""
    laws: dict[str, Marginal] = {
        "rw": Normal(0.10, 0.0161812, unit="m"),
        "r": LogNormal(7.71, 1.0056, unit="m"),
        "Tu": Uniform(63070.0, 115600.0, unit="m2/yr"),
        "Hu": Uniform(990.0, 1110.0, unit="m"),
        "Tl": Uniform(63.1, 116.0, unit="m2/yr"),
        "Hl": Uniform(700.0, 820.0, unit="m"),
        "L": Uniform(1120.0, 1680.0, unit="m"),
        "Kw": Uniform(9855.0, 12045.0, unit="m/yr"),
    }

    def flow(X: Array) -> Array:
        rw, r, Tu, Hu, Tl, Hl, L, Kw = X.T
        log = np.log(r / rw)
        value: Array = 2 * np.pi * Tu * (Hu - Hl) / (log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl))
        return value

    return ReferenceFunction("borehole", ParameterSpace(laws), Port("flow", "m3/yr"), flow)


def short_column() -> ReferenceFunction:
    """Limit state 1 - 4 M / (b h^2 Y) - P^2 / (b h Y)^2 of a column, b = 5, h = 15 (Kuschel, Rackwitz 1997).

    Independent M normal, P normal, Y lognormal, so that every moment is closed: W = 1/Y has
    E[W^k] = exp(-k mu + k^2 sigma^2 / 2).
    """
    b, h = 5.0, 15.0
    strength = LogNormal.from_mean_std(5.0, 0.5)
    c1, c2 = 4.0 / (b * h**2), 1.0 / (b * h) ** 2
    m, dm, p, dp = 2000.0, 400.0, 500.0, 100.0
    W = [math.exp(-k * strength.mu + 0.5 * (k * strength.sigma) ** 2) for k in range(5)]
    p2, p4 = p**2 + dp**2, p**4 + 6 * p**2 * dp**2 + 3 * dp**4
    load = c1 * m * W[1] + c2 * p2 * W[2]
    square = c1**2 * (m**2 + dm**2) * W[2] + 2 * c1 * c2 * m * p2 * W[3] + c2**2 * p4 * W[4]
    variance = square - load**2
    first_m, first_p = (c1 * W[1] * dm) ** 2, (c2 * W[2]) ** 2 * (p4 - p2**2)
    y_square = (c1 * m) ** 2 * W[2] + 2 * c1 * c2 * m * p2 * W[3] + (c2 * p2) ** 2 * W[4]
    first = np.array([first_m, first_p, y_square - load**2])
    total = np.array([(c1 * dm) ** 2 * W[2], c2**2 * (p4 - p2**2) * W[4], variance - first_m - first_p])
    space = ParameterSpace({"M": Normal(m, dm), "P": Normal(p, dp), "Y": strength})
    return ReferenceFunction(
        "short_column",
        space,
        Port("g"),
        lambda X: 1.0 - c1 * X[:, 0] / X[:, 2] - c2 * (X[:, 1] / X[:, 2]) ** 2,
        mean=1.0 - load,
        variance=variance,
        first=first / variance,
        total=total / variance,
    )


def brake_map(mu: float = 0.4, r: float = 0.15, w0: float = 2.5) -> ReferenceFunction:
    """Braking torque mu F r (1 - exp(-w / w0)): friction that vanishes at standstill, w0 in rad/s, r in m."""
    space = ParameterSpace({"F": Uniform(0.0, 50.0, unit="N"), "w": Uniform(0.0, 49.2, unit="rad/s")})
    return ReferenceFunction(
        "brake_map", space, Port("tau", "N m"), lambda X: mu * r * X[:, 0] * -np.expm1(-X[:, 1] / w0)
    )
