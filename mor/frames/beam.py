"""Straight beams in space: stiffness and mass of one Euler-Bernoulli element with six freedoms a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime.checks import Array, finite_array, one_of
from rt_runtime.errors import ConfigError

DIRECTIONS = ("ux", "uy", "uz", "rx", "ry", "rz")


@dataclass(frozen=True)
class Section:
    """Cross-section and material of a beam, the same along it.

    Parameters
    ----------
    E, G
        Young's and shear modulus in Pa.
    A
        Area in m2.
    Iy, Iz
        Second moments of area about the local axes y and z in m4.
    J
        Torsion constant in m4.
    density
        Mass a volume in kg/m3, what hangs on the beam included.
    polar
        Polar moment of area of the mass in m4; Iy + Iz when not given.
    """

    E: float
    G: float
    A: float
    Iy: float
    Iz: float
    J: float
    density: float
    polar: float | None = None

    def __post_init__(self) -> None:
        for name in ("E", "G", "A", "Iy", "Iz", "J", "polar"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ConfigError(f"{name} of a Section must be a positive number in SI units, got {value!r}.")
        if not (np.isfinite(self.density) and self.density >= 0):
            raise ConfigError(f"density of a Section must not be negative, got {self.density!r}.")
        if self.E < 1e7 or self.G < 1e6:
            raise ConfigError(
                f"E and G of a Section must be in Pa, got {self.E:g} and {self.G:g}: units are mixed (Pa and MPa?)."
            )
        if max(self.Iy, self.Iz) > 1e4 * self.A**2 or min(self.Iy, self.Iz) < 1e-6 * self.A**2:
            raise ConfigError(
                f"A, Iy and Iz of a Section must be in m2 and m4, got {self.A:g}, {self.Iy:g} and {self.Iz:g}: "
                "units are mixed (m and mm?)."
            )

    @classmethod
    def round(cls, diameter: float, *, E: float, nu: float = 0.3, density: float) -> Section:
        """Return a solid round bar: A = pi d^2 / 4, I = pi d^4 / 64, J = 2 I.

        Parameters
        ----------
        diameter
            In m.
        E, nu
            Young's modulus in Pa and Poisson's ratio.
        density
            In kg/m3.
        """
        inertia = np.pi * diameter**4 / 64
        return cls(E, E / (2 * (1 + nu)), np.pi * diameter**2 / 4, inertia, inertia, 2 * inertia, density)


def beam3d(
    p: ArrayLike, q: ArrayLike, section: Section, *, up: ArrayLike = (0.0, 1.0, 0.0), mass: str = "consistent"
) -> tuple[Array, Array]:
    """Return stiffness and mass (12, 12) of a beam from `p` to `q` in global axes.

    Bending v'' about the local axis z, w'' about y, axial force and St. Venant's torsion; cubic and linear shapes. The
    freedoms are ux, uy, uz, rx, ry, rz of p, then of q.

    Parameters
    ----------
    p, q
        Ends (3) in m.
    section
        Cross-section and material.
    up
        The local axis y lies in the plane of the beam and this direction; for a beam along it, in that of the global x.
    mass
        "consistent" (with the shapes of the stiffness) or "lumped" (half at each end, no rotary inertia of bending).
    """
    one_of(mass, "mass", "beam3d", ("consistent", "lumped"))
    start, end = finite_array(p, "p", "beam3d", (3,)), finite_array(q, "q", "beam3d", (3,))
    L = float(np.linalg.norm(end - start))
    if L <= 0:
        raise ConfigError(f"p and q of beam3d must be different points, got {start.tolist()} twice.")
    R = np.kron(np.eye(4), _axes((end - start) / L, np.asarray(up, float)))
    local = _consistent_mass(section, L) if mass == "consistent" else _lumped_mass(section, L)
    return R.T @ _stiffness(section, L) @ R, R.T @ local @ R


def _axes(x: Array, up: Array) -> Array:
    """Return the local axes as rows: x along the beam, z = x times up, y = z times x."""
    for direction in (up, np.array([1.0, 0.0, 0.0])):
        z = np.cross(x, direction)
        if np.linalg.norm(z) > 1e-6 * np.linalg.norm(direction):
            z = z / np.linalg.norm(z)
            return np.array([x, np.cross(z, x), z])
    raise ConfigError(f"up of beam3d must be a direction of three numbers that are not all zero, got {up.tolist()}.")


_AXIAL = [0, 6]
_TWIST = [3, 9]
_BEND_Z = [1, 5, 7, 11]  # v and rz: v' = rz
_BEND_Y = [2, 4, 8, 10]  # w and ry: w' = -ry
_MIRROR = np.diag([1.0, -1.0, 1.0, -1.0])


def _put(matrix: Array, where: list[int], block: Array) -> None:
    matrix[np.ix_(where, where)] += block


def _stiffness(s: Section, L: float) -> Array:
    k = np.zeros((12, 12))
    pair = np.array([[1.0, -1.0], [-1.0, 1.0]])
    bend = np.array(
        [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2], [-12, -6 * L, 12, -6 * L],
         [6 * L, 2 * L**2, -6 * L, 4 * L**2]]
    ) / L**3  # fmt: skip
    _put(k, _AXIAL, s.E * s.A / L * pair)
    _put(k, _TWIST, s.G * s.J / L * pair)
    _put(k, _BEND_Z, s.E * s.Iz * bend)
    _put(k, _BEND_Y, s.E * s.Iy * _MIRROR @ bend @ _MIRROR)
    return k


def _consistent_mass(s: Section, L: float) -> Array:
    m = np.zeros((12, 12))
    total = s.density * s.A * L
    polar = s.polar if s.polar is not None else s.Iy + s.Iz
    pair = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6
    bend = np.array(
        [[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2], [54, 13 * L, 156, -22 * L],
         [-13 * L, -3 * L**2, -22 * L, 4 * L**2]]
    ) / 420  # fmt: skip
    _put(m, _AXIAL, total * pair)
    _put(m, _TWIST, s.density * polar * L * pair)
    _put(m, _BEND_Z, total * bend)
    _put(m, _BEND_Y, total * _MIRROR @ bend @ _MIRROR)
    return m


def _lumped_mass(s: Section, L: float) -> Array:
    total = s.density * s.A * L
    polar = s.polar if s.polar is not None else s.Iy + s.Iz
    end = [total / 2] * 3 + [s.density * polar * L / 2, 0.0, 0.0]
    return np.diag(end * 2)
