"""A fitted generalized lambda model: at each point of the inputs a lambda distribution, its parameters expansions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port
from mor.reduced.base import Arrays, Header, header_ports
from mor.reduced.lambda_model import distribution as gld
from mor.reduced.lambda_model.emulator import StochasticEmulator
from mor.reduced.pce.kernels import evaluate_one
from mor.reduced.pce.model import Pce
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

ROWS = ("lambda1", "ln_lambda2", "lambda3", "lambda4")


def lambda_ports(outputs: tuple[Port, ...]) -> tuple[Port, ...]:
    """Return the ports of the expansion: location, logarithm of the scale and the two shapes of each output."""
    return tuple(Port(f"{p.name}_{row}", p.unit if row == "lambda1" else "") for p in outputs for row in ROWS)


@dataclass(frozen=True, eq=False, repr=False)
class Glam(StochasticEmulator):
    """A generalized lambda model (Zhu and Sudret 2020)

        Y | x ~ GLD(l1(x), l2(x), l3(x), l4(x)),     l1, ln l2, l3, l4 polynomial chaos expansions of x

    expansion: its outputs are l1 (in units of the response), ln l2, l3 and l4 of each output, one after the other.
    fit: how it was fitted, plain values; with the tests of the fit (`check_emulator`). Where an expansion leads a
    shape to -1/2 or below, the variance is infinite; quantiles are right everywhere, and never cross.
    """

    kind: ClassVar[str] = "glam"
    outputs: tuple[Port, ...]
    expansion: Pce
    fit: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Port, ...] = field(init=False)
    domain: tuple[Array, Array] = field(init=False)

    def __post_init__(self) -> None:
        if tuple(p.name for p in self.expansion.outputs) != tuple(p.name for p in lambda_ports(self.outputs)):
            raise ConfigError(
                f"Outputs of the expansion of a Glam must be {', '.join(p.name for p in lambda_ports(self.outputs))}, "
                f"got {', '.join(p.name for p in self.expansion.outputs)}."
            )
        object.__setattr__(self, "inputs", self.expansion.inputs)
        object.__setattr__(self, "domain", self.expansion.domain)

    def lambdas(self, X: Array) -> Array:
        """Return (l1, ln l2, l3, l4) of each output at rows X: (outputs, n, 4)."""
        return np.moveaxis(self.expansion.predict(X).reshape(-1, len(self.outputs), 4), 1, 0).copy()

    def _quantile(self, X: Array, p: Array) -> Array:
        rows = [np.stack([gld.quantile(L, level) for level in p], axis=-1) for L in self.lambdas(X)]
        return np.stack(rows, axis=1)

    def _from_uniform(self, X: Array, U: Array) -> Array:
        return np.column_stack([gld.quantile(L, u) for L, u in zip(self.lambdas(X), U.T, strict=True)])

    def _cdf(self, X: Array, Y: Array) -> Array:
        return np.column_stack([gld.probability(L, y) for L, y in zip(self.lambdas(X), Y.T, strict=True)])

    def _log_density(self, X: Array, Y: Array) -> Array:
        return np.column_stack([gld.log_density(L, y) for L, y in zip(self.lambdas(X), Y.T, strict=True)])

    def _moments(self, X: Array) -> tuple[Array, Array]:
        L = self.lambdas(X)
        return np.column_stack([gld.mean(one) for one in L]), np.column_stack([gld.variance(one) for one in L])

    def support(self, X: Array) -> tuple[Array, Array]:
        """Return the smallest and largest possible responses (n, outputs) at rows X, infinite where unbounded."""
        low, high = zip(*(gld.support(L) for L in self.lambdas(self._rows(X))), strict=True)
        return np.column_stack(low), np.column_stack(high)

    def _jacobian(self, x: Array) -> Array:
        L, slopes = self.lambdas(x[None, :])[:, 0], self.expansion.jacobian(x).reshape(len(self.outputs), 4, -1)
        width = np.exp(-L[:, 1])
        left, right = 1.0 / (L[:, 2] + 1.0), 1.0 / (L[:, 3] + 1.0)
        weights = np.column_stack([np.ones(len(L)), width * (left - right), width * left**2, -width * right**2])
        return np.asarray(np.einsum("ok,okj->oj", weights, slopes))

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled mean of one point; see the contract."""
        _, parameters = self.expansion.kernel()
        return _mean_kernel(), (*parameters, np.empty(4 * len(self.outputs)))

    @property
    def cost(self) -> int:
        """Multiply-adds of the mean: those of the expansion and six for each output."""
        return self.expansion.cost + 6 * len(self.outputs)

    def terms(self, output: str | None = None) -> dict[str, int]:
        """Return how many terms each of the four parameters of an output has, the constant included."""
        names = [p.name for p in self.outputs]
        o = 0 if output is None else names.index(output)
        used = self.expansion.coefficients[:, 4 * o : 4 * o + 4] != 0.0
        used[~self.expansion.indices.any(axis=1)] = True
        return dict(zip(ROWS, used.sum(axis=0).tolist(), strict=True))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return those of the expansion."""
        return self.expansion.arrays()

    def header(self) -> dict[str, Any]:
        """Return kind, ports, how the model was fitted, and the ports of the expansion."""
        return super().header() | {"fit": dict(self.fit), "expansion": self.expansion.header()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the model bit for bit."""
        expansion = Pce.from_arrays(arrays, header["expansion"])
        return cls(header_ports(header, "outputs"), expansion, header.get("fit", {}))

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with the terms of each parameter and how the model was fitted."""
        terms = {p.name: self.terms(p.name) for p in self.outputs}
        return super().describe() | {"terms": terms, "fit": dict(self.fit)}


@cache
def _mean_kernel() -> Callable[..., None]:
    from numba import njit

    expansion = evaluate_one()

    @njit
    def mean(x, y, parameters):  # type: ignore[no-untyped-def]
        L = parameters[-1]
        expansion(x, L, parameters[:-1])
        for o in range(y.size):
            l1, log, l3, l4 = L[4 * o], L[4 * o + 1], L[4 * o + 2], L[4 * o + 3]
            y[o] = l1 - np.exp(-log) * (1.0 / (l3 + 1.0) - 1.0 / (l4 + 1.0))

    return mean  # type: ignore[no-any-return]
