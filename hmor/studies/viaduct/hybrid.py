"""The hybrid model of the viaduct: deck and piers, full-order in OpenSees or reduced, under a test record."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hmor.studies.viaduct.bridge import HEIGHTS, RATE, SPECIMEN, deck, deck_over_one_pier
from hmor.studies.viaduct.piers import TESTED, pier_name
from hmor.studies.viaduct.records import KEEP, record, stored_response
from mor import HybridModel, Substructure, Trajectory
from mor.excitation import Excitation
from mor.hybrid.stored import StoredHybrid
from mor.sources import rc_pier


def held_motion(motion: Excitation) -> Trajectory:
    """Return the ground motion half a tick late: what a tick reads is held over the tick that ends with it."""
    late = np.interp(motion.time - 0.5 * motion.dt, motion.time, motion.values)
    return Trajectory(motion.time, late, {"ag": motion.unit})


def places(*, specimen: bool = True) -> dict[str, float]:
    """Return the piers of the hybrid model with their heights: {"pier_1": 7.0, ...}, the middle one where asked."""
    return {f"pier_{i + 1}": h for i, h in enumerate(HEIGHTS) if specimen or i != SPECIMEN}


def at_place(part: Substructure, place: str) -> Substructure:
    """Return a pier x -> F with the name and ports of its place: pier_3 with x3 -> F3."""
    i = place.removeprefix("pier_")
    x, F = part.inputs[0].name, part.outputs[0].name
    return part.renamed(place, {x: f"x{i}", F: f"F{i}"})


def hybrid(
    name: str = "el_centro",
    scale: float = 1.3,
    *,
    specimen: bool = True,
    piers: Mapping[str, Substructure] | None = None,
) -> HybridModel:
    """Return the viaduct under a record.

    Parameters
    ----------
    name, scale : the test record and its scale.
    specimen : with the middle pier, or with no force in its place.
    piers : parts by kind ("pier_7": ...) instead of the piers in OpenSees.
    """
    motion = record(name).scaled(scale)
    parts: list[Substructure] = [deck(specimen=specimen)]
    for place, height in places(specimen=specimen).items():
        kind = pier_name(height)
        parts.append(at_place(rc_pier(height, name=place) if piers is None else piers[kind], place))
    excitations: dict[str, Trajectory | float] = {"ag": held_motion(motion)}
    if not specimen:
        excitations["F4"] = 0.0
    return HybridModel("viaduct", parts, dt=1.0 / RATE, excitations=excitations, duration=motion.duration, every=KEEP)


def one_pier(name: str = "el_centro", *, pier: Substructure | None = None) -> HybridModel:
    """Return a single pier of 7 m under the deck of one span and a record, at its own scale.

    Parameters
    ----------
    name : the test record.
    pier : a part instead of the pier in OpenSees.
    """
    motion = record(name)
    part = at_place(rc_pier(TESTED, name="pier_1") if pier is None else pier, "pier_1")
    return HybridModel(
        "one_pier", [deck_over_one_pier(), part], dt=1.0 / RATE, excitations={"ag": held_motion(motion)},
        duration=motion.duration, every=KEEP,
    )  # fmt: skip


def stored_hybrid(name: str = "el_centro", scale: float = 1.3, *, specimen: bool = True) -> StoredHybrid:
    """Return the hybrid model with the stored response of the whole bridge in OpenSees as its full-order run."""
    response, seconds = stored_response(name, scale, specimen=specimen)
    full = hybrid(name, scale, specimen=specimen)
    rows = -(-round((full.duration or 0.0) * RATE) // KEEP)  # a run ends before the tick at its duration
    response = Trajectory(response.time[:rows], response.values[:rows], response.ports)
    return StoredHybrid(full, response=response, seconds=seconds)
