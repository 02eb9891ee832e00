"""[run] of a study: the test itself, from the sensors through the user's loop and the monitor to the actuator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hmor.rigs.key import read_key
from hmor.study.loading import ObjectPath, import_object
from hmor.study.section import Section, strict
from mor.substructures.base import Substructure
from rt_runtime import (
    Command,
    Drive,
    Link,
    LoadedBundle,
    Loop,
    Monitor,
    OpenSeesActuator,
    Pacing,
    PluginActuator,
    Rule,
    RunFolder,
    Sensor,
    SimulatedActuator,
    StartStop,
    Tunable,
    Tunables,
    UdpRig,
    load_bundle,
    protect,
)
from rt_runtime._core import Actuator
from rt_runtime.errors import ConfigError
from rt_runtime.rig.actuators import checked_key, link_names, names_of

if TYPE_CHECKING:
    from hmor.gateway.opcua import OpcUaChannel


class SimulatedSection(Section):
    """[run.actuator] kind = "simulated": transfer function, delay, limits, noise, resolution."""

    kind: Literal["simulated"]
    measured: dict[str, str] = Field(min_length=1)
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


class UdpSection(Section):
    """[run.actuator] kind = "udp": a rig at host and port; `key_file` holds the key both sides sign with.

    rig: name of a rig that `hmor rig` plays: it is started in a process of its own for the test, with a key of its own;
    without a clock it is a part of this process.
    A rig on another machine needs a key; `insecure = true` says that it has none and everybody on the network is
    trusted.
    """

    kind: Literal["udp"]
    measured: dict[str, str] = Field(min_length=1)
    port: int = Field(default=0, ge=0, le=65535)
    rig: str | None = None
    host: str = "127.0.0.1"
    key_file: str | None = None
    insecure: bool = False
    timeout: float = Field(default=2.0, gt=0)

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
            timeout=self.timeout,
        )  # fmt: skip


class PluginSection(Section):
    """[run.actuator] kind = "plugin": a shared library and the text it gets when it starts."""

    kind: Literal["plugin"]
    measured: dict[str, str] = Field(min_length=1)
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


class OpenSeesSection(Section):
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


class OpcUaSection(Section):
    """[run.opcua]: slow signals of an OPC UA server; see hmor.gateway.opcua.

    read: {signal: node}, units: {signal: unit} of them, write: {signal that the loop computes: node}.
    """

    url: str
    read: dict[str, str] = Field(default_factory=dict)
    units: dict[str, str] = Field(default_factory=dict)
    write: dict[str, str] = Field(default_factory=dict)
    every: float = Field(default=0.1, gt=0)
    timeout: float = Field(default=2.0, gt=0)

    def build(self) -> OpcUaChannel:
        """Make the channel."""
        from hmor.gateway.opcua import OpcUaChannel

        return OpcUaChannel(self.url, read=self.read, write=self.write, every=self.every, timeout=self.timeout)


def _read_rule(value: Any) -> Any:
    """Take `most` for lower = -most, upper = most."""
    if not isinstance(value, dict) or "most" not in value:
        return value
    most = value["most"]
    if not (isinstance(most, int | float) and most > 0):
        raise ConfigError(f"most must be a positive number, got {most!r}")
    return {name: item for name, item in value.items() if name != "most"} | {"lower": -most, "upper": most}


AnyRule = Annotated[Rule, BeforeValidator(_read_rule)]
for kind in (Command, Rule, Pacing, StartStop, Tunable):
    strict(kind)

AnyActuator = Annotated[SimulatedSection | UdpSection | PluginSection | OpenSeesSection, Field(discriminator="kind")]


class ConsoleSection(Section):
    """[run.console]: the operator's page.

    open: start it with the test (hmor run --console).
    lost: what happens in a running test when the operator's page is gone for `lost_after` seconds: nothing, hold, or
    ramp (soft stop).
    """

    open: bool = False
    lost: Literal["nothing", "hold", "ramp"] = "nothing"
    lost_after: float = Field(default=2.0, ge=0.2, le=60.0)


class RunSection(Section):
    """[run]: what is run, how long, against which actuator, within which limits.

    loop: "module:function" of `function(loop, bundles, settings)`, which adds blocks that read the measured signals and
    write every wanted command; modules beside the study file are found. With `parts`, {name: "part.model"}, it gets the
    exported models as substructures by a fourth argument. bundles: {name: folder} of further bundles.
    signer: file (or files) with the public key of which one must have signed every bundle. folder: where runs are kept,
    by default `run` in the folder of the results. tracking: {target, measured}, two recorded signals
    that are compared (J1 to J3). A rule may say `most` for lower = -most, upper = most.
    start: "at_once", or the "operator" arms and starts the test (hmor console, hmor tell); `sheet` lists what somebody
    must tick before, and `critical_delay` is the delay in s at which the loop would be unstable, against the measured.
    tunables: numbers that the operator may change, as signals for the loop function to read.
    """

    loop: ObjectPath
    rate: float = Field(gt=0)
    duration: float = Field(gt=0)
    paced: bool = True
    parts: dict[str, str] = Field(default_factory=dict)
    bundles: dict[str, str] = Field(default_factory=dict)
    signer: str | tuple[str, ...] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    folder: str | None = None
    record: tuple[str, ...] | None = None
    every: int = Field(default=1, ge=1)
    tracking: dict[Literal["target", "measured"], str] | None = Field(default=None, min_length=2)
    actuator: AnyActuator
    commands: tuple[Command, ...] = Field(min_length=1)
    rules: tuple[AnyRule, ...] = ()
    start: Literal["at_once", "operator"] = "at_once"
    sheet: tuple[str, ...] = ()
    critical_delay: float | None = Field(default=None, gt=0)
    tunables: tuple[Tunable, ...] = ()
    console: ConsoleSection = ConsoleSection()
    pacing: Pacing = Pacing()
    manners: StartStop = StartStop()
    opcua: OpcUaSection | None = None

    def signers(self, folder: Path) -> list[Path] | None:
        """Return the files of the public keys of which one must have signed every bundle; None: none is asked."""
        files = (self.signer,) if isinstance(self.signer, str) else self.signer
        return None if files is None else [folder / file for file in files]

    @model_validator(mode="after")
    def _opensees_has_no_clock(self) -> RunSection:
        if isinstance(self.actuator, OpenSeesSection) and self.paced:
            raise ConfigError(
                'paced must be false with actuator.kind = "opensees": OpenSees takes the time it needs for a step'
            )
        if isinstance(self.actuator, OpenSeesSection) and len(self.commands) != 1:
            raise ConfigError(f"an actuator element of OpenSees takes one command, got {len(self.commands)}")
        return self

    @model_validator(mode="after")
    def _an_operator_needs_time(self) -> RunSection:
        if self.start == "operator" and not self.paced:
            raise ConfigError('start = "operator" needs the clock: paced = true')
        return self

    @model_validator(mode="after")
    def _measured_differ(self) -> RunSection:
        if isinstance(self.actuator, SimulatedSection) and len(self.actuator.measured) != len(self.commands):
            raise ConfigError(
                f"a simulated actuator measures one signal per command, {len(self.commands)}, "
                f"got {len(self.actuator.measured)} in actuator.measured"
            )
        return self


@dataclass(frozen=True)
class PreparedRun:
    """A study's test, built and checked: the loop, its actuator, and everything `Loop.run` needs."""

    loop: Loop
    actuator: Actuator
    section: RunSection
    bundles: dict[str, LoadedBundle]
    channel: OpcUaChannel | None = None

    def events(self) -> list[dict[str, Any]]:
        """Return what the monitor noted in the last run."""
        return self.monitor().events(self.section.rate)

    def rules(self) -> list[dict[str, Any]]:
        """Return the rules in force, the defaults included."""
        return self.monitor().described()

    def monitor(self) -> Monitor:
        """Return the monitor of the loop."""
        monitor = self.loop.blocks["monitor"]
        assert isinstance(monitor, Monitor)
        return monitor

    def folder(self, base: Path, text: str, *, now: datetime | None = None) -> RunFolder:
        """Return a new run folder below `base`, named after the time."""
        stamp = (now or datetime.now()).strftime("%Y%m%d-%H%M%S")
        path, n = base / stamp, 1
        while path.exists():
            n += 1
            path = base / f"{stamp}-{n}"
        hashes = {key: next(iter(bundle.hashes.values())) for key, bundle in self.bundles.items()}
        return RunFolder(path, study=text, bundles=hashes)


def prepare(
    section: RunSection,
    folder: Path,
    seed: int,
    parts: Mapping[str, Substructure] | None = None,
    *,
    actuator: Actuator | None = None,
) -> PreparedRun:
    """Build the loop of a [run] section: sensors, the user's blocks, host and monitor, drive; then check it.

    `actuator` stands in for the one of the section, for rehearsals.
    """
    loop = Loop(section.rate)
    if actuator is None:
        actuator = section.actuator.build(len(section.commands), 1.0 / section.rate, seed, folder)
    for name, unit in section.actuator.measured.items():
        loop.signal(name, unit=unit)
    for name in ("rig.age", "rig.status", "rig.sent", *link_names("rig")):
        loop.signal(name, unit="s" if name in ("rig.delay", "rig.drift") else "")
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", list(section.actuator.measured)))
    loop.add("rig.link", Link(actuator), outputs=link_names("rig"))
    channel = None if section.opcua is None else section.opcua.build()
    if channel is not None and section.opcua is not None:
        channel.add(loop, units=section.opcua.units)
    for tunable in section.tunables:
        loop.signal(tunable.name, unit=tunable.unit, initial=tunable.value)
    if section.tunables:
        names = [tunable.name for tunable in section.tunables]
        loop.add("tunables", Tunables(section.tunables, dt=1.0 / section.rate), outputs=names, timed=False)
    keys = section.signers(folder)
    bundles = {name: load_bundle(folder / path, signer=keys) for name, path in section.bundles.items()}
    add: Callable[..., Any] = import_object(section.loop, folder)
    add(loop, bundles, dict(section.settings), *([dict(parts or {})] if section.parts else []))
    commands = section.commands
    if isinstance(section.actuator, SimulatedSection):  # it measures each command
        own = section.actuator.measured
        commands = tuple(replace(c, measured=c.measured or name) for c, name in zip(commands, own, strict=True))
    if channel is not None:
        channel.add_writer(loop)
    protect(loop, commands, section.rules, manners=section.manners, start=section.start)
    loop.add("rig.write", Drive(actuator), inputs=[c.name for c in commands], outputs=["rig.sent"])
    if section.record is not None or section.every != 1:
        tell = ("monitor.state", "monitor.test_tick") if section.tracking else ()  # when the test ran, for its figures
        loop.record(section.record and (*section.record, *tell), every=section.every)
    loop.check()
    loop.check_drives()
    return PreparedRun(loop, actuator, section, bundles, channel)
