"""Classical actuator compensation with checked arguments; what is computed stands in core/control/*.hpp."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.blocks.basic import stable_sections
from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.errors import ConfigError


def bilinear_first_order(
    numerator: ArrayLike, denominator: ArrayLike, dt: float, of: str
) -> tuple[float, float, float]:
    """Return b0, b1, a1 of (n1 s + n0)/(d1 s + d0) by the bilinear rule s -> 2/dt (z - 1)/(z + 1)."""
    n1, n0 = finite_array(numerator, "numerator", of, (2,))
    d1, d0 = finite_array(denominator, "denominator", of, (2,))
    rate = 2.0 / dt
    leading = d1 * rate + d0
    if d1 * d0 < 0 or leading == 0:
        raise ConfigError(f"denominator of {of} must be stable, got {d1:g} s + {d0:g}.")
    return float((n1 * rate + n0) / leading), float((n0 - n1 * rate) / leading), float((d0 - d1 * rate) / leading)


class PiLead(_core.PiLead):
    """PI controller k_p + k_i / s on (lead of the reference) - measured; inputs r, y, output the command.

    `lead` is (numerator, denominator) of (n1 s + n0)/(d1 s + d0), each two numbers; None for no lead. Both are
    discretised by the bilinear rule at `dt`. The command is clipped to `bounds`, without windup of the integral.

    Parameters
    ----------
    kp, ki
        The gains k_p and k_i.
    """

    def __init__(
        self,
        kp: float,
        ki: float,
        *,
        dt: float,
        lead: tuple[ArrayLike, ArrayLike] | None = None,
        bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:
        of = "PiLead"
        period = positive(dt, "dt", of)
        for name, value in (("kp", kp), ("ki", ki)):
            if not math.isfinite(value):
                raise ConfigError(f"{name} of {of} must be finite, got {value!r}.")
        section = (1.0, 0.0, 0.0) if lead is None else bilinear_first_order(*lead, period, of)
        if not bounds[0] < bounds[1]:
            raise ConfigError(f"bounds of {of} must be (lower, upper) with lower < upper, got {bounds!r}.")
        self.given = (float(kp), float(ki), *section, float(bounds[0]), float(bounds[1]))
        super().__init__(*self.given, period)


@dataclass(frozen=True)
class ModelReferenceAdaptation:
    """Adaptation of ModelBasedCompensator: rate Gamma in 1/s, bound and margin of theta, corner of the reference model.

    `corner` in Hz of the first-order reference model; None means the reference itself.

    Parameters
    ----------
    largest
        Bound of theta.
    """

    rate: float
    largest: float
    margin: float = 0.1
    corner: float | None = None


class ModelBasedCompensator(_core.ModelBasedCompensator):
    """Feedforward, modified model-based (mMBC) and adaptive model reference control (aMRC) of one channel.

    `inverse`: sections (k, 6) of the inverse plant behind its low-pass. `feedback`: (A, B, C, D) of the discrete LQG
    feedback on the tracking error, or None. `adaptation`: a ModelReferenceAdaptation or None.
    mor.dynamics.control_design makes inverse and feedback from a plant. Inputs r, y; outputs command and theta.

    Parameters
    ----------
    dt
        Tick in s.
    """

    def __init__(
        self,
        inverse: ArrayLike,
        *,
        dt: float,
        feedback: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike] | None = None,
        adaptation: ModelReferenceAdaptation | None = None,
    ) -> None:
        of = "ModelBasedCompensator"
        period = positive(dt, "dt", of)
        if feedback is None:
            a, b, c, d = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.zeros((1, 1))
        else:
            a = finite_array(feedback[0], "A of feedback", of, (None, None))
            a = finite_array(a, "A of feedback", of, (len(a), len(a)))
            b = finite_array(feedback[1], "B of feedback", of, (len(a), 1))
            c = finite_array(feedback[2], "C of feedback", of, (1, len(a)))
            d = finite_array(feedback[3], "D of feedback", of, (1, 1))
        rate, largest, margin = 0.0, 1.0, 0.1
        model = (1.0, 0.0, 0.0)
        if adaptation is not None:
            if adaptation.corner is not None:
                w = 2 * math.pi * positive(adaptation.corner, "corner of adaptation", of)
                model = bilinear_first_order([0.0, w], [1.0, w], period, of)
            rate = positive(adaptation.rate, "rate of adaptation", of)
            largest = positive(adaptation.largest, "largest of adaptation", of)
            margin = positive(adaptation.margin, "margin of adaptation", of)
        self.sections, self.feedback = stable_sections(inverse, of), (a, b, c, float(d[0, 0]))
        self.adaptation = (rate, largest, margin, *model)
        super().__init__(self.sections, *self.feedback, *self.adaptation, period)


@dataclass(frozen=True)
class AdaptedGain:
    """One adapted coefficient: where it starts, how fast it follows, where it may go.

    Parameters
    ----------
    initial, gain
        First value; rate of adaptation.
    lower, upper
        Bounds.
    """

    initial: float
    gain: float
    lower: float = -math.inf
    upper: float = math.inf

    def row(self, name: str, of: str) -> Array:
        """Return [initial, gain, lower, upper] after a check."""
        if not (math.isfinite(self.initial) and self.lower <= self.initial <= self.upper):
            raise ConfigError(f"{name} of {of} must start in [{self.lower:g}, {self.upper:g}], got {self.initial!r}.")
        if not (math.isfinite(self.gain) and self.gain >= 0):
            raise ConfigError(f"gain of {name} of {of} must not be negative, got {self.gain!r}.")
        return np.array([self.initial, self.gain, self.lower, self.upper], dtype=float)


class AdaptiveCompensation(_core.AdaptiveCompensation):
    """First-order adaptive compensation: command = a0 target + a1 d(target)/dt with a0, a1 learnt from the measured.

    `low_pass`: sections (k, 6) applied to command and measured before adaptation, or None. Inputs target, measured;
    outputs command, a0, a1.
    """

    def __init__(self, a0: AdaptedGain, a1: AdaptedGain, *, dt: float, low_pass: ArrayLike | None = None) -> None:
        of = "AdaptiveCompensation"
        rows = np.stack([a0.row("a0", of), a1.row("a1", of)])
        sections = np.zeros((0, 5)) if low_pass is None else stable_sections(low_pass, of)
        self.coefficients, self.sections = rows, sections
        super().__init__(rows, sections, positive(dt, "dt", of))
