"""Designs of experiments: which points of a parameter space to evaluate. Seeded, the same on every machine."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mor.data.scatter import draw_scatter
from mor.sampling.maximin import extend_ranks, spread_ranks
from mor.sampling.space import ParameterSpace, open_unit
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.summary import Summarised, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Design(Summarised):
    """Points of a parameter space and how they were made.

    unit: (n, dimension) in the unit cube; points: the same in physical units; made: method, seed and options.
    """

    space: ParameterSpace
    unit: Array
    made: dict[str, Any]
    points: Array = field(init=False)

    def __post_init__(self) -> None:
        unit = np.array(self.unit, dtype=float)
        points = self.space.from_unit(unit)
        if not np.isfinite(points).all():
            raise ConfigError("Points of a Design must be finite; leave out 0 and 1 where a marginal is unbounded.")
        for array in (unit, points):
            array.flags.writeable = False
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "points", points)

    def __len__(self) -> int:
        return len(self.unit)

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        made = ", ".join(str(v) if k == "method" else f"{k} {v}" for k, v in self.made.items() if v is not None)
        rows = (
            [
                (port.name, port.unit, str(self.space[port.name]), *(f"{v:.6g}" for v in (column.min(), column.max())))
                for port, column in zip(self.space.ports, self.points.T, strict=True)
            ]
            if len(self)
            else []
        )
        title = f"Design of {len(self)} points of {self.space.dimension} parameters ({made})"
        return Summary(title, ("parameter", "unit", "law", "min", "max"), rows)

    def plot(self) -> Figure:
        """Draw all pairs of parameters (the first six), with histograms; returns a matplotlib figure."""
        return draw_scatter([(port, self.points[:, i]) for i, port in enumerate(self.space.ports)])

    def __iter__(self) -> Iterator[dict[str, float]]:
        for row in self.points:
            yield dict(zip(self.space.names, row.tolist(), strict=True))

    def parameters(self, index: int) -> dict[str, float]:
        """Return one point as {name: value}."""
        return dict(zip(self.space.names, self.points[index].tolist(), strict=True))


def _count(n: int, what: str, least: int = 1) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < least:
        raise ConfigError(f"n of {what} must be a whole number of at least {least}, got {n!r}.")
    return int(n)


def _seed(seed: int, what: str) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed of {what} must be a whole number of at least 0, got {seed!r}.")
    return int(seed)


def lhs(space: ParameterSpace, n: int, *, seed: int, criterion: str | None = None) -> Design:
    """Draw a Latin hypercube: each of n equal slices of each axis (in probability) holds exactly one point.

    criterion: None for a plain one, "maximin" to spread it by swaps that enlarge the smallest distance.

    Parameters
    ----------
    space
        Laws of the parameters.
    seed
        Seed of the draw.
    """
    n = _count(n, "lhs")
    if criterion not in (None, "maximin"):
        raise ConfigError(f'criterion of lhs must be None or "maximin", got {criterion!r}.')
    seed = _seed(seed, "lhs")
    rng = np.random.default_rng(seed)
    ranks = np.column_stack([rng.permutation(n) for _ in range(space.dimension)])
    if criterion == "maximin":
        ranks = spread_ranks(ranks, rng)
    unit = (ranks + open_unit(rng.random(ranks.shape))) / n
    return Design(space, np.minimum(unit, 1 - 2.0**-53), {"method": "lhs", "seed": seed, "criterion": criterion})


def random_design(space: ParameterSpace, n: int, *, seed: int) -> Design:
    """Draw n independent points.

    Parameters
    ----------
    space
        Laws of the parameters.
    seed
        Seed of the draw.
    """
    seed = _seed(seed, "random_design")
    unit = np.random.default_rng(seed).random((_count(n, "random_design"), space.dimension))
    return Design(space, open_unit(unit), {"method": "random", "seed": seed})


def sobol(
    space: ParameterSpace, n: int, *, seed: int | None = None, scramble: bool = False, skip: int | None = None
) -> Design:
    """Take n points of the Sobol' sequence (Joe and Kuo's direction numbers).

    scramble: Owen-type scrambling, needs a seed. skip: points left out at the start; by default none of a scrambled
    sequence, and the smallest power of two that is at least n of a plain one, which starts at the corner 0 (where an
    unbounded law is infinite): n a power of two then still gives a whole net.

    Parameters
    ----------
    space
        Laws of the parameters.
    """
    n = _count(n, "sobol")
    if scramble and seed is None:
        raise ConfigError("seed of sobol must be given when scramble is on, got None.")
    if skip is None:
        skip = 0 if scramble else 1 << (n - 1).bit_length()
    seed = None if seed is None else _seed(seed, "sobol")
    made = {"method": "sobol", "seed": seed, "scramble": scramble, "skip": skip}
    return Design(space, _sequence(space, made, skip, n), made)


def halton(
    space: ParameterSpace, n: int, *, seed: int | None = None, scramble: bool = False, skip: int | None = None
) -> Design:
    """Take n points of the Halton sequence; scramble needs a seed; skip defaults to 1 of a plain one (the corner 0).

    Parameters
    ----------
    space
        Laws of the parameters.
    """
    n = _count(n, "halton")
    if scramble and seed is None:
        raise ConfigError("seed of halton must be given when scramble is on, got None.")
    if skip is None:
        skip = 0 if scramble else 1
    seed = None if seed is None else _seed(seed, "halton")
    made = {"method": "halton", "seed": seed, "scramble": scramble, "skip": skip}
    return Design(space, _sequence(space, made, skip, n), made)


def _sequence(space: ParameterSpace, made: Mapping[str, Any], start: int, n: int) -> Array:
    from scipy.stats import qmc

    if start < 0:
        raise ConfigError(f"skip of {made['method']} must be at least 0, got {start}.")
    kind = qmc.Sobol if made["method"] == "sobol" else qmc.Halton
    engine = kind(space.dimension, scramble=made["scramble"], rng=np.random.default_rng(made["seed"] or 0))
    if start:
        engine.fast_forward(start)
    with warnings.catch_warnings():  # n need not be a power of two; the docstring says what that costs
        warnings.simplefilter("ignore", UserWarning)
        unit = np.asarray(engine.random(n), dtype=float)
    return unit if not made["scramble"] else open_unit(unit)


def full_factorial(space: ParameterSpace, levels: int | Sequence[int] | Mapping[str, int]) -> Design:
    """Combine `levels` values of each parameter (one number, one per parameter, or {name: number}) in all ways.

    The levels are the middles (i + 1/2) / levels of equal slices of probability; the last parameter varies fastest.

    Parameters
    ----------
    space
        Laws of the parameters.
    """
    if isinstance(levels, Mapping):
        missing = [name for name in space.names if name not in levels]
        if missing or len(levels) != space.dimension:
            raise ConfigError(
                f"levels of full_factorial must name each of {', '.join(space.names)} once, got {', '.join(levels)}."
            )
        counts = [levels[name] for name in space.names]
    else:
        counts = [levels] * space.dimension if isinstance(levels, int) else list(levels)
    if len(counts) != space.dimension or any(not isinstance(c, int) or c < 1 for c in counts):
        raise ConfigError(
            f"levels of full_factorial must be {space.dimension} whole numbers of at least 1, got {levels!r}."
        )
    axes = [(np.arange(count) + 0.5) / count for count in counts]
    unit = np.array(list(itertools.product(*axes)))
    return Design(space, unit, {"method": "full_factorial", "levels": counts})


def extend(design: Design, n: int, *, seed: int) -> Design:
    """Add n points to a design, after the old ones, so that the whole stays space-filling.

    Sobol' and Halton sequences go on where they stopped (the seed is not used); random points are joined by random
    points; all others get points in slices of each axis that are still empty (of len(design) + n slices), combined to
    keep their distance: a Latin hypercube multiplied in size (n a multiple of its size) is one again.
    """
    n, seed = _count(n, "extend"), _seed(seed, "extend")
    steps = [*design.made.get("extended", []), {"by": n, "seed": seed}]
    made = {**design.made, "extended": steps}
    method = design.made["method"]
    if method in ("sobol", "halton"):
        new = _sequence(design.space, design.made, design.made["skip"] + len(design), n)
    elif method == "random":
        new = random_design(design.space, n, seed=seed).unit
    else:
        total = len(design) + n
        rng = np.random.default_rng(seed)
        old = np.minimum((design.unit * total).astype(np.int64), total - 1)
        ranks = extend_ranks(old, n, rng)
        new = np.minimum((ranks + open_unit(rng.random(ranks.shape))) / total, 1 - 2.0**-53)
    return Design(design.space, np.vstack([design.unit, new]), made)
