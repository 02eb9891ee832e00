"""Magnetorheological damper: viscous plus Dahl friction, both growing with the coil voltage, and its bang-bang voltage.

f = (k_xa + k_xb V) v + (k_wa + k_wb V) W,   W' = rho (v - |v| W),   |W| <= 1
V = V_max while the target moves away from rest (r r' > 0), otherwise V_min
"""

from __future__ import annotations

from functools import cache

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter, Port
from mor.substructures import OdeSubstructure
from rt_runtime.checks import Array

PARAMETERS = (
    Parameter("k_xa", 978.0, "Ns/m", 0.0),
    Parameter("k_xb", 4075.0, "Ns/(m V)", 0.0),
    Parameter("k_wa", 60.11, "N", 0.0),
    Parameter("k_wb", 344.78, "N/V", 0.0),
    Parameter("rho", 4795.0, "1/m", 1e-6),
)
"""The damper of the three-storey study; `ARTICLE_FRICTION` holds the other published pair of friction forces."""

ARTICLE_FRICTION = {"k_wa": 160.11, "k_wb": 500.78}
"""Dry friction k_wa in N and k_wb in N/V as printed in Frontiers in Built Environment 6:127."""

STATES = (Port("W"),)
INPUTS = (Port("velocity", "m/s"), Port("voltage", "V"))
OUTPUTS = (Port("force", "N"),)


def dahl(v: float, W: float, voltage: float, p: Array) -> tuple[float, float]:
    """Return W' and the force at piston velocity v; p as `PARAMETERS`."""
    return p[4] * (v - abs(v) * W), (p[0] + p[1] * voltage) * v + (p[2] + p[3] * voltage) * W


def bang_bang(r: float, r_rate: float, v_min: float, v_max: float) -> float:
    """Return the voltage at target r with rate r_rate."""
    return v_max if r * r_rate > 0.0 else v_min


def mr_damper_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: piston velocity and voltage in, force in the direction of the velocity out."""
    dx[0], y[0] = dahl(u[0], x[0], u[1], p)


@cache
def mr_damper() -> OdeSystem:
    """Compile the damper with its voltage as an input."""
    return ode(states=STATES, inputs=INPUTS, outputs=OUTPUTS, parameters=PARAMETERS, name="mr_damper")(mr_damper_rhs)


SEMI_ACTIVE_PARAMETERS = (*PARAMETERS, Parameter("v_min", 0.0, "V", 0.0), Parameter("v_max", 2.0, "V", 0.0))
SEMI_ACTIVE_INPUTS = (Port("velocity", "m/s"), Port("target", "m"), Port("target_velocity", "m/s"))
SEMI_ACTIVE_OUTPUTS = (Port("force", "N"), Port("voltage", "V"))


def semi_active_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side with the bang-bang law: piston velocity, target and its velocity in; force and voltage out."""
    y[1] = bang_bang(u[1], u[2], p[5], p[6])
    dx[0], y[0] = dahl(u[0], x[0], y[1], p)


@cache
def semi_active_damper() -> OdeSystem:
    """Compile the damper with its bang-bang voltage."""
    return ode(
        states=STATES,
        inputs=SEMI_ACTIVE_INPUTS,
        outputs=SEMI_ACTIVE_OUTPUTS,
        parameters=SEMI_ACTIVE_PARAMETERS,
        name="semi_active_damper",
    )(semi_active_rhs)


FASTEST_PISTON = 1.0
"""m/s; up to this velocity the step of the damper is checked."""


def mr_damper_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the damper: `velocity` and `voltage` in, `force` out."""
    return OdeSubstructure(mr_damper(), substeps=substeps, points=[([0.0], [FASTEST_PISTON, 2.0])])


def semi_active_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the damper with its bang-bang law: `velocity`, `target`, `target_velocity` in, force and voltage out."""
    return OdeSubstructure(semi_active_damper(), substeps=substeps, points=[([0.0], [FASTEST_PISTON, 0.0, 0.0])])
