"""A study: one TOML file with a section per step of the work, checked as a whole before anything runs.

To add a section: write a subclass of `Section` (hmor.section) and add it to `Study` as an optional field of
its name.
Problems are found by pydantic and by validators that raise ConfigError; all are listed at once, each with its key.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, PrivateAttr, ValidationError

from hmor.run_section import RunSection
from hmor.sample_section import SampleSection
from hmor.sample_section import import_object as import_object
from hmor.sample_section import load_object as load_object
from hmor.section import Section
from hmor.train_section import TrainSection, ValidateSection
from mor.designs import Design
from mor.evaluable import Evaluable
from rt_runtime.errors import ConfigError

T = TypeVar("T")


class StudySection(Section):
    """[study]: name of the study, and the seed of everything in it that is drawn."""

    name: str = Field(min_length=1)
    seed: int = Field(default=0, ge=0)
    description: str = ""


class ExportSection(Section):
    """[export]: which fitted models are written, where, and for which hosts.

    models: {name: file written by save()}, relative to the study file; left out, the model of [train] is written under
    `name` and judged as [validate] says. bundle: folder of the bundle; by default the name of the study with .bundle.
    targets: "onnx" is always written, "c", "fmu" (FMI 2.0) and "fmu3" beside it. validation: JSON file {name: results}
    on the models, for the bundle.
    """

    models: dict[str, str] | None = Field(default=None, min_length=1)
    name: str = "model"
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

    def export_section(self) -> ExportSection:
        """Return [export]; a study with [train] can do without."""
        return self.need("export", self.export or (None if self.train is None else ExportSection()))

    def export_bundle(self) -> Path:
        """Return the folder of the bundle."""
        return self.folder / (self.export_section().bundle or f"{self.study.name}.bundle")

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
        return sample.build(self.folder)


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
        problems = [problem_sentence(problem) for problem in error.errors()]
        raise ConfigError.from_problems(f"Study {path}", problems) from None
    study._path = path
    return study


def problem_sentence(problem: Any) -> str:
    """Make one sentence of a problem pydantic found: the key, what it must be, what it is."""
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"Key '{key}' is missing."
    if problem["type"] == "extra_forbidden":
        return f"Key '{key}' is unknown; check its spelling and its section."
    if problem["type"] == "value_error":
        return f"Key '{key}': {problem['ctx']['error']}".rstrip(".") + "."
    message = problem["msg"].replace("Input should be", "must be")
    return f"Key '{key}' {message}, got {problem['input']!r:.60}."
