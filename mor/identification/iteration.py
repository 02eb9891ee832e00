"""Transfer function iteration: correct a drive file run by run until a table or rig follows its target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.transfer import TransferFunction
from mor.identification.response import Complex
from rt_runtime.checks import Array, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

WEAK_LINE = 1e-3
"""A line of the response below this share of its largest one says nothing about the plant."""


@dataclass(frozen=True, eq=False)
class Iterated:
    """The best drive, its response, and the error sqrt(sum (r - y)^2 / sum r^2) of every run; `ended` says why.

    `limited` is the share of the samples of that drive which stand at the limit.
    """

    drive: Array
    response: Array
    errors: tuple[float, ...]
    ended: str
    limited: float = 0.0


def iterate_drive(
    plant: Callable[[Array], Array],
    model: TransferFunction,
    target: ArrayLike,
    rate: float,
    *,
    runs: int,
    band: tuple[float, float],
    form: str = "fixed",
    share: float = 1.0,
    largest: float = float("inf"),
    fade: float = 1.0,
) -> Iterated:
    """Correct the drive with the inverse of the model after every run, within a band.

        u_0 = P^-1 r,   u_{k+1} = u_k + share P^-1 (r - y_k)

    The factor of the error at a frequency is |1 - share P_d / P| for the true plant P_d; above 1 it grows. The loop
    ends with the best drive so far when the error has grown.

    Parameters
    ----------
    plant
        Runs a drive on the table and returns what was measured, equally long.
    model
        The identified plant P.
    target
        What shall be measured; it should end at rest, spectra are periodic.
    rate
        Samples per second.
    runs
        Most runs, the first one included.
    band
        Lowest and highest frequency in Hz in which the drive is corrected.
    form
        "fixed": P stays the model; "estimated": P is the response of the last run, Y / U, where it has lines.
    share
        Of the correction, above 0 and up to 1.
    largest
        Limit of the drive; it is clipped there.
    fade
        Seconds in which the drive is faded in from zero and out to zero at its ends (half a cosine): a drive that jumps
        when it starts would shake the table. Leave quiet of at least this length before and after the target.
    """
    of = "iterate_drive"
    r = finite_array(target, "target", of, (None,))
    if len(r) < 16 or not np.any(r):
        raise ConfigError(f"target of {of} must move over at least 16 samples, got {len(r)} that do not.")
    one_of(form, "form", of, ("fixed", "estimated"))
    if not 0 < share <= 1:
        raise ConfigError(f"share of {of} must lie above 0 and up to 1, got {share!r}.")
    f = np.fft.rfftfreq(len(r), 1 / positive(rate, "rate", of))
    inside = (f >= band[0]) & (f <= band[1])
    if not inside.any():
        raise ConfigError(f"band of {of} must hold a line of the target, got {band} Hz.")
    known: Complex = np.ones(len(f), complex)
    known[inside] = model.response(f[inside])
    if not (np.isfinite(known).all() and np.abs(known[inside]).min() > 0.0):
        raise ConfigError(f"model of {of} must answer in the whole band of {band} Hz, got a zero or a pole in it.")
    ends = _faded(len(r), fade * rate)
    most = np.inf if largest == np.inf else positive(largest, "largest", of)

    def corrected(drive: Array, e: Array) -> Array:
        change = np.zeros(len(f), complex)
        change[inside] = share * np.fft.rfft(e)[inside] / known[inside]
        return np.clip(drive + ends * np.fft.irfft(change, len(r)), -most, most)

    u = corrected(np.zeros(len(r)), r / share)
    best: tuple[Array, Array] | None = None
    errors: list[float] = []
    ended = f"after {runs} runs"
    for k in range(whole(runs, "runs", of, 1)):
        y = finite_array(plant(u), "response of the plant", of, r.shape)
        errors.append(float(np.sqrt(np.sum((r - y) ** 2) / np.sum(r**2))))
        if k and errors[-1] > errors[-2]:
            ended = f"the error grew in run {k + 1}"
            break
        best = (u, y)
        if form == "estimated":
            U, Y = np.fft.rfft(u), np.fft.rfft(y)
            strong = inside & (np.abs(Y) > WEAK_LINE * np.abs(Y).max()) & (np.abs(U) > 0)
            known[strong] = Y[strong] / U[strong]
        u = corrected(u, r - y)
    assert best is not None
    return Iterated(best[0], best[1], tuple(errors), ended, float(np.mean(np.abs(best[0]) >= most)))


def _faded(count: int, samples: float) -> Array:
    """Return weights that rise from 0 to 1 over the first samples and fall to 0 over the last ones."""
    if not 0 <= samples <= count / 2:
        raise ConfigError(
            f"fade of iterate_drive must lie between 0 and half of the target, got {samples:g} samples at each end of "
            f"{count}; leave quiet before and after the target."
        )
    rise = 0.5 - 0.5 * np.cos(np.pi * np.arange(min(round(samples), count // 2)) / max(samples, 1))
    return np.concatenate([rise, np.ones(count - 2 * len(rise)), rise[::-1]])
