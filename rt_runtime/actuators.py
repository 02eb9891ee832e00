"""Actuators: simulated, over UDP, from a shared library. Each has a sensor and a drive to put into a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.checks import finite_array, positive, whole
from rt_runtime.discretise import zero_order_hold
from rt_runtime.errors import ConfigError
from rt_runtime.pacing import Durations

SHORTEST_KEY = 16


class Sensor(_core.Sensor):
    """Reads an actuator: outputs are the measured signals, their age in ticks and the status (negative: an error)."""

    def __init__(self, actuator: _core.Actuator) -> None:
        super().__init__(actuator)
        self.actuator = actuator


class Drive(_core.Drive):
    """Writes to an actuator: inputs are the commands, the output is the status (negative: not sent)."""

    def __init__(self, actuator: _core.Actuator) -> None:
        super().__init__(actuator)
        self.actuator = actuator


class SimulatedActuator(_core.SimulatedActuator):
    """An actuator that is computed: limits, delay, transfer function, noise, quantiser, in this order, per channel.

    numerator and denominator in falling powers of s (default 1: follows at once, one tick late); `delay` in s; the
    command it follows is held in [lower, upper] with at most `rate` per s; `noise` is the standard deviation of the
    sensor, `quantum` its resolution. Every channel is alike.
    """

    def __init__(
        self,
        numerator: ArrayLike = (1.0,),
        denominator: ArrayLike = (1.0,),
        *,
        dt: float,
        channels: int = 1,
        delay: float = 0.0,
        lower: float = -math.inf,
        upper: float = math.inf,
        rate: float = math.inf,
        noise: float = 0.0,
        quantum: float = 0.0,
        seed: int = 0,
    ) -> None:
        of = "SimulatedActuator"
        dt = positive(dt, "dt", of)
        num = np.trim_zeros(finite_array(numerator, "numerator", of, (None,)), "f")
        den = np.trim_zeros(finite_array(denominator, "denominator", of, (None,)), "f")
        if len(den) == 0 or len(num) == 0:
            raise ConfigError(f"numerator and denominator of {of} must not be zero.")
        if len(den) > 1 and len(num) >= len(den):
            raise ConfigError(
                f"numerator of {of} must have a lower degree than the denominator, got degree {len(num) - 1} and "
                f"{len(den) - 1}; a real actuator does not jump."
            )
        if len(den) == 1 and len(num) > 1:
            raise ConfigError(f"denominator of {of} must have a degree of at least {len(num)}, got 0.")
        if not (0.0 <= delay <= 1e6 * dt):
            raise ConfigError(f"delay of {of} must lie between 0 and {1e6 * dt:g} s, got {delay!r}.")
        if not lower <= 0.0 <= upper or lower == upper:
            raise ConfigError(f"lower and upper of {of} must enclose 0, got {lower:g} and {upper:g}.")
        if not rate > 0.0:
            raise ConfigError(f"rate of {of} must be positive, got {rate!r}.")
        for name, value in (("noise", noise), ("quantum", quantum)):
            if not 0.0 <= value < math.inf:
                raise ConfigError(f"{name} of {of} must not be negative, got {value!r}.")
        a, b, c = _plant(num, den, dt)
        super().__init__(
            whole(channels, "channels", of, 1), a, b, c, delay / dt, lower, upper, rate, noise, quantum,
            whole(seed, "seed", of, 0), dt,
        )  # fmt: skip


def _plant(num: np.ndarray[Any, Any], den: np.ndarray[Any, Any], dt: float) -> tuple[np.ndarray[Any, Any], ...]:
    """Discrete plant (a, b, c) for an input that is held over the tick; companion form."""
    n = len(den) - 1
    if n == 0:  # a gain, one tick late
        return np.zeros((1, 1)), np.ones((1, 1)), np.array([[num[0] / den[0]]])
    # Time is scaled so that the coefficients of the companion matrix are near 1; otherwise s^5 terms swamp the rest.
    scale = abs(den[-1] / den[0]) ** (1.0 / n) if den[-1] != 0.0 else 1.0
    powers = scale ** np.arange(n, -1, -1.0)
    den_scaled = den * powers / (den[0] * powers[0])
    num_scaled = np.concatenate([np.zeros(n - len(num)), num * powers[n + 1 - len(num) :]]) / (den[0] * powers[0])
    a = np.zeros((n, n))
    a[0], a[1:, :-1] = -den_scaled[1:], np.eye(n - 1)
    b = np.eye(n)[:, :1]
    c = num_scaled[None, :]
    discrete = zero_order_hold(a, b, c, np.zeros((1, 1)), dt * scale)
    return tuple(np.ascontiguousarray(matrix) for matrix in discrete[:3])


class UdpRig(_core.UdpRig):
    """A rig in another process or machine over UDP (docs/rig_protocol.md); `hmor rig` plays one.

    `key`: both sides sign with it (HMAC-SHA256) and drop what is not signed; without one, anybody on the network can
    move the actuator. `timeout` in s is how long the start waits for the rig.
    """

    def __init__(
        self,
        n_command: int,
        n_measured: int,
        *,
        port: int,
        host: str = "127.0.0.1",
        key: bytes = b"",
        timeout: float = 2.0,
    ) -> None:
        of = "UdpRig"
        for name, value in (("n_command", n_command), ("n_measured", n_measured)):
            if whole(value, name, of, 1) > 16:
                raise ConfigError(f"{name} of {of} must be at most 16, got {value}.")
        if not 0 < whole(port, "port", of, 0) < 65536:
            raise ConfigError(f"port of {of} must lie between 1 and 65535, got {port}.")
        positive(timeout, "timeout", of)
        super().__init__(n_command, n_measured, host, port, checked_key(key, of), timeout)

    @property
    def round_trips(self) -> Durations:
        """Times from sending a command to the arrival of its answer, by the kernel's clock."""
        return Durations.of(self.round_trip.describe())


def checked_key(key: bytes, of: str) -> bytes:
    """Return the key of a rig if it is empty or long enough to mean something."""
    if not isinstance(key, bytes) or (key and len(key) < SHORTEST_KEY):
        raise ConfigError(f"key of {of} must be empty or at least {SHORTEST_KEY} bytes, got {len(key)}.")
    return key


class PluginActuator(_core.PluginActuator):
    """An actuator in a shared library with the four functions of hmor_actuator.h (docs/plugin.md)."""

    def __init__(self, path: str | Path, config: str = "", *, n_command: int, n_measured: int, dt: float) -> None:
        of = "PluginActuator"
        n, m = whole(n_command, "n_command", of, 1), whole(n_measured, "n_measured", of, 1)
        try:
            super().__init__(str(path), config, n, m, positive(dt, "dt", of))
        except RuntimeError as error:
            raise ConfigError(str(error)) from None


def include_folder() -> Path:
    """Return the folder of hmor_actuator.h, for the compiler's -I."""
    return Path(__file__).resolve().parent / "include"


def names_of(prefix: str, measured: Sequence[str]) -> list[str]:
    """Return the output signals of a sensor: the measured ones, then <prefix>.age and <prefix>.status."""
    return [*measured, f"{prefix}.age", f"{prefix}.status"]
