"""The free run of a PCE with memory and its slope, as compiled loops; imported where they are called.

What is known at one instant: the features x, their slopes dx (n_x, size) by all coefficients, the filter states z. The
slope of an output is that of its terms and, through the chain rule, that of the features that it wrote before. A number
at its bound has no slope. `size` is 0 where no slope is asked for.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def free_run(u, y, C, basis, limits, filters, lags, gate, every, residual, slope):  # type: ignore[no-untyped-def]
    """Run freely; keep each `every`-th residual (n, n_y) and its slope (n, n_y, targets * terms or 0 for none).

    u (n, n_u) has everything that follows from the signals, y (n, n_y) the outputs as measured; C (terms, targets);
    basis: indices, location, scale, recurrence; limits: of features, then of targets; filters: driver, poles;
    gate: (feature it looks at, closed, span), which outputs vanish.
    """
    indices, location, scale, recurrence = basis
    x_low, x_high, y_low, y_high = limits
    (driver, poles), (share, gated) = filters, gate
    n_u, n_y, n_x, size = u.shape[1], y.shape[1], indices.shape[1], slope.shape[2]
    x, inside, dx = np.zeros(n_x), np.zeros(n_x), np.zeros((n_x, size))  # rows of inputs stay zero
    psi, dpsi = np.ones((n_x, recurrence.shape[1] + 1)), np.zeros((n_x, recurrence.shape[1] + 1))
    value, out = np.empty(indices.shape[0]), np.empty(C.shape[1])
    partial, dout = np.empty((out.size, n_x)), np.empty((out.size, size))
    z = np.zeros(poles.size)
    for k in range(u.shape[0]):
        for i in range(n_u):
            x[i] = u[k, i]
        for i in range(n_x):
            inside[i] = min(max(x[i], x_low[i]), x_high[i])
        _basis(x, inside, location, scale, recurrence, psi, dpsi)
        _terms(psi, dpsi, indices, C, n_u, size > 0, value, out, partial)
        if size > 0:
            _chain(dout, value, partial, dx, n_u)
        _close(out, dout, x, dx, share, gated)
        _bound(out, dout, n_y, y_low, y_high)
        if k % every == 0:
            for o in range(n_y):
                residual[k // every, o] = out[o] - y[k, o]
                slope[k // every, o, :] = dout[o]
        _filter(x, dx, z, out, dout, u, k, driver, poles, n_u + n_y * lags, y_low, y_high, n_y)
        if lags > 0:
            _shift(x, dx, out, dout, n_u, n_y, lags)


@njit(cache=True)
def _basis(x, inside, location, scale, recurrence, psi, dpsi):  # type: ignore[no-untyped-def]
    """Write the polynomials of each feature and their slopes by the feature, which are 0 at its bounds."""
    for i in range(x.size):
        t = (inside[i] - location[i]) / scale[i]
        rate = 1.0 / scale[i] if inside[i] == x[i] else 0.0
        for d in range(recurrence.shape[1]):
            a, b, c = recurrence[i, d, 0], recurrence[i, d, 1], recurrence[i, d, 2]
            psi[i, d + 1] = (a * t + b) * psi[i, d]
            dpsi[i, d + 1] = (a * t + b) * dpsi[i, d] + a * rate * psi[i, d]
            if d > 0:
                psi[i, d + 1] -= c * psi[i, d - 1]
                dpsi[i, d + 1] -= c * dpsi[i, d - 1]


@njit(cache=True)
def _terms(psi, dpsi, indices, C, first, sloped, value, out, partial):  # type: ignore[no-untyped-def]
    """Write the terms, the targets out = C' value, and their slopes by the features from `first` on."""
    terms, n_x = indices.shape
    targets = C.shape[1]
    out[:] = 0.0
    if sloped:
        partial[:, :] = 0.0
    for n in range(terms):
        product = 1.0
        for i in range(n_x):
            product *= psi[i, indices[n, i]]
        value[n] = product
        for o in range(targets):
            out[o] += C[n, o] * product
        for i in range(first, n_x):
            if sloped and indices[n, i] > 0:
                rest = dpsi[i, indices[n, i]]
                for j in range(n_x):
                    if j != i:
                        rest *= psi[j, indices[n, j]]
                for o in range(targets):
                    partial[o, i] += C[n, o] * rest


@njit(cache=True)
def _chain(dout, value, partial, dx, first):  # type: ignore[no-untyped-def]
    """Write the slope of each target by all coefficients: its terms, and what the features owe to the coefficients."""
    (targets, size), terms = dout.shape, value.size
    dout[:, :] = 0.0
    for o in range(targets):
        for i in range(first, partial.shape[1]):
            if partial[o, i] != 0.0:
                for s in range(size):
                    dout[o, s] += partial[o, i] * dx[i, s]
        for n in range(terms):
            dout[o, o * terms + n] += value[n]


@njit(cache=True)
def _bound(out, dout, n_y, low, high):  # type: ignore[no-untyped-def]
    """Put the outputs within their bounds."""
    for o in range(n_y):
        bounded = min(max(out[o], low[o]), high[o])
        if bounded != out[o]:
            out[o] = bounded
            dout[o, :] = 0.0


@njit(cache=True)
def _close(out, dout, x, dx, share, gated):  # type: ignore[no-untyped-def]
    """Multiply the gated outputs by the share c of the gate, which has a slope itself."""
    at, closed, span = int(share[0]), share[1], share[2]
    c = min(max((x[at] - closed) / (span - closed), 0.0), 1.0)
    for o in range(gated.size):
        if gated[o]:
            fading = out[o] / (span - closed) if 0.0 < c < 1.0 else 0.0
            for s in range(dout.shape[1]):
                dout[o, s] = c * dout[o, s] + fading * dx[at, s]
            out[o] *= c


@njit(cache=True)
def _filter(x, dx, z, out, dout, u, k, driver, poles, first, low, high, n_y):  # type: ignore[no-untyped-def]
    """Move the filter states on, z <- p z + (1 - p) drive; a drive is a target or, beyond them, a signal."""
    for j in range(poles.size):
        source, p, row = driver[j], poles[j], first + j
        learned = source < out.size
        new = p * z[j] + (1.0 - p) * (out[source] if learned else u[k, source - out.size])
        x[row] = z[j] = min(max(new, low[n_y + j]), high[n_y + j])
        for s in range(dx.shape[1]):
            dx[row, s] *= p
            if learned:
                dx[row, s] += (1.0 - p) * dout[source, s]
        if z[j] != new:
            dx[row, :] = 0.0


@njit(cache=True)
def _shift(x, dx, out, dout, first, n_y, lags):  # type: ignore[no-untyped-def]
    """Move the lagged outputs on by one instant; those of all lags stand from `first` on, the last instant first."""
    for i in range(first + n_y * lags - 1, first + n_y - 1, -1):
        x[i] = x[i - n_y]
        dx[i, :] = dx[i - n_y]
    for o in range(n_y):
        x[first + o] = out[o]
        dx[first + o, :] = dout[o]
