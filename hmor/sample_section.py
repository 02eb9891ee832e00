"""[sample] of a study: model, parameters, design, quantities, store."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hmor.section import Section
from mor.campaign import QuantityModel
from mor.designs import Design, full_factorial, halton, lhs, random_design, sobol
from mor.evaluable import Evaluable, FunctionModel
from mor.marginals import Marginal, marginal_from
from mor.ports import check_name
from mor.space import ParameterSpace
from mor.trajectory import Trajectory
from rt_runtime.errors import ConfigError


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


TAKE: dict[str, Callable[[npt.NDArray[np.float64]], float]] = {
    "max": lambda column: float(column.max()),
    "min": lambda column: float(column.min()),
    "mean": lambda column: float(column.mean()),
    "std": lambda column: float(column.std()),
    "last": lambda column: float(column[-1]),
    "peak": lambda column: float(np.abs(column).max()),
    "rms": lambda column: float(np.sqrt(np.mean(column**2))),
}


class QuantitySection(Section):
    """[sample.quantities]: a number taken from a column of the trajectory, times `scale`."""

    column: str
    take: Literal["max", "min", "mean", "std", "last", "peak", "rms"]
    unit: str = ""
    scale: float = 1.0

    def build(self) -> tuple[str, Callable[[Trajectory], float]]:
        """Return unit and function, as a QuantityModel takes them."""
        column, take, scale = self.column, self.take, self.scale
        return self.unit, lambda run: scale * TAKE[take](run[column])


class SampleSection(Section):
    """[sample]: which model is run on which design, and where the results go.

    model: "module:name" of a function or an Evaluable, "module:name()" of a function that makes one; modules beside
    the study file are found. outputs: names and units of the numbers a plain function returns; fixed: its further
    arguments. quantities: numbers taken from trajectories, which are kept with keep_runs. store: folder, relative to
    the study file; by default the name of the study with .store.
    """

    model: ModelPath
    parameters: dict[str, Law] = Field(min_length=1)
    design: DesignSection
    outputs: dict[str, str] = Field(default_factory=dict)
    fixed: dict[str, Any] = Field(default_factory=dict)
    quantities: dict[str, QuantitySection] = Field(default_factory=dict)
    keep_runs: bool = True
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

    def build(self, folder: Path) -> Evaluable:
        """Load the model; modules in `folder` are found."""
        model = load_object(self.model, folder)
        if not isinstance(model, Evaluable):
            model = FunctionModel(model, self.outputs, name=self.model.partition(":")[2], fixed=self.fixed)
        if not self.quantities:
            return model
        quantities = {name: entry.build() for name, entry in self.quantities.items()}
        return QuantityModel(model, quantities, keep_run=self.keep_runs)


def import_object(text: str, folder: Path) -> Any:
    """Import "module:name", or call "module:name()"; modules in `folder` are found first."""
    module, _, name = text.removesuffix("()").partition(":")
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
    if text.endswith("()"):
        try:
            found = found()
        except Exception as error:
            raise ConfigError(f"{text!r} cannot be made: {type(error).__name__}: {error}") from error
    return found


def load_object(text: str, folder: Path) -> Callable[..., Any] | Evaluable:
    """Import a function or a model as `import_object` does."""
    found = import_object(text, folder)
    if isinstance(found, Evaluable):
        return found
    if callable(found):
        function: Callable[..., Any] = found
        return function
    raise ConfigError(f"{text!r} must be a function or a model, got {type(found).__name__}")
