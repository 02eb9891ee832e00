"""Actuators: simulated, over UDP, from a shared library. Each has a sensor and a drive to put into a loop."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.blocks.discretise import zero_order_hold
from rt_runtime.checks import finite_array, positive, whole
from rt_runtime.engine.pacing import Durations
from rt_runtime.errors import ConfigError

SHORTEST_KEY = 16
MOST_VALUES = 32
MOST_OF_PROTOCOL = {1: (16, 15), 2: (MOST_VALUES, MOST_VALUES)}
"""Commands and measured signals of a rig by the version of its protocol; the welcome of version 1 tells 15 of them."""

LINK = ("state", "lost", "repeated", "conflicting", "foreign", "rejected", "delay", "drift")
"""What a `Link` tells, in the order of its outputs."""

RIG_STATES = ("idle", "live", "holding", "ramping", "off")
"""States of a rig; `<prefix>.state` is an index of it."""


class Sensor(_core.Sensor):
    """Reads an actuator: outputs are the measured signals, their age in ticks and the status (negative: an error)."""

    def __init__(self, actuator: _core.Actuator) -> None:
        super().__init__(actuator)
        self.actuator = actuator


class Link(_core.Link):
    """Tells how the connection to an actuator is, for rules; it stands behind the sensor in a loop.

    Outputs (`link_names`): state of the rig (an index of `RIG_STATES`); numbers of answers so far that were lost,
    repeated, conflicting (the same number with another content: two rigs answer), foreign (signed well, but of another
    session), rejected (damaged or forged); delay of the last answer in s; drift in s, by how much the answers have come
    later than at the start by the rig's own clock (growing: a delay that grows, or a slow clock). All zero for an
    actuator without a connection; a plug-in tells its state.

    Parameters
    ----------
    actuator
        The actuator whose `Sensor` is in the loop.
    """

    def __init__(self, actuator: _core.Actuator) -> None:
        super().__init__(actuator)
        self.actuator = actuator


class Drive(_core.Drive):
    """Writes to an actuator: inputs are the commands, the output is the status (negative: not sent)."""

    def __init__(self, actuator: _core.Actuator) -> None:
        super().__init__(actuator)
        self.actuator = actuator

    @property
    def needs_clock(self) -> bool:
        """Whether something moves that does not wait for the loop; OpenSees does wait."""
        return bool(self.actuator.external) and not isinstance(self.actuator, _core.OpenSeesActuator)


class SimulatedActuator(_core.SimulatedActuator):
    """An actuator that is computed: limits, delay, transfer function, coupling, noise, quantiser, in this order.

    Limits, noise and resolution are one number for all channels or one per channel.

    Parameters
    ----------
    numerator, denominator
        Falling powers of s (default 1: follows at once, one tick late); or a list of them, one per channel.
    dt
        Time between two ticks, in s.
    channels
        Number of channels; taken from the lists where there are some.
    delay
        Of the command, in s.
    lower, upper, rate
        The command it follows is held in [lower, upper] with at most `rate` per s.
    noise, quantum
        Standard deviation and resolution of the sensor.
    coupling
        Matrix G (channels, channels): positions are G times those of the channels alone; default: none.
    seed
        Of the noise.
    """

    def __init__(
        self,
        numerator: ArrayLike | list[ArrayLike] = (1.0,),
        denominator: ArrayLike | list[ArrayLike] = (1.0,),
        *,
        dt: float,
        channels: int | None = None,
        delay: float = 0.0,
        lower: float | Sequence[float] = -math.inf,
        upper: float | Sequence[float] = math.inf,
        rate: float | Sequence[float] = math.inf,
        noise: float | Sequence[float] = 0.0,
        quantum: float | Sequence[float] = 0.0,
        coupling: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        of = "SimulatedActuator"
        dt = positive(dt, "dt", of)
        polynomials = [_listed(numerator), _listed(denominator)]
        lengths = {len(each) for each in polynomials if each is not None} | ({channels} if channels else set())
        if len(lengths) > 1:
            raise ConfigError(f"numerator and denominator of {of} must have one polynomial per channel, got {lengths}.")
        n = whole(lengths.pop() if lengths else 1 if channels is None else channels, "channels", of, 1)
        top, bottom = (
            [given] * n if each is None else each
            for each, given in zip(polynomials, (numerator, denominator), strict=True)
        )
        plants = [_checked_plant(num, den, dt, of) for num, den in zip(top, bottom, strict=True)]
        if not (0.0 <= delay <= 1e6 * dt):
            raise ConfigError(f"delay of {of} must lie between 0 and {1e6 * dt:g} s, got {delay!r}.")
        named = {"lower": lower, "upper": upper, "rate": rate, "noise": noise, "quantum": quantum}
        rows = {name: _per_channel(value, name, of, n) for name, value in named.items()}
        for low, high in zip(rows["lower"], rows["upper"], strict=True):
            if not low <= 0.0 <= high or low == high:
                raise ConfigError(f"lower and upper of {of} must enclose 0, got {low:g} and {high:g}.")
        if not (rows["rate"] > 0.0).all():
            raise ConfigError(f"rate of {of} must be positive, got {float(rows['rate'].min())!r}.")
        for name in ("noise", "quantum"):
            if not ((rows[name] >= 0.0) & np.isfinite(rows[name])).all():
                raise ConfigError(f"{name} of {of} must not be negative, got {float(rows[name].min())!r}.")
        mixed = finite_array(np.eye(n) if coupling is None else coupling, "coupling", of, (n, n))
        super().__init__(plants, np.stack(list(rows.values())), mixed, delay / dt, whole(seed, "seed", of, 0), dt)


def _listed(polynomial: Any) -> list[Any] | None:
    """Return the polynomials of the channels, None for one polynomial for all."""
    several = isinstance(polynomial, list | tuple | np.ndarray) and len(polynomial) and np.ndim(polynomial[0]) == 1
    return list(polynomial) if several else None


def _per_channel(value: float | Sequence[float], which: str, of: str, n: int) -> np.ndarray[Any, Any]:
    numbers = np.atleast_1d(np.asarray(value, dtype=float))
    if numbers.shape not in ((1,), (n,)) or np.isnan(numbers).any():
        raise ConfigError(f"{which} of {of} must be one number or one for each of {n} channels, got {value!r}.")
    return np.broadcast_to(numbers, (n,))


def _checked_plant(
    numerator: ArrayLike, denominator: ArrayLike, dt: float, of: str
) -> tuple[np.ndarray[Any, Any], ...]:
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
    return _plant(num, den, dt)


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

    `start` asks the rig for a session and claims it; a rig that another test holds is refused in words. From then on
    `read` gives what the rig measures, also before the first command. `stop` releases it. The status of a read is 0, or
    negative: -1 no session, -3 the rig did not obey the last command, -4 its watchdog has taken over; of a write -2,
    not sent.

    Parameters
    ----------
    n_command, n_measured
        Numbers that go out and come back, at most 32 each.
    port, host
        Where the rig listens; `host` is a dotted address.
    key
        Both sides sign with it and drop what is not signed; at least 16 bytes.
    insecure
        Accept a rig on another machine without a key: anybody on the network can then move the actuator.
    timeout
        How long the start waits for the rig, in s.
    goodbye
        Start a small process beside this one that asks the rig to go to rest if this one is killed.
    protocol
        Version of the protocol, 2, or 1 for a rig of before (16 commands and 15 measured signals at most). Only this
        one is spoken: nobody on the network can talk the two sides down to the weaker one. A rig of version 1 has no
        watchdog of its own, and stays where it is when this process is killed.
    """

    def __init__(
        self,
        n_command: int,
        n_measured: int,
        *,
        port: int,
        host: str = "127.0.0.1",
        key: bytes = b"",
        insecure: bool = False,
        timeout: float = 2.0,
        goodbye: bool = True,
        protocol: int = 2,
    ) -> None:
        of = "UdpRig"
        for name, value, most in zip(
            ("n_command", "n_measured"), (n_command, n_measured), most_of(protocol, of), strict=True
        ):
            if whole(value, name, of, 1) > most:
                raise ConfigError(f"{name} of {of} must be at most {most} in protocol {protocol}, got {value}.")
        if not 0 < whole(port, "port", of, 0) < 65536:
            raise ConfigError(f"port of {of} must lie between 1 and 65535, got {port}.")
        positive(timeout, "timeout", of)
        key = checked_key(key, of, host=host, insecure=insecure)
        program = str(goodbye_program()) if goodbye else ""
        super().__init__(n_command, n_measured, host, port, key, timeout, program, protocol)

    @property
    def round_trips(self) -> Durations:
        """Times from sending a command to the arrival of its answer, by the kernel's clock."""
        return Durations.of(self.round_trip.describe())


def most_of(protocol: int, of: str) -> tuple[int, int]:
    """Return how many commands and measured signals a rig may have in a version of the protocol."""
    if protocol not in MOST_OF_PROTOCOL:
        raise ConfigError(f"protocol of {of} must be 1 or 2, got {protocol!r}.")
    return MOST_OF_PROTOCOL[protocol]


def checked_key(key: bytes, of: str, *, host: str, insecure: bool) -> bytes:
    """Return the key of a rig if it is long enough to mean something, or none is needed on this machine."""
    if not isinstance(key, bytes) or (key and len(key) < SHORTEST_KEY):
        raise ConfigError(f"key of {of} must be empty or at least {SHORTEST_KEY} bytes, got {len(key)}.")
    if not key and not insecure and not _on_this_machine(host):
        raise ConfigError(
            f"key of {of} must be given for a rig at {host}: without one anybody on the network can move it. Make one "
            "with: hmor rig --new-key FILE; or say insecure = true."
        )
    return key


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return True  # no address at all: the socket refuses it in words


def goodbye_program() -> Path:
    """Return the path of the watchdog process, which stands beside the core."""
    return Path(_core.__file__).with_name("hmor_goodbye")


class PluginActuator(_core.PluginActuator):
    """An actuator in a shared library with the five functions of hmor_actuator.h (docs/plugin.md).

    Parameters
    ----------
    path, config
        The library, and the text it gets when it starts.
    n_command, n_measured
        Numbers that go out and come back.
    dt
        Time between two ticks, in s.
    hold_after, lease, ramp
        What the watchdog in the rig's controller is asked for: hold after so many missing commands, after `lease` s
        go to rest in `ramp` s. Whether there is one is in `watchdog` after the start.
    """

    def __init__(
        self,
        path: str | Path,
        config: str = "",
        *,
        n_command: int,
        n_measured: int,
        dt: float,
        hold_after: int = 10,
        lease: float = 2.0,
        ramp: float = 2.0,
    ) -> None:
        of = "PluginActuator"
        n, m = whole(n_command, "n_command", of, 1), whole(n_measured, "n_measured", of, 1)
        hold, times = whole(hold_after, "hold_after", of, 1), (positive(lease, "lease", of), positive(ramp, "ramp", of))
        try:
            super().__init__(str(path), config, n, m, positive(dt, "dt", of), hold, *times)
        except RuntimeError as error:
            raise ConfigError(str(error)) from None


class OpenSeesActuator(_core.OpenSeesActuator):
    """The `actuator` element of a model in OpenSees as a specimen: one displacement out, displacement and force back.

    OpenSees listens (`element actuator tag i j EA port`) and makes `steps` steps of its analysis per tick, with
    `algorithm Linear`, which updates the element once per step; it is waited for, so that a paced loop refuses it.
    The status of a read is -1 when OpenSees has closed the connection or is silent for `timeout`.

    Parameters
    ----------
    port, host
        Where OpenSees listens; `host` is a dotted address.
    timeout
        How long the start and every answer may take, in s.
    steps
        Steps of the analysis per tick with the same displacement. The element answers what it computed before the last
        displacement acted: with two steps displacement and force are those of the command; more let a nonlinear
        model iterate.
    """

    def __init__(self, port: int, *, host: str = "127.0.0.1", timeout: float = 10.0, steps: int = 2) -> None:
        of = "OpenSeesActuator"
        if not 0 < whole(port, "port", of, 0) < 65536:
            raise ConfigError(f"port of {of} must lie between 1 and 65535, got {port}.")
        super().__init__(host, port, positive(timeout, "timeout", of), whole(steps, "steps", of, 2))


def include_folder() -> Path:
    """Return the folder of hmor_actuator.h, for the compiler's -I."""
    return Path(__file__).resolve().parents[1] / "include"


def names_of(prefix: str, measured: Sequence[str]) -> list[str]:
    """Return the output signals of a sensor: the measured ones, then <prefix>.age and <prefix>.status."""
    return [*measured, f"{prefix}.age", f"{prefix}.status"]


def link_names(prefix: str) -> list[str]:
    """Return the output signals of a `Link`: <prefix>.state, <prefix>.lost and so on."""
    return [f"{prefix}.{name}" for name in LINK]
