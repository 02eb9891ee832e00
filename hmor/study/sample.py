"""[parts.NAME] of a study: a full-order model, how it is sampled, and which reduced models are fitted to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, InstanceOf, ValidationInfo, field_validator, model_validator

from hmor.study.loading import ObjectPath, import_object, load_object
from hmor.study.section import Section
from hmor.study.train import ModelSection
from mor.campaign import QuantityModel
from mor.campaign.model import Evaluable, FunctionModel
from mor.data.ports import check_name
from mor.data.trajectory import Trajectory
from mor.hybrid.latent import latent_of, replicate
from mor.marginals import marginal_from
from mor.sampling.designs import Design, full_factorial, halton, lhs, random_design, sobol
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


class DesignSection(Section):
    """[parts.NAME.design]: method and size; `seed` is the study's when it is left out.

    rows: keep these points of the design alone, counted from 1, for a part that repeats them.
    """

    method: Literal["lhs", "sobol", "halton", "random", "full_factorial"]
    n: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=0)
    criterion: Literal["maximin"] | None = None
    scramble: bool = False
    skip: int | None = Field(default=None, ge=0)
    levels: int | dict[str, int] | None = None
    rows: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _fits_its_method(self) -> DesignSection:
        takes = {
            "lhs": {"n", "seed", "criterion"},
            "sobol": {"n", "seed", "scramble", "skip"},
            "halton": {"n", "seed", "scramble", "skip"},
            "random": {"n", "seed"},
            "full_factorial": {"levels"},
        }[self.method]
        given = self.model_fields_set - {"method", "rows"}
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
        design = self._whole(space, seed)
        if not self.rows:
            return design
        beyond = [row for row in self.rows if not 1 <= row <= len(design)]
        if beyond:
            raise ConfigError(f"rows of a design must lie between 1 and {len(design)}, got {beyond[0]}.")
        at = np.array(self.rows) - 1
        return Design(space, design.unit[at], {**design.made, "rows": list(self.rows)})

    def _whole(self, space: ParameterSpace, seed: int) -> Design:
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


def _read_space(value: object, info: ValidationInfo) -> ParameterSpace:
    if isinstance(value, str):
        found = import_object(value, (info.context or {"folder": Path()})["folder"])
        if not isinstance(found, ParameterSpace):
            raise ConfigError(f"{value!r} must be a ParameterSpace, got {type(found).__name__}")
        return found
    if not isinstance(value, dict) or not value:
        raise ConfigError(f'must be a table of laws or "module:name()" of a ParameterSpace, got {value!r}')
    laws, problems = {}, []
    for name, law in value.items():
        try:
            check_name(name, "a parameter")
            if not isinstance(law, dict):
                example = '{law = "uniform", lower = 0, upper = 1, unit = "N"}'
                raise ConfigError(f"must be a law such as {example}, got {law!r}")
            laws[name] = marginal_from(law, "the parameter")
        except ConfigError as error:
            problems.append(f"{name}: {str(error).rstrip('.')}")
    if problems:
        raise ConfigError("; ".join(problems))
    return ParameterSpace(laws)


Space = Annotated[InstanceOf[ParameterSpace], BeforeValidator(_read_space)]
"""Laws of parameters by name, or the path of a ParameterSpace."""

TAKE: dict[str, Callable[[Array], float]] = {
    "first": lambda column: float(column[0]),
    "max": lambda column: float(column.max()),
    "min": lambda column: float(column.min()),
    "mean": lambda column: float(column.mean()),
    "std": lambda column: float(column.std()),
    "last": lambda column: float(column[-1]),
    "peak": lambda column: float(np.abs(column).max()),
    "rms": lambda column: float(np.sqrt(np.mean(column**2))),
}


class QuantitySection(Section):
    """[parts.NAME.quantities]: a number taken from a column of the trajectory, times `scale`."""

    column: str
    take: Literal["first", "max", "min", "mean", "std", "last", "peak", "rms"]
    unit: str = ""
    scale: float = 1.0

    def build(self) -> tuple[str, Callable[[Trajectory], float]]:
        """Return unit and function, as a QuantityModel takes them."""
        column, take, scale = self.column, self.take, self.scale
        return self.unit, lambda run: scale * TAKE[take](run[column])


class PartSection(Section):
    """[parts.NAME]: one part of the study.

    Its samples come from `model` run on `design` over `parameters`, from the `store` of a campaign that was run
    elsewhere, from the netCDF file `data` of a Dataset, or from tests run by hand: `hmor sample` then writes their
    `design` to the CSV file `table`, and the results are entered there.

    model: "module:name" of a function or an Evaluable, "module:name(...)" of a function that makes one; modules beside
    the study file are found. parameters: laws by name, or "module:name()" of a ParameterSpace. outputs: names and units
    of the numbers a plain function returns; fixed: its further arguments. quantities: numbers taken from trajectories,
    which are kept with keep_runs. split: fractions for training, validation and test, drawn with the study's seed;
    without shuffle they follow the order of the samples. test: netCDF file of a Dataset to judge on, instead of the
    test share. substructure: "module:name()" of the full-order part itself, to compare the time of a step with.
    against: let the sampled model run on the test rows for its time.

    A stochastic part: latent: laws of what is drawn in every run and given to `model` by name (a HybridModel with
    latent variables brings its own). replications: runs at each point. common: the same draws at every point. detrend:
    {output: reading}, the drift of an output over the campaign, removed by regression on another one before a fit.
    """

    model: ObjectPath | None = None
    parameters: Space | None = None
    design: DesignSection | None = None
    outputs: dict[str, str] = Field(default_factory=dict)
    fixed: dict[str, Any] = Field(default_factory=dict)
    quantities: dict[str, QuantitySection] = Field(default_factory=dict)
    keep_runs: bool = True
    executor: str = Field(default="processes", pattern=r"^(processes|serial|dask://\S+:\d+)$")
    workers: int | None = Field(default=None, ge=1)
    timeout: float | None = Field(default=None, gt=0)
    store: str | None = None
    data: str | None = None
    table: str | None = None
    split: tuple[float, float, float] = (0.7, 0.15, 0.15)
    shuffle: bool = True
    test: str | None = None
    substructure: ObjectPath | None = None
    against: bool = False
    latent: Space | None = None
    replications: int = Field(default=1, ge=1)
    common: bool = False
    detrend: dict[str, str] = Field(default_factory=dict)
    models: dict[str, ModelSection] = Field(default_factory=dict)

    @field_validator("models", mode="before")
    @classmethod
    def _kind_is_its_name(cls, value: Any) -> Any:
        """A model whose `kind` is left out has the kind it is named after."""
        if not isinstance(value, dict):
            return value
        return {name: {"kind": name} | model if isinstance(model, dict) else model for name, model in value.items()}

    @field_validator("split")
    @classmethod
    def _adds_up(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if min(value[:2]) <= 0.0 or value[2] < 0.0 or abs(sum(value) - 1.0) > 1e-9:
            raise ConfigError(f"must be three fractions that add up to 1, the last may be 0, got {list(value)}")
        return value

    @model_validator(mode="after")
    def _has_samples(self) -> PartSection:
        if self.model is not None and (self.parameters is None or self.design is None):
            raise ConfigError("model needs parameters and design to be sampled on")
        if self.model is None and self.design is not None and self.table is None:
            raise ConfigError("design needs a model to be run, or a table for tests run by hand")
        if self.table is not None and (self.model is not None or self.store is not None or self.data is not None):
            raise ConfigError("table is for tests run by hand; model, store and data must be left out beside it")
        if self.table is not None and (self.parameters is None or self.design is None or not self.outputs):
            raise ConfigError("table needs parameters, design and outputs")
        if self.data is not None and (self.model is not None or self.store is not None):
            raise ConfigError("data is a file of samples; model and store must be left out beside it")
        if self.against and self.model is None:
            raise ConfigError("against needs the model, to run it")
        return self

    def build(self, folder: Path) -> Evaluable:
        """Load the model; modules in `folder` are found."""
        assert self.model is not None
        model = load_object(self.model, folder)
        if not isinstance(model, Evaluable):
            model = FunctionModel(model, self.outputs, name=self.model.partition(":")[2], fixed=self.fixed)
        if not self.quantities:
            return model
        quantities = {name: entry.build() for name, entry in self.quantities.items()}
        return QuantityModel(model, quantities, keep_run=self.keep_runs)

    def stochastic(self, folder: Path | None) -> bool:
        """Tell whether runs of the part draw something; what the model brings is seen with its `folder` alone."""
        if self.latent is not None or self.model is None or folder is None:
            return self.latent is not None
        laws, drifts = latent_of(self.build(folder))
        return laws is not None or bool(drifts)

    def make_design(self, seed: int, folder: Path | None = None) -> Design:
        """Make the design of the campaign, with what is drawn beside the points; `folder` is that of the study."""
        assert self.design is not None and self.parameters is not None
        design = self.design.build(self.parameters, seed)
        if self.stochastic(folder):
            drawn = self.latent if self.latent is not None else self.build(folder or Path())
            return replicate(design, drawn, replications=self.replications, common=self.common, seed=seed)
        if self.replications > 1:
            raise ConfigError(
                f"replications must be 1 for a part without latent variables: all runs of a point are the same, got "
                f"{self.replications}."
            )
        return design
