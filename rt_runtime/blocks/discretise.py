"""From dx/dt = A x + B u to x[k+1] = Ad x[k] + Bd u[k]."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rt_runtime.checks import Array


class Discrete(NamedTuple):
    """x[k+1] = a x[k] + b u[k], y[k] = c x[k] + d u[k]; the first tick starts from x[0] - entry u[0]."""

    a: Array
    b: Array
    c: Array
    d: Array
    entry: Array


def expm(a: Array) -> Array:
    """Matrix exponential by scaling and squaring of the [13/13] Pade approximant (Higham, 2005)."""
    norm = float(np.linalg.norm(a, 1))
    squarings = max(0, math.ceil(math.log2(norm / 5.371920351148152))) if norm > 0 else 0
    a = a / 2.0**squarings
    # Pade coefficients (26-j)! 13! / (26! j! (13-j)!); exp(a) = (v + u) / (v - u), u odd and v even in a
    b = [math.comb(13, j) * math.factorial(26 - j) / math.factorial(26) for j in range(14)]
    identity = np.eye(len(a))
    a2 = a @ a
    odd, even = b[13] * identity, b[12] * identity
    for j in range(11, -1, -2):
        odd, even = odd @ a2 + b[j] * identity, even @ a2 + b[j - 1] * identity
    u = a @ odd
    result: Array = np.asarray(np.linalg.solve(even - u, even + u), dtype=np.float64)
    for _ in range(squarings):
        result = result @ result
    return result


def zero_order_hold(a: Array, b: Array, c: Array, d: Array, dt: float) -> Discrete:
    """Exact for an input that is constant over each step: [Ad Bd; 0 I] = exp([A B; 0 0] dt)."""
    n, m = b.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = a * dt, b * dt
    e = expm(block)
    return Discrete(e[:n, :n], e[:n, n:], c, d, np.zeros((n, m)))


def first_order_hold(a: Array, b: Array, c: Array, d: Array, dt: float) -> Discrete:
    """Exact for an input that runs linearly between the ticks.

    x[k+1] = F x[k] + G1 u[k] + G2 (u[k+1] - u[k]) with exp([A B 0; 0 0 I/dt; 0 0 0] dt) = [F G1 G2; ...].
    The state kept is z = x - G2 u, so that only u[k] is needed at tick k:
    z[k+1] = F z[k] + (F G2 + G1 - G2) u[k],  y[k] = C z[k] + (D + C G2) u[k],  z[0] = x[0] - G2 u[0].
    """
    n, m = b.shape
    block = np.zeros((n + 2 * m, n + 2 * m))
    block[:n, :n], block[:n, n : n + m], block[n : n + m, n + m :] = a * dt, b * dt, np.eye(m)
    e = expm(block)
    f, g1, g2 = e[:n, :n], e[:n, n : n + m], e[:n, n + m :]
    return Discrete(f, f @ g2 + g1 - g2, c, d + c @ g2, g2)


def runge_kutta(a: Array, b: Array, c: Array, d: Array, dt: float, substeps: int = 1) -> Discrete:
    """RK4 with a constant input: Ad = I + Z + Z^2/2 + Z^3/6 + Z^4/24, Z = A h, h = dt / substeps; likewise Bd."""
    n, m = b.shape
    z = np.zeros((n + m, n + m))
    z[:n, :n], z[:n, n:] = a * (dt / substeps), b * (dt / substeps)
    identity = np.eye(n + m)
    step = identity + z @ (identity + z / 2 @ (identity + z / 3 @ (identity + z / 4)))
    whole = np.linalg.matrix_power(step, substeps)
    return Discrete(whole[:n, :n], whole[:n, n:], c, d, np.zeros((n, m)))
