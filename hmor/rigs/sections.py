"""[run.actuator] of a study: what moves the specimen, simulated, over UDP, by a plug-in, or in OpenSees."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from hmor.rigs.key import read_key
from hmor.study.section import Section
from rt_runtime import OpenSeesActuator, PluginActuator, SimulatedActuator, UdpRig
from rt_runtime._core import Actuator
from rt_runtime.engine.signal_names import expand, expand_all
from rt_runtime.errors import ConfigError
from rt_runtime.rig.actuators import checked_key


class ActuatorSection(Section):
    """What every actuator has: its measured signals with their units, and the signals that are sent to it.

    commands: by default all commands of the test, for the only actuator. Vectors such as "reading[6]" may be named.
    """

    measured: dict[str, str] = Field(min_length=1)
    commands: tuple[str, ...] = ()

    @field_validator("measured")
    @classmethod
    def _each_measured(cls, named: dict[str, str]) -> dict[str, str]:
        return {signal: unit for name, unit in named.items() for signal in expand(name)}

    @field_validator("commands")
    @classmethod
    def _each_command(cls, named: tuple[str, ...]) -> tuple[str, ...]:
        return expand_all(named)


class SimulatedSection(ActuatorSection):
    """[run.actuator] kind = "simulated": transfer function, delay, limits, noise, resolution."""

    kind: Literal["simulated"]
    numerator: tuple[float, ...] = (1.0,)
    denominator: tuple[float, ...] = (1.0,)
    delay: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    rate: float = math.inf
    noise: float = 0.0
    quantum: float = 0.0

    def build(self, n_command: int, dt: float, seed: int, folder: Path) -> Actuator:
        """Make the actuator."""
        return SimulatedActuator(
            self.numerator, self.denominator, dt=dt, channels=n_command, delay=self.delay, lower=self.lower,
            upper=self.upper, rate=self.rate, noise=self.noise, quantum=self.quantum, seed=seed,
        )  # fmt: skip


class UdpSection(ActuatorSection):
    """[run.actuator] kind = "udp": a rig at host and port; `key_file` holds the key both sides sign with.

    rig: name of a rig that `hmor rig` plays: it is started in a process of its own for the test, with a key of its own;
    without a clock it is a part of this process. A rig of your own, "module:function", may be a function of `rate` and
    `settings`, those of the run.
    A rig on another machine needs a key; `insecure = true` says that it has none and everybody on the network is
    trusted. protocol: 1 for a rig of before, which has no watchdog of its own (docs/rig_protocol.md).
    """

    kind: Literal["udp"]
    port: int = Field(default=0, ge=0, le=65535)
    rig: str | None = None
    host: str = "127.0.0.1"
    key_file: str | None = None
    insecure: bool = False
    timeout: float = Field(default=2.0, gt=0)
    protocol: int = Field(default=2, ge=1, le=2)

    @model_validator(mode="after")
    def _reachable(self) -> UdpSection:
        if (self.port == 0) == (self.rig is None):
            raise ConfigError("must have either port, of a rig that runs, or rig, which is started")
        if self.key_file is None:
            checked_key(b"", "[run.actuator]", host=self.host, insecure=self.insecure)
        return self

    def build(self, n_command: int, dt: float, seed: int, folder: Path) -> Actuator:
        """Make the actuator."""
        key = read_key(folder / self.key_file) if self.key_file is not None else b""
        return UdpRig(
            n_command, len(self.measured), host=self.host, port=self.port, key=key, insecure=self.insecure,
            timeout=self.timeout, protocol=self.protocol,
        )  # fmt: skip


class PluginSection(ActuatorSection):
    """[run.actuator] kind = "plugin": a shared library and the text it gets when it starts."""

    kind: Literal["plugin"]
    library: str
    config: str = ""
    hold_after: int = Field(default=10, ge=1)
    lease: float = Field(default=2.0, gt=0)
    ramp: float = Field(default=2.0, gt=0)

    def build(self, n_command: int, dt: float, seed: int, folder: Path) -> Actuator:
        """Make the actuator."""
        library = (folder / self.library).resolve()  # a bare name would be looked for among the system's libraries
        return PluginActuator(
            library, self.config, n_command=n_command, n_measured=len(self.measured), dt=dt,
            hold_after=self.hold_after, lease=self.lease, ramp=self.ramp,
        )  # fmt: skip


class OpenSeesSection(ActuatorSection):
    """[run.actuator] kind = "opensees": a model in OpenSees whose `actuator` element listens at host and port.

    OpenSees makes `steps` steps of its analysis per tick and is waited for, so such a test has no clock (paced =
    false). measured: two signals, displacement and force of the element.
    """

    kind: Literal["opensees"]
    measured: dict[str, str] = Field(min_length=2, max_length=2)
    port: int = Field(ge=1, le=65535)
    host: str = "127.0.0.1"
    timeout: float = Field(default=10.0, gt=0)
    steps: int = Field(default=2, ge=2)

    def build(self, n_command: int, dt: float, seed: int, folder: Path) -> Actuator:
        """Make the actuator."""
        return OpenSeesActuator(self.port, host=self.host, timeout=self.timeout, steps=self.steps)


AnyActuator = Annotated[SimulatedSection | UdpSection | PluginSection | OpenSeesSection, Field(discriminator="kind")]
