"""What the writers of hosts need to know of a piece of C: ports, ranges, step, and its two files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from export.c.source import c_header, c_source
from export.forms import Form
from mor.data.ports import Port
from rt_runtime.checks import Array


@dataclass(frozen=True)
class CModel:
    """A model or controller as C: NAME_reset, NAME_step, NAME_outside in NAME.h and NAME.c.

    lower, upper: range of each input (infinite: any). output_ranges: (lower, upper) of the outputs where they are kept.
    dt: step in s, None for a model without memory.
    """

    name: str
    text: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    lower: Array
    upper: Array
    output_ranges: tuple[Array, Array] | None
    dt: float | None
    n_state: int
    precision: str
    header: str
    source: str


def c_model(form: Form, precision: str) -> CModel:
    """Return the C of a reduced model."""
    n, memory = len(form.inputs), form.recursion
    return CModel(
        form.name,
        f"Reduced model ({form.kind}) of {', '.join(p.name for p in form.outputs)}",
        form.inputs,
        form.outputs,
        np.asarray(form.domain[0])[:n],
        np.asarray(form.domain[1])[:n],
        None if memory is None else (memory.bounds[0][: len(form.outputs)], memory.bounds[1][: len(form.outputs)]),
        form.dt,
        0 if memory is None else int(memory.initial.size),
        precision,
        c_header(form, precision),
        c_source(form, precision),
    )
