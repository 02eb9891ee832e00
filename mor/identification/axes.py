"""All axes at once: multisines that share no line, and the table of responses they give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mor.identification.response import Frf, frequency_response
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError

LEAST_LINES = 8


def orthogonal_multisines(
    channels: int,
    rate: float,
    *,
    period: int = 8192,
    periods: int = 16,
    band: tuple[float, float],
    rms: float,
    seed: int,
) -> Array:
    """Return commands (periods period, channels) that drive all channels at once and can be told apart.

    Channel j has the lines j, j + m, j + 2 m, ... of the band with random phases: over a period the commands are
    orthogonal, and every line of a measured signal belongs to one channel.

    Parameters
    ----------
    channels
        Number m of axes.
    rate
        Samples per second.
    period, periods
        Samples of a period, and how often it is repeated; the first one settles.
    band
        Lowest and highest frequency in Hz.
    rms
        Of each command, in its unit.
    seed
        Of the phases.
    """
    of = "orthogonal_multisines"
    m, n, fs = whole(channels, "channels", of, 1), whole(period, "period", of, 16), positive(rate, "rate", of)
    low, high = band
    if not 0 <= low < high <= fs / 2:
        raise ConfigError(f"band of {of} must be 0 <= low < high <= {fs / 2:g} Hz, got {band}.")
    first, last = max(1, int(np.ceil(low * n / fs))), min(int(high * n / fs), n // 2 - 1)
    if (last - first + 1) // m < LEAST_LINES:
        raise ConfigError(
            f"band of {of} must have at least {LEAST_LINES} lines for each of {m} channels, got {last - first + 1} "
            "lines in all; take a longer period or a wider band."
        )
    rng = np.random.default_rng(seed)
    found = np.empty((n, m))
    for j in range(m):
        lines = np.arange(first + j, last + 1, m)
        spectrum = np.zeros(n // 2 + 1, complex)
        spectrum[lines] = np.exp(2j * np.pi * rng.uniform(size=len(lines)))
        wave = np.fft.irfft(spectrum, n)
        found[:, j] = positive(rms, "rms", of) * wave / wave.std()
    return np.tile(found, (whole(periods, "periods", of, 4), 1))


def response_table(
    U: ArrayLike, Y: ArrayLike, rate: float, *, window: int = 8192, hold: str = "zoh"
) -> list[list[Frf]]:
    """Estimate the response from every input to every output of one record with orthogonal multisines.

    Parameters
    ----------
    U, Y
        Commands (n, m) as of `orthogonal_multisines`, measured (n, p).
    rate, window, hold
        As of `frequency_response`; the window is the period.

    Returns
    -------
    list of lists
        table[i][j] from input j to output i on the lines of input j; `coupling` and `fit_transfer_function` take it.
    """
    of = "response_table"
    u, y = finite_array(U, "U", of, (None, None)), finite_array(Y, "Y", of, (None, None))
    n = whole(window, "window", of, 16)
    if len(u) >= n:
        size = np.abs(np.fft.rfft(u[-n:], axis=0))
        shared = np.count_nonzero(size > 1e-3 * size.max(axis=0), axis=1)
        if shared.max() > 1:
            line = int(shared.argmax())
            raise ConfigError(
                f"Columns of U of {of} must share no line, but {shared.max()} of them have {line * rate / n:g} Hz; "
                "drive them with orthogonal_multisines, or one axis at a time."
            )
    return [[frequency_response(uj, yi, rate, method="periodic", window=n, hold=hold) for uj in u.T] for yi in y.T]
