"""Bouc-Wen hysteresis as an element and as an oscillator.

    f = alpha k x + (1 - alpha) k z,   z' = A v - beta |v| |z|^(n-1) z - gamma v |z|^n

|z| never passes (A / (beta + gamma))^(1/n); alpha = 1 is a linear spring.
"""

from __future__ import annotations

from functools import cache

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter, Port
from mor.substructures import OdeSubstructure
from rt_runtime.checks import Array

PARAMETERS = (
    Parameter("stiffness", 1.0e6, "N/m", 1e-9),
    Parameter("alpha", 0.1, "", 0.0, 1.0),
    Parameter("A", 1.0, "", 1e-9),
    Parameter("beta", 100.0, "1/m", 0.0),
    Parameter("gamma", 100.0, "1/m", -1e9),
    Parameter("n", 1.0, "", 1.0),
)
"""Units of beta and gamma hold for n = 1; in general they are m^-n."""

STATES = (Port("z", "m"),)
INPUTS = (Port("displacement", "m"), Port("velocity", "m/s"))
OUTPUTS = (Port("force", "N"),)


def bouc_wen_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side of the element: displacement and velocity in, restoring force out."""
    size = abs(x[0]) ** p[5]
    turn = 0.0 if x[0] == 0.0 else (1.0 if x[0] > 0.0 else -1.0)
    dx[0] = p[2] * u[1] - p[3] * abs(u[1]) * size * turn - p[4] * u[1] * size
    y[0] = p[0] * (p[1] * u[0] + (1.0 - p[1]) * x[0])


@cache
def bouc_wen() -> OdeSystem:
    """Compile the element."""
    return ode(states=STATES, inputs=INPUTS, outputs=OUTPUTS, parameters=PARAMETERS, name="bouc_wen")(bouc_wen_rhs)


OSCILLATOR_PARAMETERS = (*PARAMETERS, Parameter("mass", 1000.0, "kg", 1e-9), Parameter("damping", 0.0, "Ns/m", 0.0))
OSCILLATOR_STATES = (Port("x", "m"), Port("v", "m/s"), Port("z", "m"))
OSCILLATOR_INPUTS = (Port("ground_acceleration", "m/s2"),)
OSCILLATOR_OUTPUTS = (Port("displacement", "m"), Port("velocity", "m/s"), Port("force", "N"))


def bouc_wen_oscillator_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side of m x'' + c x' + f = -m a_g: ground acceleration in; displacement, velocity, force out."""
    v, z = x[1], x[2]
    size = abs(z) ** p[5]
    turn = 0.0 if z == 0.0 else (1.0 if z > 0.0 else -1.0)
    force = p[0] * (p[1] * x[0] + (1.0 - p[1]) * z)
    dx[0] = v
    dx[1] = -u[0] - (p[7] * v + force) / p[6]
    dx[2] = p[2] * v - p[3] * abs(v) * size * turn - p[4] * v * size
    y[0] = x[0]
    y[1] = v
    y[2] = force


@cache
def bouc_wen_oscillator() -> OdeSystem:
    """Compile the oscillator."""
    return ode(
        states=OSCILLATOR_STATES,
        inputs=OSCILLATOR_INPUTS,
        outputs=OSCILLATOR_OUTPUTS,
        parameters=OSCILLATOR_PARAMETERS,
        name="bouc_wen_oscillator",
    )(bouc_wen_oscillator_rhs)


def bouc_wen_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the hysteretic element: `displacement` and `velocity` in, `force` out."""
    return OdeSubstructure(bouc_wen(), substeps=substeps, direct=["displacement"])


def bouc_wen_oscillator_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the hysteretic oscillator: `ground_acceleration` in; displacement, velocity and force out."""
    return OdeSubstructure(bouc_wen_oscillator(), substeps=substeps, direct=[])
