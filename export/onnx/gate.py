"""A gate around a map as ONNX nodes."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from export.forms import Gated, Step
from export.onnx.operators import Nodes


class Maps(Nodes, Protocol):
    """A graph that can append the map itself."""

    def step(self, form: Step, x: str, output: str) -> None:
        """Append a map from x to output."""
        ...


def gate_nodes(graph: Maps, form: Gated, x: str, output: str) -> None:
    """Ask the map with x_j raised to the floor, and multiply what vanishes by the share of the gate."""
    asked = x
    if np.isfinite(form.floor):
        lower = np.full(form.n_in, -np.inf)
        lower[form.column] = form.floor
        asked = graph.node("Max", [x, graph.hold("gate_lower", lower)], f"{x}_raised")
    free = f"{output}_open"
    graph.step(form.map, asked, free)
    if form.bounds is not None:
        free = graph.node("Max", [free, graph.hold("gate_bounds_lower", form.bounds[0])], f"{output}_above")
        free = graph.node("Min", [free, graph.hold("gate_bounds_upper", form.bounds[1])], f"{output}_bounded")
    c = _share(graph, form, x)
    if form.vanishing.all():
        graph.node("Mul", [free, c], output)
    else:
        faded = graph.node("Mul", [free, c], f"{output}_gated")
        graph.node("Where", [graph.flags("gate_outputs", form.vanishing), faded, free], output)


def _share(graph: Nodes, form: Gated, x: str) -> str:
    """Append clip((x_j - closed) / (span - closed), 0, 1); Max and Min hand a nan on, which Clip need not."""
    c = graph.node("Gather", [x, graph.hold("gate_column", np.array([form.column]))], "gate_input", {"axis": 1})
    if form.closed:
        c = graph.node("Sub", [c, graph.hold("gate_start", np.array([form.closed]))], "gate_beyond")
    c = graph.node("Div", [c, graph.hold("gate_span", np.array([form.width]))], "gate_share")
    c = graph.node("Max", [c, graph.hold("gate_closed", np.zeros(1))], "gate_above")
    return graph.node("Min", [c, graph.hold("gate_open", np.ones(1))], "gate")
