"""A fitted polynomial chaos expansion: evaluation, slope, moments and Sobol' indices from its coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.data.ports import Port
from mor.reduced.base import Arrays, Header, ReducedModel, as_domain, frozen, header_ports
from mor.reduced.pce.basis import TINY, Ints, matrix, slopes, standardise, values
from mor.reduced.pce.kernels import Program, evaluate_one, evaluate_rows, one_point_program, program_of
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False, repr=False)
class Pce(ReducedModel):
    """A polynomial chaos expansion

        z_i = (x_i - location_i) / scale_i,  or  (ln x_i - location_i) / scale_i  where logarithm_i = 1,
        y = sum_alpha c_alpha prod_i psi_{alpha_i}(z_i),    psi orthonormal under the law of z_i

    indices: (terms, inputs) the alphas. coefficients: (terms, outputs) in units of the outputs. recurrence: (inputs,
    degree, 3) the a_k, b_k, c_k of `mor.reduced.pce.basis`. loo: (outputs,) corrected leave-one-out error of the fit,
    relative to the variance. fit: how it was fitted, plain values.

    Parameters
    ----------
    domain
        Lower and upper bounds of the inputs.
    location, scale, logarithm
        The map to standard variables, each (inputs,).
    """

    kind: ClassVar[str] = "pce"
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    location: Array
    scale: Array
    logarithm: Ints
    recurrence: Array
    indices: Ints
    coefficients: Array
    loo: Array
    fit: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("location", "scale", "recurrence", "coefficients", "loo"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in ("logarithm", "indices"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        object.__setattr__(self, "domain", as_domain(*self.domain, self.inputs))
        n, m = len(self.inputs), len(self.outputs)
        terms = len(self.indices)
        expected = {
            "location": (n,), "scale": (n,), "logarithm": (n,), "recurrence": (n, self.recurrence.shape[1], 3),
            "indices": (terms, n), "coefficients": (terms, m), "loo": (m,),
        }  # fmt: skip
        wrong = [
            f"{name} of a PCE with {n} inputs, {m} outputs and {terms} terms must have shape {shape}, "
            f"got {getattr(self, name).shape}."
            for name, shape in expected.items()
            if getattr(self, name).shape != shape
        ]
        if not wrong and (self.indices.min(initial=0) < 0 or self.degree > self.recurrence.shape[1]):
            wrong.append(f"indices of a PCE must lie between 0 and {self.recurrence.shape[1]}, got {self.degree}.")
        if wrong:
            raise ConfigError.from_problems("Pce", wrong)

    @property
    def degree(self) -> int:
        """Highest degree in one variable."""
        return int(self.indices.max(initial=0))

    @property
    def terms(self) -> int:
        """Number of terms."""
        return len(self.indices)

    @cached_property
    def program(self) -> Program:
        """The terms in nested order, as the compiled evaluation runs through them."""
        return program_of(self.location, self.scale, self.logarithm, self.recurrence, self.indices, self.coefficients)

    @property
    def cost(self) -> int:
        """Multiply-adds: one each for the standard variables, two for a polynomial, one for a nested term."""
        degrees = self.indices.max(axis=0, initial=0)
        return int(len(self.inputs) + 2 * degrees.sum() + len(self.outputs) * self.program.depth.size)

    def _predict(self, X: Array) -> Array:
        return evaluate_rows(np.ascontiguousarray(X), self.program)

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled evaluation of one point; see the contract."""
        return evaluate_one(), one_point_program(self.program)

    def _standard(self, X: Array) -> Array:
        return standardise(X, self.location, self.scale, self.logarithm)

    def _jacobian(self, x: Array) -> Array:
        Z = self._standard(x[None, :])
        psi = values(Z, self.recurrence)
        slope = slopes(Z, self.recurrence, psi)
        n = len(self.inputs)
        at = np.arange(n), self.indices
        factors, steep = psi[..., 0][at], slope[..., 0][at]
        others = np.broadcast_to(factors[:, None, :], (self.terms, n, n)).copy()
        others[:, range(n), range(n)] = steep
        inner = 1.0 / self.scale
        inner = np.where(self.logarithm == 1, inner / np.maximum(x, TINY), inner)
        jacobian: Array = self.coefficients.T @ (np.prod(others, axis=2) * inner)
        return jacobian

    # Moments and sensitivity

    @property
    def mean(self) -> Array:
        """Mean of each output under the laws of the inputs."""
        constant = ~self.indices.any(axis=1)
        mean: Array = self.coefficients[constant].sum(axis=0)
        return mean

    @property
    def variance(self) -> Array:
        """Variance of each output under the laws of the inputs."""
        part: Array = np.sum(self.coefficients[self.indices.any(axis=1)] ** 2, axis=0)
        return part

    def sobol_first(self) -> Array:
        """Return the first-order indices (outputs, inputs): share of the variance owed to one input alone."""
        used = self.indices > 0
        alone = used & (used.sum(axis=1) == 1)[:, None]
        return self._shares(alone)

    def sobol_total(self) -> Array:
        """Return the total indices (outputs, inputs): share of the variance any of whose causes is the input."""
        return self._shares(self.indices > 0)

    def sobol_second(self) -> Array:
        """Return the second-order indices (outputs, inputs, inputs), symmetric with zero diagonal."""
        used = self.indices > 0
        pairs = used & (used.sum(axis=1) == 2)[:, None]
        joint = pairs[:, :, None] & pairs[:, None, :]
        joint[:, range(len(self.inputs)), range(len(self.inputs))] = False
        share = self._shares(joint.reshape(self.terms, -1))
        return share.reshape(len(self.outputs), len(self.inputs), len(self.inputs))

    def sobol(self, *names: str) -> Array:
        """Return the index (outputs,) of the interaction of exactly the named inputs."""
        known = [p.name for p in self.inputs]
        missing = [name for name in names if name not in known]
        if missing:
            raise ConfigError(f"Inputs of Pce.sobol must be among {', '.join(known)}, got {', '.join(missing)}.")
        wanted = np.isin(known, names)
        return self._shares(np.all((self.indices > 0) == wanted, axis=1)[:, None])[:, 0]

    def _shares(self, masks: NDArray[np.bool_]) -> Array:
        variance = self.variance
        parts = (self.coefficients**2).T @ masks
        shares: Array = parts / np.where(variance > 0.0, variance, 1.0)[:, None]
        return shares

    def effect(self, name: str, x: ArrayLike) -> Array:
        """Return the univariate effect (n, outputs) of input `name` at values `x` (n,): E[y | x_i] - E[y]."""
        known = [p.name for p in self.inputs]
        if name not in known:
            raise ConfigError(f"Input of Pce.effect must be one of {', '.join(known)}, got {name!r}.")
        i = known.index(name)
        X = np.tile(np.where(self.logarithm == 1, 1.0, 0.0), (np.size(x), 1))
        X[:, i] = np.ravel(x)
        alone = (self.indices[:, i] > 0) & (np.count_nonzero(self.indices, axis=1) == 1)
        psi = values(self._standard(X), self.recurrence)[i]
        result: Array = psi[self.indices[alone, i]].T @ self.coefficients[alone]
        return result

    def basis(self, X: ArrayLike) -> Array:
        """Return the terms (n, terms) at physical points X (n, inputs)."""
        return matrix(values(self._standard(np.atleast_2d(np.asarray(X, float))), self.recurrence), self.indices)

    # The contract

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the class description and the domain."""
        names = ("location", "scale", "logarithm", "recurrence", "indices", "coefficients", "loo")
        return {name: getattr(self, name) for name in names} | {"domain": np.stack(self.domain)}

    def header(self) -> dict[str, Any]:
        """Return kind, ports and how the model was fitted."""
        return super().header() | {"fit": dict(self.fit)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the model bit for bit."""
        own = {name: a for name, a in arrays.items() if name != "domain"}
        return cls(
            inputs=header_ports(header, "inputs"),
            outputs=header_ports(header, "outputs"),
            domain=(arrays["domain"][0], arrays["domain"][1]),
            fit=header.get("fit", {}),
            **own,
        )

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with terms, degree, leave-one-out error and the largest Sobol' indices."""
        names = [p.name for p in self.inputs]
        total = self.sobol_total()
        return super().describe() | {
            "terms": self.terms,
            "degree": self.degree,
            "loo": self.loo.tolist(),
            "mean": self.mean.tolist(),
            "variance": self.variance.tolist(),
            "sobol_total": [dict(zip(names, map(float, row), strict=True)) for row in total],
            "fit": dict(self.fit),
        }


def joined(one: Pce, two: Pce) -> Pce:
    """Return one expansion with the outputs of both (of the same inputs and laws), over the union of their terms."""
    union = np.unique(np.vstack([one.indices, two.indices]), axis=0)
    place = {row.tobytes(): n for n, row in enumerate(union)}
    coefficients = np.zeros((len(union), len(one.outputs) + len(two.outputs)))
    for part, start in ((one, 0), (two, len(one.outputs))):
        rows = [place[row.tobytes()] for row in np.ascontiguousarray(part.indices)]
        coefficients[rows, start : start + len(part.outputs)] = part.coefficients
    longer = one if one.recurrence.shape[1] >= two.recurrence.shape[1] else two
    fit = {"rows": two.fit.get("rows"), "outputs": [*one.fit.get("outputs", ()), *two.fit.get("outputs", ())]}
    return replace(
        one, outputs=(*one.outputs, *two.outputs), recurrence=longer.recurrence, indices=union,
        coefficients=coefficients, loo=np.concatenate([one.loo, two.loo]), fit=fit,
    )  # fmt: skip
