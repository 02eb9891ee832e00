"""Indicators of energy that a loop gains: warnings of instability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.checks import finite_array, positive, whole


class StabilityWarning(_core.StabilityWarning):
    """Work of the feedback force over dissipated energy, SW; 1 and more means the loop gains energy.

    damping (n, n) of the numerical structure, interface (m, n) picks the coordinates the feedback force acts on, margin
    in J (about 1 % of the expected input work). Inputs: x (n), v (n), feedback force (m). Outputs: SW, W_F, E_d.
    """

    def __init__(self, damping: ArrayLike, interface: ArrayLike, *, margin: float) -> None:
        of = "StabilityWarning"
        c = finite_array(damping, "damping", of, (None, None))
        c = finite_array(c, "damping", of, (len(c), len(c)))
        g = finite_array(np.atleast_2d(np.asarray(interface, dtype=float)), "interface", of, (None, len(c)))
        super().__init__(c, g, positive(margin, "margin", of))


class EnergyErrorIndicator(_core.EnergyErrorIndicator):
    """Energy error indicator of the loop, for comparison with `StabilityWarning`.

    mass, damping, stiffness (n, n) of the numerical structure; `n_interface` feedback forces; `e_most` in J. Inputs: x
    (n), excitation force (n), feedback force (m), measured displacement (m). Outputs: EEI, input work in J.

    Parameters
    ----------
    dt
        Tick in s.
    """

    def __init__(
        self, mass: ArrayLike, damping: ArrayLike, stiffness: ArrayLike, *, n_interface: int, e_most: float, dt: float
    ) -> None:
        of = "EnergyErrorIndicator"
        m = finite_array(mass, "mass", of, (None, None))
        square = (len(m), len(m))
        c, k = finite_array(damping, "damping", of, square), finite_array(stiffness, "stiffness", of, square)
        m = finite_array(m, "mass", of, square)
        n = whole(n_interface, "n_interface", of, 1)
        super().__init__(m, c, k, n, positive(e_most, "e_most", of), positive(dt, "dt", of))
