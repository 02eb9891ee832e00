"""Memory for hysteresis: operators on single signals that do not depend on the rate, and features without memory.

An operator has states s and gives features phi for the map behind it. Both follow from the signals alone, nothing the
model puts out comes back: the fit one step ahead is the fit of the free run, and there is no question of stability.

    Play       p <- min(max(p, u - r), u + r)                phi = p            one for each radius r
    Stop       the same state                                phi = u - p
    Peaks      h <- max(h, u),  l <- min(l, u)               phi = h, l
    Reversals  the last turning points of u                  phi = r_1, r_2, ...
    BoucWen    dz = (1 - |z|^n (beta sign(z du) + 1 - beta)) du / r         phi = z
    Trail      m <- a m + (1 - a) g,  a = exp(-|du| / L)     phi = m            g: mean of u, or |u|, over the step
    MenegottoPinto  stress of a bar of steel between its reversals                 phi = q            see `steel`
    Relaxation h <- a h + (1 - a) u,  a = exp(-dt / T)       phi = h
    Power      none                                          phi = |u|^a sign u, or |u|^a
    Product    none                                          phi = u_1 u_2

All but the relaxation depend on the values u passes through, not on when: they are exactly constant while u is, and the
same at every sampling rate. Numbers of some can be learned with the map behind them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mor.data.ports import Port, check_name
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

PLAY, STOP, HIGHEST, LOWEST, REVERSALS, POWER, SIZE, PRODUCT, BOUC_WEN, RELAXATION, TRAIL, STEEL = range(12)
SPACINGS = ("quantile", "even", "geometric")
NUMBERS = 3  # of a primitive at most
TINY = 1e-300  # lower clip for the logarithm of a power
_OPERATORS: dict[str, type[Operator]] = {}


@dataclass(frozen=True)
class Primitive:
    """One row of the program a compiled loop runs: `code` on signal `column` (and `other`) with `numbers`.

    `states` and `features` say how many it has, `meaning` what its states are.
    """

    code: int
    column: int
    other: int
    numbers: tuple[float, ...]
    states: int
    features: int
    meaning: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operator(ABC):
    """What a model remembers of a signal without forgetting; `of` names the signal."""

    kind: ClassVar[str]
    of: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            _OPERATORS[cls.kind] = cls

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals it looks at."""
        return (self.of,)

    @property
    def remembers(self) -> bool:
        """True when it has states."""
        return True

    def resolved(self, runs: Sequence[Array]) -> Operator:
        """Return it with the numbers that were left to the data; runs: the signal of each run (n,)."""
        return self

    @property
    def timed(self) -> bool:
        """True when it depends on the sampling step."""
        return False

    @property
    def learnable(self) -> tuple[float, ...]:
        """Positive numbers that a fit may move."""
        return ()

    def moved(self, numbers: Sequence[float]) -> Operator:
        """Return it with other `learnable` numbers."""
        return self

    @abstractmethod
    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """Return its rows of the program; `column` says where each signal stands, dt is the step if there is one."""

    @abstractmethod
    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """Return its features with their units, from the units of the signals."""

    def plain(self) -> dict[str, Any]:
        """Return kind and settings as plain values, ready for JSON."""
        return {"kind": self.kind, **asdict(self)}


def operator_of(values: Mapping[str, Any]) -> Operator:
    """Rebuild an operator from `plain()`."""
    rest: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items() if key != "kind"}
    import mor.reduced.hysteresis.cells
    import mor.reduced.hysteresis.steel  # noqa: F401  (kinds of operators register themselves)

    kind = values.get("kind")
    if kind not in _OPERATORS:
        raise ConfigError(f"Kind of an operator must be one of {', '.join(sorted(_OPERATORS))}, got {kind!r}.")
    try:
        return _OPERATORS[kind](**rest)
    except TypeError:
        raise ConfigError(f"Settings of the operator '{kind}' must be those of its class, got {rest}.") from None


@dataclass(frozen=True)
class Play(Operator):
    """Plays (backlash) of several radii, the elementary memory of Prandtl and Ishlinskii.

    Parameters
    ----------
    of
        Name of the signal.
    count
        How many plays the data are asked for, when `radii` are left out.
    radii
        Half widths in the unit of the signal.
    spacing
        How radii are taken from the data: "quantile" of the half excursions between turning points, each weighted by
        its length, "even" between zero and the largest, or "geometric" from 1 to 80 % of it.
    learned
        Let the fit move the radii.
    """

    kind: ClassVar[str] = "play"
    count: int = 10
    radii: tuple[float, ...] = ()
    spacing: str = "quantile"
    learned: bool = False

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        object.__setattr__(self, "radii", tuple(float(r) for r in self.radii))
        if self.radii:
            object.__setattr__(self, "count", len(self.radii))
        if not isinstance(self.count, int) or self.count < 1:
            raise ConfigError(f"count of the plays of '{self.of}' must be 1 or more, got {self.count!r}.")
        if self.spacing not in SPACINGS:
            raise ConfigError(
                f"spacing of the plays of '{self.of}' must be one of {', '.join(SPACINGS)}, got {self.spacing!r}."
            )
        if not all(math.isfinite(r) and r > 0.0 for r in self.radii):
            raise ConfigError(f"radii of the plays of '{self.of}' must be positive, got {list(self.radii)}.")

    def resolved(self, runs: Sequence[Array]) -> Self:
        """Return it with radii."""
        if self.radii:
            return self
        return replace(self, radii=spaced_radii(runs, self.count, self.spacing, f"the plays of '{self.of}'"))

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row a radius."""
        code = STOP if self.kind == "stop" else PLAY
        return [
            Primitive(code, column[self.of], 0, (r,), 1, 1, (f"play of {self.of} with radius {r:.6g}",))
            for r in self.radii
        ]

    @property
    def learnable(self) -> tuple[float, ...]:
        """The radii, where they are to be learned."""
        return self.radii if self.learned else ()

    def moved(self, numbers: Sequence[float]) -> Self:
        """Return it with other radii."""
        return replace(self, radii=tuple(float(r) for r in numbers))

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_play1, x_play2, ..."""
        return [Port(f"{self.of}_{self.kind}{i}", unit[self.of]) for i in range(1, self.count + 1)]


@dataclass(frozen=True)
class Stop(Play):
    """Stops: what is left of the signal beside its plays, s = u - p, an elastic perfectly plastic spring each.

    Parameters
    ----------
    count, radii, spacing, learned
        As those of `Play`.
    """

    kind: ClassVar[str] = "stop"


@dataclass(frozen=True)
class Peaks(Operator):
    """Largest and smallest value so far (from zero on): damage that only grows.

    Parameters
    ----------
    of
        The signal.
    """

    kind: ClassVar[str] = "peaks"

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """Two rows."""
        at = column[self.of]
        return [
            Primitive(HIGHEST, at, 0, (), 1, 1, (f"largest {self.of} so far",)),
            Primitive(LOWEST, at, 0, (), 1, 1, (f"smallest {self.of} so far",)),
        ]

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_highest, x_lowest."""
        return [Port(f"{self.of}_highest", unit[self.of]), Port(f"{self.of}_lowest", unit[self.of])]


@dataclass(frozen=True)
class Reversals(Operator):
    """The last `count` turning points of the signal, the latest first.

    A turn counts once the signal has come back by 2 `threshold`: a play of that radius changes its direction. `share`
    gives the threshold as a share of the signal's range in the data when it is left out.
    """

    kind: ClassVar[str] = "reversals"
    count: int = 2
    threshold: float | None = None
    share: float = 2e-3

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        if not isinstance(self.count, int) or not 1 <= self.count <= 8:
            raise ConfigError(f"count of the reversals of '{self.of}' must lie between 1 and 8, got {self.count!r}.")
        if self.threshold is not None and not (math.isfinite(self.threshold) and self.threshold > 0.0):
            raise ConfigError(f"threshold of the reversals of '{self.of}' must be positive, got {self.threshold!r}.")
        if not 0.0 < self.share < 0.5:
            raise ConfigError(f"share of the reversals of '{self.of}' must lie in (0, 0.5), got {self.share!r}.")

    def resolved(self, runs: Sequence[Array]) -> Self:
        """Return it with a threshold."""
        if self.threshold is not None:
            return self
        span = float(max(np.max(u) for u in runs) - min(np.min(u) for u in runs))
        if not span > 0.0:
            raise ConfigError(f"Signal '{self.of}' must move in the training runs to choose a threshold of reversals.")
        return replace(self, threshold=self.share * span)

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row; its states are the play, the direction (-1, 0, 1) and the turning points."""
        assert self.threshold is not None
        points = tuple(f"turning point {i} of {self.of}, counted backwards" for i in range(1, self.count + 1))
        meaning = (f"play of {self.of} with radius {self.threshold:.6g}", f"direction of {self.of}", *points)
        return [Primitive(REVERSALS, column[self.of], 0, (self.threshold,), 2 + self.count, self.count, meaning)]

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_turn1, x_turn2, ..."""
        return [Port(f"{self.of}_turn{i}", unit[self.of]) for i in range(1, self.count + 1)]


def spaced_radii(runs: Sequence[Array], count: int, spacing: str, what: str) -> tuple[float, ...]:
    """Return `count` radii from the half excursions between turning points of a signal; see `Play`."""
    half = np.concatenate([0.5 * np.abs(np.diff(turning_points(u))) for u in runs])
    half = np.sort(half[half > 0.0])
    if half.size == 0:
        raise ConfigError(f"The signal of {what} must move in the training runs to choose their radii.")
    share = (np.arange(count) + 0.5) / count
    if spacing == "even":
        radii = share * half[-1]
    elif spacing == "geometric":
        radii = np.geomspace(0.01, 0.8, count) * half[-1]
    else:
        way = np.cumsum(half)
        radii = np.interp(share * way[-1], way, half)
    spread = np.maximum(np.diff(radii, prepend=0.0), 1e-3 * half[-1])  # equal quantiles would be one radius
    return tuple(np.cumsum(spread).tolist())


def turning_points(u: Array) -> Array:
    """Return the values at which a signal u (n,) turns, its first and last one included."""
    values: Array = np.asarray(u, dtype=np.float64)
    moved = np.append(True, np.diff(values) != 0.0)
    values = values[moved]
    if values.size < 3:
        return values
    turns = np.diff(np.sign(np.diff(values))) != 0.0
    ends: Array = np.concatenate([values[:1], values[1:-1][turns], values[-1:]])
    return ends
