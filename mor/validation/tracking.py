"""How well a transfer system follows: J1 to J3 of tracking and J1 to J9 of the three-storey benchmark."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Tracking:
    """J1 delay in ms (positive: measured is late), J2 normalised rms error in %, J3 peak error in %."""

    J1: float
    J2: float
    J3: float


@dataclass(frozen=True)
class BenchmarkIndices:
    """J1 delay in ms, J2 to J9 in %: J2, J3 tracking; J4, J5 floor 1; J6, J7 floors 2, 3 rms; J8, J9 their peaks."""

    J1: float
    J2: float
    J3: float
    J4: float
    J5: float
    J6: float
    J7: float
    J8: float
    J9: float

    def as_array(self) -> Array:
        """Return the nine numbers as an array."""
        return np.array(list(asdict(self).values()))


def tracking(
    measured: ArrayLike, target: ArrayLike, rate: float, *, one_sided: bool = False, max_lag: float = 0.25
) -> Tracking:
    """Compare `measured` with `target` (n samples each, `rate` in Hz).

    Parameters
    ----------
    measured, target : array_like
        y and r, of equal length.
    rate : float
        Samples per second.
    one_sided : bool
        Look for a lag in whole samples from 0 on, as the benchmark evaluates it (a lead then shows as 0).
    max_lag : float
        Largest lag that is looked for, in s.

    Returns
    -------
    Tracking
        J1, the lag in ms of the highest normalised cross-correlation, refined by a parabola;
        J2 = 100 sqrt(sum (y - r)^2 / sum r^2); J3 = 100 max |y - r| / max |r|.
    """
    y, r = _pair(measured, target, rate)
    return Tracking(delay(y, r, rate, one_sided=one_sided, max_lag=max_lag), _rms(y - r, r), _peak(y - r, r))


def delay(
    measured: ArrayLike, target: ArrayLike, rate: float, *, one_sided: bool = False, max_lag: float = 0.25
) -> float:
    """Return by how many ms `measured` is late against `target`, see `tracking`."""
    y, r = _pair(measured, target, rate)
    n = r.size
    reach = min(round(max_lag * rate), n // 2)
    lags = np.arange(0 if one_sided else -reach, reach + 1)
    length = 1 << (2 * n - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(y, length) * np.conj(np.fft.rfft(r, length)), length)[lags]
    late, early = np.maximum(lags, 0), np.maximum(-lags, 0)
    sum_y, sum_r = (np.concatenate([[0.0], np.cumsum(values**2)]) for values in (y, r))
    energy_y = sum_y[n - early] - sum_y[late]  # of the part of y that overlaps r at this lag
    energy_r = sum_r[n - late] - sum_r[early]
    norm = np.sqrt(np.maximum(energy_y * energy_r, np.finfo(float).tiny))
    correlation = np.where(energy_y * energy_r > 0, product / norm, -np.inf)
    best = int(np.argmax(correlation))
    shift = float(lags[best])
    if not one_sided and 0 < best < lags.size - 1:
        before, peak, after = correlation[best - 1 : best + 2]
        curvature = before - 2 * peak + after
        if np.isfinite(curvature) and curvature < 0:
            shift += 0.5 * (before - after) / curvature
    return float(1000.0 * shift / rate)


def benchmark_indices(
    measured: ArrayLike, target: ArrayLike, floors: ArrayLike, reference: ArrayLike, rate: float
) -> BenchmarkIndices:
    """Return J1 to J9 of the three-storey hybrid-test benchmark (Silva et al. 2020).

    measured, target (n): displacement of the specimen and what the numerical side wanted, in m; floors, reference
    (n, 3): floor displacements of the hybrid and of the undivided structure. Root-mean-square numbers are
    100 std(error) / std(reference), peaks 100 max |error| / max |reference|; J1 in whole samples from 0 on.
    """
    y, r = _pair(measured, target, rate)
    hybrid, whole = np.asarray(floors, float), np.asarray(reference, float)
    if hybrid.shape != (y.size, 3) or whole.shape != (y.size, 3):
        raise ConfigError(
            f"floors and reference of benchmark_indices must have shape ({y.size}, 3), got {hybrid.shape} "
            f"and {whole.shape}."
        )
    error = hybrid - whole
    return BenchmarkIndices(
        delay(y, r, rate, one_sided=True, max_lag=49 / rate),
        _deviation(y - r, r),
        _peak(y - r, r),
        _deviation(y - whole[:, 0], whole[:, 0]),
        _peak(y - whole[:, 0], whole[:, 0]),
        _deviation(error[:, 1], whole[:, 1]),
        _deviation(error[:, 2], whole[:, 2]),
        _peak(error[:, 1], whole[:, 1]),
        _peak(error[:, 2], whole[:, 2]),
    )


def _pair(measured: ArrayLike, target: ArrayLike, rate: float) -> tuple[Array, Array]:
    y, r = np.asarray(measured, float), np.asarray(target, float)
    problems = []
    if y.ndim != 1 or y.shape != r.shape or y.size < 3:
        problems.append(
            f"measured and target must be one-dimensional, of one length and at least 3 samples, "
            f"got shapes {y.shape} and {r.shape}."
        )
    elif not (np.isfinite(y).all() and np.isfinite(r).all()):
        problems.append("measured and target must be finite, got NaN or infinity.")
    elif not r.any():
        problems.append("target must not be zero throughout: its size is what the errors are divided by.")
    if not rate > 0:
        problems.append(f"rate of tracking must be a positive number of Hz, got {rate:g}.")
    if problems:
        raise ConfigError.from_problems("Tracking", problems)
    return y, r


def _rms(error: Array, reference: Array) -> float:
    return float(100 * np.sqrt(np.sum(error**2) / np.sum(reference**2)))


def _deviation(error: Array, reference: Array) -> float:
    return float(100 * np.std(error) / np.std(reference))


def _peak(error: Array, reference: Array) -> float:
    return float(100 * np.max(np.abs(error)) / np.max(np.abs(reference)))
