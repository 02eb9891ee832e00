"""Recognise the law of reinforcing bars in an ONNX graph, node by node, so that a plan moves all bars in one step.

The equations stand in docs/bundle_format.md. A graph that differs anywhere runs its operators one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Each tensor of the law by operator and arguments: `=` that number, `#` a constant of the file, others from outside.
_TENSORS = """
x_low = Sub x #radius;  x_high = Add x #radius;  p_above = Max p x_low;  p' = Min p_above x_high
last_up = Max p =0;  last_a = Mul last_up #plus;  last_down = Min p =0;  last_b = Mul last_down #minus
last = Add last_a last_b
e_up = Max p' =0;  e_a = Mul e_up #plus;  e_down = Min p' =0;  e_b = Mul e_down #minus;  e = Add e_a e_b
step = Sub e last;  against = Mul d step;  turned = Less against =0
e_r' = Where turned last e_r;  q_r' = Where turned q q_r
higher = Max high last;  high' = Where turned higher high;  lower = Min low last;  low' = Where turned lower low
falls = Less step =0;  held = Where falls =-1 d;  rises = Greater step =0;  d' = Where rises =1 held
down = Less d' =0;  rest = Sub d' q_r';  rest_down = Min rest #most;  rest_up = Max rest #least
w = Where down rest_down rest_up
far_down = Min low' =-1;  far_up = Max high' =1;  far = Where down far_down far_up
far_turn = Sub far e_r';  yielded = Sub far_turn w;  xi = Abs yielded
xi_c = Add #c xi;  share = Div xi xi_c;  rounded = Mul #R1 share;  R = Sub #R0 rounded
way = Sub e e_r';  quotient = Div way w;  ratio = Max quotient #tiny;  log_ratio = Log ratio
log_power = Mul log_ratio R;  limited = Min log_power #limit;  power = Exp limited
sum = Add =1 power;  log_sum = Log sum;  log_root = Div log_sum R;  log_kept = Neg log_root;  kept = Exp log_kept
gone = Mul way kept;  free = Add q_r' gone;  q_above = Max free =-1;  q' = Min q_above =1
"""
LAW = {
    name: tuple(made.split())
    for name, made in (part.split(" = ") for line in _TENSORS.split("\n") if line for part in line.split(";  "))
}
STATES = ("p", "d", "e_r", "q_r", "q", "high", "low")
NUMBERS = ("#least", "#c", "#R0", "#R1", "#tiny", "#limit")


def _matches(
    nodes: Mapping[str, Any], constants: Mapping[str, Any], name: str, want: str, names: dict[str, str]
) -> bool:
    """Whether tensor `name` is the tensor `want` of the law; names in the graph go into `names`."""
    if want[0] == "=":
        value = constants.get(name)
        return value is not None and value.ndim < 3 and value.size == 1 and value.item() == float(want[1:])
    if want in names or want not in LAW:
        return names.setdefault(want, name) == name and (want[0] != "#" or name in constants)
    names[want] = name
    node, (operator, *arguments) = nodes.get(name), LAW[want]
    if node is None or node.op_type != operator or node.domain not in ("", "ai.onnx"):
        return False
    return len(node.input) == len(arguments) and all(
        _matches(nodes, constants, part, argument, names) for part, argument in zip(node.input, arguments, strict=True)
    )


def compile_bars(compiler: Any, node: Any) -> NDArray[np.int64] | None:
    """Append the bars whose stresses `node` gives as one step to a plan, with all their next states, or None."""
    names: dict[str, str] = {}
    if node.op_type != "Min" or not _matches(compiler.nodes, compiler.constants, node.output[0], "q'", names):
        return None
    constants = {
        key: np.asarray(compiler.constants[name], dtype=np.float64) for key, name in names.items() if key[0] == "#"
    }
    scalars = [constants[key] for key in (*NUMBERS, "#most")]
    if any(c.size != 1 or c.ndim > 2 for c in scalars) or constants["#most"].item() != -constants["#least"].item():
        return None
    places = [compiler.places(names[key]) for key in ("x", *STATES)]
    shape, vectors = places[0].shape, [constants[key] for key in ("#plus", "#minus", "#radius")]
    if len(shape) != 2 or shape[0] != 1 or any(p.shape != shape for p in places):
        return None
    if any(np.broadcast_shapes(shape, c.shape) != shape for c in vectors):
        return None
    n = shape[1]
    compiler.spend(11 * n)
    out = compiler.room((len(STATES), (n + 3) // 4 * 4))
    numbers = [np.broadcast_to(c, shape).ravel().tolist() for c in vectors]
    law = [c.item() for c in scalars[:-1]]
    compiler.step("bars", [p.ravel().tolist() for p in places], numbers, *law, int(out.flat[0]))
    for key, row in zip(STATES, out, strict=True):
        compiler.tensors[names[f"{key}'"]] = row[None, :n]
    stress: NDArray[np.int64] = compiler.tensors[node.output[0]]
    return stress
