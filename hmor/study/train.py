"""[parts.NAME.models.KIND] of a study: which reduced model is fitted to the samples of a part, and how.

To add a kind: a frozen dataclass of its settings and an entry of `KINDS`, with its fit in hmor.study.stages.fit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hmor.study.loading import ObjectPath, import_object
from hmor.study.section import Section, problem_sentences, strict
from mor.data.ports import Port
from mor.reduced.gate import Gate
from mor.reduced.history import LowPassMemory, MemorySpec, State
from mor.reduced.hysteresis.operators import operator_of
from rt_runtime.errors import ConfigError
from training.config import FfnnConfig


@dataclass(frozen=True)
class FfnnSettings(FfnnConfig):
    """A network and its trainer, as in `training.FfnnConfig`; `seed` is the study's when left out.

    candidates: hidden sizes to choose from by validation error, with `activations` and `seeds`; `hidden` is not used
    then.
    """

    candidates: tuple[tuple[int, ...], ...] = ()
    activations: tuple[str, ...] = ("tanh",)
    seeds: tuple[int, ...] = ()

    def config(self) -> FfnnConfig:
        """Return the settings of one fit."""
        return FfnnConfig(**{field.name: getattr(self, field.name) for field in fields(FfnnConfig)})


@dataclass(frozen=True)
class Arguments:
    """Settings that are arguments of a function by name; None leaves its own choice."""

    def arguments(self) -> dict[str, Any]:
        """Return what was given, by name."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class PceSettings(Arguments):
    """A polynomial chaos expansion: the arguments of `mor.fit_pce`, its own choice where left out."""

    method: Literal["auto", "ols", "omp", "lar", "smooth"] | None = None
    degree: int | tuple[int, ...] | None = None
    q: float | tuple[float, ...] | None = None
    interaction: int | None = None


@dataclass(frozen=True)
class KrigingSettings(Arguments):
    """A Kriging model: the arguments of `mor.fit_kriging`, its own choice where left out; `seed` is the study's.

    With rounding (1e-8 is right for other hosts) it goes into the bundle.
    """

    kernel: str | tuple[str, ...] | None = None
    interactions: bool | Literal["auto"] | None = None
    trend: Literal["ordinary", "linear", "quadratic", "auto"] | None = None
    noise: Literal["auto", "none", "learned"] | None = None
    estimator: Literal["auto", "likelihood", "loo"] | None = None
    rounding: float | None = None
    seed: int | None = None


@dataclass(frozen=True)
class PckSettings(Arguments):
    """A PC-Kriging model: the arguments of `mor.fit_pck`, its own choice where left out; `seed` is the study's.

    With rounding (1e-8 is right for other hosts) it goes into the bundle.
    """

    method: Literal["optimal", "sequential"] | None = None
    kernel: str | tuple[str, ...] | None = None
    interactions: bool | Literal["auto"] | None = None
    noise: Literal["auto", "none", "learned"] | None = None
    estimator: Literal["auto", "likelihood", "loo"] | None = None
    rounding: float | None = None
    seed: int | None = None


@dataclass(frozen=True)
class GlamSettings(Arguments):
    """A generalized lambda model: the arguments of `mor.fit_glam`, its own choice where left out."""

    criterion: Literal["ebic", "bic", "aic"] | None = None
    degrees: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class SpceSettings(Arguments):
    """A stochastic polynomial chaos: the arguments of `mor.fit_spce`; `seed` is the study's when it is left out."""

    degree: int | tuple[int, ...] | None = None
    latent: Literal["uniform", "normal"] | None = None
    seed: int | None = None


KINDS: dict[str, type] = {
    "ffnn": FfnnSettings, "pce": PceSettings, "kriging": KrigingSettings, "pck": PckSettings, "glam": GlamSettings,
    "spce": SpceSettings,
}  # fmt: skip
"""Kinds of reduced models and the settings each one takes."""

REMEMBERING = {
    "ffnn": {"rows", "horizon", "segments", "iterations", "correlation", "swing"},
    "pce": {"rows", "iterations", "draws", "prune"},
}
"""Kinds that may have a memory, and the keys of their fit."""

EXPORTED = ("ffnn", "pce", "glam")
"""Kinds that always go into a bundle; Kriging does when its rounding is limited."""

STOCHASTIC = ("glam", "spce")
"""Kinds whose answer is a law."""


def _read_gate(value: object, info: ValidationInfo) -> object:
    """Take "module:name()" of a Gate for it."""
    return import_object(value, (info.context or {"folder": Path()})["folder"]) if isinstance(value, str) else value


AnyGate = Annotated[Gate, BeforeValidator(_read_gate)]
strict(Gate)
strict(LowPassMemory)
strict(State)


class MemorySection(Section):
    """[parts.NAME.models.KIND.memory]: the model remembers; it is fitted to trajectories of `signals`.

    signals, lags, filters, states (hidden signals of the trajectories that the model carries along) and operators
    (memories for hysteresis such as {kind = "play", of = "x", count = 10}, as in `mor.Play`, `mor.Peaks`, ...) as in
    `mor.MemorySpec`, or spec: "module:name()" of one. rows, horizon, segments, iterations, correlation, swing
    (networks) and rows, draws, iterations, prune (polynomials) as in their fits. The step is that of the trajectories;
    in a loop with a shorter tick the model runs in every n-th. mirrored: learn from each trajectory with the other sign
    too, for a part that answers alike to both sides.
    """

    signals: tuple[str, ...] = ()
    input_lags: int = Field(default=0, ge=0)
    output_lags: int = Field(default=0, ge=0)
    filters: tuple[LowPassMemory, ...] = ()
    states: tuple[State, ...] = ()
    operators: tuple[dict[str, Any], ...] = ()
    spec: ObjectPath | None = None
    rows: int | None = None
    horizon: int | None = None
    segments: int | None = None
    iterations: int | None = None
    draws: int | None = None
    prune: float | None = None
    correlation: float | None = None
    swing: int | None = None
    mirrored: bool = False

    @model_validator(mode="after")
    def _remembers(self) -> MemorySection:
        named = bool(self.filters or self.states or self.operators or self.input_lags or self.output_lags)
        if self.spec is not None and (named or self.signals):
            raise ConfigError(
                "spec says it all; signals, lags, filters, states and operators must be left out beside it"
            )
        if self.spec is None and not named:
            raise ConfigError("must have input_lags, output_lags, filters, states or operators")
        if self.spec is None and not self.signals:
            raise ConfigError("must name the signals that drive the model")
        for values in self.operators:
            operator_of(values)
        return self

    def fit_arguments(self) -> dict[str, Any]:
        """Return what was given of the settings of a fit."""
        names = ("rows", "horizon", "segments", "iterations", "draws", "prune", "correlation", "swing")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def columns(self, outputs: tuple[str, ...], folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the signals and, behind the outputs, the hidden signals that the data must have."""
        if self.spec is not None:
            history = self._history(folder)
            names = (*history.outputs, *history.hidden)
            return tuple(p.name for p in history.signals), tuple(p.name for p in names)
        return self.signals, (*outputs, *(state.of for state in self.states))

    def history(
        self, signals: tuple[Port, ...], outputs: tuple[Port, ...], dt: float, gate: Gate | None, folder: Path
    ) -> MemorySpec:
        """Return the structure of the model; the last of `outputs` are the hidden signals."""
        if self.spec is not None:
            history = self._history(folder)
            if history.dt is not None and abs(history.dt / dt - 1.0) > 1e-6:
                raise ConfigError(f"dt of {self.spec!r} must be the step of the data, {dt:g} s, got {history.dt:g} s.")
            return history
        shown = len(outputs) - len(self.states)
        filters = (*self.states, *self.filters)
        timed = self.input_lags + self.output_lags + len(filters) > 0
        return MemorySpec(
            signals,
            outputs[:shown],
            dt if timed else None,
            self.input_lags,
            self.output_lags,
            filters,
            outputs[shown:],
            tuple(operator_of(values) for values in self.operators),
            gate,
        )

    def _history(self, folder: Path) -> MemorySpec:
        found = import_object(self.spec or "", folder)
        if not isinstance(found, MemorySpec):
            raise ConfigError(f"spec {self.spec!r} must be a MemorySpec, got {type(found).__name__}.")
        return found


class ModelSection(Section):
    """[parts.NAME.models.KIND]: one reduced model; beside these keys it takes those of its kind.

    kind: the kind of model, by default the name of the table. samples: the part whose samples it learns from, by
    default its own. outputs: some of the data's; all when left out. domain: [lower, upper] of an input where it shall
    differ from the range of its law or of the data. gate: the outputs vanish with an input, as in `mor.Gate`, or
    "module:name()" of one. max_nrmse: hmor validate fails when an output is worse. repeated: for a stochastic model
    (glam, spce), the part that repeats some points, to compare the laws with.
    """

    kind: Literal["ffnn", "pce", "kriging", "pck", "glam", "spce"]
    samples: str | None = None
    outputs: tuple[str, ...] = ()
    domain: dict[str, tuple[float, float]] = Field(default_factory=dict)
    gate: AnyGate | None = None
    memory: MemorySection | None = None
    max_nrmse: float | None = Field(default=None, gt=0)
    repeated: str | None = None
    settings: FfnnSettings | PceSettings | KrigingSettings | PckSettings | GlamSettings | SpceSettings = Field(
        default_factory=FfnnSettings, json_schema_extra={"of_its_kind": True}
    )

    @model_validator(mode="before")
    @classmethod
    def _gather_settings(cls, value: Any, info: ValidationInfo) -> Any:
        """Hand the keys of the kind to its settings."""
        if not isinstance(value, dict) or value.get("kind") not in KINDS:
            return value
        if "settings" in value:
            raise ConfigError("settings are keys of the model itself")
        kind = KINDS[value["kind"]]
        own = {name: item for name, item in value.items() if name not in cls.model_fields}
        names = [field.name for field in fields(kind)]
        unknown = [name for name in own if name not in names]
        if unknown:
            raise ConfigError(
                f"key '{unknown[0]}' is unknown; a model of kind {value['kind']} has {', '.join(names)} and "
                f"{', '.join(name for name in cls.model_fields if name != 'settings')}"
            )
        if "seed" in names and info.context is not None:
            own = {"seed": info.context["seed"]} | own
        rest = {name: item for name, item in value.items() if name in cls.model_fields}
        try:
            return rest | {"settings": TypeAdapter(kind).validate_python(own)}
        except ValidationError as error:
            raise ConfigError(" ".join(problem_sentences(error))) from None

    @field_validator("gate")
    @classmethod
    def _is_a_gate(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, Gate):
            raise ConfigError(f"must be a Gate, got {type(value).__name__}")
        return value

    @model_validator(mode="after")
    def _is_stochastic(self) -> ModelSection:
        if self.kind in STOCHASTIC and self.gate is not None:
            raise ConfigError(f"gate is not for models of kind {self.kind}: its law has no output that vanishes")
        if self.kind not in STOCHASTIC and self.repeated is not None:
            raise ConfigError(f"repeated is for models of kind {' and '.join(STOCHASTIC)}, not {self.kind}")
        return self

    @model_validator(mode="after")
    def _fits_its_kind(self) -> ModelSection:
        if self.memory is None:
            return self
        if not self.outputs and self.memory.spec is None:
            raise ConfigError("outputs must be named for a model with memory")
        if self.kind not in REMEMBERING:
            raise ConfigError(f"memory is for models of kind {' and '.join(REMEMBERING)}, not {self.kind}")
        takes, given = REMEMBERING[self.kind], set(self.memory.fit_arguments())
        if given - takes:
            unknown = sorted(given - takes)[0]
            raise ConfigError(f"memory of kind {self.kind} takes {', '.join(sorted(takes))}, not {unknown}")
        if isinstance(self.settings, FfnnSettings) and self.settings.candidates:
            raise ConfigError("candidates are for networks without memory; give hidden")
        return self
