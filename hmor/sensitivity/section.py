"""[sensitivity] of a study: which inputs of its parts matter, and how many samples it takes to know."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from hmor.study.loading import ObjectPath
from hmor.study.section import Section
from rt_runtime.errors import ConfigError


class SensitivitySection(Section):
    """[sensitivity]: what `hmor sensitivity` does with the samples of the parts.

    parts: which parts, by default all whose samples are numbers. surrogates: kinds fitted to the samples; inputs that
    depend on each other (a space with a copula) are for Kriging alone. sizes: the numbers of samples, taken from the
    first on, at which errors, moments and indices are compared; all samples are always the last. truth:
    "module:name()" of a model without noise whose indices are found directly, from `base` points, to stand beside.
    compare: also compare all kinds of surrogates, networks included, by cross-validation. published:
    {output: inputs, the most influential first} to stand beside.
    """

    parts: tuple[str, ...] = ()
    surrogates: tuple[Literal["pce", "kriging", "pck"], ...] = ("pce", "kriging", "pck")
    sizes: tuple[int, ...] = ()
    truth: ObjectPath | None = None
    base: int = Field(default=2048, ge=16)
    compare: bool = False
    published: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _checked(self) -> SensitivitySection:
        if not self.surrogates:
            raise ConfigError("surrogates must name at least one of pce, kriging, pck, got none")
        if list(self.sizes) != sorted(set(self.sizes)) or any(n < 4 for n in self.sizes):
            raise ConfigError(f"sizes must be growing numbers of samples, at least 4, got {list(self.sizes)}")
        return self
