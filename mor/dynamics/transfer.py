"""Transfer functions of one input and one output (actuators, sensors, controllers) and their sampled forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rt_runtime.blocks.discretise import zero_order_hold
from rt_runtime.checks import Array, one_of, positive
from rt_runtime.errors import ConfigError

Method = Literal["zoh", "tustin"]


@dataclass(frozen=True, eq=False)
class StateSpaceMatrices:
    """Matrices of x' = A x + B u, y = C x + D u; sampled when `dt` > 0: x_{k+1} = A x_k + B u_k."""

    A: Array
    B: Array
    C: Array
    D: Array
    dt: float = 0.0

    def discretise(self, dt: float, method: Method = "zoh") -> StateSpaceMatrices:
        """Sample at `dt` seconds: exact for a held input (`zoh`) or by the bilinear rule (`tustin`).

        zoh     exp([[A, B], [0, 0]] dt) = [[A_d, B_d], [0, I]]
        tustin  A_d = N^-1 (I + A dt/2), B_d = N^-1 B dt, C_d = C N^-1, D_d = D + C N^-1 B dt/2, N = I - A dt/2
        """
        if self.dt:
            raise ConfigError(f"Model must be continuous to be discretised, got one sampled at {self.dt:g} s.")
        positive(dt, "dt", "discretise")
        one_of(method, "method", "discretise", ("zoh", "tustin"))
        n = self.A.shape[0]
        if method == "zoh":
            held = zero_order_hold(self.A, self.B, self.C, self.D, dt)
            return StateSpaceMatrices(held.a, held.b, held.c, held.d, dt)
        half = 0.5 * dt * self.A
        inverse = np.linalg.inv(np.eye(n) - half)
        gain = inverse @ self.B * dt
        return StateSpaceMatrices(
            inverse @ (np.eye(n) + half), gain, self.C @ inverse, self.D + 0.5 * self.C @ gain, dt
        )


@dataclass(frozen=True, eq=False)
class TransferFunction:
    """Ratio of two polynomials in s, coefficients from the highest power down; `G * H` is a series connection.

    Parameters
    ----------
    numerator, denominator
        Coefficients, highest power of s first.
    """

    numerator: Array
    denominator: Array

    def __init__(self, numerator: ArrayLike, denominator: ArrayLike) -> None:
        num = np.trim_zeros(np.atleast_1d(np.asarray(numerator, float)), "f")
        den = np.trim_zeros(np.atleast_1d(np.asarray(denominator, float)), "f")
        if not (np.isfinite(num).all() and np.isfinite(den).all()):
            raise ConfigError("Coefficients of a transfer function must be finite, got NaN or infinity.")
        if not den.size:
            raise ConfigError("Denominator of a transfer function must not be zero.")
        if num.size > den.size:
            raise ConfigError(
                f"Transfer function must have a numerator of at most the degree of its denominator, "
                f"got {num.size - 1} over {den.size - 1}."
            )
        object.__setattr__(self, "numerator", (num if num.size else np.zeros(1)) / den[0])
        object.__setattr__(self, "denominator", den / den[0])

    def __mul__(self, other: TransferFunction | float) -> TransferFunction:
        if not isinstance(other, TransferFunction):
            return TransferFunction(self.numerator * other, self.denominator)
        return TransferFunction(
            np.polymul(self.numerator, other.numerator), np.polymul(self.denominator, other.denominator)
        )

    __rmul__ = __mul__

    def varied(self, *, gain: float = 1.0, speed: float = 1.0) -> TransferFunction:
        """Return gain P(s / speed): another static gain, and all poles and zeros faster by `speed`."""
        n = self.denominator.size - 1
        faster = positive(speed, "speed", "TransferFunction.varied") ** np.arange(n + 1.0)
        return TransferFunction(gain * self.numerator * faster[-self.numerator.size :], self.denominator * faster)

    def feedback(self, back: Sequence[float] = (1.0,), back_denominator: Sequence[float] = (1.0,)) -> TransferFunction:
        """Close a negative feedback loop, G / (1 + G H) with H = `back` / `back_denominator` (H may be improper)."""
        num = np.polymul(self.numerator, back_denominator)
        den = np.polyadd(np.polymul(self.denominator, back_denominator), np.polymul(self.numerator, back))
        return TransferFunction(num, den)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Roots of the denominator in rad/s, the slowest first."""
        roots = np.roots(self.denominator).astype(complex)
        return np.asarray(roots[np.argsort(np.abs(roots))])

    @property
    def dc_gain(self) -> float:
        """Value at s = 0."""
        if self.denominator[-1] == 0:
            return float("inf")
        return float(self.numerator[-1] / self.denominator[-1])

    def response(self, frequencies: ArrayLike) -> NDArray[np.complex128]:
        """Return G(i 2 pi f) for frequencies f in Hz."""
        s = 2j * np.pi * np.asarray(frequencies, float)
        return np.asarray(np.polyval(self.numerator, s) / np.polyval(self.denominator, s))

    def phase_delay(self, frequency: float) -> float:
        """Return the delay in s of a sine of `frequency` Hz: -phase / (2 pi f), with the phase unwrapped from 0 Hz."""
        path = np.linspace(0.0, frequency, 2001)[1:]
        phase = np.unwrap(np.angle(self.response(path) * np.sign(self.dc_gain)))
        return float(-phase[-1] / (2 * np.pi * frequency))

    def state_space(self) -> StateSpaceMatrices:
        """Return a controllable realisation whose time is scaled by the typical pole w, so that its entries stay small.

        x' = w (companion of the polynomial in s / w) x + [w 0 ... 0]' u
        """
        den, n = self.denominator, self.denominator.size - 1
        num = np.concatenate([np.zeros(den.size - self.numerator.size), self.numerator])
        D = np.array([[num[0]]])
        if n == 0:
            return StateSpaceMatrices(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), D)
        magnitude = np.abs(self.poles)
        magnitude = magnitude[magnitude > 0]
        w = float(np.exp(np.mean(np.log(magnitude)))) if magnitude.size else 1.0
        powers = w ** np.arange(n + 1)
        a, b = den / powers, num / powers
        A = np.zeros((n, n))
        A[0] = -a[1:]
        A[1:, :-1] = np.eye(n - 1)
        B = np.zeros((n, 1))
        B[0] = w
        return StateSpaceMatrices(w * A, B, (b[1:] - b[0] * a[1:])[None, :], D)

    def discretise(self, dt: float, method: Method = "zoh") -> StateSpaceMatrices:
        """Sample at `dt` seconds, see `StateSpaceMatrices.discretise`."""
        return self.state_space().discretise(dt, method)
