"""A nonlinear energy sink: a mass that rolls on a curved track h(x) = a x^4, on a floor of a frame or on a shake table.

With x relative to the floor and A the absolute acceleration of the floor (Lagrange, height h(x) of the mass):

    m ((1 + h'^2) x'' + h' h'' x'^2 + g h') + c x' = -m A
    F = m (x'' + A)                  horizontal force of the floor on the mass; it pulls the floor back

Najafi and Spencer, NSEL Report 051 (2021), section 4.3, give the mass alone. Track and damping are ours: with
a = 1600 1/m3 and c = 5 Ns/m the mass takes most of the motion of the upper floor at 30 % of El Centro; with 1 Ns/m the
motion is chaotic.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter, Port
from mor.dynamics.structure import LinearStructure
from mor.substructures import OdeSubstructure
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

PARAMETERS = (
    Parameter("mass", 2.457, "kg", 1e-6),
    Parameter("curvature", 1600.0, "1/m3", 0.0),
    Parameter("damping", 5.0, "Ns/m", 0.0),
    Parameter("gravity", 9.81, "m/s2", 0.0),
)
STATES = (Port("x", "m"), Port("v", "m/s"))
INPUTS = (Port("acceleration", "m/s2"),)
OUTPUTS = (Port("position", "m"), Port("force", "N"))


def track_sink_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: absolute acceleration of the floor in; position of the mass and force on it out."""
    m, a, c, g = p[0], p[1], p[2], p[3]
    slope, bend = 4.0 * a * x[0] ** 3, 12.0 * a * x[0] ** 2
    pull = slope * bend * x[1] * x[1] + g * slope + c * x[1] / m
    relative = -(u[0] + pull) / (1.0 + slope * slope)
    dx[0] = x[1]
    dx[1] = relative
    y[0] = x[0]
    y[1] = m * (relative + u[0])


@cache
def track_sink() -> OdeSystem:
    """Compile the mass on its track; states x and v relative to the floor."""
    return ode(states=STATES, inputs=INPUTS, outputs=OUTPUTS, parameters=PARAMETERS, name="track_sink")(track_sink_rhs)


def track_sink_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the sink as a part: floor `acceleration` in, `position` and `force` out."""
    return OdeSubstructure(track_sink(), substeps=substeps, points=[([0.06, 0.0], [0.0])])


def track_height(x: Array, curvature: float) -> Array:
    """Return h = a x^4 in m."""
    return np.asarray(curvature * np.asarray(x) ** 4)


def _frame_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """States x1, x2, v1, v2 relative to the ground, x, v of the mass relative to floor 2; p: see `frame_with_sink`.

    m2 A2 = -r2 - F and F = m (A2 h'^2 - pull) / (1 + h'^2) give A2, where r = C v + K x of the frame.
    """
    m, a, c, g = p[8], p[9], p[10], p[11]
    slope, bend = 4.0 * a * x[4] ** 3, 12.0 * a * x[4] ** 2
    pull = slope * bend * x[5] * x[5] + g * slope + c * x[5] / m
    lift = 1.0 + slope * slope
    r1 = p[2] * x[0] + p[3] * x[1] + p[5] * x[2] + p[6] * x[3]
    r2 = p[3] * x[0] + p[4] * x[1] + p[6] * x[2] + p[7] * x[3]
    upper = (-r2 + m * pull / lift) / (p[1] + m * slope * slope / lift)
    dx[0] = x[2]
    dx[1] = x[3]
    dx[2] = -r1 / p[0] - u[0]
    dx[3] = upper - u[0]
    dx[4] = x[5]
    dx[5] = -(upper + pull) / lift
    y[0] = x[0]
    y[1] = x[1]
    y[2] = x[4]
    y[3] = upper


@cache
def _frame_system(numbers: tuple[float, ...], sink: tuple[float, ...]) -> OdeSystem:
    names = ("m1", "m2", "k11", "k12", "k22", "c11", "c12", "c22")
    held = {q.name: Parameter(q.name, v, q.unit, q.lower) for q, v in zip(PARAMETERS, sink, strict=True)}
    return ode(
        states=["x1", "x2", "v1", "v2", "x", "v"],
        inputs={"ground": "m/s2"},
        outputs={"x1": "m", "x2": "m", "position": "m", "a2": "m/s2"},
        parameters=[*(Parameter(n, v) for n, v in zip(names, numbers, strict=True)), *held.values()],
        name="frame_with_sink",
    )(_frame_rhs)


def frame_with_sink(frame: LinearStructure, parameters: Mapping[str, float] | None = None) -> OdeSystem:
    """Compile a two-storey frame with the sink on its upper floor, undivided.

    Input: ground acceleration. Outputs: both floors and the mass in m, relative to the ground and to floor 2, and the
    absolute acceleration of floor 2.

    Parameters
    ----------
    frame
        Two floors with a diagonal mass.
    parameters
        Of the sink, where they are others than `PARAMETERS`.
    """
    if frame.n != 2 or frame.M[0, 1] != 0:
        raise ConfigError(f"frame of frame_with_sink must have two floors and a diagonal mass, got {frame.n} floors.")
    M, C, K = frame.M, frame.C, frame.K
    numbers = (M[0, 0], M[1, 1], K[0, 0], K[0, 1], K[1, 1], C[0, 0], C[0, 1], C[1, 1])
    sink = track_sink().parameter_values(parameters)
    return _frame_system(tuple(float(v) for v in numbers), tuple(float(v) for v in sink))
