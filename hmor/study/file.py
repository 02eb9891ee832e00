"""A study: one TOML file with named parts, hybrid models, tests and a report, checked as a whole before anything runs.

To add a section: write a subclass of `Section` (hmor.study.section) and add it to `Study` as an optional field of
its name; its step goes into hmor.study.stages.pipeline. Problems are found by pydantic and by validators that raise
ConfigError; all are listed at once, each with its key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from hmor.options import BUILT_IN
from hmor.sensitivity.section import SensitivitySection
from hmor.study.loading import ObjectPath, import_object
from hmor.study.run import RunSection
from hmor.study.sample import PartSection, Space
from hmor.study.section import Section, problem_sentences
from hmor.study.train import EXPORTED, ModelSection
from mor.substructures.base import Substructure
from rt_runtime.errors import ConfigError

T = TypeVar("T")


class StudySection(Section):
    """[study]: name of the study, and the seed of everything in it that is drawn."""

    name: str = Field(min_length=1, pattern=r"^[\w.-]+$")
    seed: int = Field(default=0, ge=0)
    description: str = ""


class ExportSection(Section):
    """[export]: which fitted models are written, where, and for which hosts.

    models: {name in the bundle: "part.model", or a file written by save()}; left out, all models of the study, each as
    part_model. bundle: folder of the bundle, by default `bundle` in the folder of the results. targets: "onnx" is
    always written, "c", "fmu" (FMI 2.0) and "fmu3" beside it. verify: let every engine repeat the golden vectors.
    controllers: {name: "module:function"} of functions of nothing that return a controller of rt_runtime, or
    (controller, limits); each is written as C and FMU into `controllers/NAME` in the folder of the results.
    """

    models: dict[str, str] = Field(default_factory=dict)
    bundle: str | None = None
    targets: tuple[Literal["onnx", "c", "fmu", "fmu3"], ...] = Field(default=("onnx", "c", "fmu"), min_length=1)
    precision: Literal["float64", "float32"] = "float64"
    verify: bool = True
    controllers: dict[str, ObjectPath] = Field(default_factory=dict)


class HybridSection(Section):
    """[hybrid]: the hybrid model, and what is built from it by exchanging parts.

    model: "module:name()" of the full-order HybridModel with its scenario. parameters: laws of what differs between
    prototypes, or "module:name()" of a ParameterSpace; prototypes: how many Latin-hypercube prototypes every variant
    runs (1: the nominal one). responses: signals that are compared. variants: {name: {substructure: "part.model"}}.
    published: {variant: {response: NRMSE in percent}} to stand beside.
    """

    model: ObjectPath
    parameters: Space | None = None
    prototypes: int = Field(default=1, ge=1)
    responses: tuple[str, ...] = Field(min_length=1)
    variants: dict[str, dict[str, str]] = Field(default_factory=dict)
    published: dict[str, dict[str, float]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _prototypes_differ(self) -> HybridSection:
        if self.prototypes > 1 and self.parameters is None:
            raise ConfigError(f"parameters must say what differs between {self.prototypes} prototypes")
        if "full" in self.variants:
            raise ConfigError("variants must not be called 'full': that is the full-order hybrid model")
        return self


class ControlSection(Section):
    """[control]: the virtual test with actuator and controller.

    test: "module:name" of a `VirtualTest` (hmor.studies.base). settings: of the test. prototypes: how many
    Latin-hypercube prototypes of the test are run beside the nominal one (1: none). record: CSV file of a ground
    motion. parts: {place in the test: "part.model"}, which then run beside the full-order ones; responses: signals of
    the test that are compared.
    """

    test: ObjectPath
    settings: dict[str, Any] = Field(default_factory=dict)
    prototypes: int = Field(default=1, ge=1)
    record: str | None = None
    parts: dict[str, str] = Field(default_factory=dict)
    responses: tuple[str, ...] = ()


class ReportSection(Section):
    """[report]: title and first paragraph of the page, and words for signals, parts and models: {name: words}."""

    title: str = ""
    lead: str = ""
    labels: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model:
    """A reduced model of a study: `name` of `part`, fitted to the samples of the part `source`."""

    part: str
    name: str
    section: ModelSection

    @property
    def path(self) -> str:
        """How a study file refers to it: part.model."""
        return f"{self.part}.{self.name}"

    @property
    def key(self) -> str:
        """Its name in files and in the bundle: part_model."""
        return f"{self.part}_{self.name}"

    @property
    def exported(self) -> bool:
        """Whether it goes into the bundle when [export] names no models."""
        return self.section.kind in EXPORTED or getattr(self.section.settings, "rounding", None) is not None

    @property
    def source(self) -> str:
        """The part whose samples it learns from."""
        return self.section.samples or self.part

    @property
    def effort(self) -> float:
        """How long it trains, beside others: what is long is begun first."""
        return (3.0 if self.section.kind == "ffnn" else 4.0) * (10.0 if self.section.memory is not None else 1.0)


class Study(Section):
    """A study file."""

    study: StudySection
    parts: dict[str, PartSection] = Field(default_factory=dict)
    export: ExportSection = ExportSection()
    hybrid: HybridSection | None = None
    control: ControlSection | None = None
    run: RunSection | None = None
    sensitivity: SensitivitySection | None = None
    report: ReportSection = ReportSection()
    _path: Path = PrivateAttr(default=Path("study.toml"))
    _folder: Path = PrivateAttr(default=Path("runs/study"))
    _called: str = PrivateAttr(default="study.toml")

    @model_validator(mode="after")
    def _names_exist(self) -> Study:
        """Check what one section says of another."""
        problems = []
        for model in self.models():
            if model.source not in self.parts:
                problems.append(
                    f"samples of {model.path} must be a part ({', '.join(self.parts)}), got {model.source!r}"
                )
            again = model.section.repeated
            if again is not None and again not in self.parts:
                problems.append(f"repeated of {model.path} must be a part ({', '.join(self.parts)}), got {again!r}")
        known = {model.path for model in self.models()}
        named: dict[str, str] = {f"run.parts.{k}": v for k, v in (self.run.parts if self.run else {}).items()}
        named |= {f"control.parts.{k}": v for k, v in (self.control.parts if self.control else {}).items()}
        named |= {f"export.models.{k}": v for k, v in self.export.models.items() if not v.endswith(".npz")}
        for variant, parts in (self.hybrid.variants if self.hybrid else {}).items():
            named |= {f"hybrid.variants.{variant}.{k}": v for k, v in parts.items()}
        for key, path in named.items():
            if path not in known:
                problems.append(f"Key '{key}' must be part.model ({', '.join(sorted(known)) or 'none'}), got {path!r}")
        for name, part in self.parts.items():
            remembers = any(model.section.memory for model in self.models() if model.part == name)
            if part.against and remembers and part.substructure is None:
                problems.append(
                    f"against of part '{name}' needs its substructure for models with memory: its samples are whole "
                    "runs, not steps"
                )
        for name in self.sensitivity.parts if self.sensitivity else ():
            if name not in self.parts:
                problems.append(f"Key 'sensitivity.parts' must be parts ({', '.join(self.parts)}), got {name!r}")
        if problems:
            raise ConfigError("; ".join(problems))
        return self

    @property
    def place(self) -> Path:
        """Folder of the study file, to which its paths are relative."""
        return self._path.parent

    @property
    def folder(self) -> Path:
        """Folder of the results."""
        return self._folder

    @property
    def called(self) -> str:
        """How the user names the study, options included: what hints repeat."""
        return self._called

    def text(self) -> str:
        """Return the study file as it is."""
        return self._path.read_text(encoding="utf-8")

    def models(self) -> Iterator[Model]:
        """Return the reduced models of all parts."""
        for part, section in self.parts.items():
            for name, model in section.models.items():
                yield Model(part, name, model)

    def model(self, path: str) -> Model:
        """Return a model by "part.model"."""
        return next(model for model in self.models() if model.path == path)

    def need(self, name: str, section: T | None) -> T:
        """Return a section, or raise when the study does not have it."""
        if not section:
            raise ConfigError(f"Study {self.called} has no section [{name}], which this command needs; add it.")
        return section

    def store(self, part: str) -> Path:
        """Return the folder of the campaign of a part."""
        given = self.parts[part].store
        return self.place / given if given else self.folder / "samples" / part

    def model_file(self, model: Model) -> Path:
        """Return the file of a reduced model."""
        return self.folder / "models" / f"{model.key}.npz"

    def bundle(self) -> Path:
        """Return the folder of the bundle."""
        return self.place / self.export.bundle if self.export.bundle else self.folder / "bundle"

    def exported(self) -> dict[str, str]:
        """Return {name in the bundle: "part.model" or file}."""
        ours = {model.key: model.path for model in self.models() if model.exported}
        return self.export.models or ours

    def substructure(self, part: str) -> Substructure:
        """Return the full-order substructure of a part."""
        found: Substructure = import_object(self.need(f"parts.{part}.substructure", self.parts[part].substructure),
                                            self.place)  # fmt: skip
        return found


def load_study(
    study: str | Path,
    folder: Path | None = None,
    *,
    quick: bool = False,
    changes: Mapping[str, Any] | None = None,
    parts: Mapping[str, Any] | None = None,
) -> Study:
    """Read and check a study, a built-in name or a file; every problem is listed, with its key.

    Parameters
    ----------
    study
        Name of a built-in study, or the path of a TOML file.
    folder
        Folder of the results; by default runs/NAME beside the file (built-in: in this folder), NAME_quick when quick.
    quick
        Put the keys of [quick] in the place of the others.
    changes
        Further keys to put in their place, as nested tables.
    parts
        Keys to put in their place in every part that is sampled.
    """
    path = BUILT_IN.get(str(study), Path(study))
    if not path.is_file():
        if path.suffix == ".toml":
            raise ConfigError(f"Study file {path} does not exist; hmor new NAME writes one, hmor studies lists others.")
        known = ", ".join(BUILT_IN)
        raise ConfigError(f"Study must be one of {known}, or a TOML file, got {str(study)!r}; see hmor studies.")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"Study {path} must be TOML: {error}.") from None
    profile = content.pop("quick", None)
    if quick and profile is None:
        raise ConfigError(f"Study {study} has no section [quick], which --quick takes; leave the option out.")
    content = merged(merged(content, profile or {}) if quick else content, changes or {})
    sampled = [name for name, part in content.get("parts", {}).items() if isinstance(part, dict) and "model" in part]
    content = merged(content, {"parts": {name: parts for name in sampled}} if parts else {})
    old = [name for name in ("sample", "train", "validate", "simulate") if name in content]
    if old:
        raise ConfigError(
            f"Section [{old[0]}] of study {path} is of an earlier form: [sample] is [parts.NAME] now, [train] is "
            "[parts.NAME.models.KIND]; hmor new NAME writes a study of the present form."
        )
    head = content.get("study")
    seed = head.get("seed", 0) if isinstance(head, dict) else 0
    try:
        found = Study.model_validate(content, context={"folder": path.parent, "seed": seed})
    except ValidationError as error:
        raise ConfigError.from_problems(f"Study {path}", problem_sentences(error)) from None
    base = Path() if str(study) in BUILT_IN else path.parent
    found._path = path
    found._folder = folder or base / "runs" / (found.study.name + ("_quick" if quick else ""))
    found._called = f"{study}" + ("" if folder is None else f" --folder {folder}") + (" --quick" if quick else "")
    return found


def merged(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested tables with some keys replaced."""
    result = dict(content)
    for key, value in changes.items():
        inner = result.get(key)
        both = isinstance(value, Mapping) and isinstance(inner, Mapping)
        result[key] = merged(inner, value) if both else value  # type: ignore[arg-type]
    return result
