"""A concrete slab on four columns as a grillage of beams, of the size that finite-element programs hand over."""

from __future__ import annotations

import numpy as np

from mor.frames import Frame3d, Section, frame3d
from mor.frames.part import frame_part
from mor.sources.finite_elements import FiniteElementSubstructure, RayleighDamping
from rt_runtime.checks import whole

SIDE, THICKNESS = 12.0, 0.2
"""In m."""

MODULUS, SHEAR, DENSITY = 30e9, 12.5e9, 2500.0


def slab(cells: int = 58) -> Frame3d:
    """Return a square slab of `cells` x `cells` fields on its corners, y upwards; 58 cells have 20 874 freedoms.

    Beams along both sides share the mass; each has half the torsion constant of its strip, as is usual for grillages.
    """
    n = whole(cells, "cells", "slab", 2) + 1
    b, h = SIDE / (n - 1), THICKNESS
    strip = Section(MODULUS, SHEAR, b * h, h * b**3 / 12, b * h**3 / 12, b * h**3 / 6, DENSITY / 2)
    at = np.linspace(0.0, SIDE, n)
    nodes = {f"{i}_{j}": (at[i], 0.0, at[j]) for i in range(n) for j in range(n)}
    elements = [(f"{i}_{j}", f"{i + 1}_{j}", strip) for i in range(n - 1) for j in range(n)]
    elements += [(f"{i}_{j}", f"{i}_{j + 1}", strip) for i in range(n) for j in range(n - 1)]
    supports = {f"{i}_{j}": "pinned" for i in (0, n - 1) for j in (0, n - 1)}
    return frame3d(nodes, elements, supports)


def slab_part(cells: int = 58, *, ratio: float = 0.02) -> FiniteElementSubstructure:
    """Return the slab with ports: ground acceleration `ay`, `force` at its middle; deflections `middle`, `quarter`.

    Parameters
    ----------
    cells
        As of `slab`.
    ratio
        Rayleigh damping ratio at the first and the ninth mode.
    """
    frame = slab(cells)
    modes = frame.modes(9).frequencies
    middle, quarter = f"{(cells + 1) // 2}_{(cells + 1) // 2}.uy", f"{(cells + 1) // 4}_{(cells + 1) // 3}.uy"
    return frame_part(
        frame,
        "slab",
        ground=["uy"],
        forces={"force": middle},
        motions={"middle": middle, "quarter": quarter, "quarter_acceleration": ("a", quarter)},
        damping=RayleighDamping.of_ratios(ratio, float(modes[0]), float(modes[8])),
    )
