"""The settings of the motorcycle study: one TOML file, checked as a whole."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hmor.study import problem_sentence
from rt_runtime.errors import ConfigError

BUILT_IN = Path(__file__).parents[1] / "studies" / "motorcycle_brakes.toml"
SIDES = ("rear", "front")
TORQUES = {"rear": "tau_rw", "front": "tau_fw"}
STATIC = ("ffnn", "pce")
MEMORY = ("ffnn_memory", "pce_memory")
CONTROL_STEP = 1e-4
"""Step in s of the tests under adaptive MPC: the controller acts on each fourth tick, at 2.5 kHz."""

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """A section of the file; a key it does not know is a problem."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyPart(Section):
    """[study]."""

    name: str = Field(min_length=1)
    pipeline: Literal["motorcycle_brakes"]
    seed: int = Field(default=1, ge=0)
    description: str = ""


class SamplePart(Section):
    """[sample]: static points and trajectories of each brake."""

    points: int = Field(default=200, ge=30)
    share_test: float = Field(default=0.15, gt=0, lt=0.4)
    trajectories: int = Field(default=6, ge=2)
    seconds: Positive = 30.0


class TrainPart(Section):
    """[train]: networks and polynomials."""

    hidden: list[Count] = [10]
    restarts: Count = 5
    memory_hidden: list[Count] = [10, 10]
    memory_rows: int = Field(default=2500, ge=100)
    memory_iterations: Count = 200
    pce_degree: int = Field(default=12, ge=2)
    pce_rows: int = Field(default=1000, ge=50)
    pce_draws: Count = 2


class ExportPart(Section):
    """[export]: what is written beside the ONNX files."""

    targets: list[Literal["onnx", "c", "fmu", "fmu3"]] = ["onnx", "c", "fmu"]


class SimulatePart(Section):
    """[simulate]: virtual tests of the whole motorcycle."""

    step: Positive = 1e-4
    prototypes: Count = 30
    memory: bool = True
    controlled: bool = True


class RunPart(Section):
    """[run]: the paced test beside the rig."""

    rate: Positive = 10_000.0
    seconds: float = Field(default=45.0, gt=1.5)
    brakes: Literal["ffnn", "pce", "ffnn_memory", "pce_memory"] = "ffnn_memory"
    silence: float = Field(default=0.2, gt=0, le=1)


class QuickPart(Section):
    """[quick]: what the quick profile changes."""

    prototypes: Count = 4
    controlled: bool = True
    seconds: float = Field(default=10.0, gt=1.5)


class Settings(Section):
    """The whole file."""

    study: StudyPart
    sample: SamplePart = SamplePart()
    train: TrainPart = TrainPart()
    export: ExportPart = ExportPart()
    simulate: SimulatePart = SimulatePart()
    run: RunPart = RunPart()
    quick: QuickPart = QuickPart()

    @model_validator(mode="after")
    def _steps_fit(self) -> Settings:
        if abs(self.run.rate * self.simulate.step - 1.0) > 1e-9:
            raise ConfigError(
                f"run.rate must be {1 / self.simulate.step:g} Hz, one tick a simulate.step, got {self.run.rate:g} Hz"
            )
        if self.simulate.controlled and abs(self.simulate.step / CONTROL_STEP - 1.0) > 1e-9:
            raise ConfigError(
                f"simulate.step must be {CONTROL_STEP:g} s for runs under adaptive MPC, got {self.simulate.step:g} s; "
                "change it or set simulate.controlled = false"
            )
        return self

    def quickly(self) -> Settings:
        """Return the settings of the quick profile."""
        quick = self.quick
        controlled = self.simulate.controlled and quick.controlled
        return self.model_copy(
            update={
                "simulate": self.simulate.model_copy(
                    update={"prototypes": quick.prototypes, "controlled": controlled}
                ),
                "run": self.run.model_copy(update={"seconds": quick.seconds}),
            }
        )


def load_settings(path: Path) -> Settings:
    """Read and check the file; every problem is listed, with its key."""
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"Study {path} must be TOML: {error}.") from None
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        problems = [problem_sentence(problem) for problem in error.errors()]
        raise ConfigError.from_problems(f"Study {path}", problems) from None
