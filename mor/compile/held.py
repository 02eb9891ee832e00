"""What a right-hand side needs of its inputs alone, computed once while they are held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mor.compile.cfunc import compile_static
from mor.compile.dry_run import Numbers, dry_run
from mor.data.ports import Parameter, Port, as_ports
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Held:
    """Numbers that depend on inputs and parameters alone, such as an exponential of a speed that is held over a tick.

    An integrator asks for them once while an input stays as it is, not at each of its evaluations; the right-hand side
    reads them behind the inputs, as `u.name`.

    Parameters
    ----------
    names
        What the numbers are called.
    function
        `function(u, p, h)` reads inputs and parameters and writes every h, by name or index; it is compiled and checked
        as the right-hand side is.
    """

    names: tuple[str, ...]
    function: Callable[[Any, Any, Any], None]

    def ports(self, inputs: Sequence[Port], of: str) -> tuple[Port, ...]:
        """Return the names as ports, after a check that no input has one of them."""
        own = as_ports(list(self.names), f"held of {of}")
        if not own:
            raise ConfigError(f"held of {of} must name at least one number, got none.")
        taken = {port.name for port in inputs}
        for port in own:
            if port.name in taken:
                raise ConfigError(f"held of {of} must have names of its own, got '{port.name}', which is an input.")
        return own

    def compiled(
        self,
        of: str,
        inputs: Sequence[Port],
        parameters: Sequence[Parameter],
        p_names: tuple[str, ...],
        numbers: Numbers,
    ) -> Any:
        """Return the C function pointer, after the checks of a right-hand side."""
        names = (tuple(port.name for port in inputs), p_names, tuple(self.names))
        checked, pointer, computed_at, key = compile_static(self.function, f"held of {of}", names)

        def map_(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
            checked(u, p, y)

        ports = ((), inputs, self.ports(inputs, of))
        dry_run(map_, f"held of {of}", ports, np.zeros(0), parameters, numbers, computed_at, key)
        return pointer
