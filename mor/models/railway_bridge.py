"""A simply supported railway bridge under the axles of a train, with a damper between abutment and bottom flange.

Assumed modes: v(x, t) = sum_i sin(i pi x / L) q_i(t), the train as moving forces, axle j while it is on the deck:

    m_i = mu L / 2,   k_i = EI (i pi / L)^4 L / 2,   f_i = sum_j P_j sin(i pi (V t - d_j) / L)

A damper at x_d, e below the neutral axis, that rises by alpha towards midspan, is stretched by r = sum_i g_i q_i and
pulls at mode i with -g_i F:

    g_i = e cos(alpha) psi_i'(x_d) + sin(alpha) psi_i(x_d)

The bridge is that of Najafi and Spencer, NSEL Report 051 (2021), section 4.4, which prints neither span nor mass: both
are chosen here, and EI follows from the resonance of coaches of 21 m at 169 km/h, 2.235 Hz.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.structure import LinearStructure, modal_damping
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.models.mr_damper import PARAMETERS
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError

ACTUATOR = TransferFunction([2.414e13], [1.0, 306.7, 1.495e5, 2.922e7, 5.429e9, 5.055e11, 2.53e13])
"""Identified hydraulic actuator (556 kN) that moves the damper: static gain 0.954, 20 ms late at 1 Hz (their 4.22)."""

LOAD_CELL = 445e3
"""What the load cell takes, in N."""

STROKE = 0.1524
"""Stroke of the actuator in m to each side."""

DAMPER = {p.name: p.value * (200.0 if p.unit.startswith("N") else 1.0) for p in PARAMETERS} | {"rho": 1000.0}
"""A damper of the 200 kN class (ours): 200 times the forces of the small one, its friction turns over within 1 mm."""


@dataclass(frozen=True)
class Girder:
    """A simply supported beam.

    Parameters
    ----------
    span
        L in m.
    line_mass
        mu in kg/m.
    flexural
        EI in N m2.
    ratio
        Damping ratio of every mode; 0.5 % is what EN 1991-2 gives for steel and composite spans above 20 m.
    modes
        How many sines.
    """

    span: float = 42.0
    line_mass: float = 18.4e3
    flexural: float = 1.16e11
    ratio: float = 0.005
    modes: int = 5

    def __post_init__(self) -> None:
        for name in ("span", "line_mass", "flexural"):
            positive(getattr(self, name), name, "Girder")
        whole(self.modes, "modes", "Girder", 1)
        if not 0 <= self.ratio < 1:
            raise ConfigError(f"ratio of Girder must be from 0 to below 1, got {self.ratio!r}.")

    @property
    def waves(self) -> Array:
        """i pi / L of each mode in 1/m."""
        return np.arange(1.0, self.modes + 1.0) * (np.pi / self.span)

    @property
    def structure(self) -> LinearStructure:
        """Modal mass, damping and stiffness."""
        M = np.diag(np.full(self.modes, self.line_mass * self.span / 2))
        K = np.diag(self.flexural * self.waves**4 * self.span / 2)
        return LinearStructure(M, modal_damping(M, K, self.ratio), K)

    def shapes(self, x: ArrayLike) -> Array:
        """Return sin(i pi x / L) of every mode, (..., modes)."""
        return np.asarray(np.sin(np.multiply.outer(np.asarray(x, float), self.waves)))

    def state_space(self, lever: ArrayLike, places: ArrayLike) -> StateSpaceMatrices:
        """Return inputs [modal loads, force of the damper], outputs [its stretch r, r', deflections, accelerations].

        Parameters
        ----------
        lever
            g_i of the damper, as `Brace.lever` gives it.
        places
            Where deflections and accelerations are read, in m.
        """
        g = finite_array(lever, "lever", "Girder.state_space", (self.modes,))
        psi = self.shapes(finite_array(places, "places", "Girder.state_space", (None,)))
        s = self.structure
        A = s.state_matrix()
        B = np.vstack([np.zeros((s.n, s.n + 1)), np.linalg.solve(s.M, np.column_stack([np.eye(s.n), -g]))])
        zero = np.zeros_like(psi)
        C = np.vstack([np.r_[g, 0 * g], np.r_[0 * g, g], np.hstack([psi, zero]), psi @ A[s.n :]])
        D = np.vstack([np.zeros((2 + len(psi), s.n + 1)), psi @ B[s.n :]])
        return StateSpaceMatrices(A, B, C, D)


@dataclass(frozen=True)
class Brace:
    """Where the damper stands: joint at `at` m, `depth` e m below the neutral axis, rising by `angle` rad."""

    at: float = 4.0
    depth: float = 1.2
    angle: float = np.pi / 6

    def lever(self, girder: Girder) -> Array:
        """Return g_i, the stretch of the damper per modal displacement."""
        if not 0 <= self.at <= girder.span:
            raise ConfigError(f"at of Brace must lie on the span of {girder.span:g} m, got {self.at!r}.")
        slope = girder.waves * np.cos(girder.waves * self.at)
        return np.asarray(self.depth * np.cos(self.angle) * slope + np.sin(self.angle) * girder.shapes(self.at))


@dataclass(frozen=True, eq=False)
class Train:
    """Axle loads in N and how far each axle is behind the first, in m."""

    loads: Array
    behind: Array

    def __init__(self, loads: ArrayLike, behind: ArrayLike) -> None:
        axles = finite_array(behind, "behind", "Train", (None,))
        object.__setattr__(self, "behind", axles)
        object.__setattr__(self, "loads", finite_array(loads, "loads", "Train", axles.shape))
        if axles.size == 0 or axles.min() < 0:
            raise ConfigError("behind of Train must name at least one axle, none of them before the first.")

    @classmethod
    def articulated(cls, coaches: int, length: float, spacing: float, load: float) -> Train:
        """Return a train of EN 1991-2, HSLM-A: two power cars, `coaches` of `length` m between two end coaches.

        Power cars have axles at 0, 3, 14, 17 m; the first bogie follows 3.525 m behind, bogies of two axles every
        `length`.

        Parameters
        ----------
        coaches, length
            Number of intermediate coaches and their length D in m.
        spacing
            Of the axles of a bogie, in m.
        load
            Of every axle, in N.
        """
        power = np.array([0.0, 3.0, 14.0, 17.0])
        bogies = power[-1] + 3.525 + length * np.arange(whole(coaches, "coaches", "Train.articulated", 1) + 3)
        axles = np.concatenate([power, (bogies[:, None] + [0.0, spacing]).ravel()])
        axles = np.concatenate([axles, axles[-1] + 3.525 + power])
        return cls(np.full(axles.size, load), axles)

    def duration(self, girder: Girder, speed: float) -> float:
        """Return how long the train is on the bridge at `speed` m/s."""
        return float((self.behind.max() + girder.span) / positive(speed, "speed", "Train.duration"))

    def modal_loads(self, girder: Girder, speed: float, time: ArrayLike) -> Array:
        """Return the load of every mode, (n_times, modes); the first axle enters at time 0.

        Parameters
        ----------
        girder, speed
            The bridge, and the speed in m/s.
        time
            In s.
        """
        travelled = positive(speed, "speed", "Train.modal_loads") * np.asarray(time, float)
        total = np.zeros((travelled.size, girder.modes))
        for load, behind in zip(self.loads, self.behind, strict=True):
            x = travelled - behind
            on = (x >= 0) & (x <= girder.span)
            total[on] += load * girder.shapes(x[on])
        return total


HSLM_A4 = Train.articulated(15, 21.0, 3.0, 190e3)
"""Train A4 of EN 1991-2: 15 intermediate coaches of 21 m, bogies of 3 m, 190 kN an axle; 44 axles over 401 m."""


def resonance_speed(girder: Girder, train_length: float, *, mode: int = 1, cycles: int = 1) -> float:
    """Return the speed in m/s at which coaches of `train_length` m come at the rhythm of a mode: V = f D / cycles.

    Parameters
    ----------
    girder, train_length
        The bridge, and the length of the coaches in m.
    mode, cycles
        Which mode, counted from 1, and how many of its periods pass between two coaches.
    """
    f = girder.structure.modes().frequencies
    return float(f[whole(mode, "mode", "resonance_speed", 1) - 1] * train_length / cycles)
