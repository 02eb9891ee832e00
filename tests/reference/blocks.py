"""Slow, readable numpy twins of the blocks of the core; each is a function of whole input histories."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MASK = (1 << 64) - 1


def state_space(a: Floats, b: Floats, c: Floats, d: Floats, x: Floats, u: Floats) -> Floats:
    """y[k] = C x[k] + D u[k], x[k+1] = A x[k] + B u[k]."""
    y = np.empty((len(u), len(c)))
    for k in range(len(u)):
        y[k] = c @ x + d @ u[k]
        x = a @ x + b @ u[k]
    return y


def state_space_start(a: Floats, b: Floats, c: Floats, x: Floats, u: Floats) -> Floats:
    """y[0] = C x[0]; then x[k] = A x[k-1] + B u[k], y[k] = C x[k], where u[k] is what is read in tick k."""
    y = np.empty((len(u), len(c)))
    for k in range(len(u)):
        if k > 0:
            x = a @ x + b @ u[k]
        y[k] = c @ x
    return y


def rk4(f, x: Floats, u0: Floats, u1: Floats, t: float, dt: float, substeps: int) -> Floats:
    """Classical Runge-Kutta over one tick; the input runs linearly from u0 to u1. f(t, x, u) -> dx/dt."""
    h = dt / substeps
    for s in range(substeps):

        def u(w: float, s: int = s) -> Floats:
            return u0 + (s + w) / substeps * (u1 - u0)

        t0 = t + s * h
        k1 = f(t0, x, u(0.0))
        k2 = f(t0 + h / 2, x + h / 2 * k1, u(0.5))
        k3 = f(t0 + h / 2, x + h / 2 * k2, u(0.5))
        k4 = f(t0 + h, x + h * k3, u(1.0))
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def table(times: Floats, values: Floats, t: Floats) -> Floats:
    """Linear interpolation, column by column, held outside."""
    return np.stack([np.interp(t, times, column) for column in values.T], axis=1)


def delay(u: Floats, steps: float, initial: float) -> Floats:
    """y[k] = (1 - f) u[k-n] + f u[k-n-1]."""
    n = math.floor(steps)
    f = steps - n
    padded = np.concatenate([np.full(n + 1, initial), u])
    k = np.arange(len(u)) + n + 1
    return (1 - f) * padded[k - n] + f * padded[k - n - 1]


def sections(sos: Floats, u: Floats) -> Floats:
    """Cascade of direct-form-I sections written from the difference equation."""
    for b0, b1, b2, a0, a1, a2 in sos:
        y = np.zeros_like(u)
        for k in range(len(u)):
            u1, u2 = (u[k - 1] if k > 0 else 0.0), (u[k - 2] if k > 1 else 0.0)
            y1, y2 = (y[k - 1] if k > 0 else 0.0), (y[k - 2] if k > 1 else 0.0)
            y[k] = (b0 * u[k] + b1 * u1 + b2 * u2 - a1 * y1 - a2 * y2) / a0
        u = y
    return u


class Xoshiro:
    """xoshiro256++ seeded by SplitMix64, on Python integers."""

    def __init__(self, seed: int) -> None:
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.s.append(z ^ (z >> 31))

    def uniform(self) -> float:
        s = self.s

        def rotate(x: int, k: int) -> int:
            return ((x << k) | (x >> (64 - k))) & MASK

        result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return ((result >> 11) + 1) * 2.0**-53


def noise(std: list[float], seed: int, n: int) -> Floats:
    """Box-Muller, channels in pairs."""
    random = Xoshiro(seed)
    out = np.empty((n, len(std)))
    for k in range(n):
        for i in range(0, len(std), 2):
            radius = math.sqrt(-2 * math.log(random.uniform()))
            angle = 2 * math.pi * random.uniform()
            pair = (radius * math.cos(angle), radius * math.sin(angle))
            for j in range(i, min(i + 2, len(std))):
                out[k, j] = std[j] * pair[j - i]
    return out
