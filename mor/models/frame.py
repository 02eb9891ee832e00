"""Frames of n storeys: lateral stiffness from springs (shear frame) or from beams and columns (plane frame)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.structure import LinearStructure, condense, modal_damping
from mor.substructures import LinearSubstructure
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


def shear_frame(
    masses: Sequence[float], stiffnesses: Sequence[float], *, damping_ratio: float = 0.0
) -> LinearStructure:
    """Build a frame with rigid beams: storey i (from the ground) has a mass in kg and a lateral stiffness in N/m.

    K is tridiagonal: k_i + k_{i+1} on the diagonal, -k_{i+1} beside it. Equal modal damping `damping_ratio`.
    """
    m, k = np.asarray(masses, float), np.asarray(stiffnesses, float)
    if m.shape != k.shape or m.ndim != 1 or m.size == 0:
        raise ConfigError(
            f"masses and stiffnesses of a shear frame must have one number per storey, got {m.shape} and {k.shape}."
        )
    _positive({"masses": m, "stiffnesses": k})
    above = np.append(k[1:], 0.0)
    K = np.diag(k + above) - np.diag(k[1:], 1) - np.diag(k[1:], -1)
    M = np.diag(m)
    return LinearStructure(M, modal_damping(M, K, damping_ratio), K)


def plane_frame(
    *,
    storeys: int,
    bays: int,
    floor_mass: ArrayLike,
    column_length: ArrayLike,
    beam_length: float,
    column_inertia: ArrayLike,
    beam_inertia: ArrayLike,
    modulus: float,
    damping_ratio: float = 0.0,
    base: Literal["pinned", "fixed"] = "pinned",
) -> LinearStructure:
    """Build a plane frame of axially rigid Bernoulli beams and columns, condensed onto its floor displacements.

    A column of length L adds E I / L^3 [[12, 6L, -12, 6L], [6L, 4L^2, -6L, 2L^2], ...] to the floors and joints at its
    ends, a beam E I / L [[4, 2], [2, 4]] to the rotations of its joints; rotations carry no mass and are condensed.
    floor_mass in kg, lengths in m, inertias (second moments of area) in m4, modulus in Pa; floor_mass, column_length
    and both inertias are one number or one a storey. Equal modal damping `damping_ratio`.
    """
    if storeys < 1 or bays < 1:
        raise ConfigError(f"storeys and bays of a plane frame must be at least 1, got {storeys} and {bays}.")
    if base not in ("pinned", "fixed"):
        raise ConfigError(f"base of a plane frame must be 'pinned' or 'fixed', got {base!r}.")
    mass, length, column, beam = (
        _per_storey(name, value, storeys)
        for name, value in (
            ("floor_mass", floor_mass),
            ("column_length", column_length),
            ("column_inertia", column_inertia),
            ("beam_inertia", beam_inertia),
        )
    )
    _positive({"beam_length": np.array([beam_length]), "modulus": np.array([modulus])})

    lines = bays + 1
    size = storeys + (storeys + 1) * lines  # floors, then rotations level by level from the ground
    K = np.zeros((size + 1, size + 1))  # the last row stands for whatever is held at the ground

    def rotation(level: int, line: int) -> int:
        if level == 0 and base == "fixed":
            return size
        return storeys + level * lines + line

    for i in range(storeys):
        L, EI = length[i], modulus * column[i]
        element = EI / L**3 * np.array([[12, 6 * L], [6 * L, 4 * L**2]])
        other = EI / L**3 * np.array([[-12, 6 * L], [-6 * L, 2 * L**2]])
        far = EI / L**3 * np.array([[12, -6 * L], [-6 * L, 4 * L**2]])
        stiffness = np.block([[element, other], [other.T, far]])
        for line in range(lines):
            at = [i - 1 if i else size, rotation(i, line), i, rotation(i + 1, line)]
            K[np.ix_(at, at)] += stiffness
        for line in range(bays):
            at = [rotation(i + 1, line), rotation(i + 1, line + 1)]
            K[np.ix_(at, at)] += modulus * beam[i] / beam_length * np.array([[4.0, 2.0], [2.0, 4.0]])

    held = {size} if base == "pinned" else {size, *range(storeys, storeys + lines)}
    free = [i for i in range(size + 1) if i not in held]
    lateral = condense(K[np.ix_(free, free)], range(storeys))
    M = np.diag(mass)
    return LinearStructure(M, modal_damping(M, lateral, damping_ratio), lateral)


def _per_storey(name: str, value: ArrayLike, storeys: int) -> Array:
    numbers = np.asarray(value, float)
    if numbers.shape not in {(), (storeys,)}:
        raise ConfigError(f"{name} of a plane frame must be one number or {storeys}, got shape {numbers.shape}.")
    numbers = np.broadcast_to(numbers, (storeys,))
    _positive({name: numbers})
    return numbers


def _positive(values: dict[str, Array]) -> None:
    for name, numbers in values.items():
        if not (np.isfinite(numbers).all() and (numbers > 0).all()):
            raise ConfigError(f"{name} of a frame must be positive, got {numbers.tolist()}.")


def frame_part(
    structure: LinearStructure,
    *,
    name: str = "frame",
    reactions: Mapping[str, int] | None = None,
    accelerations: bool = False,
    method: str = "zoh",
) -> LinearSubstructure:
    """Make a frame with the input `ground` and outputs x_1, v_1, x_2, ... (a_1 ... on request), floors from the ground.

    reactions {input: floor, from 1}: forces with which something attached pulls that floor back, such as the measured
    force of a specimen or a damper.
    """
    floors = np.eye(structure.n)
    inputs: dict[str, tuple[str, Array]] = {"ground": ("m/s2", -structure.ground_mass)}
    for port, floor in (reactions or {}).items():
        if not 1 <= floor <= structure.n:
            raise ConfigError(f"Floor of reaction '{port}' must be 1 to {structure.n}, got {floor}.")
        inputs[port] = ("N", -floors[floor - 1])
    units = {"x": "m", "v": "m/s"} | ({"a": "m/s2"} if accelerations else {})
    outputs = {
        f"{quantity}_{i + 1}": (unit, quantity, floors[i])
        for i in range(structure.n)
        for quantity, unit in units.items()
    }
    return LinearSubstructure.from_structure(name, structure, inputs=inputs, outputs=outputs, method=method)
