"""Operators beside plays, stops, peaks and reversals: Bouc-Wen cells, trails, recurrent cells, powers, products."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mor.data.ports import Port, check_name
from mor.reduced.hysteresis.operators import (
    BOUC_WEN,
    POWER,
    PRODUCT,
    RELAXATION,
    SIZE,
    TRAIL,
    Operator,
    Primitive,
    spaced_radii,
)
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Power(Operator):
    """|u|^exponent sign u, or |u|^exponent when not `signed`: a viscous damper, a drag.

    Parameters
    ----------
    of
        The signal.
    learned
        Whether the fit may move the exponent.
    """

    kind: ClassVar[str] = "power"
    exponent: float = 1.0
    signed: bool = True
    learned: bool = False

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        if not (math.isfinite(self.exponent) and 0.0 < self.exponent <= 5.0):
            raise ConfigError(f"exponent of the power of '{self.of}' must lie in (0, 5], got {self.exponent!r}.")

    @property
    def remembers(self) -> bool:
        """False."""
        return False

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row without state."""
        return [Primitive(POWER if self.signed else SIZE, column[self.of], 0, (float(self.exponent),), 0, 1)]

    @property
    def learnable(self) -> tuple[float, ...]:
        """The exponent, where it is to be learned."""
        return (self.exponent,) if self.learned else ()

    def moved(self, numbers: Sequence[float]) -> Self:
        """Return it with another exponent, at most 5."""
        return replace(self, exponent=min(float(numbers[0]), 5.0))

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """v_power0p4, v_size1 or v_power, without a unit that could be written."""
        text = "" if self.learned else f"{float(self.exponent):g}".replace(".", "p").replace("-", "m")
        same = self.exponent == 1.0 and not self.learned
        return [Port(f"{self.of}_{'power' if self.signed else 'size'}{text}", unit[self.of] if same else "")]


@dataclass(frozen=True)
class Product(Operator):
    """The product of two signals, of = "x*v"."""

    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        if len(self.signals) != 2:
            raise ConfigError(f"of of a product must name two signals such as 'x*v', got {self.of!r}.")
        for name in self.signals:
            check_name(name, "a signal of an operator")

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of both factors."""
        return tuple(part.strip() for part in self.of.split("*"))

    @property
    def remembers(self) -> bool:
        """False."""
        return False

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row without state."""
        a, b = self.signals
        return [Primitive(PRODUCT, column[a], column[b], (), 0, 1)]

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_times_v."""
        a, b = self.signals
        return [Port(f"{a}_times_{b}", " ".join(unit[name] for name in (a, b) if unit[name]))]


@dataclass(frozen=True)
class BoucWen(Operator):
    """Bouc-Wen cells, smooth plastic slip with |z| <= 1:

        dz = (1 - |z|^n (beta sign(z du) + 1 - beta)) du / r

    by one Runge-Kutta step of order four over each change du of the signal, of at most 2 r. Hardening is what the map
    behind adds in proportion to u. `count` cells with `lengths` r (from the data as the radii of plays are when left
    out), `sharpness` n and `beta` each; all of them are learned by default.
    """

    kind: ClassVar[str] = "bouc_wen"
    count: int = 1
    lengths: tuple[float, ...] = ()
    sharpness: tuple[float, ...] = ()
    beta: tuple[float, ...] = ()
    learned: bool = True

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        for name, standard in (("lengths", None), ("sharpness", 1.0), ("beta", 0.5)):
            values = tuple(float(v) for v in getattr(self, name))
            if standard is not None and not values:
                values = (standard,) * (len(self.lengths) or self.count)
            object.__setattr__(self, name, values)
        if self.lengths:
            object.__setattr__(self, "count", len(self.lengths))
        if not isinstance(self.count, int) or self.count < 1:
            raise ConfigError(f"count of the Bouc-Wen cells of '{self.of}' must be 1 or more, got {self.count!r}.")
        values = (*self.lengths, *self.sharpness, *self.beta)
        if {len(self.sharpness), len(self.beta)} != {self.count} or not all(math.isfinite(v) and v > 0 for v in values):
            raise ConfigError(
                f"lengths, sharpness and beta of the Bouc-Wen cells of '{self.of}' must be positive numbers, one for "
                f"each of {self.count}, got {self.lengths}, {self.sharpness} and {self.beta}."
            )

    def resolved(self, runs: Sequence[Array]) -> Self:
        """Return it with lengths."""
        if self.lengths:
            return self
        (largest,) = spaced_radii(runs, 1, "even", f"the Bouc-Wen cells of '{self.of}'")  # half the largest half way
        share = np.geomspace(0.04, 0.6, 2 * self.count + 1)[1::2]  # slip begins well below the largest excursion
        return replace(self, lengths=tuple((share * largest).tolist()))

    @property
    def learnable(self) -> tuple[float, ...]:
        """Lengths, sharpness and beta of all cells."""
        return (*self.lengths, *self.sharpness, *self.beta) if self.learned else ()

    def moved(self, numbers: Sequence[float]) -> Self:
        """Return it with other numbers; the sharpness stays between 0.5 and 20."""
        n = self.count
        lengths, sharpness, beta = (tuple(float(v) for v in numbers[i * n : (i + 1) * n]) for i in range(3))
        return replace(self, lengths=lengths, sharpness=tuple(min(max(v, 0.5), 20.0) for v in sharpness), beta=beta)

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row a cell; its states are the last value of the signal and z."""
        return [
            Primitive(
                BOUC_WEN, column[self.of], 0, numbers, 2, 1,
                (f"{self.of}, 1 step ago", f"Bouc-Wen cell of {self.of} with length {numbers[0]:.6g}"),
            )
            for numbers in zip(self.lengths, self.sharpness, self.beta, strict=True)
        ]  # fmt: skip

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_slip1, x_slip2, ..."""
        return [Port(f"{self.of}_slip{i}") for i in range(1, self.count + 1)]


@dataclass(frozen=True)
class Trail(Operator):
    """Means of a signal over the last way travelled, which fade with the way and not with time:

        m <- a m + (1 - a) (g(u) + g(u before)) / 2,    a = exp(-|u - u before| / L),    g(u) = u, or |u| when `size`

    They tell a part that was driven to and fro for long from one that went there once. `lengths` L in the unit of the
    signal; left out, `count` of them are taken: 1, 4, 16, ... times the largest excursion of the data. Exactly constant
    in a hold; another sampling rate changes them by (du / L)^2.
    """

    kind: ClassVar[str] = "trail"
    count: int = 2
    lengths: tuple[float, ...] = ()
    size: bool = False

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        object.__setattr__(self, "lengths", tuple(float(v) for v in self.lengths))
        if self.lengths:
            object.__setattr__(self, "count", len(self.lengths))
        if not isinstance(self.count, int) or self.count < 1:
            raise ConfigError(f"count of the trails of '{self.of}' must be 1 or more, got {self.count!r}.")
        if not all(math.isfinite(v) and v > 0.0 for v in self.lengths):
            raise ConfigError(f"lengths of the trails of '{self.of}' must be positive, got {list(self.lengths)}.")

    def resolved(self, runs: Sequence[Array]) -> Self:
        """Return it with lengths."""
        if self.lengths:
            return self
        largest = max(float(np.abs(u).max()) for u in runs)
        if not largest > 0.0:
            raise ConfigError(f"Signal '{self.of}' must move in the training runs to choose the lengths of trails.")
        return replace(self, lengths=tuple(largest * 4.0**i for i in range(self.count)))

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row a length; its states are the last value of the signal and m."""
        what = f"mean size of {self.of}" if self.size else f"mean of {self.of}"
        return [
            Primitive(
                TRAIL, column[self.of], 0, (L, float(self.size)), 2, 1,
                (f"{self.of}, 1 step ago", f"{what} over a way of {L:.6g}"),
            )
            for L in self.lengths
        ]  # fmt: skip

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_trail1, x_trail2, ... or x_trailsize1, ..."""
        return [
            Port(f"{self.of}_trail{'size' if self.size else ''}{i}", unit[self.of]) for i in range(1, self.count + 1)
        ]


@dataclass(frozen=True)
class Relaxation(Operator):
    """Fading memories of one signal with time constants T that may be learned: a linear recurrent cell, stable always.

    Unlike `LowPassMemory` the map sees the state of this very step, and nothing but signals can be followed.

    Parameters
    ----------
    time_constants
        Time constants in s, or where learning starts from.
    """

    kind: ClassVar[str] = "relaxation"
    time_constants: tuple[float, ...] = (0.1,)
    learned: bool = True

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        object.__setattr__(self, "time_constants", tuple(float(v) for v in self.time_constants))
        if not self.time_constants or not all(math.isfinite(v) and v > 0.0 for v in self.time_constants):
            raise ConfigError(
                f"time_constants of the relaxation of '{self.of}' must be positive, got {list(self.time_constants)}."
            )

    @property
    def timed(self) -> bool:
        """True."""
        return True

    @property
    def learnable(self) -> tuple[float, ...]:
        """The time constants, where they are to be learned."""
        return self.time_constants if self.learned else ()

    def moved(self, numbers: Sequence[float]) -> Self:
        """Return it with other time constants."""
        return replace(self, time_constants=tuple(float(v) for v in numbers))

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row a time constant, with the pole a."""
        assert dt is not None
        return [
            Primitive(
                RELAXATION, column[self.of], 0, (math.exp(-dt / T),), 1, 1,
                (f"{self.of} behind a low pass of {T:.6g} s",),
            )
            for T in self.time_constants
        ]  # fmt: skip

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """v_relaxed1, v_relaxed2, ..."""
        return [Port(f"{self.of}_relaxed{i}", unit[self.of]) for i in range(1, len(self.time_constants) + 1)]
