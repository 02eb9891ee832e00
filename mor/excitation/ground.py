"""Synthetic ground motion: filtered noise with an envelope, and the near-fault velocity pulse."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mor.excitation.sampled import Excitation, sample_count
from rt_runtime.checks import Array, one_of, positive
from rt_runtime.errors import ConfigError


def ground_spectrum(
    frequencies: ArrayLike,
    *,
    ground_frequency: float = 2.5,
    ground_damping: float = 0.6,
    low_frequency: float = 0.25,
    low_damping: float = 0.6,
    kind: Literal["kanai_tajimi", "clough_penzien"] = "clough_penzien",
) -> Array:
    """Return the shape of the power spectral density over frequencies in Hz (bedrock white noise of density 1).

    Kanai-Tajimi    (1 + 4 z^2 r^2) / ((1 - r^2)^2 + 4 z^2 r^2), r = f / ground_frequency, z = ground_damping
    Clough-Penzien  times q^4 / ((1 - q^2)^2 + 4 y^2 q^2), q = f / low_frequency, y = low_damping: no drift at 0 Hz
    """
    one_of(kind, "kind", "ground_spectrum", ("kanai_tajimi", "clough_penzien"))
    f = np.asarray(frequencies, float)
    r2 = (f / positive(ground_frequency, "ground_frequency", "ground_spectrum")) ** 2
    z2 = 4 * positive(ground_damping, "ground_damping", "ground_spectrum") ** 2
    density = (1 + z2 * r2) / ((1 - r2) ** 2 + z2 * r2)
    if kind == "clough_penzien":
        q2 = (f / positive(low_frequency, "low_frequency", "ground_spectrum")) ** 2
        y2 = 4 * positive(low_damping, "low_damping", "ground_spectrum") ** 2
        density = density * q2**2 / ((1 - q2) ** 2 + y2 * q2)
    return np.asarray(density)


def envelope(time: ArrayLike, *, rise: float, hold: float, decay: float) -> Array:
    """Return (t / rise)^2 up to `rise` s, 1 for `hold` s, then exp(-decay (t - rise - hold)) with decay in 1/s."""
    t = np.asarray(time, float)
    if rise < 0 or hold < 0 or decay < 0:
        raise ConfigError(f"rise, hold and decay of envelope must not be negative, got {rise}, {hold}, {decay}.")
    growing = (t / rise) ** 2 if rise > 0 else np.ones_like(t)
    return np.where(t < rise, growing, np.exp(-decay * np.maximum(t - rise - hold, 0.0)))


def synthetic_ground_motion(
    *,
    seed: int,
    duration: float = 30.0,
    rate: float = 200.0,
    peak: float = 3.135,
    rise: float = 2.0,
    hold: float = 8.0,
    decay: float = 0.25,
    ground_frequency: float = 2.5,
    ground_damping: float = 0.6,
    low_frequency: float = 0.25,
    low_damping: float = 0.6,
    kind: Literal["kanai_tajimi", "clough_penzien"] = "clough_penzien",
) -> Excitation:
    """Make a ground acceleration: seeded noise of spectrum `ground_spectrum`, times `envelope`, scaled to `peak`.

    duration in s, rate in Hz, peak in m/s2 (the default is that of El Centro); the defaults resemble firm soil.
    The last second (at most a tenth) fades to zero, so that a model that runs on is left alone.

    Parameters
    ----------
    seed
        Seed of the noise.
    rise, hold, decay
        Of the envelope: s, s, 1/s.
    ground_frequency, ground_damping
        Of the soil in Hz, and its damping ratio.
    low_frequency, low_damping
        Of the high-pass filter of Clough and Penzien.
    kind
        The spectrum.
    """
    n = sample_count(duration, rate)
    noise = np.random.default_rng(seed).standard_normal(2 * n)  # shaping is periodic: make twice, keep half
    f = np.fft.rfftfreq(2 * n, 1 / rate)
    shape = np.sqrt(
        ground_spectrum(
            f,
            ground_frequency=ground_frequency,
            ground_damping=ground_damping,
            low_frequency=low_frequency,
            low_damping=low_damping,
            kind=kind,
        )
    )
    stationary = np.fft.irfft(np.fft.rfft(noise) * shape, 2 * n)[:n]
    t = np.arange(n) / rate
    ending = np.clip((t[-1] - t) / min(1.0, 0.1 * duration), 0.0, 1.0)
    values = stationary * envelope(t, rise=rise, hold=hold, decay=decay) * np.sin(0.5 * np.pi * ending)
    return Excitation(values, 1 / rate, name=f"{kind}_{seed}").scaled_to_peak(peak)


def pulse_velocity(
    time: ArrayLike, *, peak_velocity: float, period: float, cycles: float = 2.0, phase: float = 0.1
) -> Array:
    """Return the ground velocity in m/s of a near-fault pulse of length `cycles` x `period` that starts at t = 0.

    v = [V/2 cos(2 pi (t - t_m) / T + nu) - D / (g T)] [1 + cos(2 pi (t - t_m) / (g T))],   t_m = g T / 2,
    D = V T [sin(nu + g pi) - sin(nu - g pi)] / (4 pi (1 - g^2)), so that the ground ends where it began;
    V = peak_velocity in m/s, T = period in s, g = cycles (not 1), nu = phase in rad.

    Parameters
    ----------
    time
        Instants in s.
    """
    inside, a, b, rest, V = _pulse(time, peak_velocity, period, cycles, phase)
    return np.asarray(inside * (0.5 * V * np.cos(a) - rest) * (1 + np.cos(b)))


def pulse_acceleration(
    time: ArrayLike, *, peak_velocity: float, period: float, cycles: float = 2.0, phase: float = 0.1
) -> Array:
    """Return the exact time derivative of `pulse_velocity` in m/s2.

    Parameters
    ----------
    peak_velocity, period, cycles, phase
        As in `pulse_velocity`: m/s, s, number, rad.
    """
    inside, a, b, rest, V = _pulse(time, peak_velocity, period, cycles, phase)
    w = 2 * np.pi / period
    carrier = -0.5 * V * w * np.sin(a) * (1 + np.cos(b))
    return np.asarray(inside * (carrier - (0.5 * V * np.cos(a) - rest) * w / cycles * np.sin(b)))


def near_fault_pulse(
    *,
    peak_velocity: float,
    period: float,
    cycles: float = 2.0,
    phase: float = 0.1,
    rate: float = 1000.0,
    after: float = 4.0,
) -> Excitation:
    """Make the ground acceleration of a near-fault pulse with `after` seconds of quiet behind it.

    Parameters
    ----------
    peak_velocity, period, cycles, phase
        As in `pulse_velocity`: m/s, s, number, rad.
    rate
        Samples per s.
    """
    n = sample_count(cycles * period + after, rate)
    values = pulse_acceleration(
        np.arange(n) / rate, peak_velocity=peak_velocity, period=period, cycles=cycles, phase=phase
    )
    return Excitation(values, 1 / rate, name="near_fault_pulse")


def _pulse(
    time: ArrayLike, peak_velocity: float, period: float, cycles: float, phase: float
) -> tuple[Array, Array, Array, float, float]:
    """Return inside (0 or 1), the two angles, D / (g T) and V."""
    of = "a near-fault pulse"
    V, T = positive(peak_velocity, "peak_velocity", of), positive(period, "period", of)
    g = positive(cycles, "cycles", of)
    if abs(g - 1) < 1e-9:
        raise ConfigError("cycles of a near-fault pulse must not be 1, where the formula divides by zero, got 1.")
    t = np.asarray(time, float)
    shifted = 2 * np.pi * (t - 0.5 * g * T) / T
    inside = ((t >= 0) & (t <= g * T)).astype(float)
    net = V * T * (np.sin(phase + g * np.pi) - np.sin(phase - g * np.pi)) / (4 * np.pi * (1 - g * g))
    return inside, shifted + phase, shifted / g, float(net / (g * T)), V
