"""[run] of a study: the test itself, from the sensors through the user's loop and the monitor to the actuator."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hmor.section import Section
from rt_runtime import (
    Command,
    Drive,
    Loop,
    Manners,
    Monitor,
    Pacing,
    PluginActuator,
    Rule,
    RunFolder,
    Sensor,
    SimulatedActuator,
    UdpRig,
    load_bundle,
    protect,
)
from rt_runtime._core import Actuator
from rt_runtime.actuators import names_of
from rt_runtime.errors import ConfigError
from rt_runtime.rom import LoadedBundle


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
    """[run.actuator] kind = "udp": a rig at host and port; `key_file` holds the key both sides sign with."""

    kind: Literal["udp"]
    measured: dict[str, str] = Field(min_length=1)
    port: int = Field(ge=1, le=65535)
    host: str = "127.0.0.1"
    key_file: str | None = None
    timeout: float = Field(default=2.0, gt=0)

    def build(self, n_command: int, dt: float, seed: int, folder: Path) -> Actuator:
        """Make the actuator."""
        key = read_key(folder / self.key_file) if self.key_file else b""
        return UdpRig(n_command, len(self.measured), host=self.host, port=self.port, key=key, timeout=self.timeout)


class PluginSection(Section):
    """[run.actuator] kind = "plugin": a shared library and the text it gets when it starts."""

    kind: Literal["plugin"]
    measured: dict[str, str] = Field(min_length=1)
    library: str
    config: str = ""

    def build(self, n_command: int, dt: float, seed: int, folder: Path) -> Actuator:
        """Make the actuator."""
        library = folder / self.library
        return PluginActuator(library, self.config, n_command=n_command, n_measured=len(self.measured), dt=dt)


class CommandSection(Section):
    """[[run.commands]]: a wanted command, the name it goes out under, and where it may go."""

    wanted: str
    name: str
    lower: float
    upper: float
    rate: float
    rest: float = 0.0
    action: str = "warn"
    rate_action: str | None = None

    def build(self) -> Command:
        """Make the command."""
        return Command(**self.model_dump())


class RuleSection(Section):
    """[[run.rules]]: a limit and its action; `most` is short for lower = -most, upper = most."""

    name: str
    signal: str
    most: float | None = Field(default=None, gt=0)
    lower: float = -math.inf
    upper: float = math.inf
    action: str = "trip"
    quantity: str = "value"
    other: str | None = None
    ticks: int = Field(default=1, ge=1)
    grace: int = Field(default=0, ge=0)

    def build(self) -> Rule:
        """Make the rule."""
        fields = self.model_dump(exclude={"most"})
        if self.most is not None:
            fields |= {"lower": -self.most, "upper": self.most}
        return Rule(**fields)


class PacingSection(Section):
    """[run.pacing]: what is asked of the host, as in rt_runtime.Pacing."""

    overrun: str = "skip"
    grace_ticks: int = 100
    overruns_to_trip: int = 10
    spin: float = 0.0
    priority: int = 80
    cpu: int | None = None
    lock_memory: bool = True
    not_real_time: bool = False

    def build(self) -> Pacing:
        """Make the pacing."""
        return Pacing(**self.model_dump())


class MannersSection(Section):
    """[run.manners]: how the test begins and ends, as in rt_runtime.Manners."""

    arm: float = 0.0
    soft_start: float = 0.5
    soft_stop: float = 1.0
    trip: float = 0.5
    on_trip: str = "ramp"
    hold_limit: float = 5.0
    release: float = 0.05
    settle: float = 0.0

    def build(self) -> Manners:
        """Make the manners."""
        return Manners(**self.model_dump())


AnyActuator = Annotated[SimulatedSection | UdpSection | PluginSection, Field(discriminator="kind")]


class RunSection(Section):
    """[run]: what is run, how long, against which actuator, within which limits.

    loop: "module:function" of `function(loop, bundles, settings)`, which adds blocks that read the measured signals and
    write every wanted command; modules beside the study file are found. bundles: {name: folder}. folder: where runs are
    kept, by default the name of the study with .runs.
    """

    loop: str
    rate: float = Field(gt=0)
    duration: float = Field(gt=0)
    paced: bool = True
    bundles: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    folder: str | None = None
    record: list[str] | None = None
    every: int = Field(default=1, ge=1)
    actuator: AnyActuator
    commands: list[CommandSection] = Field(min_length=1)
    rules: list[RuleSection] = Field(default_factory=list)
    pacing: PacingSection = PacingSection()
    manners: MannersSection = MannersSection()

    @field_validator("loop")
    @classmethod
    def _importable(cls, text: str, info: ValidationInfo) -> str:
        if info.context is not None:
            from hmor.study import load_object

            load_object(text, info.context["folder"])
        return text

    @field_validator("commands", "rules", "pacing", "manners")
    @classmethod
    def _buildable(cls, value: Any) -> Any:
        for part in value if isinstance(value, list) else [value]:
            part.build()
        return value

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

    def events(self) -> list[dict[str, Any]]:
        """Return what the monitor noted in the last run."""
        monitor = self.loop.blocks["monitor"]
        assert isinstance(monitor, Monitor)
        return monitor.events(self.section.rate)

    def folder(self, study_folder: Path, name: str, text: str, *, now: datetime | None = None) -> RunFolder:
        """Return a new run folder, named after the time."""
        base = study_folder / (self.section.folder or f"{name}.runs")
        stamp = (now or datetime.now()).strftime("%Y%m%d-%H%M%S")
        path, n = base / stamp, 1
        while path.exists():
            n += 1
            path = base / f"{stamp}-{n}"
        hashes = {key: next(iter(bundle.hashes.values())) for key, bundle in self.bundles.items()}
        return RunFolder(path, study=text, bundles=hashes)


def prepare(section: RunSection, folder: Path, seed: int) -> PreparedRun:
    """Build the loop of a [run] section: sensors, the user's blocks, host and monitor, drive; then check it."""
    from hmor.study import load_object

    loop = Loop(section.rate)
    actuator = section.actuator.build(len(section.commands), 1.0 / section.rate, seed, folder)
    for name, unit in section.actuator.measured.items():
        loop.signal(name, unit=unit)
    for name in ("rig.age", "rig.status", "rig.sent"):
        loop.signal(name)
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", list(section.actuator.measured)))
    bundles = {name: load_bundle(folder / path) for name, path in section.bundles.items()}
    add: Callable[..., Any] = load_object(section.loop, folder)  # type: ignore[assignment]
    add(loop, bundles, dict(section.settings))
    commands = [command.build() for command in section.commands]
    protect(loop, commands, [rule.build() for rule in section.rules], manners=section.manners.build())
    loop.add("rig.write", Drive(actuator), inputs=[command.name for command in commands], outputs=["rig.sent"])
    if section.record is not None or section.every != 1:
        loop.record(section.record, every=section.every)
    loop.check()
    return PreparedRun(loop, actuator, section, bundles)


def read_key(path: Path) -> bytes:
    """Read the key of a rig: hexadecimal digits in a file that only its owner can read."""
    if not path.is_file():
        raise ConfigError(f"Key file {path} must exist; make one with: hmor rig --new-key {path}.")
    if os.stat(path).st_mode & 0o077:
        raise ConfigError(f"Key file {path} must be readable by its owner alone; chmod 600 it.")
    try:
        return bytes.fromhex(path.read_text().strip())
    except ValueError:
        raise ConfigError(f"Key file {path} must hold hexadecimal digits.") from None
