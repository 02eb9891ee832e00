"""A slow twin of the monitor's commands: what they must be in every tick, given the states and the time of each tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rt_runtime.safety.monitor import STATES

Array = NDArray[np.float64]
RUNNING, HOLDING, RAMPING, TRIPPED = (STATES.index(name) for name in ("running", "holding", "ramping", "tripped"))


def smooth(ticks: float, n: int) -> float:
    r = min(ticks / n, 1.0) if n else 1.0
    return r * r * (3.0 - 2.0 * r)


def paces(elapsed: Array) -> Array:
    """The part of a period that each tick has; elapsed in ticks."""
    credit, found = 1.0, []
    for ticks in elapsed:
        credit = min(credit + ticks, 2.0)
        found.append(min(credit, 1.0))
        credit -= found[-1]
    return np.array(found)


class Commands:
    """Columns are commands; limits rows (lower, upper, rate per tick, rest); soft_start, soft_stop, trip, brake in ticks."""

    def __init__(self, limits: Array, soft_start: int, soft_stop: int, trip: int, brake: int, trip_holds: bool) -> None:
        self.lower, self.upper, self.rate, self.rest = limits
        self.soft_start, self.soft_stop, self.trip, self.brake = soft_start, soft_stop, trip, brake
        self.trip_holds = trip_holds
        self.state, self.now, self.started = STATES.index("armed"), 0.0, 0.0
        self.c = self.rest.copy()
        self.speeds = [np.zeros_like(self.c)] * 2
        self.resumed = 0

    def ticks(self, way: Array, least: int) -> int:
        return max(least, 1, int(np.ceil((1.5 * np.abs(way) / self.rate).max())))

    def stop(self, ticks: float) -> None:
        """Brake from here: speed v (1 - t/T)^2, T shortened command by command until the way v T / 3 has room."""
        a, b = self.speeds
        self.v = np.where(np.sign(a) == np.sign(b), np.sign(a) * np.minimum(np.abs(a), np.abs(b)), 0.0)
        room = np.where(self.v > 0, self.upper - self.c, self.c - self.lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.T = np.where(self.v != 0, np.minimum(ticks, 3.0 * room / np.abs(self.v)), 0.0)
        self.begun, self.at = self.now, self.c.copy()
        self.stands = self.c + self.v * self.T / 3.0

    def held(self, end: float) -> Array:
        """The integral of v (1 - t/T)^2 up to `end`."""
        t = np.minimum(end - self.begun, self.T)
        T = np.where(self.T > 0, self.T, 1.0)
        return self.at + self.v * (t - t**2 / T + t**3 / (3.0 * T**2))

    def step(self, wanted: Array, state: int, p: float) -> Array:
        state = RAMPING if state == STATES.index("idle") else state
        end = self.now + p
        resumes = state == RUNNING and self.state == HOLDING
        if state == RUNNING and self.state not in (RUNNING, HOLDING):
            self.started = self.now
        wanted = self.rest + smooth(end - self.started, self.soft_start) * (wanted - self.rest)
        if state != self.state:
            self.entered = self.now
            if resumes:
                self.resumed = self.ticks(wanted - self.stands, self.soft_start)
            elif state == HOLDING:
                self.stop(self.brake)
            elif state == RAMPING:
                self.stop(min(self.brake, 0.5 * self.soft_stop))
                self.way = self.ticks(self.stands - self.rest, self.soft_stop)
            elif state == TRIPPED:
                self.stop(0.0)
                self.way = self.ticks(self.stands - self.rest, self.trip)
        self.state = state
        c = self.c
        if state == RUNNING:
            c = wanted
            if self.resumed:
                s = smooth(end - self.entered, self.resumed)
                c = (1.0 - s) * self.held(end) + s * wanted
        elif state == HOLDING or (state == TRIPPED and self.trip_holds):
            c = self.held(end)
        elif state in (RAMPING, TRIPPED):
            c = self.held(end) + smooth(end - self.entered, self.way) * (self.rest - self.stands)
        c = np.clip(np.clip(c, self.c - p * self.rate, self.c + p * self.rate), self.lower, self.upper)
        if p >= 0.5:
            self.speeds = [(c - self.c) / p, self.speeds[0]]
        self.c, self.now = c, end
        return c
