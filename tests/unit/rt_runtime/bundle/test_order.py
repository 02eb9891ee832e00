"""Steps of a plan in the order in which a processor need not wait: the same steps, each behind what it reads."""

from __future__ import annotations

import numpy as np

from rt_runtime import _core
from rt_runtime.bundle.order import Step, in_order

NONE, TANH, SUB = _core.Unary.none, _core.Unary.tanh, _core.Binary.sub
W = np.ones((2, 2))


def network(c: list[int]) -> list[Step]:
    """h = tanh(W u + b), r = W h + b, y = W u + r; a share of u_0 behind them. Places 0, 1: u; 2, 3: b; 4: a constant."""
    return [
        ("dense", ([0, 1], W, [2, 3], TANH, 8)),
        ("dense", ([8, 9], W, [2, 3], NONE, 12)),
        ("dense", ([0, 1], W, c, NONE, 16)),
        ("binary", (SUB, [0], [4], 20)),
        ("clip", ([20], [1.0], [0.0], [1.0], 24)),
    ]


SIZES = {8: 2, 12: 2, 16: 2, 20: 1, 24: 1}


def test_what_waits_for_no_layer_comes_first_and_the_linear_part_becomes_the_constant_of_the_other() -> None:
    order = in_order(network([12, 13]), SIZES, [16, 17, 24])
    assert [(kind, a[-1]) for kind, a in order] == [
        ("binary", 20), ("clip", 24), ("dense", 12), ("dense", 8), ("dense", 16),
    ]  # fmt: skip
    assert order[2][1][0] == [0, 1] and order[2][1][2] == [2, 3]  # A x + c
    assert order[4][1][0] == [8, 9] and order[4][1][2] == [12, 13]  # B h + that


def test_a_sum_that_somebody_else_reads_stays_as_it_is() -> None:
    for steps, given in ((network([12, 13]), [16, 12]), (network([13, 12]), [16]), (network([12, 3]), [16])):
        order = in_order(steps, SIZES, given)
        assert [a[-1] for kind, a in order if kind == "dense"] == [8, 12, 16]
        assert order[-1][1][2] == steps[2][1][2]
