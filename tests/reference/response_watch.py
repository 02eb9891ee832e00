"""`ResponseWatch` and `EnergyWatch` of whole records: means by numpy, the model by its own least-squares problem."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SOLVE_EVERY, RIDGE = 8, 1e-9


def response_watch(
    u: Array, y: Array, *, lags: list[int], every: int, learn: int, tolerance: float, caution: float, nominal: float, window: int,
    experience: float, memory: int,
) -> Array:  # fmt: skip
    """Rows of (doubt, drift, lag, gain, frozen, quiet), without ages."""
    past = np.concatenate([np.zeros(lags[-1]), u - u[0]])
    rows, zs, seconds = [], [], []
    w = np.zeros(len(lags) - 1)
    means = np.zeros(4)  # r, r v, v v, prediction squared
    rho, judged = 1.0, 0
    noise = power = floor = still = last = d_last = cause = largest = 0.0
    out = np.zeros((len(u), 6))
    out[:, 3] = 1.0
    for k in range(len(u)):
        now = past[: k + 1 + lags[-1]][::-1]
        phi = np.array([now[a:b].mean() for a, b in pairwise(lags)])
        z, guess = y[k] - y[0], w @ phi
        r = z - guess
        d = y[k] - 2 * y[max(k - 1, 0)] + y[max(k - 2, 0)]
        if k < learn:
            seconds.append(d)
        n = min(k + 1, window)
        noise += (-d * d_last - noise) / n
        power += (2 / 3 * d * d - power) / n
        if 3 * window <= k < learn and (floor == 0.0 or noise < floor):
            floor = noise
        d_last = d
        if k > 0 and y[k] != y[k - 1]:
            still = guess
        s = np.sqrt(np.mean(np.square(seconds)) / 6)
        v = guess - last
        last = guess
        cause = max(cause, abs(phi[0]))
        learned = np.array(rows).reshape(-1, len(phi))
        if k >= learn and np.sum(learned[:, 0] ** 2) >= experience * cause**2 and rho < 0.5 and largest > 20 * s:
            out[k, 0] = abs(r) / ((tolerance + 3 * caution * rho) * largest + 6 * s)
            judged += 1
            means += (np.array([r, r * v, v * v, guess**2]) - means) / min(judged, memory)
            out[k, 1] = abs(means[0]) / ((tolerance / 2 + 1.5 * caution * rho) * largest + 2 * s)
            size = np.sqrt(means[2] * max(means[3], 0.01 * largest**2))
            out[k, 2] = abs(means[1]) / size / (tolerance + 3 * caution * rho) if size > 0 else 0.0
            if judged < memory:
                out[k, 1:3] = 0.0
            fit = (learned.T @ zs) ** 2 / np.sum(learned**2, axis=0)
            best = int(np.argmax(fit))
            if nominal and fit[best] > 0.5 * np.sum(np.square(zs)):
                out[k, 3] = learned[:, best] @ zs / np.sum(learned[:, best] ** 2) / nominal
            out[k, 4] = abs(guess - still) / largest
        else:
            judged = 0
        if k >= learn and floor > 0.0:
            out[k, 5] = min(floor / power, 1e6) if power > 0.0 else 1e6
        if out[k, :3].max() <= 0.5:
            largest = max(largest, abs(z))
            if k % every == 0:
                rows.append(phi)
                zs.append(z)
                if len(rows) % SOLVE_EVERY == 0 and np.any(rows):
                    a = np.array(rows)
                    pull = np.sqrt(RIDGE * np.sum(a**2)) * np.eye(len(phi))
                    w = np.linalg.lstsq(np.vstack([a, pull]), np.concatenate([zs, np.zeros(len(phi))]), rcond=None)[0]
                    rho = np.sqrt(max(0.0, 1.0 - w @ (a.T @ zs) / np.sum(np.square(zs))))
    return out


def energy_watch(x: Array, f: Array, *, fade: float, dt: float) -> Array:
    x, f = x - x[0], f - f[0]
    keep = 1.0 - dt / fade
    dx, df = np.diff(x, prepend=0.0), np.diff(f, prepend=0.0)
    weights = keep ** np.subtract.outer(np.arange(len(x)), np.arange(len(x)))
    weights = np.tril(weights)
    energy = weights @ ((f - 0.5 * df) * dx)
    noise = weights @ np.abs(dx * df)
    elastic = 0.5 * np.maximum.accumulate(np.abs(x)) * np.maximum.accumulate(np.abs(f)) + 2.0 * noise
    return np.divide(-energy, elastic, out=np.zeros_like(x), where=elastic > 0)
