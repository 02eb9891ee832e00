"""Compiled evaluation of a PCE: terms nested like Horner's rule, a block of points at a time.

Each term is a path in a tree: the root is the constant, a step down multiplies by one psi_k(z_i), inputs in order.
The sum over a subtree is S = c + sum_children psi_child S_child, so a term costs one multiply-add. Nodes are stored in
the order of a depth-first walk; a stack holds one partial sum per depth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from mor.polynomials import Ints
from mor.reduced import Array


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


def evaluate_rows(X: Array, program: Program) -> Array:
    """Evaluate rows X (n, inputs) in physical units -> (n, outputs)."""
    Y = np.empty((len(X), program.coefficients.shape[1]))
    _rows_kernel()(X, Y, *program)
    return Y


@cache
def _rows_kernel() -> Callable[..., None]:
    from numba import njit

    return njit(cache=True)(_rows)  # type: ignore[no-any-return]


@cache
def evaluate_one() -> Callable[..., None]:
    """Return the compiled evaluation of one point, `evaluate(x, y, parameters)`."""
    from numba import njit

    return njit(cache=True)(_one)  # type: ignore[no-any-return]


def _one(x, y, parameters):  # type: ignore[no-untyped-def]
    location, scale, logarithm, recurrence, offset, depth, row, c, psi, stack, rows = parameters
    for i in range(location.size):
        v = x[i]
        if logarithm[i] == 1:
            v = np.log(max(v, 1e-300))
        z = (v - location[i]) / scale[i]
        first = offset[i]
        psi[first] = 1.0
        for k in range(offset[i + 1] - first - 1):
            value = (recurrence[i, k, 0] * z + recurrence[i, k, 1]) * psi[first + k]
            if k > 0:
                value -= recurrence[i, k, 2] * psi[first + k - 1]
            psi[first + k + 1] = value
    outputs, nodes = c.shape[1], depth.size
    for o in range(outputs):
        stack[0, o] = c[0, o]
    top = 0
    for n in range(1, nodes):
        while top >= depth[n]:
            factor = psi[rows[top]]
            for o in range(outputs):
                stack[top - 1, o] += factor * stack[top, o]
            top -= 1
        if n + 1 == nodes or depth[n + 1] <= depth[n]:  # a leaf needs no place of its own
            factor = psi[row[n]]
            for o in range(outputs):
                stack[top, o] += factor * c[n, o]
        else:
            top = depth[n]
            rows[top] = row[n]
            for o in range(outputs):
                stack[top, o] = c[n, o]
    while top > 0:
        for o in range(outputs):
            stack[top - 1, o] += psi[rows[top]] * stack[top, o]
        top -= 1
    for o in range(outputs):
        y[o] = stack[0, o]


def _rows(X, Y, location, scale, logarithm, recurrence, offset, depth, row, c):  # type: ignore[no-untyped-def]
    size = 128
    inputs, outputs, nodes = location.size, c.shape[1], depth.size
    psi = np.empty((offset[-1], size))
    z = np.empty(size)
    stack = np.empty((np.max(depth) + 1, size))
    rows = np.empty(np.max(depth) + 1, dtype=np.int64)
    for start in range(0, X.shape[0], size):
        m = min(size, X.shape[0] - start)
        for i in range(inputs):
            for j in range(m):
                v = X[start + j, i]
                if logarithm[i] == 1:
                    v = np.log(max(v, 1e-300))
                z[j] = (v - location[i]) / scale[i]
            first = offset[i]
            psi[first, :] = 1.0
            for k in range(offset[i + 1] - first - 1):
                a, b, g = recurrence[i, k, 0], recurrence[i, k, 1], recurrence[i, k, 2]
                now, new = psi[first + k], psi[first + k + 1]
                if k == 0:
                    for j in range(m):
                        new[j] = (a * z[j] + b) * now[j]
                else:
                    before = psi[first + k - 1]
                    for j in range(m):
                        new[j] = (a * z[j] + b) * now[j] - g * before[j]
        for o in range(outputs):
            stack[0, :] = c[0, o]
            top = 0
            for n in range(1, nodes):
                while top >= depth[n]:
                    inner, outer, factor = stack[top], stack[top - 1], psi[rows[top]]
                    for j in range(m):
                        outer[j] += factor[j] * inner[j]
                    top -= 1
                value = c[n, o]
                if n + 1 == nodes or depth[n + 1] <= depth[n]:
                    outer, factor = stack[top], psi[row[n]]
                    for j in range(m):
                        outer[j] += factor[j] * value
                else:
                    top = depth[n]
                    rows[top] = row[n]
                    stack[top, :] = value
            while top > 0:
                inner, outer, factor = stack[top], stack[top - 1], psi[rows[top]]
                for j in range(m):
                    outer[j] += factor[j] * inner[j]
                top -= 1
            for j in range(m):
                Y[start + j, o] = stack[0, j]
