"""A gated recurrent unit as one-step map: what a recurrent network fitted elsewhere is to the rest of the product."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port, as_ports
from mor.reduced.base import Arrays, Header, ReducedModel, as_domain, frozen, header_ports
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_NAMES = ("inner", "hidden", "bias", "hidden_bias", "readout", "direct", "offset")


@dataclass(frozen=True, eq=False, repr=False)
class GruStep(ReducedModel):
    """One step of a gated recurrent unit (Cho et al., 2014) with a linear readout, in physical units:

        s = 2 (x - lower) / (upper - lower) - 1
        r, z = sigmoid(W_rz s + b_rz + U_rz h),    n = tanh(W_n s + b_n + r (U_n h + c)),    h' = n + z (h - n)
        y = low + (V h' + D s + d + 1) / 2 (high - low)

    Its inputs are (x, h), its outputs (y, h'): around it, `MemoryModel` with one output lag is the recurrent network.

    Parameters
    ----------
    inner, hidden
        W (3 m, n_x) and U (3 m, m), rows in the order r, z, n.
    bias, hidden_bias
        b (3 m) and c (m).
    readout, direct, offset
        V (n_y, m), D (n_y, n_x) and d (n_y).
    range
        (low, high) of y. The domain of h is [-1, 1].
    """

    kind: ClassVar[str] = "gru"
    inner: Array
    hidden: Array
    bias: Array
    hidden_bias: Array
    readout: Array
    direct: Array
    offset: Array
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    range: tuple[Array, Array]
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold = object.__setattr__
        for name in _NAMES:
            hold(self, name, frozen(getattr(self, name)))
        hold(self, "inputs", as_ports(self.inputs, "inputs of a recurrent unit"))
        hold(self, "outputs", as_ports(self.outputs, "outputs of a recurrent unit"))
        hold(self, "domain", as_domain(*self.domain, self.inputs))
        hold(self, "range", (frozen(self.range[0]), frozen(self.range[1])))
        hold(self, "origin", dict(self.origin))
        m = self.hidden_bias.size
        n_x, n_y = len(self.inputs) - m, len(self.outputs) - m
        shapes = {
            "inner": (3 * m, n_x), "hidden": (3 * m, m), "bias": (3 * m,), "hidden_bias": (m,), "readout": (n_y, m),
            "direct": (n_y, n_x), "offset": (n_y,),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or min(shape) < 1 or not np.all(np.isfinite(array)):
                raise ConfigError(f"{name} of a recurrent unit must be finite of shape {shape}, got {array.shape}.")
        if any(b.shape != (n_y,) for b in self.range) or not np.all(self.range[0] < self.range[1]):
            raise ConfigError(f"range of a recurrent unit must be lower < upper for each of its {n_y} outputs.")
        if not all(np.all(np.isfinite(b)) for b in self.domain) or not np.all(self.domain[0] < self.domain[1]):
            raise ConfigError("domain of a recurrent unit must be finite with lower < upper.")

    @property
    def size(self) -> int:
        """Number m of hidden units."""
        return int(self.hidden_bias.size)

    @cached_property
    def folded(self) -> tuple[Array, Array, Array, Array, Array]:
        """W and b of the unit and V, D, d of the readout with the scaling inside, for physical units."""
        n_x = len(self.inputs) - self.size
        lower, upper = (b[:n_x] for b in self.domain)
        gain = 2.0 / (upper - lower)
        shift = -1.0 - lower * gain
        half = 0.5 * (self.range[1] - self.range[0])
        offset = self.range[0] + half * (self.offset + self.direct @ shift + 1.0)
        parts = (
            self.inner * gain, self.bias + self.inner @ shift, half[:, None] * self.readout,
            half[:, None] * self.direct * gain, offset,
        )  # fmt: skip
        W, b, V, D, d = (frozen(part) for part in parts)
        return W, b, V, D, d

    def _predict(self, X: Array) -> Array:
        m = self.size
        W, b, V, D, d = self.folded
        x, h = X[:, :-m], X[:, -m:]
        a = x @ W.T + b
        gates = 0.5 * (1.0 + np.tanh(0.5 * (a[:, : 2 * m] + h @ self.hidden[: 2 * m].T)))
        n = np.tanh(a[:, 2 * m :] + gates[:, :m] * (h @ self.hidden[2 * m :].T + self.hidden_bias))
        new = n + gates[:, m:] * (h - n)
        return np.hstack([new @ V.T + x @ D.T + d, new])

    def _jacobian(self, x: Array) -> Array:
        m, (W, b, V, D, _) = self.size, self.folded
        s, h = x[:-m], x[-m:]
        a = W @ s + b
        r, z = np.split(0.5 * (1.0 + np.tanh(0.5 * (a[: 2 * m] + self.hidden[: 2 * m] @ h))), 2)
        q = self.hidden[2 * m :] @ h + self.hidden_bias
        n = np.tanh(a[2 * m :] + r * q)
        both = np.hstack([W, self.hidden])
        dr, dz = (r * (1.0 - r))[:, None] * both[:m], (z * (1.0 - z))[:, None] * both[m : 2 * m]
        inner = np.hstack([W[2 * m :], r[:, None] * self.hidden[2 * m :]]) + q[:, None] * dr
        dn = (1.0 - n * n)[:, None] * inner
        dh = (1.0 - z)[:, None] * dn + (h - n)[:, None] * dz
        dh[:, -m:] += np.diag(z)
        dy = V @ dh
        dy[:, :-m] += D
        return np.vstack([dy, dh])

    @property
    def cost(self) -> int:
        """Multiply-adds of one step, one for each activation."""
        return int(self.inner.size + self.hidden.size + self.readout.size + self.direct.size + 6 * self.size)

    @property
    def n_parameters(self) -> int:
        """Number of fitted weights."""
        return int(sum(getattr(self, name).size for name in _NAMES))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the matrices and both scalings."""
        own = {name: getattr(self, name) for name in _NAMES}
        return own | {"domain": np.stack(self.domain), "range": np.stack(self.range)}

    def header(self) -> dict[str, Any]:
        """Return the header of the contract with the origin."""
        return super().header() | {"origin": self.origin}

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the unit, bit for bit."""
        return cls(
            **{name: arrays[name] for name in _NAMES}, inputs=header_ports(header, "inputs"),
            outputs=header_ports(header, "outputs"), domain=(arrays["domain"][0], arrays["domain"][1]),
            range=(arrays["range"][0], arrays["range"][1]), origin=header["origin"],
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with the number of units and parameters."""
        return super().describe() | {"units": self.size, "parameters": self.n_parameters, "origin": self.origin}

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled `evaluate(x, y, parameters)` and its parameters."""
        W, b, V, D, d = (np.array(part) for part in self.folded)
        return _evaluate(), (W, np.array(self.hidden), b, np.array(self.hidden_bias), V, D, d, np.empty((4, self.size)))


@cache
def _evaluate() -> Callable[..., None]:
    from numba import njit

    @njit
    def evaluate(x, y, parameters):  # type: ignore[no-untyped-def]
        W, U, b, c, V, D, d, work = parameters
        m, n_x, n_y = c.size, W.shape[1], d.size
        for row in range(3 * m):
            a, q = b[row], 0.0
            for j in range(n_x):
                a += W[row, j] * x[j]
            for j in range(m):
                q += U[row, j] * x[n_x + j]
            gate, i = row // m, row % m
            if gate < 2:
                work[gate, i] = 0.5 * (1.0 + np.tanh(0.5 * (a + q)))
            else:
                work[2, i] = np.tanh(a + work[0, i] * (q + c[i]))
        for i in range(m):
            work[3, i] = work[2, i] + work[1, i] * (x[n_x + i] - work[2, i])
            y[n_y + i] = work[3, i]
        for o in range(n_y):
            value = d[o]
            for i in range(m):
                value += V[o, i] * work[3, i]
            for j in range(n_x):
                value += D[o, j] * x[j]
            y[o] = value

    return evaluate  # type: ignore[no-any-return]
