"""Loading protocols: imposed displacement histories that teach a reduced model what a hysteretic part remembers.

All start at rest at zero and give displacement with the velocity that belongs to it. Kinds:

ramps       cycles of growing amplitude up to the full one, each repeated, with a smaller side (an asymmetric test)
reversals   half cycles between random turning points, at a speed that varies little
multi_rate  half cycles between random turning points that take 0.1 to 3 s each, with holds, for rate-dependent parts
response    answer of a yielding oscillator to a synthetic ground motion or a near-fault pulse
nested      half cycles of all lengths: small reversals inside large excursions
modes       a response with the elastic one of a quicker oscillator to the same motion on top, as a structure with
            several modes gives: small reversals on the way of large ones
ring_down   reversals at random turning points, then an oscillation about a residual offset that dies down over up to
            thirty half cycles, as after the strong part of a ground motion
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mor.data.trajectory import Trajectory
from mor.excitation.ground import pulse_acceleration, synthetic_ground_motion
from mor.excitation.sampled import sample_count
from mor.marginals import Beta, Uniform
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, one_of, positive, whole
from rt_runtime.errors import ConfigError

KINDS = ("ramps", "reversals", "multi_rate", "response", "nested", "modes", "ring_down")
"""Kinds of protocol."""

_LARGEST_SEED = 2**31
_OSCILLATOR_STEP = 1e-3  # s, of the oscillator behind "response"
_PULSE_SHARE = 0.25  # of the responses are to near-fault pulses


def loading_protocol(
    kind: str, *, amplitude: float, seed: int, duration: float = 10.0, rate: float = 256.0
) -> Trajectory:
    """Draw one protocol with the columns x and v.

    Parameters
    ----------
    kind : one of `KINDS`.
    amplitude : largest absolute displacement in m; it is reached.
    seed : the same seed gives the same history.
    duration : length in s.
    rate : samples per second.
    """
    one_of(kind, "kind", "loading_protocol", KINDS)
    largest = positive(amplitude, "amplitude", "loading_protocol")
    count = sample_count(duration, rate)
    rng = np.random.default_rng([whole(seed, "seed", "loading_protocol", 0), KINDS.index(kind)])
    time = np.arange(count) / rate
    if kind in ("response", "modes"):
        x, v = _response(rng, count, 1.0 / rate, second=kind == "modes")
    else:
        x, v = _half_cycles(*_TURNING[kind](rng, duration), time)
    scale = largest / float(np.abs(x).max())
    return Trajectory(time, np.column_stack([x, v]) * scale, {"x": "m", "v": "m/s"})


@dataclass(frozen=True)
class LoadingProtocols:
    """A family of protocols whose members are design variables: kind, amplitude and seed.

    Parameters
    ----------
    amplitude : smallest and largest peak displacement in m, between which it is uniform, or its law between two bounds,
        such as Beta(1, 3, 0.01, 0.2), which prefers small ones.
    shares : {kind: share} of the members; they add up to 1.
    duration, rate : length in s and samples per second of every member.

    Notes
    -----
    `space` is what a design is drawn from; the value of "kind" in [0, 1) falls into the cumulated shares, so that a
    Latin hypercube of n points holds each kind n times its share.
    """

    amplitude: tuple[float, float] | Beta
    shares: Mapping[str, float] = field(default_factory=lambda: {"ramps": 0.1, "reversals": 0.25, "response": 0.65})
    duration: float = 10.0
    rate: float = 256.0

    def __post_init__(self) -> None:
        for kind in self.shares:
            one_of(kind, "kind", "LoadingProtocols", KINDS)
        if not self.shares or min(self.shares.values()) < 0 or abs(sum(self.shares.values()) - 1) > 1e-9:
            raise ConfigError(f"shares of LoadingProtocols must be positive and add up to 1, got {dict(self.shares)}.")
        law = self.amplitude
        low, high = (law.lower, law.upper) if isinstance(law, Beta) else law
        if not 0 < low < high:
            raise ConfigError(f"amplitude of LoadingProtocols must satisfy 0 < lower < upper, got {low:g}, {high:g} m.")
        sample_count(self.duration, self.rate)

    @property
    def space(self) -> ParameterSpace:
        """The design variables kind, amplitude and seed."""
        law = self.amplitude if isinstance(self.amplitude, Beta) else Uniform(*self.amplitude, unit="m")
        return ParameterSpace({"kind": Uniform(0, 1), "amplitude": law, "seed": Uniform(0, _LARGEST_SEED)})

    def kind(self, value: float) -> str:
        """Return the kind that a value of the design variable "kind" in [0, 1] stands for."""
        bounds = np.cumsum(list(self.shares.values()))
        return list(self.shares)[min(int(np.searchsorted(bounds, value, side="right")), len(bounds) - 1)]

    def history(self, parameters: Mapping[str, float]) -> Trajectory:
        """Return the member that the design variables name."""
        return loading_protocol(
            self.kind(parameters["kind"]),
            amplitude=parameters["amplitude"],
            seed=int(parameters["seed"]),
            duration=self.duration,
            rate=self.rate,
        )


# Turning points and the time that the half cycle to each of them takes


def _ramps(rng: np.random.Generator, duration: float) -> tuple[Array, Array]:
    levels = int(rng.integers(3, 9))
    peaks = np.repeat(np.arange(1, levels + 1) / levels, int(rng.integers(1, 3)))
    points = np.column_stack([peaks, -rng.uniform(0.2, 1.0) * peaks]).ravel() * rng.choice([-1.0, 1.0])
    return points, _even_speed(points, duration)


def _reversals(rng: np.random.Generator, duration: float) -> tuple[Array, Array]:
    points = rng.uniform(-1, 1, int(rng.integers(8, 8 + max(2, int(2 * duration)))))
    points *= np.linspace(rng.uniform(0.2, 1.0), 1.0, points.size)  # some grow, some are large at once
    return points, _even_speed(points, duration) * rng.uniform(0.7, 1.0)


def _multi_rate(rng: np.random.Generator, duration: float) -> tuple[Array, Array]:
    points, times = [0.0], [0.0]
    while sum(times) < duration:
        held = rng.random() < 0.2
        points.append(points[-1] if held else rng.uniform(-1, 1))
        times.append(np.exp(rng.uniform(np.log(0.1), np.log(3.0))))
    return np.array(points[1:]), np.array(times[1:])


def _nested(rng: np.random.Generator, duration: float) -> tuple[Array, Array]:
    points, level, sign = [], 0.0, rng.choice([-1.0, 1.0])
    for _ in range(int(rng.integers(12, 14 + max(2, int(3 * duration))))):
        level = float(np.clip(level + sign * np.exp(rng.uniform(np.log(0.03), np.log(2.0))), -1.0, 1.0))
        points.append(level)
        sign = -sign
    return np.array(points), _even_speed(np.array(points), duration)


def _ring_down(rng: np.random.Generator, duration: float) -> tuple[Array, Array]:
    """Some reversals, then c + a exp(-d k) (-1)^k with an offset c, an amplitude a that scatters, a decrement d."""
    strong = rng.uniform(-1, 1, int(rng.integers(3, 12)))
    k = np.arange(int(rng.integers(10, 31)))
    amplitude = np.exp(rng.uniform(np.log(0.05), np.log(0.6)) - rng.uniform(0.0, 0.25) * k)
    amplitude *= np.exp(rng.uniform(0.0, 0.4) * rng.standard_normal(k.size))  # weak shaking goes on
    points = np.concatenate([strong, rng.uniform(-0.4, 0.4) + amplitude * (-1.0) ** k])
    return points, _even_speed(points, duration)


_TURNING = {
    "ramps": _ramps,
    "reversals": _reversals,
    "multi_rate": _multi_rate,
    "nested": _nested,
    "ring_down": _ring_down,
}


def _even_speed(points: Array, duration: float) -> Array:
    """Share `duration` among the half cycles by the square root of their ways: neither speed nor frequency is fixed."""
    ways = np.sqrt(np.abs(np.diff(points, prepend=0.0)) + 1e-3)
    return np.asarray(ways * duration / ways.sum())


def _half_cycles(points: Array, times: Array, time: Array) -> tuple[Array, Array]:
    """Join turning points by half cosines; hold the last one."""
    ends = np.concatenate([[0.0], np.cumsum(times)])
    levels = np.concatenate([[0.0], points])
    i = np.clip(np.searchsorted(ends, time, side="right") - 1, 0, len(points) - 1)
    s = np.clip((time - ends[i]) / times[i], 0.0, 1.0)
    step = levels[i + 1] - levels[i]
    x = levels[i] + 0.5 * step * (1 - np.cos(np.pi * s))
    v = 0.5 * np.pi * step / times[i] * np.sin(np.pi * s)
    return x, v


def _response(rng: np.random.Generator, count: int, dt: float, *, second: bool) -> tuple[Array, Array]:
    """Return the response of x'' + 2 z w x' + w^2 ((1 - a) s + a x) = -ag, s a stop of width x_y, by Verlet's rule.

    The yield displacement x_y is the peak of the elastic response divided by a drawn ductility reduction. `second` adds
    an elastic oscillator of 0.12 to 0.45 times the period, with a peak of 5 to 40 % of the first.
    """
    substeps = max(1, int(np.ceil(dt / _OSCILLATOR_STEP)))
    h, n = dt / substeps, (count - 1) * substeps + 1
    period = np.exp(rng.uniform(np.log(0.4), np.log(2.5)))
    damping, hardening, reduction = rng.uniform(0.01, 0.08), rng.uniform(0.05, 0.6), rng.uniform(1.0, 5.0)
    ground = _ground(rng, n, h)
    elastic, _ = _oscillate(ground, h, period, damping, 1.0, 1.0)
    x, v = _oscillate(ground, h, period, damping, hardening, float(np.abs(elastic).max()) / reduction)
    if second:
        quick, rate = _oscillate(ground, h, period * rng.uniform(0.12, 0.45), damping, 1.0, 1.0)
        share = rng.uniform(0.05, 0.4) * float(np.abs(x).max()) / float(np.abs(quick).max())
        x, v = x + share * quick, v + share * rate
    return x[::substeps], v[::substeps]


def _ground(rng: np.random.Generator, n: int, h: float) -> Array:
    duration = (n - 1) * h
    if rng.random() < _PULSE_SHARE:
        cycles = rng.uniform(1.2, 3.0)
        period = rng.uniform(min(0.5, 0.4 * duration / cycles), min(3.0, 0.8 * duration / cycles))
        time = np.arange(n) * h - rng.uniform(0.0, 0.1 * duration)
        return pulse_acceleration(
            time, peak_velocity=1.0, period=period, cycles=cycles, phase=rng.uniform(0, 2 * np.pi)
        )
    motion = synthetic_ground_motion(
        seed=int(rng.integers(_LARGEST_SEED)),
        duration=duration,
        rate=1.0 / h,
        rise=rng.uniform(0.05, 0.3) * duration,
        hold=rng.uniform(0.1, 0.5) * duration,
        decay=rng.uniform(1.0, 5.0) / duration,
        ground_frequency=rng.uniform(1.0, 4.0),
        ground_damping=rng.uniform(0.3, 0.8),
    )
    return np.asarray(motion.values[:n])


def _oscillate(
    ground: Array, h: float, period: float, damping: float, hardening: float, width: float
) -> tuple[Array, Array]:
    w = 2 * np.pi / period
    x, v, s, a = 0.0, 0.0, 0.0, -float(ground[0])
    xs, vs = np.zeros(len(ground)), np.zeros(len(ground))
    for i, ag in enumerate(ground.tolist()[1:], 1):
        dx = h * v + 0.5 * h * h * a
        x, s = x + dx, min(max(s + dx, -width), width)
        force = w * w * ((1 - hardening) * s + hardening * x)
        half = v + 0.5 * h * a
        a = (-ag - force - 2 * damping * w * half) / (1 + damping * w * h)
        v = half + 0.5 * h * a
        xs[i], vs[i] = x, v
    return xs, vs
