"""The simplest reduced model, y = a + B x: what a kind must give, and memory that can be checked by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numba import njit

from mor.data.ports import Port
from mor.reduced.base import Array, ReducedModel, as_domain, header_ports


@njit
def _evaluate(x, y, parameters):
    offset, slope = parameters
    for i in range(offset.size):
        y[i] = offset[i]
        for j in range(x.size):
            y[i] += slope[i, j] * x[j]


@dataclass(frozen=True, eq=False, repr=False)
class Linear(ReducedModel):
    kind: ClassVar[str] = "linear"
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    offset: Array
    slope: Array

    def _predict(self, X: Array) -> Array:
        return self.offset + X @ self.slope.T

    def _jacobian(self, x: Array) -> Array:
        return self.slope.copy()

    def arrays(self) -> dict[str, Any]:
        return {"offset": self.offset, "slope": self.slope, "domain": np.stack(self.domain)}

    @classmethod
    def from_arrays(cls, arrays: Any, header: Any) -> Self:
        inputs = header_ports(header, "inputs")
        domain = as_domain(*arrays["domain"], inputs)
        return cls(inputs, header_ports(header, "outputs"), domain, arrays["offset"], arrays["slope"])

    def kernel(self) -> Any:
        return _evaluate, (self.offset, self.slope)

    @property
    def cost(self) -> int:
        return int(self.slope.size)
