"""A study: one TOML file with a section per step of the work, checked as a whole before anything runs.

To add a section: write a subclass of `Section` (hmor.section) and add it to `Study` as an optional field of
its name.
Problems are found by pydantic and by validators that raise ConfigError; all are listed at once, each with its key.
"""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hmor.run_section import RunSection
from hmor.section import Section
from hmor.train_section import TrainSection, ValidateSection
from mor.designs import Design, full_factorial, halton, lhs, random_design, sobol
from mor.evaluable import Evaluable, FunctionModel
from mor.marginals import Marginal, marginal_from
from mor.ports import check_name
from mor.space import ParameterSpace
from rt_runtime.errors import ConfigError

T = TypeVar("T")


class StudySection(Section):
    """[study]: name of the study, and the seed of everything in it that is drawn."""

    name: str = Field(min_length=1)
    seed: int = Field(default=0, ge=0)
    description: str = ""


class DesignSection(Section):
    """[sample.design]: method and size; `seed` is the study's when it is left out."""

    method: Literal["lhs", "sobol", "halton", "random", "full_factorial"]
    n: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=0)
    criterion: Literal["maximin"] | None = None
    scramble: bool = False
    skip: int | None = Field(default=None, ge=0)
    levels: int | dict[str, int] | None = None

    @model_validator(mode="after")
    def _fits_its_method(self) -> DesignSection:
        takes = {
            "lhs": {"n", "seed", "criterion"},
            "sobol": {"n", "seed", "scramble", "skip"},
            "halton": {"n", "seed", "scramble", "skip"},
            "random": {"n", "seed"},
            "full_factorial": {"levels"},
        }[self.method]
        given = self.model_fields_set - {"method"}
        if given - takes:
            raise ConfigError(
                f"method {self.method} takes {', '.join(sorted(takes))}, not {', '.join(sorted(given - takes))}"
            )
        needed = "levels" if self.method == "full_factorial" else "n"
        if getattr(self, needed) is None:
            raise ConfigError(f"method {self.method} needs {needed}")
        return self

    def build(self, space: ParameterSpace, seed: int) -> Design:
        """Make the design."""
        seed = seed if self.seed is None else self.seed
        if self.method == "full_factorial":
            return full_factorial(space, self.levels or 1)
        n = self.n or 1
        if self.method == "lhs":
            return lhs(space, n, seed=seed, criterion=self.criterion)
        if self.method == "random":
            return random_design(space, n, seed=seed)
        sequence = sobol if self.method == "sobol" else halton
        return sequence(space, n, seed=seed if self.scramble else None, scramble=self.scramble, skip=self.skip)


def _read_marginal(value: object) -> Marginal:
    if not isinstance(value, dict):
        raise ConfigError(f'must be a law such as {{law = "uniform", lower = 0, upper = 1, unit = "N"}}, got {value!r}')
    return marginal_from(value, "the parameter")


def _check_model(text: str, info: ValidationInfo) -> str:
    if info.context is not None:
        load_object(text, info.context["folder"])
    return text


Law = Annotated[InstanceOf[Marginal], BeforeValidator(_read_marginal)]
ModelPath = Annotated[str, AfterValidator(_check_model)]


class SampleSection(Section):
    """[sample]: which model is run on which design, and where the results go.

    model: "module:name" of a function or an Evaluable; modules beside the study file are found. outputs: names and
    units of the numbers a plain function returns; fixed: its further arguments. store: folder, relative to the study
    file; by default the name of the study with .store.
    """

    model: ModelPath
    parameters: dict[str, Law] = Field(min_length=1)
    design: DesignSection
    outputs: dict[str, str] = Field(default_factory=dict)
    fixed: dict[str, Any] = Field(default_factory=dict)
    store: str | None = None
    executor: str = Field(default="processes", pattern=r"^(processes|serial|dask://\S+:\d+)$")
    workers: int | None = Field(default=None, ge=1)
    timeout: float | None = Field(default=None, gt=0)

    @field_validator("parameters")
    @classmethod
    def _names(cls, value: dict[str, Marginal]) -> dict[str, Marginal]:
        for name in value:
            check_name(name, "a parameter")
        return value

    def space(self) -> ParameterSpace:
        """Return the parameter space."""
        return ParameterSpace(self.parameters)


class ExportSection(Section):
    """[export]: which fitted models are written, where, and for which hosts.

    models: {name: file written by save()}, relative to the study file. bundle: folder of the bundle; by default the
    name of the study with .bundle. targets: "onnx" is always written, "c", "fmu" (FMI 2.0) and "fmu3" beside it.
    validation: JSON file {name: results} that goes into the bundle.
    """

    models: dict[str, str] = Field(min_length=1)
    bundle: str | None = None
    targets: list[Literal["onnx", "c", "fmu", "fmu3"]] = Field(default=["onnx", "c", "fmu"], min_length=1)
    precision: Literal["float64", "float32"] = "float64"
    validation: str | None = None


class Study(Section):
    """A study file: [study] and the sections of the steps it has."""

    study: StudySection
    sample: SampleSection | None = None
    export: ExportSection | None = None
    run: RunSection | None = None
    train: TrainSection | None = None
    validate_: ValidateSection = Field(default=ValidateSection(), alias="validate")
    _path: Path = PrivateAttr(default=Path("study.toml"))

    @property
    def folder(self) -> Path:
        """Folder of the study file, to which its paths are relative."""
        return self._path.parent

    def need(self, name: str, section: T | None) -> T:
        """Return a section, or raise when the study does not have it."""
        if section is None:
            raise ConfigError(f"Study {self._path} has no section [{name}], which this command needs; add it.")
        return section

    def sample_store(self) -> Path:
        """Return the folder of the campaign's store."""
        sample = self.need("sample", self.sample)
        return self.folder / (sample.store or f"{self.study.name}.store")

    def export_bundle(self) -> Path:
        """Return the folder of the bundle."""
        export = self.need("export", self.export)
        return self.folder / (export.bundle or f"{self.study.name}.bundle")

    def model_file(self) -> Path:
        """Return the file of the reduced model."""
        train = self.need("train", self.train)
        return self.folder / (train.model or f"{self.study.name}.model.npz")

    def sample_design(self) -> Design:
        """Make the design of the campaign."""
        sample = self.need("sample", self.sample)
        return sample.design.build(sample.space(), self.study.seed)

    def sample_model(self) -> Evaluable:
        """Load the model of the campaign."""
        sample = self.need("sample", self.sample)
        found = load_object(sample.model, self.folder)
        if isinstance(found, Evaluable):
            return found
        name = sample.model.partition(":")[2]
        return FunctionModel(found, sample.outputs, name=name, fixed=sample.fixed)


def load_study(path: str | Path) -> Study:
    """Read and check a study file; every problem is listed, with its key."""
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"Study {path} must be a TOML file, found none of that name.")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"Study {path} must be TOML: {error}.") from None
    try:
        study = Study.model_validate(content, context={"folder": path.parent})
    except ValidationError as error:
        raise ConfigError.from_problems(f"Study {path}", [_sentence(problem) for problem in error.errors()]) from None
    study._path = path
    return study


def _sentence(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"Key '{key}' is missing."
    if problem["type"] == "extra_forbidden":
        return f"Key '{key}' is unknown; check its spelling and its section."
    if problem["type"] == "value_error":
        return f"Key '{key}': {problem['ctx']['error']}".rstrip(".") + "."
    message = problem["msg"].replace("Input should be", "must be")
    return f"Key '{key}' {message}, got {problem['input']!r:.60}."


def load_object(text: str, folder: Path) -> Callable[..., Any] | Evaluable:
    """Import "module:name"; modules in `folder` are found first."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise ConfigError(f'must be "module:name", for example "brake:torque", got {text!r}')
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise ConfigError(f"module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"module {module!r} has no {name!r}")
        found = getattr(found, part)
    if isinstance(found, Evaluable):
        return found
    if callable(found):
        function: Callable[..., Any] = found
        return function
    raise ConfigError(f"{text!r} must be a function or a model, got {type(found).__name__}")
