"""Functions of the literature on computer experiments, with the inputs they are published with.

Definitions: Surjanovic and Bingham, Virtual Library of Simulation Experiments; flood: Iooss and Lemaitre (2015), here
with uniform inputs over the published ranges.
"""

from __future__ import annotations

import numpy as np

from mor.data.ports import Port
from mor.marginals import Uniform
from mor.problems.functions import ReferenceFunction
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array


def _uniform(**ends: tuple[float, float]) -> ParameterSpace:
    return ParameterSpace({name: Uniform(*pair) for name, pair in ends.items()})


def branin() -> ReferenceFunction:
    """Return Branin's function of two inputs."""

    def formula(X: Array) -> Array:
        x, y = X.T
        ridge = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
        z: Array = ridge**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10
        return z

    return ReferenceFunction("branin", _uniform(x=(-5, 10), y=(0, 15)), Port("z"), formula)


def piston() -> ReferenceFunction:
    """Return the cycle time of a piston, seven inputs."""

    def formula(X: Array) -> Array:
        M, S, V0, k, P0, Ta, T0 = X.T
        A = P0 * S + 19.62 * M - k * V0 / S
        V = S / (2 * k) * (np.sqrt(A**2 + 4 * k * P0 * V0 / T0 * Ta) - A)
        cycle: Array = 2 * np.pi * np.sqrt(M / (k + S**2 * P0 * V0 / T0 * Ta / V**2))
        return cycle

    space = _uniform(M=(30, 60), S=(0.005, 0.02), V0=(0.002, 0.01), k=(1000, 5000), P0=(90000, 110000), Ta=(290, 296),
                     T0=(340, 360))  # fmt: skip
    return ReferenceFunction("piston", space, Port("C", "s"), formula)


def otl_circuit() -> ReferenceFunction:
    """Return the midpoint voltage of an output-transformerless push-pull circuit, six inputs."""

    def formula(X: Array) -> Array:
        Rb1, Rb2, Rf, Rc1, Rc2, beta = X.T
        Vb1, g = 12 * Rb2 / (Rb1 + Rb2), beta * (Rc2 + 9)
        V: Array = (Vb1 + 0.74) * g / (g + Rf) + 11.35 * Rf / (g + Rf) + 0.74 * Rf * g / ((g + Rf) * Rc1)
        return V

    space = _uniform(Rb1=(50, 150), Rb2=(25, 70), Rf=(0.5, 3), Rc1=(1.2, 2.5), Rc2=(0.25, 1.2), beta=(50, 300))
    return ReferenceFunction("otl_circuit", space, Port("V", "V"), formula)


def wing_weight() -> ReferenceFunction:
    """Return the weight of a light aircraft's wing, ten inputs."""

    def formula(X: Array) -> Array:
        Sw, Wfw, A, sweep, q, taper, tc, Nz, Wdg, Wp = X.T
        c = np.cos(np.deg2rad(sweep))
        W: Array = (
            0.036 * Sw**0.758 * Wfw**0.0035 * (A / c**2) ** 0.6 * q**0.006 * taper**0.04 * (100 * tc / c) ** -0.3
            * (Nz * Wdg) ** 0.49 + Sw * Wp
        )  # fmt: skip
        return W

    space = _uniform(Sw=(150, 200), Wfw=(220, 300), A=(6, 10), sweep=(-10, 10), q=(16, 45), taper=(0.5, 1),
                     tc=(0.08, 0.18), Nz=(2.5, 6), Wdg=(1700, 2500), Wp=(0.025, 0.08))  # fmt: skip
    return ReferenceFunction("wing_weight", space, Port("W", "lb"), formula)


def robot_arm() -> ReferenceFunction:
    """Return the distance of the end of a robot arm of four segments from its shoulder, eight inputs."""

    def formula(X: Array) -> Array:
        angle, length = np.cumsum(X[:, :4], axis=1), X[:, 4:]
        r: Array = np.hypot((length * np.cos(angle)).sum(axis=1), (length * np.sin(angle)).sum(axis=1))
        return r

    angles = {f"a{i}": (0.0, 2 * np.pi) for i in range(1, 5)}
    return ReferenceFunction(
        "robot_arm", _uniform(**angles, **{f"L{i}": (0.0, 1.0) for i in range(1, 5)}), Port("r"), formula
    )


def friedman() -> ReferenceFunction:
    """Return Friedman's function of five inputs."""

    def formula(X: Array) -> Array:
        a, b, c, d, e = X.T
        y: Array = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        return y

    return ReferenceFunction("friedman", _uniform(**{f"x{i}": (0.0, 1.0) for i in range(1, 6)}), Port("y"), formula)


def flood() -> ReferenceFunction:
    """Return by how much a river overflows a dyke, eight inputs."""

    def formula(X: Array) -> Array:
        Q, Ks, Zv, Zm, Hd, Cb, L, B = X.T
        S: Array = Zv + (Q / (B * Ks * np.sqrt((Zm - Zv) / L))) ** 0.6 - Hd - Cb
        return S

    space = _uniform(Q=(500, 3000), Ks=(15, 55), Zv=(49, 51), Zm=(54, 56), Hd=(7, 9), Cb=(55, 56), L=(4990, 5010),
                     B=(295, 305))  # fmt: skip
    return ReferenceFunction("flood", space, Port("S", "m"), formula)
