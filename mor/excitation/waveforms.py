"""Waveforms that identify and exercise: sweeps, band-limited noise, multi-sines, ramps and holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mor.excitation.sampled import Excitation, sample_count
from rt_runtime.checks import finite_array, one_of, positive
from rt_runtime.errors import ConfigError


def sine_sweep(
    *,
    start: float,
    stop: float,
    duration: float,
    rate: float,
    amplitude: float = 1.0,
    kind: Literal["linear", "logarithmic"] = "linear",
    fade: float = 0.0,
    unit: str = "m",
) -> Excitation:
    """Make a sine whose frequency runs from `start` to `stop` Hz in `duration` s.

    linear       phase 2 pi (f0 t + (f1 - f0) t^2 / (2 T))
    logarithmic  phase 2 pi f0 T / ln(f1 / f0) ((f1 / f0)^(t / T) - 1)

    The first and last `fade` seconds rise and fall as a half cosine.

    Parameters
    ----------
    rate
        Samples per s.
    amplitude, unit
        Amplitude and its unit.
    kind
        How the frequency grows.
    """
    one_of(kind, "kind", "sine_sweep", ("linear", "logarithmic"))
    f0, f1 = positive(start, "start", "sine_sweep"), positive(stop, "stop", "sine_sweep")
    _below_nyquist(max(f0, f1), rate)
    n = sample_count(duration, rate)
    t = np.arange(n) / rate
    if not 0 <= fade <= duration / 2:
        raise ConfigError(f"fade of sine_sweep must lie between 0 and half the duration, got {fade:g} s.")
    if kind == "linear" or f0 == f1:
        phase = 2 * np.pi * (f0 * t + (f1 - f0) * t**2 / (2 * duration))
    else:
        phase = 2 * np.pi * f0 * duration / np.log(f1 / f0) * ((f1 / f0) ** (t / duration) - 1)
    edge = np.minimum(t, t[-1] - t)
    window = np.where(edge < fade, 0.5 - 0.5 * np.cos(np.pi * edge / fade), 1.0) if fade > 0 else 1.0
    return Excitation(amplitude * window * np.sin(phase), 1 / rate, unit, "sine_sweep")


def band_limited_noise(
    *, low: float, high: float, rms: float, duration: float, rate: float, seed: int, unit: str = "m"
) -> Excitation:
    """Make Gaussian noise with a flat spectrum from `low` to `high` Hz, nothing outside, and exactly the given rms.

    Parameters
    ----------
    duration, rate
        Length in s, samples per s.
    seed
        Seed of the noise.
    unit
        Unit of the values.
    """
    if not 0 <= low < high:
        raise ConfigError(f"Band of band_limited_noise must satisfy 0 <= low < high, got {low:g} and {high:g} Hz.")
    _below_nyquist(high, rate)
    n = sample_count(duration, rate)
    f = np.fft.rfftfreq(n, 1 / rate)
    inside = (f >= low) & (f <= high) & (f > 0)
    if not inside.any():
        raise ConfigError(
            f"Band of band_limited_noise must hold a multiple of 1 / duration = {rate / n:g} Hz, got {low:g} to "
            f"{high:g} Hz."
        )
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(n))
    values = np.fft.irfft(np.where(inside, spectrum, 0.0), n)
    scale = positive(rms, "rms", "band_limited_noise") / np.sqrt(np.mean(values**2))
    return Excitation(values * scale, 1 / rate, unit, f"band_limited_noise_{seed}")


def multi_sine(
    *,
    frequencies: ArrayLike,
    rms: float,
    duration: float,
    rate: float,
    amplitudes: ArrayLike | None = None,
    seed: int | None = None,
    unit: str = "m",
) -> Excitation:
    """Make a sum of sines of the given frequencies in Hz and relative `amplitudes` (default equal), of the given rms.

    Phases are Schroeder's -pi k (k - 1) / n, which keep the peak low for even spacing, or random when a seed is given.

    Parameters
    ----------
    duration, rate
        Length in s, samples per s.
    unit
        Unit of the values.
    """
    f = finite_array(frequencies, "frequencies", "multi_sine", (None,))
    if f.size == 0 or f.min() <= 0 or np.unique(f).size != f.size:
        raise ConfigError(f"frequencies of multi_sine must be positive and differ, got {f.tolist()}.")
    _below_nyquist(float(f.max()), rate)
    weights = np.ones_like(f) if amplitudes is None else np.asarray(amplitudes, float)
    weights = finite_array(weights, "amplitudes", "multi_sine", f.shape)
    k = np.arange(1, f.size + 1)
    phases = -np.pi * k * (k - 1) / f.size
    if seed is not None:
        phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, f.size)
    t = np.arange(sample_count(duration, rate)) / rate
    values = np.sin(2 * np.pi * f * t[:, None] + phases) @ weights
    actual = float(np.sqrt(np.mean(values**2)))
    if actual == 0:
        raise ConfigError("amplitudes of multi_sine must not all be zero.")
    return Excitation(values * positive(rms, "rms", "multi_sine") / actual, 1 / rate, unit, "multi_sine")


def ramps_and_holds(
    points: Sequence[tuple[float, float]], *, rate: float, smooth: bool = False, unit: str = "m"
) -> Excitation:
    """Make a signal through (time, value) points from t = 0: straight ramps, holds where two values are equal.

    With `smooth` each ramp follows 10 s^3 - 15 s^4 + 6 s^5: it starts and ends without velocity or acceleration.

    Parameters
    ----------
    rate
        Samples per s.
    unit
        Unit of the values.
    """
    table = finite_array(points, "points", "ramps_and_holds", (None, 2))
    times, levels = table[:, 0], table[:, 1]
    if len(table) < 2 or times[0] != 0 or np.any(np.diff(times) <= 0):
        raise ConfigError(
            f"points of ramps_and_holds must be at least two with times rising from 0, got times {times.tolist()}."
        )
    t = np.arange(sample_count(float(times[-1]), rate)) / rate
    if smooth:
        i = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        s = np.clip((t - times[i]) / (times[i + 1] - times[i]), 0.0, 1.0)
        values = levels[i] + (levels[i + 1] - levels[i]) * s**3 * (10 - 15 * s + 6 * s**2)
    else:
        values = np.interp(t, times, levels)
    return Excitation(values, 1 / rate, unit, "ramps_and_holds")


def _below_nyquist(frequency: float, rate: float) -> None:
    if frequency >= positive(rate, "rate", "an excitation") / 2:
        raise ConfigError(
            f"Highest frequency of an excitation must lie below half its rate of {rate:g} Hz, got {frequency:g} Hz."
        )
