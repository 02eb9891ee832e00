"""Transfer systems as transfer functions: servo-hydraulic cylinders with their specimen, electric drives, pure lags."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mor.dynamics.transfer import TransferFunction
from mor.substructures import LinearSubstructure
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class ServoHydraulic:
    """Servo-hydraulic cylinder under displacement control with a specimen x / f = 1 / (m s^2 + c s + k).

    The servo valve a1b0 / (s^2 + b1 s + b2) drives the cylinder 1 / (s + a3), the specimen's velocity times a2 flows
    back into it (natural velocity feedback), the displacement loop is closed with unit gain, `gain` scales its input:

        inner = P / (1 + a2 s P),  P = specimen / (s + a3);   x / command = gain valve inner / (1 + valve inner)

    Defaults are the nominal values of the three-storey benchmark (Silva et al. 2020).
    """

    a1b0: float = 2.1283e13
    a2: float = 4.2297e6
    a3: float = 3.3
    b1: float = 425.0
    b2: float = 9.9976e4
    gain: float = 1.0261

    def transfer_function(self, mass: float, damping: float, stiffness: float) -> TransferFunction:
        """Return x / command for a specimen of `mass` kg, `damping` Ns/m and `stiffness` N/m."""
        if not mass > 0:
            raise ConfigError(f"mass of a specimen must be positive, got {mass:g} kg.")
        return self.around(TransferFunction([1.0], [mass, damping, stiffness]))

    def around(self, specimen: TransferFunction) -> TransferFunction:
        """Return x / command for any specimen x / f."""
        cylinder = TransferFunction([1.0], [1.0, self.a3]) * specimen
        inner = cylinder.feedback([self.a2, 0.0])
        valve = TransferFunction([self.a1b0], [1.0, self.b1, self.b2])
        return (valve * inner).feedback() * self.gain

    def perturbed(self, *, seed: int) -> ServoHydraulic:
        """Draw a3, b1 and b2 around their values with the published standard deviations (1.3, 3.3 and 3.3e3)."""
        a3, b1, b2 = np.random.default_rng(seed).standard_normal(3)
        return replace(self, a3=self.a3 + 1.3 * a3, b1=self.b1 + 3.3 * b1, b2=self.b2 + 3.3e3 * b2)


PENDULUM_HYDRAULIC = ServoHydraulic(a1b0=2.128e13, a2=7.26e5, a3=3.3, b1=425.0, b2=99976.0, gain=1.0261)
"""The cylinder under the cart and pendulum of Tsokanas, Wagg and Stojadinovic (2020), with the benchmark's gain."""

DELAYED_HYDRAULIC = TransferFunction([2.19e13], [29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13])
"""The cylinder with specimen of the stability study of Galmez and Fermandois (2020)."""


def electric_drive(stiffness: float = 3060.0, damping: float = 267.0) -> TransferFunction:
    """Return the electric actuator k / (s^2 + d s + k); the defaults (poles -12 and -255 rad/s) are a slow one."""
    if not (stiffness > 0 and damping > 0):
        raise ConfigError(f"stiffness and damping of an electric drive must be positive, got {stiffness}, {damping}.")
    return TransferFunction([stiffness], [1.0, damping, stiffness])


def first_order_lag(time_constant: float, gain: float = 1.0) -> TransferFunction:
    """Return gain / (T s + 1) with the time constant T in s."""
    if not time_constant > 0:
        raise ConfigError(f"time_constant of a lag must be positive, got {time_constant:g} s.")
    return TransferFunction([gain], [time_constant, 1.0])


def actuator_part(
    plant: TransferFunction, *, name: str = "actuator", unit: str = "m", velocity: bool = False
) -> LinearSubstructure:
    """Make an actuator with input `command` and output `measured`, and its rate `velocity` on request.

    The velocity is C (A x + B u); it exists for plants whose denominator outranks the numerator.
    """
    m = plant.state_space()
    outputs, C, D = {"measured": unit}, m.C, m.D
    if velocity:
        if m.D.any():
            raise ConfigError(f"Actuator '{name}' must not pass its command through at once to have a velocity.")
        outputs["velocity"] = f"{unit}/s"
        C, D = np.vstack([m.C, m.C @ m.A]), np.vstack([m.D, m.C @ m.B])
        D[np.abs(D) < 1e-12 * np.abs(m.C).max() * np.abs(m.B).max()] = 0.0
    return LinearSubstructure(name, (m.A, m.B, C, D), inputs={"command": unit}, outputs=outputs)
