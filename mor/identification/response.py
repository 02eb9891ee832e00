"""Frequency responses of a record, with coherence and variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rt_runtime.checks import Array, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

Complex = NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True, eq=False)
class Frf:
    """Frequency response: frequency (k) in Hz, H (k), coherence (k) and variance of H (k)."""

    frequency: Array
    H: Complex
    coherence: Array
    variance: Array

    def band(self, lower: float, upper: float) -> Frf:
        """Return the lines between two frequencies in Hz."""
        keep = (self.frequency >= lower) & (self.frequency <= upper)
        return Frf(self.frequency[keep], self.H[keep], self.coherence[keep], self.variance[keep])


def frequency_response(
    u: ArrayLike,
    y: ArrayLike,
    rate: float,
    *,
    method: str = "welch",
    window: int = 8192,
    estimator: str = "h1",
    hold: str = "zoh",
) -> Frf:
    """Estimate the response from u to y.

    welch: Hann windows with half overlap, H1 = S_uy / S_uu or H2 = S_yy / S_yu. periodic: u repeats after `window`
    samples; spectra are averaged over the periods but the first, and the scatter of the periods gives the variance.

    Parameters
    ----------
    u, y
        Input and output, equally long and equally sampled.
    rate
        Samples per second.
    method, estimator
        "welch" or "periodic"; "h1" (noise at the output) or "h2" (noise at the input).
    window
        Samples of a window or of a period.
    hold
        "zoh": u was held between samples (a digital command), its response (half a sample late) is divided out; "none"
        for two measured signals, and for a plant that answers at once.
    """
    of = "frequency_response"
    x = finite_array(u, "u", of, (None,))
    z = finite_array(y, "y", of, (None,))
    n = whole(window, "window", of, 16)
    fs = positive(rate, "rate", of)
    one_of(method, "method", of, ("welch", "periodic"))
    one_of(estimator, "estimator", of, ("h1", "h2"))
    one_of(hold, "hold", of, ("zoh", "none"))
    _check_record(x, z, n)
    f, suu, syy, suy, averages = _welch(x, z, fs, n) if method == "welch" else _periodic(x, z, fs, n)
    H: Complex = np.asarray(suy / suu if estimator == "h1" else syy / np.conj(suy), dtype=np.complex128)
    coherence = np.clip(np.abs(suy) ** 2 / (suu * syy), 1e-12, 1.0)
    variance = np.abs(H) ** 2 * np.maximum(1 - coherence, 1e-14) / (coherence * averages)
    if hold == "zoh":
        half = np.pi * f / fs
        held = np.sinc(f / fs) * np.exp(-1j * half)
        H, variance = H / held, variance / np.abs(held) ** 2
    return Frf(f, H, coherence, variance)


def _check_record(u: Array, y: Array, window: int) -> None:
    if len(u) != len(y):
        raise ConfigError(
            f"u and y of frequency_response must have one rate and length, got {len(u)} and {len(y)} samples; resample "
            "one of them."
        )
    if len(u) < 4 * window:
        raise ConfigError(
            f"Record of frequency_response must last at least 4 windows of {window} samples, got {len(u)}; record "
            "longer or take a smaller window."
        )
    if np.ptp(u) == 0:
        raise ConfigError(f"u of frequency_response must move, got the constant {u[0]:g}.")
    for name, signal in (("u", u), ("y", y)):
        top = np.count_nonzero((signal == signal.max()) | (signal == signal.min()))
        if top > 0.02 * len(signal) and len(np.unique(signal)) > 2:
            raise ConfigError(
                f"{name} of frequency_response must not be clipped, but {100 * top / len(signal):.0f} % of its samples "
                "are its largest or smallest value; excite with less."
            )


def _welch(u: Array, y: Array, fs: float, n: int) -> tuple[Array, Array, Array, Complex, float]:
    from scipy.signal import csd, welch

    f, suu = welch(u, fs, nperseg=n)
    suu, syy = suu[1:-1], welch(y, fs, nperseg=n)[1][1:-1]
    averages = max(1.0, (len(u) / n) * 2 / 1.06 * 0.95)  # windows overlap by half: their information by about 5 %
    return f[1:-1], suu, syy, csd(u, y, fs, nperseg=n)[1][1:-1], averages


def _periodic(u: Array, y: Array, fs: float, n: int) -> tuple[Array, Array, Array, Complex, float]:
    periods = len(u) // n
    U, Y = (np.fft.rfft(s[n : periods * n].reshape(-1, n), axis=1)[:, 1:-1] for s in (u, y))
    size = np.abs(U).mean(axis=0)
    keep = size > 1e-3 * size.max()
    U, Y = U[:, keep], Y[:, keep]
    f = np.fft.rfftfreq(n, 1 / fs)[1:-1][keep]
    suu, syy = (np.abs(S) ** 2 for S in (U, Y))
    return f, suu.mean(axis=0), syy.mean(axis=0), (np.conj(U) * Y).mean(axis=0), float(periods - 1)


def coupling(responses: Sequence[Sequence[Frf]], band: tuple[float, float] = (0.3, 50.0)) -> Array:
    """Return 20 log10 of the largest |H_ij| / |H_jj| over a band in Hz (m, m): how input j moves output i.

    Parameters
    ----------
    responses
        responses[i][j] from input j to output i, one axis driven at a time.
    band
        Frequencies in Hz.
    """
    table = [[np.abs(frf.band(*band).H) for frf in row] for row in responses]
    m = len(table)
    if any(len(row) != m for row in table):
        raise ConfigError("responses of coupling must be a square table, one row per output.")
    found = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            found[i, j] = 20 * np.log10(np.max(table[i][j] / table[j][j]))
    return found
