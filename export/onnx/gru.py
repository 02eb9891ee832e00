"""A gated recurrent unit as ONNX nodes."""

from __future__ import annotations

import numpy as np

from export.forms import Gru
from export.onnx.operators import Nodes


def gru_nodes(graph: Nodes, form: Gru, x: str, output: str) -> None:
    """Gates as one layer, the candidate as a layer whose constant is r (U_n h + c) + b_n, the readout as one."""
    m, n_x = form.c.size, form.W.shape[1]
    now, h = graph.part(x, 0, n_x, "gru_x"), graph.part(x, n_x, n_x + m, "gru_h")
    W, U = form.W, form.U
    both = graph.hold("gru_gates_weights", np.hstack([W[: 2 * m], U[: 2 * m]]))
    gates = graph.node("Gemm", [x, both, graph.hold("gru_gates_bias", form.b[: 2 * m])], "gru_sums", {"transB": 1})
    gates = graph.node("Sigmoid", [gates], "gru_gates")
    r, z = graph.part(gates, 0, m, "gru_r"), graph.part(gates, m, 2 * m, "gru_z")
    held = [graph.hold("gru_past", U[2 * m :]), graph.hold("gru_c", form.c)]
    past = graph.node("Gemm", [h, *held], "gru_q", {"transB": 1})
    past = graph.node("Add", [graph.node("Mul", [r, past], "gru_rq"), graph.hold("gru_b", form.b[2 * m :])], "gru_rqb")
    n = graph.node("Gemm", [now, graph.hold("gru_now", W[2 * m :]), past], "gru_n_sum", {"transB": 1})
    n = graph.node("Tanh", [n], "gru_n")
    back = graph.node("Mul", [z, graph.node("Sub", [h, n], "gru_back")], "gru_kept")
    new = graph.node("Add", [n, back], "gru_next")
    read = graph.hold("gru_readout", np.hstack([form.V, form.D]))
    seen = graph.node("Concat", [new, now], "gru_seen", {"axis": 1})
    y = graph.node("Gemm", [seen, read, graph.hold("gru_offset", form.d)], "gru_y", {"transB": 1})
    graph.node("Concat", [y, new], output, {"axis": 1})
