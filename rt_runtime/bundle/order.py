"""The order of the steps of a plan: what need not wait for a layer stands in front of it.

A processor looks a few hundred instructions ahead. A layer with its functions is longer than that, so that what stands
behind it waits for it even where it needs nothing of it: the share of a gate, or the part of an output that is linear
in the inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rt_runtime import _core

Places = NDArray[np.int64]
Step = tuple[str, tuple[Any, ...]]
"""Kind and arguments of a step: lists of whole numbers are places that it reads, the last one is where it writes."""


def in_order(steps: list[Step], sizes: Mapping[int, int], given: list[int]) -> list[Step]:
    """Return the steps in an order in which layers come when nothing else can, those with a function last.

    Parameters
    ----------
    steps
        In an order in which they can run.
    sizes
        How many results stand from a place on.
    given
        Places that are read behind the last step.
    """
    steps = _linear_first(steps, sizes, given)
    before = _before(steps, _makers(steps, sizes))
    behind: list[list[int]] = [[] for _ in steps]
    for i, needed in enumerate(before):
        for j in needed:
            behind[j].append(i)
    ready: list[tuple[int, int]] = []
    order: list[Step] = []
    missing = [len(needed) for needed in before]
    free = [i for i, n in enumerate(missing) if n == 0]
    while free or ready:
        for i in free:
            heappush(ready, (_turn(steps[i]), i))
        i = heappop(ready)[1]
        order.append(steps[i])
        for j in behind[i]:
            missing[j] -= 1
        free = [j for j in behind[i] if missing[j] == 0]
    return order


def _turn(step: Step) -> int:
    kind, arguments = step
    return 0 if kind != "dense" else 1 if arguments[3] == _core.Unary.none else 2


def _linear_first(steps: list[Step], sizes: Mapping[int, int], given: Iterable[int]) -> list[Step]:
    """Sum A x + (B h + c) as B h + (A x + c) where h comes later than x and nobody else reads B h + c.

    A single row stays as it is: it is joined to the layer that gives h, which wants a constant c.
    """
    steps, maker, depth = list(steps), _makers(steps, sizes), [0]
    for needed in _before(steps, maker):
        depth.append(1 + max((depth[j + 1] for j in needed), default=0))
    late = np.array(depth)[maker + 1]  # how many steps a number waits for
    reads = np.bincount(np.concatenate([given, *(_places(arguments) for _, arguments in steps)]), minlength=maker.size)
    for i, (kind, outer) in enumerate(steps):
        j = maker[outer[2][0]] if kind == "dense" else -1
        if j < 0 or steps[j][0] != "dense":
            continue
        (x, A, inside, function, out), (h, B, c, inner, at) = outer, steps[j][1]
        alone = inside == [*range(at, at + sizes[at])] and np.all(reads[inside] == 1)
        if alone and len(inside) > 1 and inner == _core.Unary.none and late[x].max() < late[h].max():
            steps[j], steps[i] = ("dense", (x, A, c, inner, at)), ("dense", (h, B, inside, function, out))
    return steps


def _before(steps: list[Step], maker: Places) -> list[list[int]]:
    """Return for each step those whose results it reads."""
    return [[i for i in np.unique(maker[_places(arguments)]).tolist() if i >= 0] for _, arguments in steps]


def _makers(steps: list[Step], sizes: Mapping[int, int]) -> Places:
    """Return which step gives the number at each place, -1 for none."""
    last = max((int(_places(a).max(initial=a[-1] + sizes[a[-1]])) for _, a in steps), default=0)
    maker = np.full(last + 1, -1)
    for i, (_, arguments) in enumerate(steps):
        maker[arguments[-1] : arguments[-1] + sizes[arguments[-1]]] = i
    return maker


def _places(arguments: Iterable[Any]) -> Places:
    """Return the whole numbers in lists, and in lists of lists."""
    found = [np.empty(0, dtype=np.int64)]
    for one in arguments:
        if isinstance(one, list) and one and isinstance(one[0], list):
            found.append(_places(one))
        elif isinstance(one, list) and one and isinstance(one[0], int):
            found.append(np.array(one))
    return np.concatenate(found)
