"""Fit a transfer function to a frequency response: least squares, Sanathanan-Koerner, Levenberg-Marquardt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mor.dynamics.transfer import TransferFunction
from mor.identification.partial_fractions import vector_fit_poles
from mor.identification.response import Complex, Frf
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

LEAST_COHERENCE = 0.5
WEAK_SHARE = 0.25
"""Share of the lines that may have less; a zero of the plant takes a few."""

LARGEST_ERROR = 0.2
PASSES = 30
EVALUATIONS = 60


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model: the best stage, all stages, error and noise floor, and what must be said about it.

    error: largest |model - H| / |H| of the lines. noise_floor: median relative standard deviation of H. notes:
    sentences; `invertible` is false with zeros in the right half plane.
    """

    model: TransferFunction
    stages: dict[str, TransferFunction]
    frf: Frf
    error: float
    noise_floor: float
    invertible: bool
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the model must not reach a loop: it is unstable, or it is not the plant of the record.

        `loop.require` takes them. The median error of the lines must be at most 20 %.
        """
        found = []
        if self.model.poles.real.max() >= 0:
            found.append("The identified model must be stable, got a pole in the right half plane; fit fewer poles.")
        off = np.abs(self.model.response(self.frf.frequency) - self.frf.H) / np.abs(self.frf.H)
        if not (middle := float(np.median(off))) <= LARGEST_ERROR:
            found.append(
                f"The identified model must follow its record within {100 * LARGEST_ERROR:g} %, got a median error of "
                f"{100 * middle:.0f} %; fit other numbers of poles and zeros, or narrow the band."
            )
        if (words := weak_coherence(self.frf)) is not None:
            found.append(words)
        return tuple(found)

    def check(self) -> Fit:
        """Return the fit, or refuse a model that must not reach a loop."""
        if self.problems:
            raise ConfigError.from_problems("Identified model", list(self.problems))
        return self


def fit_transfer_function(
    frf: Frf,
    *,
    poles: int,
    zeros: int = 0,
    zeros_at_origin: int = 0,
    band: tuple[float, float] | None = None,
) -> Fit:
    """Fit N(s) / D(s) to a frequency response, weighted with its standard deviation.

    1. least squares on N - H D with scaled columns; 2. Sanathanan-Koerner: divided by the last |D|, repeated;
    3. Levenberg-Marquardt on second-order sections of D, which stay stable. Where that leaves more than the noise
    (lightly damped resonances), poles of partial fractions are a second start; the better result is kept.

    Parameters
    ----------
    frf
        As `frequency_response` gives it.
    poles, zeros, zeros_at_origin
        Numbers of poles, of all zeros, and how many of these lie at s = 0.
    band
        Lowest and highest frequency in Hz; default: all lines.
    """
    of = "fit_transfer_function"
    n, m, at_origin = (
        whole(poles, "poles", of, 1),
        whole(zeros, "zeros", of, 0),
        whole(zeros_at_origin, "zeros_at_origin", of, 0),
    )
    lines = frf if band is None else frf.band(*band)
    _check(lines, n, m, at_origin)
    w0 = 2 * np.pi * float(np.sqrt(lines.frequency[0] * lines.frequency[-1]) + lines.frequency[-1]) / 2
    s = 2j * np.pi * lines.frequency / w0
    weight = 1 / np.sqrt(lines.variance)
    weight = weight / np.sqrt(np.mean(weight**2))
    terms = s[:, None] ** np.arange(at_origin, m + 1)

    stages: dict[str, TransferFunction] = {}
    denominator = np.ones_like(s)
    for k in range(PASSES):
        top, bottom = _levy(s, lines.H, weight / np.abs(denominator), terms, n)
        if k == 0:
            stages["least squares"] = _model(top, bottom, at_origin, w0)
        new = np.polyval(bottom[::-1], s)
        settled = bool(np.max(np.abs(new - denominator) / np.abs(new)) < 1e-6)
        denominator = new
        if settled:
            break
    stages["Sanathanan-Koerner"] = _model(top, bottom, at_origin, w0)
    notes = []
    roots = np.roots(bottom[::-1]).astype(np.complex128)
    if roots.real.max() >= 0:
        notes.append("The fit had poles in the right half plane; they were reflected to the left.")
    best, cost = _refine(s, lines.H, weight, terms, roots)
    floor = float(np.sqrt(len(s)))  # cost of pure noise: one standard deviation a line
    if cost > 1.5 * floor * float(np.sqrt(np.mean(weight**2 * lines.variance))):
        start = vector_fit_poles(s, lines.H, weight, n)
        other, other_cost = _refine(s, lines.H, weight, terms, start)
        if other_cost < cost:
            best, cost = other, other_cost
            notes.append("Partial fractions gave the better start (lightly damped resonances).")
    top, bottom = best
    model = stages["Levenberg-Marquardt"] = _model(top, bottom, at_origin, w0)
    finite = np.roots(np.trim_zeros(model.numerator, "f"))
    invertible = not (len(finite) and finite.real.max() > 1e-9 * w0)
    if not invertible:
        notes.append(
            "A zero lies in the right half plane: the model has no stable inverse, use it for prediction only."
        )
    error = float(np.max(np.abs(model.response(lines.frequency) - lines.H) / np.abs(lines.H)))
    noise = float(np.median(np.sqrt(lines.variance) / np.abs(lines.H)))
    return Fit(model, stages, lines, error, noise, invertible, tuple(notes))


def _check(lines: Frf, n: int, m: int, at_origin: int) -> None:
    of = "fit_transfer_function"
    if m > n or at_origin > m:
        raise ConfigError(
            f"zeros of {of} must be at most the poles {n}, those at the origin among them, got {m}, {at_origin}."
        )
    if 2 * len(lines.frequency) < 2 * (n + m + 1):
        raise ConfigError(
            f"poles of {of} must be fewer than the lines in the band allow, got {n} poles and {m} zeros for "
            f"{len(lines.frequency)} lines; widen the band."
        )
    if (words := weak_coherence(lines)) is not None:
        raise ConfigError(words)


def weak_coherence(lines: Frf) -> str | None:
    """Say that too many lines have too little coherence, or return None."""
    weak = lines.coherence < LEAST_COHERENCE
    if weak.mean() <= WEAK_SHARE:
        return None
    return (
        f"Coherence of the response must be at least {LEAST_COHERENCE:g} in the band, got less in "
        f"{100 * weak.mean():.0f} % of the lines (median {np.median(lines.coherence):.2f}, from "
        f"{lines.frequency[weak][0]:.3g} Hz on); excite more, average longer, or narrow the band."
    )


def _levy(s: Complex, H: Complex, weight: Array, terms: Complex, n: int) -> tuple[Array, Array]:
    """Minimise |weight (N - H D)| with D monic; columns are scaled. Returns rising coefficients of N and D."""
    rows = np.hstack([terms, -H[:, None] * s[:, None] ** np.arange(n)]) * weight[:, None]
    right = weight * H * s**n
    A, b = np.vstack([rows.real, rows.imag]), np.concatenate([right.real, right.imag])
    size = np.linalg.norm(A, axis=0)
    found = np.linalg.lstsq(A / size, b, rcond=None)[0] / size
    k = terms.shape[1]
    return found[:k], np.append(found[k:], 1.0)


def _refine(s: Complex, H: Complex, weight: Array, terms: Complex, roots: Complex) -> tuple[tuple[Array, Array], float]:
    """Levenberg-Marquardt on log coefficients of the sections of D; N follows by linear least squares at each step."""
    from scipy.optimize import least_squares

    left = np.where(roots.real > 0, -np.conj(roots), roots)
    sections = _sections(left)

    def denominator(p: Array) -> Array:
        found = np.array([1.0])
        for i in range(0, len(p) - 1, 2):
            found = np.convolve(found, [np.exp(p[i + 1]), np.exp(p[i]), 1.0])
        return np.convolve(found, [np.exp(p[-1]), 1.0]) if len(p) % 2 else found

    def numerator(D: Complex) -> Array:
        rows = terms * (weight / D)[:, None]
        A = np.vstack([rows.real, rows.imag])
        size = np.linalg.norm(A, axis=0)
        b = np.concatenate([(weight * H).real, (weight * H).imag])
        return np.asarray(np.linalg.lstsq(A / size, b, rcond=None)[0] / size)

    def residual(p: Array) -> Array:
        D = np.polyval(denominator(p)[::-1], s)
        e = weight * (terms @ numerator(D) / D - H)
        return np.concatenate([e.real, e.imag])

    found = least_squares(residual, sections, method="lm", max_nfev=EVALUATIONS * (len(sections) + 1))
    D = denominator(found.x)
    return (numerator(np.polyval(D[::-1], s)), D), float(np.sqrt(2 * found.cost))


def _sections(poles: Complex) -> Array:
    """Return log [b, c] of sections s^2 + b s + c, complex pairs first, then real ones in pairs, a single one last."""
    floor = 1e-6 * float(np.abs(poles).max())
    pairs = [p for p in poles if p.imag > 1e-9 * abs(p)]
    real = sorted(-p.real for p in poles if abs(p.imag) <= 1e-9 * abs(p))
    values: list[float] = []
    for p in pairs:
        values += [max(-2 * p.real, floor), max(abs(p) ** 2, floor**2)]
    while len(real) > 1:
        a, b = max(real.pop(0), floor), max(real.pop(), floor)
        values += [a + b, a * b]
    values += [max(a, floor) for a in real]
    return np.log(values)


def _model(top: Array, bottom: Array, at_origin: int, w0: float) -> TransferFunction:
    """Return the model in s from rising coefficients in s / w0."""
    N = np.concatenate([np.zeros(at_origin), top]) / w0 ** np.arange(at_origin + len(top))
    D = bottom / w0 ** np.arange(len(bottom))
    return TransferFunction(N[::-1], D[::-1])
