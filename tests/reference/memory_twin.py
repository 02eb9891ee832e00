"""Models with memory and hysteresis operators written down in numpy, to compare the compiled ones with."""

from __future__ import annotations

import numpy as np

from mor.reduced.gate import GatedModel
from mor.reduced.hysteresis.cells import BoucWen, Power, Product, Relaxation, Trail
from mor.reduced.hysteresis.operators import Operator, Peaks, Play, Reversals, Stop
from mor.reduced.hysteresis.steel import MenegottoPinto
from mor.reduced.memory import MemoryModel


def features(operator: Operator, u: dict[str, np.ndarray], dt: float = 1.0) -> np.ndarray:
    """Features (n, n_features) of one operator over whole signals, from rest."""
    if isinstance(operator, Product):
        a, b = operator.signals
        return (u[a] * u[b])[:, None]
    v = u[operator.of]
    if isinstance(operator, Relaxation):
        return np.column_stack([relaxed(v, np.exp(-dt / T)) for T in operator.time_constants])
    if isinstance(operator, Trail):
        return np.column_stack([trail(np.abs(v) if operator.size else v, v, L) for L in operator.lengths])
    if isinstance(operator, BoucWen):
        cells = zip(operator.lengths, operator.sharpness, operator.beta, strict=True)
        return np.column_stack([slip(v, *numbers) for numbers in cells])
    if isinstance(operator, MenegottoPinto):
        assert operator.length is not None and operator.threshold is not None
        p = play(v, operator.threshold)
        return np.column_stack([steel((k * p + operator.lift * np.abs(p)) / operator.length) for k in operator.places])
    if isinstance(operator, Play):
        return np.column_stack([v - play(v, r) if isinstance(operator, Stop) else play(v, r) for r in operator.radii])
    if isinstance(operator, Peaks):
        return np.column_stack([np.maximum.accumulate(np.maximum(v, 0.0)), np.minimum.accumulate(np.minimum(v, 0.0))])
    if isinstance(operator, Power):
        size = np.abs(v) ** operator.exponent
        return (np.sign(v) * size if operator.signed else size)[:, None]
    assert isinstance(operator, Reversals) and operator.threshold is not None
    return reversals(play(v, operator.threshold), operator.threshold, operator.count)


def relaxed(v: np.ndarray, a: float) -> np.ndarray:
    h, out = 0.0, []
    for x in v:
        h = h + (1.0 - a) * (x - h)
        out.append(h)
    return np.array(out)


def trail(g: np.ndarray, v: np.ndarray, length: float) -> np.ndarray:
    """The mean of g along the way of v as a sum over all earlier steps, each weighted by what is left of it."""
    way = np.cumsum(np.abs(np.diff(v, prepend=0.0)))
    left, right = np.append(0.0, way[:-1]), way
    middle = 0.5 * (g + np.append(0.0, g[:-1]))
    return np.array(
        [
            np.sum(
                middle[: k + 1]
                * (np.exp((right[: k + 1] - way[k]) / length) - np.exp((left[: k + 1] - way[k]) / length))
            )
            for k in range(len(v))
        ]
    )


def steel(e: np.ndarray, b: float = 0.02) -> np.ndarray:
    """Steel02 with yield stress 1 and hardening b over strains e, its stress without the part b e of hardening."""
    R0, c1, c2 = 18.0, 0.925, 0.15
    turn = stress = before = d = 0.0
    turn_stress, high, low, out = 0.0, 1.0, -1.0, []
    for now in e:
        if (now - before) * d < 0.0:
            turn, turn_stress = before, stress
            high, low = (max(high, before), low) if d > 0.0 else (high, min(low, before))
        d = float(np.sign(now - before)) or d
        if d:
            corner = (d * (1.0 - b) - turn_stress + turn) / (1.0 - b)  # elastic line meets hardening line
            xi = abs((high if d > 0.0 else low) - corner)
            R = R0 * (1.0 - c1 * xi / (c2 + xi))
            r = (now - turn) / (corner - turn)
            curve = b * r + (1.0 - b) * r / (1.0 + abs(r) ** R) ** (1.0 / R)
            stress = turn_stress + curve * (d * (1.0 - b) + b * corner - turn_stress)
        before = now
        out.append((stress - b * now) / (1.0 - b))
    return np.array(out)


def slip(v: np.ndarray, r: float, n: float, beta: float) -> np.ndarray:
    """A Bouc-Wen cell by the classical Runge-Kutta scheme in the signal."""

    def slope(z: float, w: float) -> float:
        return (1.0 - abs(z) ** n * (beta * np.sign(z * w if z * w else -1.0) + 1.0 - beta)) * w

    z, out = 0.0, []
    for before, now in zip(np.append(0.0, v[:-1]), v, strict=True):
        w = float(np.clip((now - before) / r, -2.0, 2.0))
        k1 = slope(z, w)
        k2 = slope(z + 0.5 * k1, w)
        k3 = slope(z + 0.5 * k2, w)
        z = float(np.clip(z + (k1 + 2.0 * k2 + 2.0 * k3 + slope(z + k3, w)) / 6.0, -1.0, 1.0))
        out.append(z)
    return np.array(out)


def play(v: np.ndarray, r: float) -> np.ndarray:
    p, out = 0.0, []
    for x in v:
        p = p + max(x - r - p, 0.0) + min(x + r - p, 0.0)
        out.append(p)
    return np.array(out)


def reversals(p: np.ndarray, threshold: float, count: int) -> np.ndarray:
    """The last extremes of a play p, each moved out to where the signal turned."""
    points, way, out = [0.0] * count, 0.0, []
    for before, now in zip(np.append(0.0, p[:-1]), p, strict=True):
        sign = float(np.sign(now - before))
        if sign != 0.0:
            if sign == -way:
                points = [before + way * threshold, *points[:-1]]
            way = sign
        out.append(points)
    return np.array(out)


def one_step_map(model: MemoryModel, X: np.ndarray) -> np.ndarray:
    """All that one step puts out (n, n_z) at regressors X (n, n_x): clipped, evaluated, behind the gate, bounded."""
    rows = np.atleast_2d(X)
    low, high = model.step.domain
    inside = np.clip(rows, low, high)
    z = model.step.core.predict(np.clip(inside, *model.step.core.domain))
    if isinstance(model.step, GatedModel):
        share = model.step.gate.share(rows, model.step.inputs)[:, None]
        z = np.where(model.step.gate.vanishing(model.step.outputs), z * share, z)
    if model.slope is not None:
        n_u = len(model.inputs)
        z = z + (rows[:, :n_u] - np.clip(rows[:, :n_u], low[:n_u], high[:n_u])) @ model.slope.T
    return np.clip(z, *model.bounds)


def free_run(model: MemoryModel, u: np.ndarray) -> np.ndarray:
    """The free run from rest, one step after the other."""
    low, high = model.domain
    inside = dict(zip([p.name for p in model.inputs], np.clip(u, low, high).T, strict=True))
    phi = np.hstack(
        [np.empty((len(u), 0)), *(features(operator, inside, model.dt or 1.0) for operator in model.operators)]
    )
    past_u = [np.zeros(len(model.inputs))] * model.input_lags
    past_z = [np.zeros(len(model.step.outputs))] * model.output_lags
    out = []
    for k, now in enumerate(u):
        z = one_step_map(model, np.concatenate([now, *past_u, phi[k], *past_z]))[0]
        past_u = [now, *past_u][: model.input_lags]
        past_z = [z, *past_z][: model.output_lags]
        out.append(z[: len(model.outputs)])
    return np.array(out)
