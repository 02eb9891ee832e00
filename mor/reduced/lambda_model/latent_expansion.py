"""Stochastic polynomial chaos with one latent variable: laws of several peaks, where no lambda distribution fits.

    Y | x  =  sum_a c_a psi_a(x, Z) + N(0, sigma^2),     Z uniform or normal, never observed

(Zhu and Sudret 2023). Integrals over Z are Gauss' rule in its probability: F(y | x) = sum_q w_q Phi((y - f(x, z_q)) /
sigma).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port
from mor.marginals import Marginal, Normal, Uniform
from mor.reduced.base import Arrays, Header, frozen, header_ports
from mor.reduced.lambda_model.emulator import StochasticEmulator
from mor.reduced.pce.basis import matrix, standardise, values
from mor.reduced.pce.kernels import evaluate_one, one_point_program, program_of
from mor.reduced.pce.model import Pce
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

NODES = 48
LATENT: dict[str, Marginal] = {"uniform": Uniform(-1.0, 1.0), "normal": Normal(0.0, 1.0)}
LATENT_NAME = "latent_z"
_HALVINGS = 80


def latent_rule(law: str) -> tuple[Array, Array]:
    """Return nodes z (q,) and weights (q,) of the integral over the latent variable."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    return np.asarray(LATENT[law].ppf(0.5 * (x + 1.0))), 0.5 * w


@dataclass(frozen=True, eq=False, repr=False)
class Spce(StochasticEmulator):
    """A stochastic polynomial chaos expansion.

    expansion: of the inputs and, last, the latent variable. noise: (outputs,) sigma. latent: law of Z, "uniform" or
    "normal". fit: how it was fitted, plain values.
    """

    kind: ClassVar[str] = "spce"
    outputs: tuple[Port, ...]
    expansion: Pce
    noise: Array
    latent: str = "uniform"
    fit: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Port, ...] = field(init=False)
    domain: tuple[Array, Array] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", frozen(self.noise))
        if self.latent not in LATENT or self.expansion.inputs[-1].name != LATENT_NAME:
            raise ConfigError(
                f"Last input of an Spce must be '{LATENT_NAME}', {' or '.join(LATENT)}, got {self.latent!r}."
            )
        if self.noise.shape != (len(self.outputs),) or not np.all(self.noise > 0.0):
            raise ConfigError(f"noise of an Spce must be positive, one for each output, got {self.noise}.")
        object.__setattr__(self, "inputs", self.expansion.inputs[:-1])
        object.__setattr__(self, "domain", (self.expansion.domain[0][:-1], self.expansion.domain[1][:-1]))

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        return latent_rule(self.latent)

    def branches(self, X: Array) -> Array:
        """Return f(x, z_q) (outputs, n, q) at the nodes of the latent variable."""
        e, (z, _) = self.expansion, self._rule
        psi_x = values(standardise(X, e.location[:-1], e.scale[:-1], e.logarithm[:-1]), e.recurrence[:-1])
        psi_z = values(standardise(z[:, None], e.location[-1:], e.scale[-1:], e.logarithm[-1:]), e.recurrence[-1:])[0]
        A = matrix(psi_x, e.indices[:, :-1])
        return np.stack([(A * c) @ psi_z[e.indices[:, -1]] for c in e.coefficients.T])

    def _moments(self, X: Array) -> tuple[Array, Array]:
        f, w = self.branches(X), self._rule[1]
        mean = f @ w
        variance = (f - mean[:, :, None]) ** 2 @ w + self.noise[:, None] ** 2
        return mean.T, variance.T

    def _distances(self, X: Array, Y: Array) -> Array:
        return np.asarray((Y.T[:, :, None] - self.branches(X)) / self.noise[:, None, None])

    def _cdf(self, X: Array, Y: Array) -> Array:
        from scipy.special import ndtr

        return np.asarray((ndtr(self._distances(X, Y)) @ self._rule[1]).T)

    def _log_density(self, X: Array, Y: Array) -> Array:
        from scipy.special import logsumexp

        d = self._distances(X, Y)
        level = logsumexp(-0.5 * d**2, axis=2, b=self._rule[1]) - np.log(self.noise[:, None] * np.sqrt(2.0 * np.pi))
        return np.asarray(level.T)

    def _quantile(self, X: Array, p: Array) -> Array:
        return np.stack([self._from_uniform(X, np.full((len(X), len(self.outputs)), level)) for level in p], axis=-1)

    def _from_uniform(self, X: Array, U: Array) -> Array:
        """Halve the interval around F(y | x) = u until it is one of rounding."""
        from scipy.special import ndtr

        f, w, s = self.branches(X), self._rule[1], self.noise[:, None]
        low, high = f.min(axis=2) - 40.0 * s, f.max(axis=2) + 40.0 * s
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, :, None] - f) / s[:, :, None]) @ w < U.T
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((0.5 * (low + high)).T)

    def _jacobian(self, x: Array) -> Array:
        z, w = self._rule
        slopes = [self.expansion.jacobian(np.append(x, node))[:, :-1] for node in z]
        return np.asarray(np.tensordot(w, np.stack(slopes), axes=1))

    @cached_property
    def _mean_terms(self) -> tuple[Array, Array, NDArray[np.int64], Array, NDArray[np.int64], Array]:
        """The expansion of the mean: each term of the inputs times the mean of its function of z."""
        e, (z, w) = self.expansion, self._rule
        psi_z = values(standardise(z[:, None], e.location[-1:], e.scale[-1:], e.logarithm[-1:]), e.recurrence[-1:])[0]
        weights = (psi_z @ w)[e.indices[:, -1]]
        return (e.location[:-1], e.scale[:-1], e.logarithm[:-1], e.recurrence[:-1], e.indices[:, :-1],
                e.coefficients * weights[:, None])  # fmt: skip

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled mean of one point; see the contract."""
        return evaluate_one(), one_point_program(program_of(*self._mean_terms))

    @property
    def cost(self) -> int:
        """Multiply-adds of the mean."""
        return int(len(self.inputs) + 2 * self.expansion.indices.max(axis=0).sum() + self.expansion.coefficients.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return those of the expansion and the noise."""
        return self.expansion.arrays() | {"noise": self.noise}

    def header(self) -> dict[str, Any]:
        """Return kind, ports, law of the latent variable, how the model was fitted, and the ports of the expansion."""
        own = {"fit": dict(self.fit), "latent": self.latent, "expansion": self.expansion.header()}
        return super().header() | own

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the model bit for bit."""
        own = {name: a for name, a in arrays.items() if name != "noise"}
        expansion = Pce.from_arrays(own, header["expansion"])
        return cls(header_ports(header, "outputs"), expansion, arrays["noise"], header["latent"], header.get("fit", {}))

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with terms, noise and how the model was fitted."""
        told = {"terms": self.expansion.terms, "noise": self.noise.tolist(), "latent": self.latent}
        return super().describe() | told | {"fit": dict(self.fit)}
