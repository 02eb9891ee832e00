"""A fitted Kriging or PC-Kriging model: mean, standard deviation, slope, samples and leave-one-out errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from mor.data.ports import Port
from mor.reduced.base import Arrays, Header, ReducedModel, as_domain, frozen, header_ports
from mor.reduced.kriging.evaluate import evaluate_one
from mor.reduced.kriging.kernels import FACTOR, KERNELS, Pairs, correlation, cross, product, slope
from mor.reduced.kriging.likelihood import Solved, solve_above
from mor.reduced.pce.basis import TINY, Ints, matrix, slopes, standardise, values
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_BLOCK = 40_000  # correlations that are computed together, so that they stay in the cache


@dataclass(frozen=True, eq=False, repr=False)
class Kriging(ReducedModel):
    """A Gaussian process Y = f'b + sigma Z conditioned on N rows, per output:

        z_i = (x_i - location_i) / scale_i,  or  (ln x_i - location_i) / scale_i  where logarithm_i = 1,
        y = sum_t b_t psi_t(z) + sum_j q_j k(z, z_j),    k = prod_i (1 - w_i + w_i k_i(|z_i - z_ji| / l_i))

    with the correlations k_i and the length convention of `mor.reduced.kriging.kernels`.

    Attributes
    ----------
    points : (N, inputs) array
        The rows z_j in standard variables.
    values : (N, outputs) array
        What was observed there, in units of the outputs.
    kernel_names : tuple of str
        Family of each output.
    length, weight : (outputs, inputs) arrays
        l in units of z; w, all one for a plain product.
    dual : (N, outputs) array
        q = R^-1 (y - F b), in units of the outputs.
    indices, used, coefficients : (terms, inputs), (terms, outputs), (terms, outputs) arrays
        Trend: multi-indices of the polynomials psi, which of them belong to the trend of an output, and b.
    variance, nugget : (outputs,) arrays
        sigma^2 in squared units of the outputs, and noise variance relative to it.
    spread : (N,) array
        Noise variance of each row relative to their mean.
    loo : (outputs,) array
        Leave-one-out error relative to the variance of the rows.
    known_trend : bool
        Whether b was given (simple Kriging) instead of estimated.
    domain
        Lower and upper bounds of the inputs.
    location, scale, logarithm
        The map to standard variables, each (inputs,).
    recurrence
        Coefficients of the polynomials of the trend (inputs, degree, 3).
    fit
        How it was fitted, plain values.
    """

    kind: ClassVar[str] = "kriging"
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    location: Array
    scale: Array
    logarithm: Ints
    points: Array
    values: Array
    kernel_names: tuple[str, ...]
    length: Array
    weight: Array
    dual: Array
    recurrence: Array
    indices: Ints
    used: Ints
    coefficients: Array
    variance: Array
    nugget: Array
    spread: Array
    loo: Array
    known_trend: bool = False
    fit: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _FLOATS:
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in _WHOLE:
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        object.__setattr__(self, "domain", as_domain(*self.domain, self.inputs))
        n, m = len(self.inputs), len(self.outputs)
        N, terms = len(self.points), len(self.indices)
        expected = {
            "location": (n,), "scale": (n,), "logarithm": (n,), "points": (N, n), "values": (N, m), "length": (m, n),
            "weight": (m, n), "dual": (N, m), "indices": (terms, n), "used": (terms, m), "coefficients": (terms, m),
            "recurrence": (n, self.recurrence.shape[1], 3), "variance": (m,), "nugget": (m,), "spread": (N,),
            "loo": (m,),
        }  # fmt: skip
        wrong = [
            f"{name} of a Kriging model with {N} rows, {n} inputs, {m} outputs and {terms} trend functions must have "
            f"shape {shape}, got {getattr(self, name).shape}."
            for name, shape in expected.items()
            if getattr(self, name).shape != shape
        ]
        if len(self.kernel_names) != m or not set(self.kernel_names) <= set(KERNELS):
            wrong.append(f"Kernels of a Kriging model must be {m} of {', '.join(KERNELS)}, got {self.kernel_names}.")
        elif not wrong:
            if not (np.all(self.length > 0) and np.all((self.weight > 0) & (self.weight <= 1))):
                wrong.append("Lengths of a Kriging model must be positive and weights in (0, 1].")
            if self.indices.min(initial=0) < 0 or self.indices.max(initial=0) > self.recurrence.shape[1]:
                wrong.append(f"indices of a Kriging model must lie between 0 and {self.recurrence.shape[1]}.")
            bad = [name for name in _FLOATS if not np.isfinite(getattr(self, name)).all()]
            wrong += [f"{name} of a Kriging model must be finite." for name in bad]
        if wrong:
            raise ConfigError.from_problems("Kriging", wrong)

    @property
    def rows(self) -> int:
        """Number of rows the model was fitted to."""
        return len(self.points)

    @property
    def noise(self) -> Array:
        """Standard deviation of the noise found in each output (physical units), rounding level where there is none."""
        std: Array = np.sqrt(self.nugget * self.variance)
        return std

    @property
    def rounding(self) -> Array:
        """Rounding of a prediction (outputs,) relative to the spread of the rows: about 1e-16 sum |q|.

        Long lengths make q huge and predictions small differences of huge numbers; see `fit_kriging(rounding=)`.
        """
        spread = np.maximum(self.values.std(axis=0), 1e-300)
        part: Array = 1e-16 * np.abs(self.dual).sum(axis=0) / spread
        return np.where(np.ptp(self.values, axis=0) > 0.0, part, 0.0)

    @property
    def cost(self) -> int:
        """Multiply-adds: one correlation a row, input and output; the exponential functions count as one."""
        n, m = len(self.inputs), len(self.outputs)
        each = [2 if self._plain(o) and self.kernel_names[o] == "gaussian" else 4 for o in range(m)]
        trend = 2 * int(self.indices.max(axis=0, initial=0).sum()) + self.indices.size * m
        return self.rows * n * sum(each) + 2 * self.rows * m + n + trend

    def _plain(self, o: int) -> bool:
        return bool(np.all(self.weight[o] == 1.0))

    def _weight(self, o: int) -> Array | None:
        return None if self._plain(o) else self.weight[o]

    def _standard(self, X: Array) -> Array:
        return standardise(X, self.location, self.scale, self.logarithm)

    def _trend(self, Z: Array) -> Array:
        return matrix(values(Z, self.recurrence), self.indices)

    def _blocks(self, n: int) -> list[slice]:
        size = max(1, _BLOCK // max(1, self.rows))
        return [slice(start, start + size) for start in range(0, n, size)]

    def _predict(self, X: Array) -> Array:
        Z = self._standard(X)
        Y: Array = self._trend(Z) @ self.coefficients
        for o, kernel in enumerate(self.kernel_names):
            for block in self._blocks(len(Z)):
                Y[block, o] += cross(kernel, Z[block], self.points, self.length[o], self._weight(o)) @ self.dual[:, o]
        return Y

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled evaluation of one point; see the contract."""
        codes = np.array([KERNELS.index(k) for k in self.kernel_names])
        factor = np.array([FACTOR[k] for k in self.kernel_names])
        psi = np.empty((len(self.inputs), self.recurrence.shape[1] + 1))
        return evaluate_one(), (
            self.location, self.scale, self.logarithm, self.recurrence, self.indices, self.coefficients, codes,
            factor[:, None] / self.length, self.weight, self.points, self.dual, np.empty(len(self.inputs)), psi,
        )  # fmt: skip

    def _jacobian(self, x: Array) -> Array:
        Z = self._standard(x[None, :])
        n = len(self.inputs)
        psi = values(Z, self.recurrence)
        steep = slopes(Z, self.recurrence, psi)[..., 0][np.arange(n), self.indices]
        others = np.repeat(psi[..., 0][np.arange(n), self.indices][:, None, :], n, axis=1)
        others[:, range(n), range(n)] = steep
        J = self.coefficients.T @ np.prod(others, axis=2)
        for o, kernel in enumerate(self.kernel_names):
            scale = FACTOR[kernel] / self.length[o]
            distance = (Z[0] - self.points) * scale
            a, w = np.abs(distance), self.weight[o]
            factors = 1.0 - w + w * correlation(kernel, a)
            inner = w * slope(kernel, a) * np.sign(distance) * scale
            for i in range(n):
                J[o, i] += self.dual[:, o] @ (inner[:, i] * np.prod(np.delete(factors, i, axis=1), axis=1))
        inside = np.where(self.logarithm == 1, self.scale * np.maximum(x, TINY), self.scale)
        jacobian: Array = J / inside
        return jacobian

    # The process: uncertainty of the model itself

    @cached_property
    def _solved(self) -> tuple[Solved, ...]:
        pairs, F = Pairs.of(self.points), self._trend(self.points)
        found = []
        for o, kernel in enumerate(self.kernel_names):
            a = pairs.h * (FACTOR[kernel] / self.length[o])[:, None]
            R = pairs.matrix(product(kernel, a, self._weight(o)))
            used = self.used[:, o] == 1
            known = F[:, used] @ self.coefficients[used, o] if self.known_trend else 0.0
            trend = F[:, :0] if self.known_trend else F[:, used]
            found.append(solve_above(R, self.nugget[o] * self.spread, trend, self.values[:, o] - known))
        return tuple(found)

    def _checked(self, X: ArrayLike, what: str) -> Array:
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self.inputs):
            raise ConfigError(
                f"X of Kriging.{what} must have {len(self.inputs)} columns "
                f"({', '.join(p.name for p in self.inputs)}), got shape {np.shape(X)}."
            )
        return rows

    def _parts(self, Z: Array, o: int) -> tuple[Array, Array]:
        """Return L^-1 r (N, n) and G^-T f - Q' L^-1 r (P, n) at rows Z."""
        s = self._solved[o]
        r = cross(self.kernel_names[o], Z, self.points, self.length[o], self._weight(o))
        v = solve_triangular(s.factor, r.T, lower=True)
        if not s.triangle.size:
            return v, np.empty((0, len(Z)))
        f = self._trend(Z)[:, self.used[:, o] == 1]
        return v, solve_triangular(s.triangle, f.T, trans="T") - s.trend.T @ v

    def std(self, X: ArrayLike, *, noise: bool = False) -> Array:
        """Return the standard deviation of the prediction.

        Parameters
        ----------
        X : (n, inputs) array
            Rows in physical units.
        noise : bool
            Add the noise of a new observation to the uncertainty of the mean.

        Returns
        -------
        (n, outputs) array in units of the outputs.
        """
        Z = self._standard(self._checked(X, "std"))
        S = np.empty((len(Z), len(self.outputs)))
        for o in range(len(self.outputs)):
            for block in self._blocks(len(Z)):
                v, u = self._parts(Z[block], o)
                left = 1.0 - np.einsum("ij,ij->j", v, v) + np.einsum("ij,ij->j", u, u)
                S[block, o] = np.maximum(left, 0.0) + (self.nugget[o] if noise else 0.0)
        std: Array = np.sqrt(S * self.variance)
        return std

    def sample(self, X: ArrayLike, n: int, *, seed: int) -> Array:
        """Draw n functions from the process and return their values (n, rows, outputs) at rows X.

        The draws agree with the observations up to noise, and differ from each other by what the rows leave open.
        """
        rows = self._checked(X, "sample")
        Z, mean = self._standard(rows), self._predict(rows)
        rng = np.random.default_rng(seed)
        draws = np.empty((n, len(Z), len(self.outputs)))
        for o, kernel in enumerate(self.kernel_names):
            v, u = self._parts(Z, o)
            C = cross(kernel, Z, Z, self.length[o], self._weight(o)) - v.T @ v + u.T @ u
            share, axes = np.linalg.eigh(0.5 * (C + C.T))
            root = axes * np.sqrt(np.maximum(share, 0.0) * self.variance[o])
            draws[:, :, o] = mean[:, o] + rng.standard_normal((n, len(Z))) @ root.T
        return draws

    def loo_residuals(self) -> tuple[Array, Array]:
        """Return residuals y_i - y_(i) and standard deviations (N, outputs) of the rows, each predicted by the others.

        Lengths, weights and nugget stay as they are; trend and mean are those of a refit without the row.
        """
        e, s = np.empty_like(self.values), np.empty_like(self.values)
        for o, solved in enumerate(self._solved):
            P = np.diag(solved.projector())
            e[:, o], s[:, o] = solved.dual() / P, np.sqrt(self.variance[o] / P)
        return e, s

    # The contract

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the class description and the domain."""
        codes = np.array([KERNELS.index(k) for k in self.kernel_names], dtype=np.int64)
        own = {name: getattr(self, name) for name in (*_FLOATS, *_WHOLE)}
        return own | {"domain": np.stack(self.domain), "kernel": codes}

    def header(self) -> dict[str, Any]:
        """Return kind, ports and how the model was fitted."""
        return super().header() | {"fit": dict(self.fit), "known_trend": self.known_trend}

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the model bit for bit."""
        own = {name: a for name, a in arrays.items() if name not in ("domain", "kernel")}
        codes = [int(code) for code in np.ravel(arrays["kernel"])]
        if not all(0 <= code < len(KERNELS) for code in codes):
            raise ConfigError(f"Kernels of a Kriging model must have codes below {len(KERNELS)}, got {codes}.")
        return cls(
            inputs=header_ports(header, "inputs"),
            outputs=header_ports(header, "outputs"),
            domain=(arrays["domain"][0], arrays["domain"][1]),
            kernel_names=tuple(KERNELS[code] for code in codes),
            known_trend=bool(header.get("known_trend", False)),
            fit=header.get("fit", {}),
            **own,
        )

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with rows, kernels, trend, noise and leave-one-out error."""
        return super().describe() | {
            "rows": self.rows,
            "kernel": list(self.kernel_names),
            "interaction_weighted": [not self._plain(o) for o in range(len(self.outputs))],
            "trend_terms": self.used.sum(axis=0).tolist(),
            "noise_std": self.noise.tolist(),
            "loo": self.loo.tolist(),
            "fit": dict(self.fit),
        }


_FLOATS = (
    "location", "scale", "points", "values", "length", "weight", "dual", "recurrence", "coefficients", "variance",
    "nugget", "spread", "loo",
)  # fmt: skip
_WHOLE = ("logarithm", "indices", "used")
