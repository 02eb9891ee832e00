"""[run] of a study: the test itself, from the sensors through the user's loop and the monitor to the actuator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hmor.rigs.sections import AnyActuator, OpenSeesSection, SimulatedSection
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
    Pacing,
    Rule,
    RunFolder,
    Sensor,
    StartStop,
    Tunable,
    Tunables,
    load_bundle,
    protect,
)
from rt_runtime._core import Actuator
from rt_runtime.engine.calls import followers, unguarded
from rt_runtime.errors import ConfigError
from rt_runtime.rig.actuators import LINK, link_names, names_of

if TYPE_CHECKING:
    from hmor.gateway.opcua import OpcUaChannel


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
    actuator; or several as [run.actuators.NAME] with the same keys, each with its `commands`: NAME.age, NAME.status and
    so on are its signals (rig.age with one). One monitor stands before all of them: what one does wrong stops all.
    behind: "module:function" of `function(loop, settings)`, which adds blocks between the monitor and the actuators,
    such as the controllers of a pose. The loop function may return rules that depend on its settings.
    """

    loop: ObjectPath
    behind: ObjectPath | None = None
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
    actuator: AnyActuator | None = None
    actuators: dict[str, AnyActuator] = Field(default_factory=dict)
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

    def rigs(self) -> dict[str, AnyActuator]:
        """Return the actuators by name; the only one is called rig and gets all commands."""
        if self.actuator is None:
            return self.actuators
        sent = self.actuator.commands or tuple(c.name for c in self.commands)
        return {"rig": self.actuator.model_copy(update={"commands": sent})}

    def replaced(self, name: str, actuator: AnyActuator) -> RunSection:
        """Return the same section with another actuator of this name."""
        if self.actuator is not None:
            return self.model_copy(update={"actuator": actuator})
        return self.model_copy(update={"actuators": self.actuators | {name: actuator}})

    @model_validator(mode="after")
    def _actuators_share_the_commands(self) -> RunSection:
        if (self.actuator is None) == (not self.actuators):
            raise ConfigError("must have either actuator or actuators, of which each has a name")
        sent: dict[str, str] = {}
        for name, actuator in self.rigs().items():
            if not name.isidentifier() or name in ("host", "monitor"):
                raise ConfigError(f"an actuator must have a name like box1, and not host or monitor, got {name!r}")
            if not actuator.commands:
                raise ConfigError(f"actuators.{name} must have commands, the signals that are sent to it")
            for signal in actuator.commands:
                if signal in sent:
                    raise ConfigError(f"'{signal}' must go to one actuator, got {sent[signal]} and {name}")
                sent[signal] = name
        unsent = [c.name for c in self.commands if c.name not in sent]
        if unsent and self.behind is None:
            raise ConfigError(f"command '{unsent[0]}' must go to an actuator or to a block behind the monitor (behind)")
        return self

    @model_validator(mode="after")
    def _opensees_has_no_clock(self) -> RunSection:
        for actuator in self.rigs().values():
            if isinstance(actuator, OpenSeesSection) and self.paced:
                raise ConfigError(
                    'paced must be false with actuator.kind = "opensees": OpenSees takes the time it needs for a step'
                )
            if isinstance(actuator, OpenSeesSection) and len(actuator.commands) != 1:
                raise ConfigError(f"an actuator element of OpenSees takes one command, got {len(actuator.commands)}")
        return self

    @model_validator(mode="after")
    def _an_operator_needs_time(self) -> RunSection:
        if self.start == "operator" and not self.paced:
            raise ConfigError('start = "operator" needs the clock: paced = true')
        return self

    @model_validator(mode="after")
    def _measured_differ(self) -> RunSection:
        for actuator in self.rigs().values():
            n, m = len(actuator.commands), len(actuator.measured)
            if isinstance(actuator, SimulatedSection) and n != m:
                raise ConfigError(
                    f"a simulated actuator measures one signal per command, {n}, got {m} in actuator.measured"
                )
        return self


@dataclass(frozen=True)
class PreparedRun:
    """A study's test, built and checked: the loop, its actuators by name, and everything `Loop.run` needs."""

    loop: Loop
    actuators: dict[str, Actuator]
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
    actuators: Mapping[str, Actuator] | None = None,
) -> PreparedRun:
    """Build the loop of a [run] section: sensors, the user's blocks, host and monitor, drives; then check it.

    `actuators` stand in for those of the section, for rehearsals.
    """
    loop, rigs = Loop(section.rate), section.rigs()
    built = {
        name: rig.build(len(rig.commands), 1.0 / section.rate, seed, folder)
        for name, rig in rigs.items()
        if name not in (actuators or {})
    } | dict(actuators or {})
    for name, rig in rigs.items():
        _add_sensor(loop, name, built[name], rig.measured)
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
    rules = add(loop, bundles, dict(section.settings), *([dict(parts or {})] if section.parts else [])) or ()
    commands = section.commands
    for rig in rigs.values():
        if isinstance(rig, SimulatedSection):  # it measures each command
            own = dict(zip(rig.commands, rig.measured, strict=True))
            commands = tuple(replace(c, measured=c.measured or own.get(c.name)) for c in commands)
    if channel is not None:
        channel.add_writer(loop)
    protect(loop, commands, [*section.rules, *rules], manners=section.manners, start=section.start)
    _add_behind(loop, section, folder)
    for name, rig in rigs.items():
        loop.add(f"{name}.write", Drive(built[name]), inputs=list(rig.commands), outputs=[f"{name}.sent"])
    if section.record is not None or section.every != 1:
        tell = ("monitor.state", "monitor.test_tick") if section.tracking else ()  # when the test ran, for its figures
        loop.record(section.record and (*section.record, *tell), every=section.every)
    loop.check()
    loop.check_drives()
    return PreparedRun(loop, built, section, bundles, channel)


def _add_sensor(loop: Loop, name: str, actuator: Actuator, measured: Mapping[str, str]) -> None:
    """Add what comes from an actuator: its measured signals, and how its connection is."""
    for signal, unit in measured.items():
        loop.signal(signal, unit=unit)
    for signal in ("age", "status", "sent", *LINK):
        loop.signal(f"{name}.{signal}", unit="s" if signal in ("delay", "drift") else "")
    loop.add(f"{name}.read", Sensor(actuator), outputs=names_of(name, list(measured)))
    loop.add(f"{name}.link", Link(actuator), outputs=link_names(name))


def _add_behind(loop: Loop, section: RunSection, folder: Path) -> None:
    """Add the blocks behind the monitor; nothing may be sent that comes from before it."""
    guarded = {c.name for c in section.commands}
    sent = [(name, signal) for name, rig in section.rigs().items() for signal in rig.commands if signal not in guarded]
    early = [
        f"Signal '{signal}' of actuator '{name}' must come from the monitor or from a block behind it, but a block "
        "before it writes it."
        for name, signal in sent
        if loop.is_written(signal)
    ]
    unknown = [
        f"Command '{c.name}' must name the signal that says where its actuator stands (measured), or why it is known "
        "to stand at rest (starts_at_rest)."
        for c in (section.commands if sent else ())
        if c.measured is None and not c.starts_at_rest
    ]
    if early or unknown:
        raise ConfigError.from_problems("Start of the test", [*early, *unknown])
    if section.behind is not None:
        import_object(section.behind, folder)(loop, dict(section.settings))
        made = followers(loop.calls, guarded, "monitor")
        past = [
            f"Signal '{signal}' of actuator '{name}' must be made of a command of the monitor, but no block behind it "
            f"makes it of {', '.join(sorted(guarded))}: nothing would stop it."
            for name, signal in sent
            if loop.is_written(signal) and signal not in made
        ]
        mixed = [
            f"Block '{block}' behind the monitor must not make a command of '{signal}', which a block of the test or a "
            "table makes: no trip would end it. Read a guarded command, a measured signal (from a block with "
            "timed=False that reads nothing of the test), or put a Fade with monitor.state between them."
            for block, signal in unguarded(loop.calls, [signal for _, signal in sent], "monitor")
        ]
        if past or mixed:
            raise ConfigError.from_problems("Start of the test", [*past, *mixed])
        loop.step_always(behind="monitor")  # an armed test, too, has controllers that hold the specimen
