"""Operators on given signals as one program for compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mor.compile.kept_loop import KeptLoop
from mor.data.ports import Port
from mor.reduced.hysteresis.operators import (
    BOUC_WEN,
    HIGHEST,
    LOWEST,
    NUMBERS,
    PLAY,
    RELAXATION,
    REVERSALS,
    STEEL,
    STOP,
    TRAIL,
    Operator,
)
from mor.reduced.hysteresis.steel import CURVED, LEAST_W, MOST_LOG, R0, R1
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Front:
    """Operators on given signals as one program: features (n_features) of the signals and of states (n_states).

    `meaning` says in words what each state is. `table` (rows, 6) holds code, column, other column, first state, first
    feature and number of features of each primitive, `numbers` (rows, 3) its radius, exponent or the like.
    """

    operators: tuple[Operator, ...]
    signals: tuple[Port, ...]
    dt: float | None = None
    table: NDArray[np.int64] = field(init=False, repr=False)
    numbers: Array = field(init=False, repr=False)
    features: tuple[Port, ...] = field(init=False, repr=False)
    states: tuple[Port, ...] = field(init=False, repr=False)
    meaning: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        column = {p.name: i for i, p in enumerate(self.signals)}
        unit = {p.name: p.unit for p in self.signals}
        rows, numbers, states, features = [], [], 0, 0
        names: list[Port] = []
        state_ports: list[Port] = []
        meaning: list[str] = []
        for operator in self.operators:
            own = operator.ports(unit)
            names += own
            for one in operator.primitives(column, self.dt):
                rows.append([one.code, one.column, one.other, states, features, one.features])
                numbers.append([*one.numbers, *[0.0] * (NUMBERS - len(one.numbers))])
                where, kind = self.signals[one.column], operator.kind
                for i in range(one.states):
                    bare = (one.code in (REVERSALS, BOUC_WEN) and i == 1) or (one.code == STEEL and i > 0)
                    state_ports.append(Port(f"{where.name}_{kind}_s{len(state_ports) + 1}", "" if bare else where.unit))
                meaning += one.meaning
                states, features = states + one.states, features + one.features
        if len({p.name for p in names}) != len(names):
            raise ConfigError(f"Operators must give different features, got {', '.join(p.name for p in names)}.")
        hold = object.__setattr__
        hold(self, "table", np.array(rows, dtype=np.int64).reshape(-1, 6))
        hold(self, "numbers", np.array(numbers, dtype=np.float64).reshape(-1, NUMBERS))
        hold(self, "features", tuple(names))
        hold(self, "states", tuple(state_ports))
        hold(self, "meaning", tuple(meaning))

    def run(self, u: Array, state: Array | None = None) -> tuple[Array, Array]:
        """Return features (n, n_features) and states (n, n_states) over the signals u (n, n_signals), from `state`."""
        signals = np.ascontiguousarray(u, dtype=np.float64)
        s = np.zeros(len(self.states)) if state is None else np.array(state, dtype=np.float64)
        if signals.ndim != 2 or signals.shape[1] != len(self.signals) or s.shape != (len(self.states),):
            raise ConfigError(
                f"u of Front.run must have {len(self.signals)} columns and state {len(self.states)} values, got shapes "
                f"{signals.shape} and {s.shape}."
            )
        n = len(signals)
        phi, kept = np.empty((n, len(self.features))), np.empty((n, len(self.states)))
        _over_time()(signals, s, self.table, self.numbers, phi, kept)
        return phi, kept

    def ranges(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return bounds (n_states,) of the states for signals within [lower, upper] (n_signals,) and rest at zero."""
        low, high = np.empty(len(self.states)), np.empty(len(self.states))
        for (code, column, _, first, _, count), numbers in zip(self.table, self.numbers, strict=True):
            sizes = {
                PLAY: 1,
                STOP: 1,
                HIGHEST: 1,
                LOWEST: 1,
                REVERSALS: 2 + count,
                BOUC_WEN: 2,
                RELAXATION: 1,
                TRAIL: 2,
                STEEL: 7,
            }
            size = sizes.get(int(code), 0)
            low[first : first + size] = min(float(lower[column]), 0.0)
            high[first : first + size] = max(float(upper[column]), 0.0)
            if code == STEEL:
                strains = [numbers[0] * high[first], numbers[1] * low[first], 0.0]
                low[first + 1 : first + 5], high[first + 1 : first + 5] = -1.0, 1.0
                for i in (2, 5, 6):
                    low[first + i], high[first + i] = min(strains), max(strains)
            if code in (REVERSALS, BOUC_WEN):
                low[first + 1], high[first + 1] = -1.0, 1.0
            if code == TRAIL:
                high[first + 1] = max(abs(float(lower[column])), abs(float(upper[column])))
        return low, high


def _move_reversals(v, radius, s, at, count):  # type: ignore[no-untyped-def]
    """Move play and direction s[at : at + 2] and the last `count` turning points behind them on to the signal v."""
    before, direction = s[at], s[at + 1]
    now = min(max(before, v - radius), v + radius)
    if direction * (now - before) < 0.0:
        for i in range(count - 1, 0, -1):
            s[at + 2 + i] = s[at + 1 + i]
        s[at + 2] = before + direction * radius
    if now > before:
        s[at + 1] = 1.0
    elif now < before:
        s[at + 1] = -1.0
    s[at] = now


def _bouc_wen(z, w, n, beta):  # type: ignore[no-untyped-def]
    """Return z after a step of Runge-Kutta 4 along dz/dw = 1 - |z|^n (1 if z w > 0 else 1 - 2 beta)."""
    total, point = 0.0, z
    for stage in range(4):
        factor = 1.0 if point * w > 0.0 else 1.0 - 2.0 * beta
        k = (1.0 - np.exp(np.log(max(abs(point), 1e-300)) * n) * factor) * w
        total += k if stage == 0 or stage == 3 else 2.0 * k
        point = z + (k if stage == 2 else 0.5 * k)
    return min(max(z + total / 6.0, -1.0), 1.0)


def _trail(m, before, v, length, size):  # type: ignore[no-untyped-def]
    """Return the mean m after the way from `before` to v, that counts as g, the mean of both ends or of their sizes."""
    g = 0.5 * (abs(v) + abs(before)) if size else 0.5 * (v + before)
    return g + (m - g) * np.exp(-abs(v - before) / length)


def _steel(v, numbers, s, at):  # type: ignore[no-untyped-def]
    """Move the states s[at : at + 7] of a bar on to the signal v (see `steel`) and return its stress."""
    plus, minus, radius = numbers[0], numbers[1], numbers[2]
    before, d = s[at], s[at + 1]
    now = min(max(before, v - radius), v + radius)
    last = plus * max(before, 0.0) + minus * min(before, 0.0)
    e = plus * max(now, 0.0) + minus * min(now, 0.0)
    if d * (e - last) < 0.0:
        s[at + 2], s[at + 3] = last, s[at + 4]
        s[at + 5], s[at + 6] = max(s[at + 5], last), min(s[at + 6], last)
    if e != last:
        d = 1.0 if e > last else -1.0
    w = min(d - s[at + 3], -LEAST_W) if d < 0.0 else max(d - s[at + 3], LEAST_W)
    far = min(s[at + 6], -1.0) if d < 0.0 else max(s[at + 5], 1.0)
    xi = abs(far - s[at + 2] - w)
    R = R0 - R1 * xi / (CURVED + xi)
    way = e - s[at + 2]
    power = np.exp(min(np.log(max(way / w, 1e-300)) * R, MOST_LOG))
    q = s[at + 3] + way * np.exp(-np.log(1.0 + power) / R)
    s[at], s[at + 1], s[at + 4] = now, d, min(max(q, -1.0), 1.0)
    return s[at + 4]


@cache
def compiled_front() -> Callable[..., None]:
    """Compile one step: move the states s on with signals u and write the features phi."""
    from numba import njit

    move_reversals, bouc_wen, trail, steel = (njit(f) for f in (_move_reversals, _bouc_wen, _trail, _steel))

    @njit
    def step(u, s, table, numbers, phi):  # type: ignore[no-untyped-def]
        for row in range(table.shape[0]):
            code, at, first = table[row, 0], table[row, 3], table[row, 4]
            v, number = u[table[row, 1]], numbers[row, 0]
            if code == 0 or code == 1:
                s[at] = min(max(s[at], v - number), v + number)
                phi[first] = s[at] if code == 0 else v - s[at]
            elif code == 2:
                s[at] = max(s[at], v)
                phi[first] = s[at]
            elif code == 3:
                s[at] = min(s[at], v)
                phi[first] = s[at]
            elif code == 4:
                move_reversals(v, number, s, at, table[row, 5])
                for i in range(table[row, 5]):
                    phi[first + i] = s[at + 2 + i]
            elif code == 5:
                phi[first] = v * np.exp((number - 1.0) * np.log(max(abs(v), 1e-300)))
            elif code == 6:
                phi[first] = np.exp(number * np.log(max(abs(v), 1e-300)))
            elif code == 7:
                phi[first] = v * u[table[row, 2]]
            elif code == 8:
                w = min(max((v - s[at]) / number, -2.0), 2.0)
                s[at], s[at + 1] = v, bouc_wen(s[at + 1], w, numbers[row, 1], numbers[row, 2])
                phi[first] = s[at + 1]
            elif code == 9:
                s[at] = number * s[at] + (1.0 - number) * v
                phi[first] = s[at]
            elif code == 11:
                phi[first] = steel(v, numbers[row], s, at)
            else:
                s[at], s[at + 1] = v, trail(s[at + 1], s[at], v, number, numbers[row, 1] > 0.0)
                phi[first] = s[at + 1]

    return step  # type: ignore[no-any-return]


@cache
def _over_time() -> KeptLoop:
    one = compiled_front()

    def run(u, s, table, numbers, phi, kept):  # type: ignore[no-untyped-def]
        for k in range(u.shape[0]):
            one(u[k], s, table, numbers, phi[k])
            for i in range(s.size):
                kept[k, i] = s[i]

    numbers, table = np.empty((0, 0)), np.empty((0, 0), dtype=np.int64)
    example = (numbers, np.empty(0), table, numbers, numbers, numbers)
    return KeptLoop(run, example, len(example))
