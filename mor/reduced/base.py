"""The contract of every reduced model: finished when it is made, physical units in and out, nothing but arrays inside.

A kind (PCE, FFNN, a model with memory, ...) derives from `ReducedModel`, names itself in `kind`, and gives the
mathematics in `_predict`, `_jacobian`, `arrays` and `from_arrays`. Checks, files and the domain are written once, here.
"""

from __future__ import annotations

import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.data.ports import Port, as_ports
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.files import reading, write_file
from rt_runtime.summary import Summarised, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mor.data.dataset import Dataset

Arrays = Mapping[str, NDArray[Any]]
Header = Mapping[str, Any]

FORMAT = 1
_KINDS: dict[str, type[ReducedModel]] = {}
_WRAPPERS: dict[str, type[ReducedModel]] = {}  # by the key they add to a header


def frozen(values: ArrayLike, dtype: type = np.float64) -> NDArray[Any]:
    """Return a read-only, contiguous copy of `values`."""
    array: NDArray[Any] = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def as_domain(lower: ArrayLike, upper: ArrayLike, inputs: Sequence[Port]) -> tuple[Array, Array]:
    """Return the bounds of the inputs (physical units, infinite where there is none) as two read-only arrays."""
    low, high = frozen(lower), frozen(upper)
    if low.shape != (len(inputs),) or high.shape != (len(inputs),):
        raise ConfigError(
            f"Domain of a reduced model must have one lower and one upper bound for each of its {len(inputs)} inputs, "
            f"got shapes {low.shape} and {high.shape}."
        )
    for port, a, b in zip(inputs, low, high, strict=True):
        if not a <= b:
            raise ConfigError(f"Domain of input '{port.name}' must have lower <= upper, got [{a:g}, {b:g}].")
    return low, high


class ReducedModel(Summarised, ABC):
    """A fitted model y = f(x): frozen, in physical units, made of numpy arrays.

    `inputs` and `outputs` name the columns of x and y with their units; `domain` = (lower, upper) bounds each input
    as far as the model was fitted (infinite where unbounded). Outside of it the model still answers; `outside` says so.
    A model with memory has `states`, and `dt` where its step matters; rows given to it are instants of one run.
    """

    kind: ClassVar[str]
    wraps: ClassVar[str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    dt: float | None = None
    states: tuple[Port, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls
        if "wraps" in cls.__dict__:
            _WRAPPERS[cls.wraps] = cls

    # What a kind must give

    @abstractmethod
    def _predict(self, X: Array) -> Array:
        """Evaluate checked rows X (n, n_in) -> (n, n_out)."""

    @abstractmethod
    def _jacobian(self, x: Array) -> Array:
        """Differentiate at one checked point x (n_in,) -> (n_out, n_in)."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but names and units as float64 or int64 arrays, enough to rebuild the model bit for bit."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild a model from `arrays()` and `header()`, bit for bit."""

    @abstractmethod
    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return a numba-compiled `evaluate(x, y, parameters)` (writes y) and its `parameters`, for loops over time.

        Same arithmetic as `predict` up to rounding; the parameters may contain work space.
        """

    @property
    @abstractmethod
    def cost(self) -> int:
        """Multiply-adds of one evaluation; a transcendental function counts as one."""

    # What every kind has

    def predict(self, X: ArrayLike) -> Array:
        """Evaluate rows `X` (n, n_in), or one row (n_in,), in physical units; the answer is always (n, n_out)."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim == 1:
            rows = rows[None, :]
        if rows.ndim != 2 or rows.shape[1] != len(self.inputs):
            raise ConfigError(
                f"X of {type(self).__name__}.predict must have {len(self.inputs)} columns "
                f"({', '.join(p.name for p in self.inputs)}), got shape {np.shape(X)}."
            )
        return self._predict(rows)

    def rollout(self, u: ArrayLike) -> Array:
        """Run over the instants `u` (n_steps, n_in) from rest -> (n_steps, n_out); without memory this is `predict`."""
        return self.predict(u)

    def start(self) -> Array:
        """Return the state at the start of a run, free to be moved on."""
        return np.empty(0)

    @property
    def state_domain(self) -> tuple[Array, Array]:
        """Bounds (lower, upper) of the states."""
        return np.empty(0), np.empty(0)

    @property
    def every_output(self) -> tuple[Port, ...]:
        """The outputs and, with memory, states that are put out behind them and come back."""
        return self.outputs

    def everything(self, u: ArrayLike) -> Array:
        """Run over `u` as `rollout` does and return all of `every_output`."""
        return self.rollout(u)

    def one_step(self, u: ArrayLike, measured: ArrayLike, *, names: Sequence[str] | None = None) -> Array:
        """Predict each step of a run from its true past `measured`: (n_steps, n) of the outputs `names` (all of them).

        Without memory there is no past.
        """
        own = [p.name for p in self.outputs]
        return self.predict(u)[:, [own.index(name) for name in names or own]]

    def advance(self, u: ArrayLike, state: ArrayLike) -> tuple[Array, Array]:
        """Take one step from each of several states -> y (n, n_out), next state (n, n_state); here there is none."""
        return self.predict(u), np.asarray(state, dtype=np.float64)

    def jacobian(self, x: ArrayLike) -> Array:
        """Return dy/dx (n_out, n_in) at one point `x` (n_in,), in physical units."""
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (len(self.inputs),):
            raise ConfigError(
                f"x of {type(self).__name__}.jacobian must be one point of {len(self.inputs)} inputs "
                f"({', '.join(p.name for p in self.inputs)}), got shape {point.shape}."
            )
        return self._jacobian(point)

    # What a model around another one changes

    @property
    def core(self) -> ReducedModel:
        """The model without anything around it."""
        return self

    def with_map(self, change: Callable[[ReducedModel], ReducedModel]) -> ReducedModel:
        """Return the model with `change` of its map: of itself, or with memory of its one-step map."""
        return change(self)

    def kinks(self) -> dict[str, Array]:
        """Return values of inputs around which the map is not smooth, by name, for tests to pass through."""
        return {}

    def check_step(self, bounds: tuple[Array, Array], slope: Array | None) -> None:
        """Refuse the bounds (lower, upper) and the slope of a model with memory that this one-step map cannot bear."""

    def facts(self) -> dict[str, Any]:
        """Return what stands around the model as plain values by key, for descriptions and exported files."""
        return {}

    def outside(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each row of `X` (n, n_in) whether it leaves the domain (a NaN does)."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self.inputs):
            raise ConfigError(
                f"X of {type(self).__name__}.outside must have {len(self.inputs)} columns "
                f"({', '.join(p.name for p in self.inputs)}), got shape {np.shape(X)}."
            )
        lower, upper = self.domain
        inside: NDArray[np.bool_] = np.all((rows >= lower) & (rows <= upper), axis=1)
        return ~inside

    def header(self) -> dict[str, Any]:
        """Return what is not arrays, ready for JSON: kind, inputs and outputs as [name, unit]."""
        return {
            "kind": self.kind,
            "inputs": [[p.name, p.unit] for p in self.inputs],
            "outputs": [[p.name, p.unit] for p in self.outputs],
        }

    def describe(self) -> dict[str, Any]:
        """Return a summary of plain values, ready for JSON: ports, domain (None where unbounded), cost, bytes."""
        lower, upper = self.domain

        def bounds(low: float, high: float) -> list[float | None]:
            return [float(v) if np.isfinite(v) else None for v in (low, high)]

        return {
            "kind": self.kind,
            "inputs": [
                {"name": p.name, "unit": p.unit, "domain": bounds(a, b)}
                for p, a, b in zip(self.inputs, lower, upper, strict=True)
            ],
            "outputs": [{"name": p.name, "unit": p.unit} for p in self.outputs],
            "multiply_adds": self.cost,
            "bytes": int(sum(a.nbytes for a in self.arrays().values())),
        } | self.facts()

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        lower, upper = self.domain
        rows = [
            (p.name, "input", p.unit, f"{a:.6g}", f"{b:.6g}") for p, a, b in zip(self.inputs, lower, upper, strict=True)
        ]
        rows += [(p.name, "output", p.unit, "", "") for p in self.outputs]
        size = sum(a.nbytes for a in self.arrays().values())
        title = f"{type(self).__name__}, {self.cost} multiply-adds, {size} bytes"
        around = [f"{key}: {json.dumps(said)}" for key, said in self.facts().items()]
        return Summary(title, ("port", "role", "unit", "lower", "upper"), rows, around)

    def plot(self, data: Dataset) -> Figure:
        """Draw the model beside `data`: predicted over measured, or the free run of the first run with memory."""
        from mor.validation.pictures import judged

        return judged(self, data)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to `path` (.npz without pickle), whole or not at all; return the path."""
        target = Path(path)
        content = io.BytesIO()
        header = json.dumps({"format": FORMAT, **self.header()}, allow_nan=False).encode()
        np.savez(content, allow_pickle=False, header=np.frombuffer(header, np.uint8), **self.arrays())
        write_file(target, content.getvalue())
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; `ReducedModel.load` reads every kind, `Pce.load` only a PCE."""
        source = Path(path)
        if not source.is_file():
            raise ConfigError(f"Model file '{source}' does not exist; write it with save() first.")
        with reading(f"Model file '{source}'", "it must be written by save(), save the model again"):
            with np.load(source, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(arrays.pop("header").tobytes())
            if header.get("format") != FORMAT:
                raise ConfigError(
                    f"Model file '{source}' must have format {FORMAT}, got {header.get('format')!r}; save it again."
                )
            model = rebuild(arrays, header)
        if not isinstance(model, cls):
            raise ConfigError(f"Model file '{source}' must hold a model of kind '{cls.kind}', got '{model.kind}'.")
        return model


def rebuild(arrays: Arrays, header: Header) -> ReducedModel:
    """Rebuild a model of any kind from its `arrays()` and `header()`."""
    for key, wrapper in _WRAPPERS.items():
        if key in header:
            return wrapper.from_arrays(arrays, header)
    kind = header.get("kind")
    if kind not in _KINDS:
        raise ConfigError(f"Kind of a reduced model must be one of {', '.join(sorted(_KINDS))}, got {kind!r}.")
    return _KINDS[kind].from_arrays(arrays, header)


def header_ports(header: Header, side: str) -> tuple[Port, ...]:
    """Read the ports of `side` ("inputs", "outputs", ...) of a header."""
    return as_ports([Port(name, unit) for name, unit in header[side]], side)
