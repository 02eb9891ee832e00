"""[train] and [validate] of a study file: which reduced model is fitted to the samples, and how it is judged."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from hmor.section import Section
from mor.gate import Gate
from mor.history import Filter, History
from mor.ports import Port
from rt_runtime.errors import ConfigError
from training.config import FfnnConfig
from training.memory import MemoryConfig


class FfnnSection(Section):
    """[train.ffnn]: the network and its trainer, as in `training.FfnnConfig`; `seed` is the study's when left out.

    candidates: hidden sizes to choose from by validation error, with `activations` and `seeds`; `hidden` is not used
    then.
    """

    hidden: list[int] = Field(default_factory=lambda: [10])
    activation: str = "tanh"
    trainer: str = "lm"
    restarts: int = 10
    seed: int | None = Field(default=None, ge=0)
    iterations: int = 1000
    seconds: float | None = None
    bayesian: bool = True
    learning_rate: float = 1e-2
    batch: int = 32
    patience: int = 200
    candidates: list[list[int]] | None = Field(default=None, min_length=1)
    activations: list[str] = Field(default=["tanh"], min_length=1)
    seeds: list[int] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_a_config(self) -> FfnnSection:
        for hidden in self.candidates or [self.hidden]:
            for activation in self.activations if self.candidates else [self.activation]:
                self._config(hidden, activation, 0)
        return self

    def config(self, seed: int) -> FfnnConfig:
        """Return the settings of a fit."""
        return self._config(self.hidden, self.activation, seed if self.seed is None else self.seed)

    def _config(self, hidden: list[int], activation: str, seed: int) -> FfnnConfig:
        return FfnnConfig(
            tuple(hidden), activation, self.trainer, self.restarts, seed, self.iterations, self.seconds, self.bayesian,
            self.learning_rate, self.batch, self.patience,
        )  # fmt: skip


class PceSection(Section):
    """[train.pce]: the arguments of `mor.fit_pce`."""

    method: Literal["auto", "ols", "omp", "lar", "smooth"] = "auto"
    degree: int | list[int] | None = None
    q: float | list[float] | None = None
    interaction: int | None = Field(default=None, ge=1)

    def arguments(self) -> dict[str, Any]:
        """Return what was given, by name."""
        return self.model_dump(exclude_none=True)


class GateSection(Section):
    """[train.gate]: the outputs vanish with `input`; from `span` down to `closed` they fade, as in `mor.Gate`."""

    input: str
    span: float = Field(gt=0, allow_inf_nan=False)
    closed: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _opens(self) -> GateSection:
        self.gate()
        return self

    def gate(self) -> Gate:
        """Return the gate."""
        return Gate(self.input, self.span, self.closed)


class FilterSection(Section):
    """One of [train.memory] filters: the signal it follows and its time constant in s."""

    of: str
    time_constant: float = Field(gt=0)


class MemorySection(Section):
    """[train.memory]: the model remembers; it is fitted to trajectories of `signals` and the outputs of [train].

    Further settings as in `mor.History` and `training.MemoryConfig`; the step is that of the trajectories.
    """

    signals: list[str] = Field(min_length=1)
    input_lags: int = Field(default=0, ge=0)
    output_lags: int = Field(default=0, ge=0)
    filters: list[FilterSection] = Field(default_factory=list)
    rows: int = 3000
    horizon: int = 100
    segments: int = 100
    iterations: int = 100

    @model_validator(mode="after")
    def _is_a_memory(self) -> MemorySection:
        if self.input_lags + self.output_lags + len(self.filters) == 0:
            raise ConfigError("must have input_lags, output_lags or filters")
        MemoryConfig(rows=self.rows, horizon=self.horizon, segments=self.segments, iterations=self.iterations)
        return self

    def history(
        self, signals: tuple[Port, ...], outputs: tuple[Port, ...], dt: float, gate: Gate | None = None
    ) -> History:
        """Return the structure of the model."""
        filters = tuple(Filter(f.of, f.time_constant) for f in self.filters)
        return History(signals, outputs, dt, self.input_lags, self.output_lags, filters, gate=gate)

    def config(self, network: FfnnConfig) -> MemoryConfig:
        """Return the settings of a fit."""
        return MemoryConfig(network, self.rows, self.horizon, self.segments, self.iterations)


class TrainSection(Section):
    """[train]: which kind of model is fitted to which outputs.

    data: netCDF file of a Dataset; the store of [sample] when left out. outputs: some of the data's; all when left out.
    split: fractions for training, validation and test, drawn with the study's seed. domain: [lower, upper] of an input
    where it shall differ from the range of its law or of the data. model: file of the result.
    """

    kind: Literal["ffnn", "pce"] = "ffnn"
    data: str | None = None
    outputs: list[str] | None = Field(default=None, min_length=1)
    split: tuple[float, float, float] = (0.7, 0.15, 0.15)
    domain: dict[str, tuple[float, float]] = Field(default_factory=dict)
    model: str | None = None
    ffnn: FfnnSection = FfnnSection()
    pce: PceSection = PceSection()
    gate: GateSection | None = None
    memory: MemorySection | None = None

    @field_validator("split")
    @classmethod
    def _adds_up(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if min(value) <= 0.0 or abs(sum(value) - 1.0) > 1e-9:
            raise ConfigError(f"must be three positive fractions that add up to 1, got {list(value)}")
        return value

    @model_validator(mode="after")
    def _memory_fits(self) -> TrainSection:
        if self.memory is not None and self.outputs is None:
            raise ConfigError("outputs must be named for a model with memory")
        return self


class ValidateSection(Section):
    """[validate]: how the model is judged.

    data: netCDF file of a Dataset; the test part of the split when left out. against: run the full-order model beside
    it for its time. max_nrmse: the command fails when an output is worse. pictures: draw them.
    """

    data: str | None = None
    against: bool = False
    max_nrmse: float | None = Field(default=None, gt=0)
    pictures: bool = True
