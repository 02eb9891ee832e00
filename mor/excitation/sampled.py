"""An excitation: one signal sampled at even steps, with its unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mor.data.trajectory import Trajectory
from rt_runtime import Table
from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Baseline:
    """Where an acceleration ends when integrated twice from rest: velocity in m/s, displacement in m, and mean in m/s2.

    `drift` is the final velocity over the largest one: 0 for a clean record, 1 when the ground never stops.

    Parameters
    ----------
    final_velocity, final_displacement
        At the end of the record, in m/s and m.
    """

    final_velocity: float
    final_displacement: float
    mean: float
    drift: float


@dataclass(frozen=True, eq=False)
class Excitation:
    """A signal of n samples at even steps of `dt` seconds; value k belongs to t = k dt.

    Parameters
    ----------
    values
        The samples (n,).
    unit, name
        Unit of the samples; name of the signal.
    """

    values: Array
    dt: float
    unit: str = "m/s2"
    name: str = "excitation"

    def __init__(self, values: ArrayLike, dt: float, unit: str = "m/s2", name: str = "excitation") -> None:
        of = f"excitation '{name}'"
        numbers = np.array(finite_array(values, "values", of, (None,)))
        if numbers.size < 2:
            raise ConfigError(f"values of {of} must have at least 2 samples, got {numbers.size}.")
        numbers.setflags(write=False)
        for field, value in (("values", numbers), ("dt", positive(dt, "dt", of)), ("unit", unit), ("name", name)):
            object.__setattr__(self, field, value)

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def time(self) -> Array:
        """Times of the samples in s."""
        return np.asarray(np.arange(len(self)) * self.dt)

    @property
    def duration(self) -> float:
        """Time of the last sample in s."""
        return (len(self) - 1) * self.dt

    @property
    def peak(self) -> float:
        """Largest absolute value."""
        return float(np.abs(self.values).max())

    def block(self) -> Table:
        """Return the block that gives the signal out in a loop, by linear interpolation, the last value afterwards."""
        return Table(self.time, self.values)

    def trajectory(self, name: str | None = None) -> Trajectory:
        """Return the signal as a trajectory with one column, as a hybrid model takes it; `name` of the column."""
        return Trajectory(self.time, self.values, {name or self.name: self.unit})

    def scaled(self, factor: float) -> Excitation:
        """Multiply all values."""
        return replace(self, values=self.values * factor)

    def scaled_to_peak(self, peak: float) -> Excitation:
        """Scale so that the largest absolute value is `peak`."""
        if self.peak == 0:
            raise ConfigError(f"Excitation '{self.name}' is zero throughout and cannot be scaled to a peak.")
        return self.scaled(positive(peak, "peak", "scaled_to_peak") / self.peak)

    def padded(self, before: float = 0.0, after: float = 0.0) -> Excitation:
        """Add quiet (zeros) of so many seconds before and after, rounded to whole samples."""
        if before < 0 or after < 0:
            raise ConfigError(f"before and after of padded must not be negative, got {before:g} and {after:g} s.")
        values = np.pad(self.values, (round(before / self.dt), round(after / self.dt)))
        return replace(self, values=values)

    def resampled(self, rate: float) -> Excitation:
        """Give the signal at `rate` Hz by linear interpolation; to a lower rate a zero-phase low-pass goes before it.

        The low-pass is a Butterworth of order 8 at 0.4 of the new rate, run forwards and backwards.
        """
        dt = 1.0 / positive(rate, "rate", "resampled")
        values = self.values
        if dt > self.dt * (1 + 1e-9):
            from scipy.signal import butter, sosfiltfilt

            values = sosfiltfilt(butter(8, 0.4 * rate, fs=1 / self.dt, output="sos"), values)
        count = int(np.floor(self.duration / dt + 1e-9)) + 1
        if count < 2:
            raise ConfigError(f"rate of resampled must leave 2 samples of {self.duration:g} s, got {rate:g} Hz.")
        return replace(self, values=np.interp(np.arange(count) * dt, self.time, values), dt=dt)

    def integrated(self) -> Array:
        """Integrate from zero by the trapezoidal rule; n values, for an acceleration the velocity."""
        steps = 0.5 * self.dt * (self.values[1:] + self.values[:-1])
        return np.concatenate([[0.0], np.cumsum(steps)])

    def baseline(self) -> Baseline:
        """Integrate an acceleration twice and say where it ends."""
        velocity = self.integrated()
        displacement = replace(self, values=velocity).integrated()
        largest = float(np.abs(velocity).max())
        drift = abs(float(velocity[-1])) / largest if largest else 0.0
        return Baseline(float(velocity[-1]), float(displacement[-1]), float(self.values.mean()), drift)

    def baseline_corrected(self, order: Literal[0, 1, 2] = 1) -> Excitation:
        """Take from an acceleration the polynomial of `order` that brings its displacement closest to zero.

        The displacement is fitted by t^2 ... t^(order + 2) in the least-squares sense; the second derivative goes.
        """
        if order not in (0, 1, 2):
            raise ConfigError(f"order of baseline_corrected must be 0, 1 or 2, got {order!r}.")
        s = self.time / self.duration
        displacement = replace(self, values=self.integrated()).integrated()
        powers = np.arange(2, order + 3)
        coefficients = np.linalg.lstsq(s[:, None] ** powers, displacement, rcond=None)[0]
        trend = s[:, None] ** (powers - 2) @ (coefficients * powers * (powers - 1)) / self.duration**2
        return replace(self, values=self.values - trend)


def sample_count(duration: float, rate: float) -> int:
    """Return how many samples from 0 to `duration` s there are at `rate` Hz."""
    n = round(positive(duration, "duration", "an excitation") * positive(rate, "rate", "an excitation")) + 1
    if n < 3:
        raise ConfigError(f"duration of an excitation must hold at least 3 samples at {rate:g} Hz, got {duration:g} s.")
    return n
