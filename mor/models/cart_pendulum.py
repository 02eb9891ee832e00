"""A cart on a rail that carries a hanging pendulum: the specimen of a hydraulic hybrid test.

With theta measured from straight down and the bob at (x + L sin theta, -L cos theta), the pivot force f on the cart,
rail friction mu and pivot friction b:

    (M + m) x'' + m L (theta'' cos theta - theta'^2 sin theta) = f - mu x'
    m L^2 theta'' + m L x'' cos theta + m g L sin theta        = -b theta'

Tsokanas, Wagg and Stojadinovic (2020) print theta'' with +f cos theta; the sign above is the physical one. `linearised`
offers both, because their prediction model carries the printed one.
"""

from __future__ import annotations

from functools import cache
from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter, Port
from mor.dynamics.transfer import TransferFunction
from mor.substructures import OdeSubstructure
from rt_runtime.checks import Array

PARAMETERS = (
    Parameter("cart_mass", 2.0, "kg", 1e-6),
    Parameter("bob_mass", 0.15, "kg", 1e-6),
    Parameter("length", 0.7, "m", 1e-6),
    Parameter("rail_friction", 0.001, "Ns/m", 0.0),
    Parameter("pivot_friction", 0.0001, "Nms/rad", 0.0),
    Parameter("gravity", 9.81, "m/s2", 0.0),
)
STATES = (Port("x", "m"), Port("v", "m/s"), Port("theta", "rad"), Port("omega", "rad/s"))
INPUTS = (Port("force", "N"),)
OUTPUTS = (Port("displacement", "m"), Port("velocity", "m/s"), Port("angle", "rad"), Port("reaction", "N"))


def cart_pendulum_motion(force: float, v: float, theta: float, omega: float, p: Array) -> tuple[float, float, float]:
    """Return x'', theta'' and the pendulum's pull on the cart; p holds `PARAMETERS`."""
    M, m, L, mu, b, g = p[0], p[1], p[2], p[3], p[4], p[5]
    s, c = sin(theta), cos(theta)
    delta = M + m * s * s
    pivot = (b / L) * omega
    net = force - mu * v
    a = (net + m * L * omega * omega * s + m * g * s * c + pivot * c) / delta
    alpha = (-net * c - m * L * omega * omega * s * c - (M + m) * g * s - pivot * (1.0 + M / m)) / (L * delta)
    return a, alpha, M * a - net


def cart_pendulum_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: force on the cart in; displacement, velocity, angle and the pendulum's pull on the cart out."""
    dx[0] = x[1]
    dx[2] = x[3]
    dx[1], dx[3], y[3] = cart_pendulum_motion(u[0], x[1], x[2], x[3], p)
    y[0] = x[0]
    y[1] = x[1]
    y[2] = x[2]


@cache
def cart_pendulum() -> OdeSystem:
    """Compile the cart with its pendulum; states x, v, theta, omega."""
    return ode(states=STATES, inputs=INPUTS, outputs=OUTPUTS, parameters=PARAMETERS, name="cart_pendulum")(
        cart_pendulum_rhs
    )


PENDULUM_INPUTS = (Port("acceleration", "m/s2"),)
PENDULUM_OUTPUTS = (Port("angle", "rad"), Port("reaction", "N"))


def pendulum_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side of the pendulum alone, states theta and omega: pivot acceleration in, its pull on the pivot out.

    theta'' = -(x'' cos theta + g sin theta) / L - b theta' / (m L^2)
    """
    m, L, b, g = p[1], p[2], p[4], p[5]
    s, c = sin(x[0]), cos(x[0])
    alpha = -(u[0] * c + g * s) / L - b * x[1] / (m * L * L)
    dx[0] = x[1]
    dx[1] = alpha
    y[0] = x[0]
    y[1] = -m * (u[0] + L * alpha * c - L * x[1] * x[1] * s)


@cache
def pendulum() -> OdeSystem:
    """Compile the pendulum alone; it keeps the parameters of the whole, of which it needs no cart."""
    return ode(
        states=STATES[2:], inputs=PENDULUM_INPUTS, outputs=PENDULUM_OUTPUTS, parameters=PARAMETERS, name="pendulum"
    )(pendulum_rhs)


def cart_pendulum_energy(x: ArrayLike, p: ArrayLike) -> Array:
    """Return kinetic plus potential energy in J of states x (..., 4), zero at rest straight down."""
    M, m, L, _, _, g = np.asarray(p, float)
    x = np.asarray(x, float)
    v, theta, omega = x[..., 1], x[..., 2], x[..., 3]
    kinetic = 0.5 * (M + m) * v**2 + 0.5 * m * (L * omega) ** 2 + m * L * v * omega * np.cos(theta)
    return np.asarray(kinetic + m * g * L * (1 - np.cos(theta)))


def linearised(p: ArrayLike | None = None, *, printed_sign: bool = False) -> TransferFunction:
    """Return x / f for small angles; `printed_sign` gives the published one, with +f in theta''."""
    M, m, L, mu, b, g = [q.value for q in PARAMETERS] if p is None else np.asarray(p, float)
    angle = np.array([1.0, (b / L) * (1 + M / m) / (L * M), (M + m) * g / (L * M)])
    pull = np.array([b / L, m * g]) / (L * M)  # of the angle back on the cart, over L M
    numerator = np.polyadd(angle, pull if printed_sign else -pull)
    denominator: Array = np.polysub(np.polymul([M, mu, 0.0], angle), np.polymul(pull, [mu, 0.0]))
    return TransferFunction(numerator, denominator)


def cart_pendulum_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the cart with its pendulum: `force` in; displacement, velocity, angle and reaction out."""
    return OdeSubstructure(cart_pendulum(), substeps=substeps)


def pendulum_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the pendulum alone: pivot `acceleration` in, angle and reaction out."""
    return OdeSubstructure(pendulum(), substeps=substeps)
