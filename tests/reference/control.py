"""Slow, readable numpy twins of the controllers of the core; the quadratic programme is solved by daqp."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def running_sum(channels: int, moves: int) -> Floats:
    """Matrix whose product with the moves gives their running sums, channel by channel."""
    return np.kron(np.tril(np.ones((moves, moves))), np.eye(channels))


def solve_moves(h: Floats, f: Floats, lower: Floats, upper: Floats, channels: int = 1) -> Floats:
    """The minimum of 1/2 x'Hx + f'x with bounds on x and its running sums."""
    import daqp

    n = len(f)
    x, _, flag, _ = daqp.solve(
        h,
        f,
        running_sum(channels, n // channels),
        np.minimum(upper, 1e30),
        np.maximum(lower, -1e30),
        np.zeros(2 * n, dtype=np.int32),
    )
    assert flag == 1, flag
    return np.asarray(x)


def predictions(a: Floats, b: Floats, c: Floats, steps: int, moves: int) -> tuple[Floats, Floats, Floats]:
    """Phi, S, Theta with y(k+1..k+P) = Phi x + S u(k-1) + Theta moves."""
    p, m = len(c), b.shape[1]
    phi = np.empty((steps * p, len(a)))
    s = np.empty((steps * p, m))
    power, response = c, np.zeros((p, m))
    for i in range(0, steps * p, p):
        response = response + power @ b
        power = power @ a
        phi[i : i + p], s[i : i + p] = power, response
    theta = np.zeros((steps * p, moves * m))
    for j in range(moves):
        theta[j * p :, j * m : (j + 1) * m] = s[: (steps - j) * p]
    return phi, s, theta


class NumpyMpc:
    """Model predictive controller written as its equations."""

    def __init__(self, a, b, c, gain, *, steps, moves, wy, wu, bounds=(-np.inf, np.inf), move=np.inf, preview=False):
        self.a, self.b, self.c, self.gain = a, b, c, gain
        self.p, self.m = len(c), b.shape[1]
        self.steps, self.moves, self.preview = steps, moves, preview
        self.bounds, self.move = bounds, move
        self.weight = np.tile(np.broadcast_to(np.asarray(wy, float), self.p) ** 2, steps)
        self.move_weight = np.tile(np.broadcast_to(np.asarray(wu, float), self.m) ** 2, moves)
        self.x, self.u = np.zeros(len(a)), np.zeros(self.m)
        self.phi, self.s, self.theta = predictions(a, b, c, steps, moves)

    def step(self, reference: Floats, y: Floats) -> Floats:
        x = self.x + self.gain @ (y - self.c @ self.x)
        r = reference if self.preview else np.tile(reference, self.steps)
        h = self.theta.T @ (self.weight[:, None] * self.theta) + np.diag(self.move_weight)
        f = self.theta.T @ (self.weight * (self.phi @ x + self.s @ self.u - r))
        n = len(f)
        room = [np.tile(np.broadcast_to(side, self.m) - self.u, self.moves) for side in self.bounds]
        lower = np.concatenate([np.full(n, -self.move), room[0]])
        upper = np.concatenate([np.full(n, self.move), room[1]])
        self.u = self.u + solve_moves(h, f, lower, upper, self.m)[: self.m]
        self.x = self.a @ x + self.b @ self.u
        return self.u


class NumpyAdaptiveMpc:
    """Adaptive MPC written as its equations: identify, realise, estimate, predict, optimise."""

    def __init__(
        self, a, b, *, dt, steps, moves, wy, wu, bounds=(-np.inf, np.inf), move=np.inf, drift=1.0, forgetting=1.0,
        covariance=1.0, cap=1e3, parameter_noise=1.0, spread=1.0, excitation=0.0, noise=1.0, start_covariance=None,
        preview=False,
    ):  # fmt: skip
        self.na, self.nb = len(a), len(b)
        self.theta = np.concatenate([a, b]).astype(float)
        self.used = self.theta.copy()
        width = spread * np.maximum(np.abs(self.theta), 1.0)
        self.box = (self.theta - width, self.theta + width)
        size = self.na + self.nb
        self.P = covariance * np.eye(size)
        self.drift, self.forgetting, self.cap = drift, forgetting, cap
        self.parameter_noise, self.excitation = parameter_noise, excitation
        self.past_y, self.past_u = np.zeros(self.na), np.zeros(self.nb)
        self.dt, self.noise, self.steps, self.moves, self.wy, self.wu = dt, noise, steps, moves, wy, wu
        self.bounds, self.move, self.preview = bounds, move, preview
        n = max(self.na, self.nb)
        self.x, self.u, self.since_gap = np.zeros(n + 1), 0.0, self.na
        self.S = np.zeros((n + 1, n + 1)) if start_covariance is None else start_covariance
        if start_covariance is None:
            for _ in range(100_000):
                self._kalman(*self._realise())

    def _identify(self, y: float) -> None:
        psi = np.concatenate([-self.past_y, self.past_u])
        if psi @ psi == 0 or psi @ psi < self.excitation**2:
            return
        gain = self.P @ psi / (self.parameter_noise + psi @ self.P @ psi)
        self.theta = np.clip(self.theta + gain * (y - psi @ self.theta), *self.box)
        self.P = self.P - np.outer(gain, psi @ self.P)
        if np.trace(self.P) < self.cap * self.forgetting:
            self.P = self.P / self.forgetting + self.drift * np.eye(len(psi))
        poles = np.roots(np.concatenate([[1.0], self.theta[: self.na]]))
        if np.abs(poles).max() < 1 and self.theta[self.na :].sum() > 0:
            self.used = self.theta.copy()

    def _realise(self) -> tuple[Floats, Floats, Floats]:
        n = max(self.na, self.nb)
        a = np.zeros((n + 1, n + 1))
        a[: self.na, 0] = -self.used[: self.na]
        a[: n - 1, 1:n] += np.eye(n - 1)
        a[n, n] = 1.0
        b = np.zeros((n + 1, 1))
        b[: self.nb, 0] = self.used[self.na :]
        c = np.zeros((1, n + 1))
        c[0, 0] = c[0, n] = 1.0
        return a, b, c

    def _kalman(self, a: Floats, b: Floats, c: Floats) -> Floats:
        q = b @ b.T
        q[-1, -1] += self.dt**2
        gain = self.S @ c.T / (c @ self.S @ c.T + self.noise)
        self.S = a @ (self.S - gain @ c @ self.S) @ a.T + q
        return gain[:, 0]

    def step(self, reference: Floats, y: float, known: bool = True) -> float:
        y = y if known else self.x[0] + self.x[-1]
        self.since_gap = self.since_gap + 1 if known else 0
        if self.since_gap > self.na:
            self._identify(y)
        a, b, c = self._realise()
        if known:
            gain = self._kalman(a, b, c)
        else:
            gain, q = np.zeros(len(a)), b @ b.T
            q[-1, -1] += self.dt**2
            self.S = a @ self.S @ a.T + q
        x = self.x + gain * (y - (c @ self.x)[0])
        phi, s, theta = predictions(a, b, c, self.steps, self.moves)
        r = reference if self.preview else np.full(self.steps, reference[0])
        h = self.wy**2 * theta.T @ theta + self.wu**2 * np.eye(self.moves)
        f = self.wy**2 * theta.T @ (phi @ x + s[:, 0] * self.u - r)
        side = [np.concatenate([np.full(self.moves, m), np.full(self.moves, b_ - self.u)])
                for m, b_ in ((-self.move, self.bounds[0]), (self.move, self.bounds[1]))]  # fmt: skip
        self.u = float(self.u + solve_moves(h, f, *side)[0])
        self.past_y = np.concatenate([[y], self.past_y[:-1]])
        self.past_u = np.concatenate([[self.u], self.past_u[:-1]])
        self.x = a @ x + b[:, 0] * self.u
        return self.u


def extrapolate(u: Floats, order: int, spacing: int, lead: float) -> Floats:
    """The polynomial through the last points, by numpy's own fit."""
    padded = np.concatenate([np.full(order * spacing, u[0]), u])
    ages = -np.arange(order + 1) * spacing
    out = [np.polyval(np.polyfit(ages / spacing, padded[k + order * spacing + ages], order), lead / spacing)
           for k in range(len(u))]  # fmt: skip
    return np.array(out)


def pi_lead(r: Floats, y: Floats, kp: float, ki: float, lead, dt: float) -> Floats:
    """PI on (lead of r) - y by scipy's bilinear rule, without limits."""
    from scipy.signal import bilinear, lfilter

    e = lfilter(*bilinear(*lead, fs=1 / dt), r) - y
    return lfilter(*bilinear([kp, ki], [1.0, 0.0], fs=1 / dt), e)


def model_based(r, y, sos, feedback, rate, largest, margin, corner, dt) -> tuple[Floats, Floats]:
    """Equations of aMRC; scipy filters F and M."""
    from scipy.signal import bilinear, lfilter, sosfilt

    a, b, c, d = feedback
    reference = r if corner is None else lfilter(*bilinear([2 * np.pi * corner], [1, 2 * np.pi * corner], 1 / dt), r)
    x, theta = np.zeros(len(a)), 0.0
    q, history = np.zeros_like(r), np.zeros_like(r)
    for k in range(len(r)):
        history[k] = theta
        q[k] = r[k] - theta + (c @ x)[0] + d[0, 0] * (r[k] - y[k])
        x = a @ x + b[:, 0] * (r[k] - y[k])
        eps = y[k] - reference[k]
        f = (theta**2 - largest**2) / (margin * largest**2)
        theta += dt * rate * (eps * (1 - f) if f >= 0 and theta * eps > 0 else eps)
    return sosfilt(sos, q), history


def adaptive_compensation(target, measured, a0, a1, gains, sos, dt) -> Floats:
    """Command, a0 and a1 of first-order adaptive compensation; the low-pass runs sample by sample."""
    from scipy.signal import sosfilt

    z = np.zeros((2, len(sos), 2))
    out, old = [], [target[0], None]
    for t, m in zip(target, measured, strict=True):
        command = a0 * t + a1 * (t - old[0]) / dt
        w = np.empty(2)
        for i, value in enumerate((command, m)):
            filtered, z[i] = sosfilt(sos, [value], zi=z[i])
            w[i] = filtered[0]
        dw = 0.0 if old[1] is None else (w[1] - old[1]) / dt
        e = (w[0] - a0 * w[1] - a1 * dw) / (1 + w[1] ** 2 + dw**2)
        out.append([command, a0, a1])
        a0, a1 = a0 + dt * gains[0] * e * w[1], a1 + dt * gains[1] * e * dw
        out[-1][1:] = [a0, a1]
        old = [t, w[1]]
    return np.array(out)
