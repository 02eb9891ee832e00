"""Compiled loops of the evaluation; imported where they are called, because numba takes a second to import.

psi_{k+1} = (a_k z + b_k) psi_k - c_k psi_{k-1} gives the basis; then come the nested sums of
`kernels`, or for one point the products along the tree.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 128
"""Points that are evaluated together: their numbers stay in the first cache."""

LANES = 8
"""Free runs that are taken side by side."""

LOOK = 200
"""Instants of free runs after which it is looked whether their errors are still small enough."""


@njit(cache=True)
def one_point(x, y, parameters):  # type: ignore[no-untyped-def]
    """Evaluate one point x (inputs) -> y (outputs), top down: a node is its parent times one psi, an output the sum of
    its own terms. `parameters`: as of `one_point_program`."""
    location, scale, logarithm, recurrence, offset, parent, row, start, node, c, z, psi, product = parameters
    for i in range(location.size):
        v = x[i]
        if logarithm[i] == 1:
            v = np.log(max(v, 1e-300))
        z[i] = (v - location[i]) / scale[i]
        psi[offset[i]] = 1.0
    for k in range(recurrence.shape[1]):  # degree by degree: the inputs need not wait for each other
        for i in range(location.size):
            at = offset[i] + k
            if at + 1 < offset[i + 1]:
                value = (recurrence[i, k, 0] * z[i] + recurrence[i, k, 1]) * psi[at]
                if k > 0:
                    value -= recurrence[i, k, 2] * psi[at - 1]
                psi[at + 1] = value
    product[0] = 1.0
    for n in range(1, parent.size):
        product[n] = product[parent[n]] * psi[row[n]]
    for o in range(start.size - 1):
        total = 0.0
        for k in range(start[o], start[o + 1]):
            total += c[k] * product[node[k]]
        y[o] = total


@njit(cache=True)
def many_points(X, Y, location, scale, logarithm, recurrence, offset, depth, row, c):  # type: ignore[no-untyped-def]
    """Evaluate rows X (n, inputs) -> Y (n, outputs), a block at a time."""
    psi = np.empty((offset[-1], BLOCK))
    z = np.empty(BLOCK)
    stack = np.empty((np.max(depth) + 1, BLOCK))
    rows = np.empty(np.max(depth) + 1, dtype=np.int64)
    for start in range(0, X.shape[0], BLOCK):
        m = min(BLOCK, X.shape[0] - start)
        for i in range(location.size):
            for j in range(m):
                v = X[start + j, i]
                if logarithm[i] == 1:
                    v = np.log(max(v, 1e-300))
                z[j] = (v - location[i]) / scale[i]
            _fill_basis(psi, offset[i], offset[i + 1] - offset[i] - 1, z, recurrence[i], m)
        for o in range(c.shape[1]):
            _nested_sum(stack, rows, psi, depth, row, c[:, o], m)
            for j in range(m):
                Y[start + j, o] = stack[0, j]


@njit(cache=True)
def _fill_basis(psi, first, degree, z, recurrence, m):  # type: ignore[no-untyped-def]
    """Write the polynomials of one input up to `degree`, from row `first` on, at m points z."""
    psi[first, :] = 1.0
    for k in range(degree):
        a, b, g = recurrence[k, 0], recurrence[k, 1], recurrence[k, 2]
        now, new = psi[first + k], psi[first + k + 1]
        if k == 0:
            for j in range(m):
                new[j] = (a * z[j] + b) * now[j]
        else:
            before = psi[first + k - 1]
            for j in range(m):
                new[j] = (a * z[j] + b) * now[j] - g * before[j]


@njit(cache=True)
def _nested_sum(stack, rows, psi, depth, row, c, m):  # type: ignore[no-untyped-def]
    """Leave the sum over all nodes at m points in the first row of the stack."""
    nodes = depth.size
    stack[0, :] = c[0]
    top = 0
    for n in range(1, nodes):
        top = _fold_block(stack, rows, psi, top, depth[n], m)
        if n + 1 == nodes or depth[n + 1] <= depth[n]:
            outer, factor = stack[top], psi[row[n]]
            for j in range(m):
                outer[j] += factor[j] * c[n]
        else:
            top = depth[n]
            rows[top] = row[n]
            stack[top, :] = c[n]
    _fold_block(stack, rows, psi, top, 1, m)


@njit(cache=True)
def _fold_block(stack, rows, psi, top, depth, m):  # type: ignore[no-untyped-def]
    """Do as `_fold` with m points."""
    while top >= depth:
        inner, outer, factor = stack[top], stack[top - 1], psi[rows[top]]
        for j in range(m):
            outer[j] += factor[j] * inner[j]
        top -= 1
    return top


@njit(cache=True)
def free_runs(U, Y, length, judged, parameters, gate, limits, most, total):  # type: ignore[no-untyped-def]
    """Add the squared errors of the outputs `judged` over free runs to `total`, until one of them is more than `most`.

    U (n, regressors that follow from the signals, runs), Y (n, judged outputs, runs); length: of each run; parameters:
    as of `one_point_program`, without logarithms; gate: (regressor it looks at, closed, span), which outputs vanish;
    limits: of the regressors, then of the outputs.
    """
    location, scale, _, recurrence, offset, parent, row, start, node, c, _, _, _ = parameters
    x_low, x_high, y_low, y_high = limits
    n_u, n_x, n_y, at = U.shape[1], x_low.size, y_low.size, int(gate[0][0])
    x, y, z = np.zeros((n_x, LANES)), np.zeros((n_y, LANES)), np.zeros(LANES)
    psi, product, wrong = np.ones((offset[-1], LANES)), np.ones((parent.size, LANES)), np.zeros(judged.size)
    for k in range(U.shape[0]):
        for i in range(n_u):
            for j in range(U.shape[2]):
                x[i, j] = U[k, i, j]
        for i in range(n_x):
            for j in range(LANES):
                z[j] = (min(max(x[i, j], x_low[i]), x_high[i]) - location[i]) / scale[i]
            _fill_basis(psi, offset[i], offset[i + 1] - offset[i] - 1, z, recurrence[i], LANES)
        _sums(psi, product, y, parent, row, start, node, c)
        _bound(y, x[at], gate, y_low, y_high)
        for o in range(judged.size):
            for j in range(U.shape[2]):
                if k < length[j]:
                    wrong[o] += (y[judged[o], j] - Y[k, o, j]) ** 2
        for i in range(n_x - 1, n_u - 1, -1):
            for j in range(LANES):
                x[i, j] = y[i - n_u, j] if i < n_u + n_y else x[i - n_y, j]
        if k % LOOK == 0:
            for o in range(judged.size):
                if not total[o] + wrong[o] <= most[o]:
                    total[o] = np.inf
                    return
    for o in range(judged.size):
        total[o] += wrong[o]


@njit(cache=True)
def _sums(psi, product, y, parent, row, start, node, c):  # type: ignore[no-untyped-def]
    """Write the outputs y (outputs, LANES) from the table of psi, as `one_point` does."""
    for n in range(1, parent.size):
        own, above, factor = product[n], product[parent[n]], psi[row[n]]
        for j in range(LANES):
            own[j] = above[j] * factor[j]
    for o in range(start.size - 1):
        total = y[o]
        for j in range(LANES):
            total[j] = 0.0
        for k in range(start[o], start[o + 1]):
            one = product[node[k]]
            for j in range(LANES):
                total[j] += c[k] * one[j]


@njit(cache=True)
def _bound(y, seen, gate, low, high):  # type: ignore[no-untyped-def]
    """Multiply outputs y (outputs, LANES) that vanish by the share of the gate on `seen`; put all in their bounds."""
    (_, closed, span), vanishing = gate
    for o in range(low.size):
        for j in range(LANES):
            share = min(max((seen[j] - closed) / (span - closed), 0.0), 1.0) if vanishing[o] else 1.0
            y[o, j] = min(max(share * y[o, j], low[o]), high[o])
