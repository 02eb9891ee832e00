"""The static map of a full-order brake: the torque once the hydraulics have settled, and how it is sampled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import pi

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.marginals import Uniform
from mor.models.motorcycle.hydraulic_brake import AMBIENT, brake, equilibrium
from mor.sampling.designs import Design
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, finite_array, one_of
from rt_runtime.errors import ConfigError

TOP_FORCE = 50.0
TOP_SPEED = {"front": 490.0, "rear": 470.0}
"""Largest lever force in N and wheel speeds in rpm of the sampled range."""


@cache
def brake_space(side: str) -> ParameterSpace:
    """Return the sampled range of a brake's inputs: F_br in N and w_fw or w_rw in rpm, independent and uniform."""
    one_of(side, "side", "brake_space", ("front", "rear"))
    force, speed = brake(side).inputs
    top = TOP_SPEED[side]
    return ParameterSpace(
        {force.name: Uniform(0.0, TOP_FORCE, unit=force.unit), speed.name: Uniform(0.0, top, unit=speed.unit)}
    )


def static_torque(
    side: str,
    force: ArrayLike,
    speed: ArrayLike,
    *,
    temperature: float = AMBIENT,
    parameters: Mapping[str, float] | None = None,
) -> Array:
    """Return the torque in Nm once the hydraulics have settled, for lever force in N, wheel speed in rpm, and a disc
    temperature in degC that is held.

    All rates but that of the temperature vanish: A_c p = k_s x_c + N(x_c - gap) with p from the lever and the volume
    balance A_m x_m = p (V_m / beta + C) + A_c x_c.
    """
    part = brake(side)
    p = part.parameter_values(parameters)
    f, n = np.broadcast_arrays(np.asarray(force, float), np.asarray(speed, float))
    flat = finite_array(f.ravel(), "force", part.of, (None,))
    w = finite_array(n.ravel(), "speed", part.of, (None,)) * (2 * pi / 60)
    x_c, pressure = equilibrium(p, flat)
    normal = np.maximum(p["A_c"] * pressure - p["k_s"] * x_c, 0.0)
    v = p["radius"] * w
    mu = p["mu_k"] + (p["mu_s"] - p["mu_k"]) * np.exp(-((v / p["v_s"]) ** 2))
    mu = mu / (1 + p["fade"] * (temperature - AMBIENT))
    dry = 2 * normal * p["radius"] * mu * np.tanh(v / p["v_0"])
    torque: Array = (dry + p["B_mu"] * w * normal / (normal + p["N_0"])).reshape(f.shape)
    return torque


def touching_force(side: str, parameters: Mapping[str, float] | None = None) -> float:
    """Return the lever force in N at which the pads just touch their disc; up to it there is no torque.

    Springs and seal alone are to be overcome on the way x_c = gap: p = k_s gap / A_c, with the volume balance of
    `static_torque`, and i F = A_m p + k_m x_m.
    """
    p = brake(side).parameter_values(parameters)
    pressure = p["k_s"] * p["gap"] / p["A_c"]
    x_m = (pressure * (p["V_m"] / p["beta"] + p["C"]) + p["A_c"] * p["gap"]) / p["A_m"]
    return (p["A_m"] * pressure + p["k_m"] * x_m) / p["lever_ratio"]


def sample_static(side: str, design: Design) -> Dataset:
    """Evaluate the static map of a brake on a design over `brake_space(side)`: inputs (F_br, w), output the torque.

    >>> from mor import lhs
    >>> from mor.models.motorcycle import brake_space, sample_static
    >>> sample_static("rear", lhs(brake_space("rear"), 200, seed=1)).Y.shape
    (200, 1)
    """
    part = brake(side)
    names = tuple(port.name for port in part.inputs)
    if design.space.names != names:
        raise ConfigError(
            f"design of sample_static for the {side} brake must have the columns {', '.join(names)}, got "
            f"{', '.join(design.space.names)}; make it over brake_space('{side}')."
        )
    torque = static_torque(side, design.points[:, 0], design.points[:, 1])
    return Dataset(design.points, torque[:, None], part.inputs, part.outputs)
