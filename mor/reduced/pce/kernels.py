"""Compiled evaluation of a PCE: terms nested like Horner's rule, a block of points at a time.

Each term is a path in a tree: the root is the constant, a step down multiplies by one psi_k(z_i), inputs in order.
The sum over a subtree is S = c + sum_children psi_child S_child, so a term costs one multiply-add. Nodes are stored in
the order of a depth-first walk; a stack holds one partial sum per depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mor.reduced.pce.basis import Ints
from rt_runtime.checks import Array


class Program(NamedTuple):
    """What the kernels read: maps to z, recurrences, and the nodes (depth, row of the table of psi, coefficients).

    `offset` (inputs + 1) says where the polynomials of each input start in the table.
    """

    location: Array
    scale: Array
    logarithm: Ints
    recurrence: Array
    offset: Ints
    depth: Ints
    row: Ints
    coefficients: Array


def program_of(
    location: Array, scale: Array, logarithm: Ints, recurrence: Array, indices: Ints, coefficients: Array
) -> Program:
    """Arrange the terms as a tree; nodes that are no terms get coefficient zero."""
    dimension = indices.shape[1]
    nodes = np.unique(np.vstack([np.zeros((1, dimension), dtype=np.int64), indices]), axis=0)
    while True:
        parents = nodes.copy()
        last = dimension - 1 - np.argmax(parents[:, ::-1] > 0, axis=1)
        parents[np.arange(len(parents)), last] = 0
        grown = np.unique(np.vstack([nodes, parents]), axis=0)
        if len(grown) == len(nodes):
            break
        nodes = grown
    # np.unique sorts row by row, first input first: a depth-first walk in which a parent precedes its children.
    offset = np.concatenate([[0], np.cumsum(nodes.max(axis=0) + 1)])
    last = dimension - 1 - np.argmax(nodes[:, ::-1] > 0, axis=1)
    _, place = np.unique(np.vstack([nodes, indices]), axis=0, return_inverse=True)
    place = np.ravel(place)[len(nodes) :]
    sums = np.zeros((len(nodes), coefficients.shape[1]))
    np.add.at(sums, place, coefficients)
    return Program(
        np.array(location), np.array(scale), np.array(logarithm), np.array(recurrence),
        offset.astype(np.int64), np.count_nonzero(nodes, axis=1).astype(np.int64),
        (offset[last] + nodes[np.arange(len(nodes)), last]).astype(np.int64), sums,
    )  # fmt: skip


def one_point_program(p: Program) -> tuple[NDArray[Any], ...]:
    """Return what `evaluate_one` reads: the maps, the parent and psi of each node, the nodes and coefficients of each
    output side by side from `start` on, and room for z, psi and the products of the nodes."""
    path, parent = [0], np.zeros(p.depth.size, dtype=np.int64)
    for n in range(1, p.depth.size):
        del path[p.depth[n] :]
        parent[n] = path[-1]
        path.append(n)
    node, output = np.nonzero(p.coefficients)
    order = np.argsort(output, kind="stable")
    start = np.searchsorted(output[order], np.arange(p.coefficients.shape[1] + 1)).astype(np.int64)
    terms = (start, node[order].astype(np.uint32), p.coefficients[node, output][order])
    maps = (p.location, p.scale, p.logarithm, p.recurrence, p.offset)
    tree = (parent.astype(np.uint32), p.row.astype(np.uint32))
    room = (np.empty(p.location.size), np.empty(p.offset[-1]), np.empty(p.depth.size))
    return (*maps, *tree, *terms, *room)


def evaluate_rows(X: Array, program: Program) -> Array:
    """Evaluate rows X (n, inputs) in physical units -> (n, outputs)."""
    from mor.reduced.pce.compiled import many_points

    Y = np.empty((len(X), program.coefficients.shape[1]))
    many_points(X, Y, *program)
    return Y


def evaluate_one() -> Callable[..., None]:
    """Return the compiled evaluation of one point, `evaluate(x, y, parameters)`."""
    from mor.reduced.pce.compiled import one_point

    return one_point  # type: ignore[no-any-return]
