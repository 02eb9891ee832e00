"""Blocks that integrate a full-order model given as C function pointers; the methods are in core/integrators/*.hpp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Required, TypedDict, Unpack

from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.blocks.basic import UPDATE
from rt_runtime.checks import finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

HOLD = {"zoh": _core.Hold.zero, "foh": _core.Hold.first}


class Common(TypedDict, total=False):
    """What all integrators take beside the address of their right-hand side; see Ode."""

    n_in: Required[int]
    n_out: Required[int]
    initial: Required[ArrayLike]
    dt: Required[float]
    parameters: ArrayLike
    outputs: int
    held: int
    n_held: int
    substeps: int
    hold: str
    update: str


def _checked(
    of: str,
    address: int,
    *,
    n_in: int,
    n_out: int,
    initial: ArrayLike,
    dt: float,
    parameters: ArrayLike = (),
    outputs: int = 0,
    held: int = 0,
    n_held: int = 0,
    substeps: int = 1,
    hold: str = "zoh",
    update: str = "end",
) -> dict[str, Any]:
    """Check what all integrators take and return it in the words of the core."""
    one_of(hold, "hold", of, tuple(HOLD))
    one_of(update, "update", of, tuple(UPDATE))
    if hold == "foh" and update == "end":
        raise ConfigError(f"update of {of} must be 'start' with hold 'foh', got 'end'.")
    return {
        "address": whole(address, "address", of, 1),
        "outputs": whole(outputs, "outputs", of, 0),
        "held": whole(held, "held", of, 0),
        "n_held": whole(n_held, "n_held", of, 0),
        "n_in": whole(n_in, "n_in", of, 0),
        "n_out": whole(n_out, "n_out", of, 0),
        "initial": finite_array(initial, "initial", of, (None,)),
        "parameters": finite_array(parameters, "parameters", of, (None,)),
        "period": positive(dt, "dt", of),
        "substeps": whole(substeps, "substeps", of, 1),
        "hold": HOLD[hold],
        "update": UPDATE[update],
    }


class Ode(_core.Ode):
    """Ordinary differential equation by RK4 with sub-steps; the right-hand side is a C function pointer.

    `address` points to `void f(double t, const double *x, const double *u, const double *p, double *dx, double *y)`,
    which must not allocate, lock or throw (mor.compile.ode compiles such a function from Python). `outputs` points to
    `void g(double t, const double *x, const double *u, const double *p, double *y)`, which writes the same y alone, for
    `update="start"`, where only y is wanted after the step; 0 when there is none. `held` points to a function like f
    that writes `n_held` numbers y of u and p alone; f and g read them behind the inputs, and they are computed once
    while an input is held instead of at every evaluation; 0 when there is none. `hold`: "zoh" or, with
    `update="start"`, "foh" (the input runs linearly from last tick's value to this tick's). `owner` is kept as long as
    the block: the object whose life the addresses depend on.

    Parameters
    ----------
    common
        What all integrators take, see `Common`.
    """

    def __init__(self, address: int, *, owner: object = None, **common: Unpack[Common]) -> None:
        self.owner = owner
        super().__init__(**_checked("Ode", address, **common))


class AdamsBashforth(_core.AdamsBashforth):
    """Ordinary differential equation by AB2 with sub-steps: second order for one evaluation each, for models not stiff.

    Arguments as those of Ode. An input counts at the start of a step and, with one sub-step, runs on linearly from its
    last two values; of several sub-steps only the first sees it run on, the others see it held.
    With `update="start"` the inputs read are those of the last tick, where the step starts, except those in `fresh`
    (places from 0 on), which are of this tick.

    Parameters
    ----------
    address, owner
        As those of `Ode`.
    common
        What all integrators take, see `Common`.
    """

    def __init__(
        self, address: int, *, fresh: Sequence[int] = (), owner: object = None, **common: Unpack[Common]
    ) -> None:
        self.owner = owner
        of = "AdamsBashforth"
        checked = _checked(of, address, **common)
        for place in fresh:
            if not 0 <= whole(place, "fresh", of, 0) < checked["n_in"]:
                raise ConfigError(
                    f"fresh of {of} must be places of its {checked['n_in']} inputs from 0 on, got {place}."
                )
        super().__init__(fresh=list(fresh), **checked)


class Rosenbrock(_core.Rosenbrock):
    """Stiff ordinary differential equation by the linearly implicit ROS2 with sub-steps: second order, L-stable.

    `address`, `outputs`, `held`, `hold`, `update` and `owner` as those of Ode. `jacobian` points to `void j(double t,
    const double *x, const double *u, const double *p, double *jacobian)`, which writes df_i/dx_j to jacobian[i n + j];
    without it (0) finite differences are taken with steps in proportion to `scales`, a typical size of each state.

    Parameters
    ----------
    common
        What all integrators take, see `Common`.
    """

    message = "its matrix I - g h J is singular or not finite; take more sub-steps"

    def __init__(
        self, address: int, *, scales: ArrayLike, jacobian: int = 0, owner: object = None, **common: Unpack[Common]
    ) -> None:
        self.owner = owner
        of = "Rosenbrock"
        checked = _checked(of, address, **common)
        sizes = finite_array(scales, "scales", of, (len(checked["initial"]),))
        if (sizes <= 0).any():
            raise ConfigError(f"scales of {of} must be positive, got {sizes.tolist()}.")
        super().__init__(jacobian=whole(jacobian, "jacobian", of, 0), scales=sizes, **checked)
