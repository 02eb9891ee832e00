"""Physical sides to rehearse against: what `hmor rig` plays, and the numerical sides that go with them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mor.substructures.base import Substructure
from rt_runtime import Gain, Loop, Noise, StabilityWarning, StateSpace, Sum, Table
from rt_runtime.bundle.rom import LoadedBundle
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class PhysicalSide:
    """A loop whose constants are the commands and whose signals are measured, as `rt_runtime.Rig` serves it."""

    loop: Loop
    commands: tuple[str, ...]
    measured: tuple[str, ...]

    def describe(self) -> dict[str, dict[str, str]]:
        """Return commands and measured signals with their units."""
        units = {signal.name: signal.unit for signal in self.loop.signals}
        return {
            "commands": {name: units[name] for name in self.commands},
            "measured": {name: units[name] for name in self.measured},
        }


def spring(rate: float) -> PhysicalSide:
    """A spring of 100 N/mm behind an actuator that follows by a lag of 3 ms: the smallest rig."""
    loop = Loop(rate)
    loop.constant("command", 0.0, unit="m")
    loop.signal("position", unit="m")
    loop.signal("force", unit="N")
    lag = StateSpace([[-300.0]], [[300.0]], [[1.0]], dt=1 / rate, update="start")
    loop.add("lag", lag, inputs=["command"], outputs=["position"])
    loop.add("spring", Gain(1e5), inputs=["position"], outputs=["force"])
    return PhysicalSide(loop, ("command",), ("position", "force"))


def benchmark_specimen(rate: float) -> PhysicalSide:
    """The servo-hydraulic actuator and specimen of the three-storey benchmark, with noise on both sensors."""
    from mor.models.benchmark_frame import NOISE, benchmark_frame

    frame, dt = benchmark_frame(1), 1 / rate
    plant = frame.plant.state_space()
    loop = Loop(rate)
    loop.constant("command", 0.0, unit="m")
    for name, unit in (("true_position", "m"), ("true_force", "N"), ("position_noise", "m"), ("force_noise", "N")):
        loop.signal(name, unit=unit)
    loop.signal("position", unit="m")
    loop.signal("force", unit="N")
    block = StateSpace(plant.A, plant.B, plant.C, dt=dt, update="start")
    loop.add("plant", block, inputs=["command"], outputs=["true_position"])
    loop.add("specimen", frame.specimen.block(dt), inputs=["true_position"], outputs=["true_force"])
    loop.add("noise", Noise(NOISE, seed=0), outputs=["position_noise", "force_noise"])
    loop.add("encoder", Sum("++"), inputs=["true_position", "position_noise"], outputs=["position"])
    loop.add("load_cell", Sum("++"), inputs=["true_force", "force_noise"], outputs=["force"])
    return PhysicalSide(loop, ("command",), ("position", "force"))


def motorcycle_ecvt(rate: float) -> PhysicalSide:
    """The transmission of the motorcycle, driven by a motor that changes every 0.25 s."""
    from hmor.rigs.motorcycle import motorcycle_ecvt as build

    return build(rate)


RIGS: Mapping[str, Callable[[float], PhysicalSide]] = {
    "spring": spring,
    "benchmark_specimen": benchmark_specimen,
    "motorcycle_ecvt": motorcycle_ecvt,
}


CATALOGUE = ("three_storey", "front_brake_run", "rear_brake_run")
"""Problems of mor.problems.catalogue with a substructure that can be commanded: its inputs are the commands."""


def from_part(part: Substructure, rate: float) -> PhysicalSide:
    """Any substructure as a rig: its inputs are the commands, its outputs are measured."""
    loop = Loop(rate)
    commands = tuple(port.name for port in part.inputs)
    measured = tuple(port.name if port.name not in commands else f"{port.name}_measured" for port in part.outputs)
    for port in part.inputs:
        loop.constant(port.name, 0.0, unit=port.unit)
    for port, name in zip(part.outputs, measured, strict=True):
        loop.signal(name, unit=port.unit)
    loop.add(part.name, part.block(dt=1 / rate), inputs=list(commands), outputs=list(measured))
    return PhysicalSide(loop, commands, measured)


def _needs(name: str, function: Any) -> list[str]:
    """Return what a function of nothing, of the rate, or of rate and settings needs; nothing else is called at all.

    Settings that it may leave out count: it is given those of its test all the same.
    """
    wanted = (
        f"Rig {name!r} must be a substructure, a PhysicalSide, or a Python function of nothing, of `rate`, or of "
        "`rate` and `settings`"
    )
    if not inspect.isfunction(function):
        raise ConfigError(f"{wanted}, got {function!r}.")
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    signature = [p for p in inspect.signature(function).parameters.values() if p.kind not in optional]
    names = [p.name for p in signature]
    needed = names if names == ["rate", "settings"] else [p.name for p in signature if p.default is p.empty]
    if needed not in ([], ["rate"], ["rate", "settings"]):
        raise ConfigError(f"{wanted}, got one of {', '.join(needed)}.")
    return needed


def _call(name: str, function: Any, rate: float, settings: Mapping[str, Any]) -> Any:
    needed = _needs(name, function)
    try:
        return function(*(rate, dict(settings))[: len(needed)])
    except ConfigError:
        raise
    except Exception as error:  # the user's own code
        raise ConfigError(f"Rig {name!r} cannot be made: {type(error).__name__}: {error}.") from error


def _named(name: str, folder: Path) -> Any:
    """Return the object "module:name" of a rig."""
    from hmor.study.loading import import_object

    try:
        return import_object(name, folder)
    except ConfigError as error:
        raise ConfigError(f"Rig {name!r}: {error}.") from error


def takes_settings(name: str, folder: Path) -> bool:
    """Tell whether a rig is a function of the settings of its test."""
    if ":" not in name:
        return False
    made = _named(name, folder)
    return not isinstance(made, Substructure | PhysicalSide) and "settings" in _needs(name, made)


def find_rig(name: str, rate: float, folder: Path, settings: Mapping[str, Any] | None = None) -> PhysicalSide:
    """Return a built-in rig, a problem of the catalogue, or "module:name".

    The latter names a Substructure or a PhysicalSide, or a function that returns one: of nothing, of `rate`, or of
    `rate` and the `settings` of the test, so that both sides know the same specimen.
    """
    if name in RIGS:
        return RIGS[name](rate)
    if name in CATALOGUE:
        from mor.problems import catalogue

        return from_part(getattr(catalogue, name)().substructure, rate)
    if ":" not in name:
        known = ", ".join((*RIGS, *CATALOGUE))
        raise ConfigError(f'Rig must be one of {known} or "module:name" of a substructure, got {name!r}.')
    made = _named(name, folder)
    if not isinstance(made, Substructure | PhysicalSide):
        made = _call(name, made, rate, settings or {})
    if isinstance(made, Substructure):
        return from_part(made, rate)
    if not isinstance(made, PhysicalSide):
        raise ConfigError(f"Rig {name!r} must be or return a substructure or a PhysicalSide, got {made!r}.")
    if abs(made.loop.rate - rate) > 1e-9 * rate:
        raise ConfigError(f"Rate of rig {name!r} must be that of the test, {rate:g} Hz, got {made.loop.rate:g} Hz.")
    return made


def sine_target(loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any]) -> None:
    """Numerical side of the smallest test: `wanted` is a sine of `amplitude` (m) and `frequency` (Hz)."""
    amplitude, frequency = float(settings.get("amplitude", 0.01)), float(settings.get("frequency", 1.0))
    t = np.arange(0.0, 600.0, 0.02 / frequency)
    loop.signal("wanted", unit="m")
    loop.add("target", Table(t, amplitude * np.sin(2 * np.pi * frequency * t)), outputs=["wanted"])


def benchmark_frame_side(loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any]) -> None:
    """Numerical side of the three-storey benchmark for `benchmark_specimen`; reads `position` and `force`.

    Ground -> frame without the specimen, pulled back by the measured force -> floor 1 as target -> the public
    phase-lead and PI controller -> `wanted`. Adds the stability warning `sw`. Setting: `scale` of the synthetic ground
    motion.
    """
    from mor.excitation import synthetic_ground_motion
    from mor.models.benchmark_frame import benchmark_frame, sample_controller_block

    dt, frame = 1 / loop.rate, benchmark_frame(1)
    ground = synthetic_ground_motion(seed=1, duration=30.0).padded(2.0, 3.0).scaled(float(settings.get("scale", 0.4)))
    floors, speeds = ("x_1", "x_2", "x_3"), ("v_1", "v_2", "v_3")
    loop.signal("ground", unit="m/s2")
    for name in (*floors, "wanted"):
        loop.signal(name, unit="m")
    for name in speeds:
        loop.signal(name, unit="m/s")
    for name, unit in (("sw", ""), ("feedback_work", "J"), ("dissipated", "J")):
        loop.signal(name, unit=unit)
    loop.add("ground", ground.block(), outputs=["ground"])
    part = frame.numerical.state_space([0])
    pull = np.array([1.0, -1.0])  # the force measured is that on the specimen: it pulls the floor back
    block = StateSpace(part.A, part.B * pull, part.C[:6], part.D[:6] * pull, dt=dt)
    loop.add("numerical", block, inputs=["ground", "force"], outputs=[*floors, *speeds])
    energy = StabilityWarning(frame.numerical.C, [[1.0, 0.0, 0.0]], margin=1.0)
    loop.add("energy", energy, inputs=[*floors, *speeds, "force"], outputs=["sw", "feedback_work", "dissipated"])
    loop.add("controller", sample_controller_block(dt), inputs=["x_1", "position"], outputs=["wanted"])
