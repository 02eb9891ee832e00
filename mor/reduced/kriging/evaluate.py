"""Compiled evaluation of a Kriging mean at one point, for loops over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np


@cache
def evaluate_one() -> Callable[..., None]:
    """Return the compiled evaluation of one point, `evaluate(x, y, parameters)`."""
    from numba import njit

    return njit(cache=True)(_one)  # type: ignore[no-any-return]


def _one(x, y, parameters):  # type: ignore[no-untyped-def]
    location, scale, logarithm, recurrence, indices, b, code, rate, weight, points, dual, z, psi = parameters
    n, m, degree = location.size, dual.shape[1], recurrence.shape[1]
    for i in range(n):
        v = x[i]
        if logarithm[i] == 1:
            v = np.log(max(v, 1e-300))
        z[i] = (v - location[i]) / scale[i]
        psi[i, 0] = 1.0
        for k in range(degree):
            value = (recurrence[i, k, 0] * z[i] + recurrence[i, k, 1]) * psi[i, k]
            if k > 0:
                value -= recurrence[i, k, 2] * psi[i, k - 1]
            psi[i, k + 1] = value
    for o in range(m):
        total = 0.0
        for t in range(indices.shape[0]):
            if b[t, o] != 0.0:
                term = b[t, o]
                for i in range(n):
                    term *= psi[i, indices[t, i]]
                total += term
        for j in range(points.shape[0]):
            product = dual[j, o]
            for i in range(n):
                a = abs(z[i] - points[j, i]) * rate[o, i]
                if code[o] == 0:
                    k = max(0.0, 1.0 - a)
                elif code[o] == 1:
                    k = np.exp(-a)
                elif code[o] == 2:
                    k = (1.0 + a) * np.exp(-a)
                elif code[o] == 3:
                    k = (1.0 + a * (1.0 + a / 3.0)) * np.exp(-a)
                else:
                    k = np.exp(-0.5 * a * a)
                product *= 1.0 - weight[o, i] + weight[o, i] * k
            total += product
        y[o] = total
