"""Substructures made of functions: compiled static maps, external solvers, blocks of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mor.compile.cfunc import compile_static
from mor.compile.code_hash import code_hash
from mor.compile.dry_run import dry_run
from mor.substructures.base import InputTiming, ParameterSpec, PortSpec, Substructure
from rt_runtime import Ode
from rt_runtime._core import Block
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


class StaticSubstructure(Substructure):
    """A map without memory: `function(u, p, y)` reads inputs and parameters, and writes every output, by name or index.

    It is compiled as `@ode` compiles, with the same rules (scalars, loops, math functions).

    Parameters
    ----------
    outputs
        Ports: {name: unit}, or a sequence of ports.
    """

    kind = "static"

    def __init__(
        self,
        name: str,
        function: Callable[[Array, Array, Array], None],
        *,
        inputs: PortSpec,
        outputs: PortSpec,
        parameters: ParameterSpec = (),
    ) -> None:
        self._declare(name, inputs, outputs, parameters)
        self._function = function
        ports = (self.inputs, self.parameters, self.outputs)
        read, numbers, results = (tuple(each.name for each in some) for some in ports)
        self._names = (read, numbers, results)  # inside the function: `renamed` leaves them alone
        self._compile()

    def _compile(self) -> None:
        checked, self._pointer, computed_at, key = compile_static(self._function, self.of, self._names)

        def map_(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
            checked(u, p, y)

        ports = ((), self.inputs, self.outputs)
        dry_run(map_, self.of, ports, np.zeros(0), self.parameters, np.array, computed_at, key)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the compiled function: another machine has other addresses."""
        return {key: value for key, value in self.__dict__.items() if key != "_pointer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Compile again on arrival."""
        self.__dict__.update(state)
        self._compile()

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        address, n_in, n_out = int(self._pointer.address), len(self.inputs), len(self.outputs)
        numbers = list(values.values())
        return Ode(address, n_in=n_in, n_out=n_out, initial=[], parameters=numbers, dt=dt, owner=self._pointer)

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        return {"source": code_hash(self._function)}


class ExternalSubstructure(Substructure):
    """A Python function around a solver of one's own, for sampling only.

    `function(u, dt, parameters)` gets the inputs (n, n_inputs) and returns the outputs (n, n_outputs).

    Parameters
    ----------
    name
        Name of the part.
    """

    kind = "external"
    real_time = False

    def __init__(
        self,
        name: str,
        function: Callable[[Array, float, Mapping[str, float]], ArrayLike],
        *,
        inputs: PortSpec,
        outputs: PortSpec,
        parameters: ParameterSpec = (),
    ) -> None:
        self._declare(name, inputs, outputs, parameters)
        if not callable(function):
            raise ConfigError(f"function of {self.of} must be callable, got {function!r}.")
        self._function = function

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        raise ConfigError(
            f"External {self.of} must be used for sampling only; fit a reduced model to it and put that into the loop."
        )

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        outputs = np.asarray(self._function(rows, dt, values), dtype=float)
        outputs = outputs[:, None] if outputs.ndim == 1 else outputs
        if outputs.shape != (len(rows), len(self.outputs)):
            raise ConfigError(
                f"Function of {self.of} must return shape {(len(rows), len(self.outputs))}, got {outputs.shape}."
            )
        return outputs[::every]

    def _description(self) -> dict[str, Any]:
        return {"source": code_hash(self._function)}


class BlockSubstructure(Substructure):
    """Any block of rt_runtime (controller, filter, delay) with named ports; `make(dt, parameters)` builds it.

    Parameters
    ----------
    name
        Name of the part.
    inputs, outputs
        Ports: {name: unit}, or a sequence of ports.
    direct
        Inputs that an output follows within the same tick; all by default.
    """

    kind = "block"

    def __init__(
        self,
        name: str,
        make: Callable[[float, Mapping[str, float]], Block],
        *,
        inputs: PortSpec,
        outputs: PortSpec,
        parameters: ParameterSpec = (),
        direct: Sequence[str] | None = None,
    ) -> None:
        self._declare(name, inputs, outputs, parameters, direct)
        self._make = make

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        block = self._make(dt, values)
        if (block.n_in, block.n_out) != (len(self.inputs), len(self.outputs)):
            raise ConfigError(
                f"Block of {self.of} must have {len(self.inputs)} inputs and {len(self.outputs)} outputs, got "
                f"{block.n_in} and {block.n_out}."
            )
        return block

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        return {"source": code_hash(self._make)}
