"""The generalized lambda distribution of Freimer, Kollia, Mudholkar and Lin (1988), by rows, compiled.

    Q(u) = l1 + (a(u) - b(u)) / l2,   a = (u^l3 - 1) / l3,   b = ((1 - u)^l4 - 1) / l4,   l2 > 0

(a = ln u, b = ln(1 - u) in the limit of a shape 0). The density at y = Q(u) is f = l2 / (u^(l3-1) + (1-u)^(l4-1)).
There is no formula for u = F(y): Q(u) = y is solved by Newton steps in t = ln(u / (1-u)), kept between bounds that
close in, where dQ/dt = G / l2 with G = u^l3 (1-u) + (1-u)^l4 u. A row of L holds (l1, ln l2, l3, l4).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta, boxcox

from rt_runtime.checks import Array

SMALLEST_SHAPE = -0.5
"""Shapes must lie above it: the variance is infinite at and below."""
FARTHEST = 700.0  # largest |t|: u = 1e-304


def quantile(L: Array, u: ArrayLike) -> Array:
    """Return Q(u) for rows L (n, 4) and probabilities u that broadcast against (n,)."""
    p = np.asarray(u, dtype=np.float64)
    with np.errstate(divide="ignore"):
        unit: Array = boxcox(p, L[:, 2]) - boxcox(1.0 - p, L[:, 3])
    return np.asarray(L[:, 0] + np.exp(-L[:, 1]) * unit)


def support(L: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest value of each row, infinite where there is none."""
    width = np.exp(-L[:, 1])
    with np.errstate(divide="ignore"):
        lower = np.where(L[:, 2] > 0.0, L[:, 0] - width / L[:, 2], -np.inf)
        upper = np.where(L[:, 3] > 0.0, L[:, 0] + width / L[:, 3], np.inf)
    return lower, upper


def mean(L: Array) -> Array:
    """Return the mean of each row: l1 - (1/(l3+1) - 1/(l4+1)) / l2; infinite where a shape is -1 or less."""
    with np.errstate(divide="ignore"):
        value = L[:, 0] - np.exp(-L[:, 1]) * (1.0 / (L[:, 2] + 1.0) - 1.0 / (L[:, 3] + 1.0))
    return np.where(np.min(L[:, 2:], axis=1) > -1.0, value, np.nan)


def variance(L: Array) -> Array:
    """Return the variance of each row; infinite where a shape is -1/2 or less.

    E a^2 = 2 / ((l3+1)(2 l3+1)), E a = -1/(l3+1), E ab = (B(l3+1, l4+1) - 1/(l3+1) - 1/(l4+1) + 1) / (l3 l4).
    """
    l3, l4 = L[:, 2], L[:, 3]
    infinite = np.minimum(l3, l4) <= SMALLEST_SHAPE
    l3, l4 = np.where(infinite, 1.0, l3), np.where(infinite, 1.0, l4)
    ea, eb = -1.0 / (l3 + 1.0), -1.0 / (l4 + 1.0)
    squares = 2.0 * (ea**2 * (l3 + 1.0) / (2.0 * l3 + 1.0) + eb**2 * (l4 + 1.0) / (2.0 * l4 + 1.0))
    unit = squares - 2.0 * _mixed(l3, l4) - (ea - eb) ** 2
    return np.where(infinite, np.inf, np.exp(-2.0 * L[:, 1]) * unit)


def _mixed(l3: Array, l4: Array) -> Array:
    """Return E ab; where a shape is near 0 the formula loses its digits, and Gauss' rule takes its place."""
    small = np.minimum(np.abs(l3), np.abs(l4)) < 1e-2
    safe3, safe4 = np.where(small, 1.0, l3), np.where(small, 1.0, l4)
    closed = (beta(safe3 + 1.0, safe4 + 1.0) - 1.0 / (safe3 + 1.0) - 1.0 / (safe4 + 1.0) + 1.0) / (safe3 * safe4)
    if small.any():
        t, weights = _logistic_rule()
        u = 1.0 / (1.0 + np.exp(-t))
        products = boxcox(u, l3[small, None]) * boxcox(1.0 / (1.0 + np.exp(t)), l4[small, None])
        closed[small] = products @ weights
    return np.asarray(closed)


@cache
def _logistic_rule() -> tuple[Array, Array]:
    """Return t and weights of int_0^1 h du = int h u (1-u) dt by the trapezoidal rule, exact to rounding."""
    t = np.linspace(-40.0, 40.0, 801)
    return t, 0.1 / (2.0 + 2.0 * np.cosh(t))


def probability(L: Array, y: Array) -> Array:
    """Return F(y) of each row: 0 below and 1 above the support."""
    return np.asarray(1.0 / (1.0 + np.exp(-logit(L, y))))


def logit(L: Array, y: Array) -> Array:
    """Return t = ln(F / (1 - F)) at y of each row, -inf below and inf above the support."""
    t, level, slope = np.zeros(len(y)), np.empty(len(y)), np.empty((len(y), 4))
    _kernel()(np.ascontiguousarray(y), np.ascontiguousarray(L), t, level, slope)
    lower, upper = support(L)
    return np.where(y <= lower, -np.inf, np.where(y >= upper, np.inf, t))


def log_density(L: Array, y: Array) -> Array:
    """Return ln f(y) of each row, -inf outside the support."""
    return log_likelihood(L, y, np.zeros(len(y)))[0]


def log_likelihood(L: Array, y: Array, t: Array) -> tuple[Array, Array]:
    """Return ln f(y) (n,) and its slopes (n, 4) by l1, ln l2, l3, l4; `t` is start and end of the solver."""
    level, slope = np.empty(len(y)), np.empty((len(y), 4))
    _kernel()(np.ascontiguousarray(y), np.ascontiguousarray(L), t, level, slope)
    return level, slope


@cache
def _kernel() -> Callable[..., None]:
    from numba import njit

    return njit(cache=True)(_rows)  # type: ignore[no-any-return]


def _rows(y, L, t_rows, level, slope):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        l3, l4 = L[i, 2], L[i, 3]
        l2 = np.exp(L[i, 1])
        s = (y[i] - L[i, 0]) * l2
        outside = (l3 > 0.0 and s * l3 <= -1.0) or (l4 > 0.0 and s * l4 >= 1.0)
        if outside or not np.isfinite(s):
            level[i] = -np.inf
            slope[i, :] = 0.0
            continue
        low, high, last = -FARTHEST, FARTHEST, 4.0 * FARTHEST
        t = min(max(t_rows[i], -40.0), 40.0)
        lnu, lnw, a, b, left, right = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for _ in range(200):
            if t > 0.0:
                e = np.log1p(np.exp(-t))
                lnu, lnw = -e, -t - e
            else:
                e = np.log1p(np.exp(t))
                lnu, lnw = t - e, -e
            a = lnu if l3 == 0.0 else np.expm1(l3 * lnu) / l3
            b = lnw if l4 == 0.0 else np.expm1(l4 * lnw) / l4
            left, right = np.exp(l3 * lnu + lnw), np.exp(l4 * lnw + lnu)
            miss = a - b - s
            if miss > 0.0:
                high = t
            else:
                low = t
            new = t - miss / (left + right)
            if not low < new < high or abs(new - t) > 0.5 * last:  # outside, or Newton's steps do not shrink
                new = 0.5 * (low + high)
            last = abs(new - t)
            if last <= 1e-14 * max(1.0, abs(t)) or miss == 0.0:
                break
            t = new
        t_rows[i] = t
        u, w = np.exp(lnu), np.exp(lnw)
        G = left + right
        # d ln f / dt, and dt / d lambda = -(dQ / d lambda) / (dQ / dt)
        h = w - u - (left * (l3 * w - u) + right * (w - l4 * u)) / G
        da = 0.5 * lnu * lnu if abs(l3 * lnu) < 1e-6 else (np.exp(l3 * lnu) * lnu - a) / l3
        db = 0.5 * lnw * lnw if abs(l4 * lnw) < 1e-6 else (np.exp(l4 * lnw) * lnw - b) / l4
        level[i] = L[i, 1] + lnu + lnw - np.log(G)
        slope[i, 0] = -h * l2 / G
        slope[i, 1] = 1.0 + h * s / G
        slope[i, 2] = -(left * lnu + h * da) / G
        slope[i, 3] = -(right * lnw - h * db) / G
