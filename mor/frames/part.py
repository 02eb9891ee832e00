"""A frame as a part of a hybrid model: forces and motions at named freedoms, ground accelerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mor.frames.frame import Frame3d
from mor.sources.finite_elements import FiniteElementSubstructure, RayleighDamping
from rt_runtime.errors import ConfigError


def frame_part(
    frame: Frame3d,
    name: str,
    *,
    ground: Sequence[str] = (),
    forces: Mapping[str, str] | None = None,
    motions: Mapping[str, str | tuple[str, str]],
    damping: RayleighDamping | Any = None,
) -> FiniteElementSubstructure:
    """Return a frame with ports: `part.reduced_to(error, band)` makes a loop block of it in one call.

    Parameters
    ----------
    frame
        The frame.
    name
        Of the part.
    ground
        Directions "ux", "uy", "uz" of ground accelerations; the inputs are called "ax", "ay", "az".
    forces
        {input: freedom "node.direction"}: a force in N, a moment in N m.
    motions
        {output: freedom} for displacements and rotations, {output: (quantity, freedom)} with quantity "x", "v" or "a".
    damping
        RayleighDamping, or a matrix such as `frame.modal_damping(0.02)`; none by default.
    """
    if not ground and not forces:
        raise ConfigError(f"ground or forces of frame part '{name}' must name an input, got neither.")
    inputs = {f"a{d[1]}": ("m/s2", frame.ground_load(d)) for d in ground}
    for port, freedom in (forces or {}).items():
        inputs[port] = ("N m" if freedom.rpartition(".")[2][0] == "r" else "N", frame.unit_vector(freedom))
    outputs = {}
    for port, where in motions.items():
        quantity, freedom = ("x", where) if isinstance(where, str) else where
        base = "rad" if freedom.rpartition(".")[2][0] == "r" else "m"
        outputs[port] = (
            base + {"x": "", "v": "/s", "a": "/s2"}.get(quantity, ""),
            quantity,
            frame.unit_vector(freedom),
        )
    return FiniteElementSubstructure(name, frame.M, frame.K, inputs=inputs, outputs=outputs, damping=damping)
