"""The joint law of the uncertain parameters of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mor.data.ports import Port, check_name
from mor.marginals import Marginal, marginal_from
from mor.sampling.copulas import Copula, copula_from
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

COPULA = "(copula)"  # its key beside the parameters in files; no name of a parameter has brackets


class ParameterSpace(Mapping[str, Marginal]):
    """Parameters, each with a name and a marginal: {name: marginal}; independent unless a `copula` couples them.

    The joint law is made in `from_unit` and `to_unit` alone: points of the unit cube (independent uniform columns)
    to physical points and back. Everything that samples goes through them.

    Parameters
    ----------
    marginals
        {name: marginal}, in the order of the columns.
    """

    def __init__(self, marginals: Mapping[str, Marginal], *, copula: Copula | None = None) -> None:
        if not marginals:
            raise ConfigError("ParameterSpace needs at least one parameter, got none.")
        for name, marginal in marginals.items():
            check_name(name, "a parameter of ParameterSpace")
            if not isinstance(marginal, Marginal):
                raise ConfigError(f"Parameter '{name}' of ParameterSpace must be a marginal, got {marginal!r}.")
        if copula is not None and (not isinstance(copula, Copula) or copula.dimension != len(marginals)):
            raise ConfigError(f"copula of ParameterSpace must be one of {len(marginals)} variables, got {copula!r}.")
        self._marginals = dict(marginals)
        self.copula = copula

    def __getitem__(self, name: str) -> Marginal:
        if name not in self._marginals:
            raise KeyError(f"ParameterSpace has no parameter '{name}'; it has {', '.join(self._marginals)}.")
        return self._marginals[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._marginals)

    def __len__(self) -> int:
        return len(self._marginals)

    def __repr__(self) -> str:
        joint = "" if self.copula is None else f", copula={self.copula!r}"
        return f"ParameterSpace({self._marginals!r}{joint})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names in column order."""
        return tuple(self._marginals)

    @property
    def units(self) -> tuple[str, ...]:
        """Units in column order."""
        return tuple(m.unit for m in self._marginals.values())

    @property
    def ports(self) -> tuple[Port, ...]:
        """Names with units, as inputs of a Dataset."""
        return tuple(Port(name, m.unit) for name, m in self._marginals.items())

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """Marginals in column order."""
        return tuple(self._marginals.values())

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self._marginals)

    @property
    def mean(self) -> Array:
        """Means in column order."""
        return np.array([m.mean for m in self.marginals])

    def from_unit(self, U: npt.ArrayLike, *, order: Sequence[int] | None = None) -> Array:
        """Map points of the unit cube (n, dimension) to physical points by the quantile functions.

        order: with a copula, the order in which the inverse Rosenblatt map takes the parameters.
        """
        U = self._columns(U, "U of from_unit")
        if self.copula is not None:
            U = self.copula.dependent(U, order)
        return np.column_stack([m.ppf(U[:, i]) for i, m in enumerate(self.marginals)])

    def to_unit(self, X: npt.ArrayLike, *, order: Sequence[int] | None = None) -> Array:
        """Map physical points (n, dimension) to the unit cube by the distribution functions; inverse of `from_unit`."""
        X = self._columns(X, "X of to_unit")
        U = np.column_stack([m.cdf(X[:, i]) for i, m in enumerate(self.marginals)])
        return U if self.copula is None else self.copula.independent(U, order)

    def to_standard(self, X: npt.ArrayLike) -> Array:
        """Map physical points (n, dimension) to the standard variables of the marginals' polynomial families."""
        X = self._columns(X, "X of to_standard")
        return np.column_stack([m.to_standard(X[:, i]) for i, m in enumerate(self.marginals)])

    def sample(self, n: int, *, seed: int) -> Array:
        """Draw n independent points, shape (n, dimension)."""
        return self.from_unit(open_unit(np.random.default_rng(seed).random((n, self.dimension))))

    def summary(self) -> str:
        """Return a table of the parameters as text."""
        head = ("name", "law", "mean", "std", "lower", "upper", "unit")
        rows = [
            (name, m.law, f"{m.mean:.6g}", f"{m.std:.6g}", f"{m.lower:.6g}", f"{m.upper:.6g}", m.unit)
            for name, m in self._marginals.items()
        ]
        return text_table(head, rows)

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Return names, laws, parameters and units as plain values, for files."""
        joint = {} if self.copula is None else {COPULA: self.copula.to_dict()}
        return {name: m.to_dict() for name, m in self._marginals.items()} | joint

    @classmethod
    def from_dict(cls, spec: Mapping[str, Mapping[str, object]]) -> ParameterSpace:
        """Build a space from {name: {"law": ..., ...}}; all problems are listed at once."""
        marginals, problems = {}, []
        copula = None
        for name, values in spec.items():
            try:
                if name == COPULA:
                    copula = copula_from(values)
                    continue
                marginals[name] = marginal_from(values, f"parameter '{name}'")
            except ConfigError as error:
                problems.append(str(error))
        if problems:
            raise ConfigError.from_problems("ParameterSpace", problems)
        return cls(marginals, copula=copula)

    def _columns(self, values: npt.ArrayLike, what: str) -> Array:
        array = np.asarray(values, dtype=float)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise ConfigError(
                f"{what} must have {self.dimension} columns ({', '.join(self.names)}), got shape {array.shape}."
            )
        return array


def open_unit(U: Array) -> Array:
    """Move the value 0 off the closed end of [0, 1), where an unbounded quantile function is infinite."""
    return np.maximum(U, 2.0**-54)


def text_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Align rows of text under their head, columns two spaces apart."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    return "\n".join(line.rstrip() for line in lines)
