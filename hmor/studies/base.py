"""What a built-in study is, and how many runs of it are made at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mor import Design, ParameterSpace, lhs, tracking
from mor.excitation import Excitation, load_csv, synthetic_ground_motion
from rt_runtime import Record, Tripped
from rt_runtime.checks import Floats, whole
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Options:
    """How a study is run: noise seed, ground-motion record (None: seeded synthetic motion), and named settings."""

    seed: int = 0
    record: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Run:
    """One run: named numbers, and the signals when they are kept."""

    metrics: dict[str, float]
    record: Record | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """A built-in study: `run` makes one run for {parameter: value} (empty: nominal), `space` is what may vary."""

    name: str
    summary: str
    run: Callable[[Mapping[str, float], Options], Run]
    space: ParameterSpace | None = None
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    settings: tuple[str, ...] = ()

    def check(self, options: Options) -> None:
        """Refuse settings the study does not know."""
        unknown = [name for name in options.settings if name not in self.settings]
        if unknown:
            known = ", ".join(self.settings) or "none"
            raise ConfigError(f"Setting '{unknown[0]}' of study '{self.name}' is unknown; it has {known}.")

    def simulate(self, options: Options | None = None) -> Run:
        """Make the nominal run."""
        options = options or Options()
        self.check(options)
        return self.run({}, options)

    def simulate_many(
        self,
        runs: int,
        options: Options | None = None,
        *,
        workers: int | None = None,
        done: Callable[[], None] = lambda: None,
    ) -> Stochastic:
        """Run a Latin-hypercube design of `runs` prototypes in threads (the loop does not hold the interpreter)."""
        options = options or Options()
        self.check(options)
        if self.space is None:
            raise ConfigError(f"Study '{self.name}' has no uncertain parameters, so runs must be 1, got {runs}.")
        design = lhs(self.space, whole(runs, "runs", f"study '{self.name}'", 2), seed=options.seed)

        def one(i: int) -> dict[str, float] | None:
            try:
                return self.run(design.parameters(i), replace(options, seed=options.seed + 1 + i)).metrics
            except Tripped:
                return None
            finally:
                done()

        first = one(0)  # compiles once, before the threads start
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            results = [first, *pool.map(one, range(1, len(design)))]
        return Stochastic(design, results)


@dataclass(frozen=True, eq=False)
class Stochastic:
    """The runs of a design; None stands for a run that diverged."""

    design: Design
    results: list[dict[str, float] | None]

    @property
    def unstable(self) -> int:
        """Number of runs that diverged."""
        return sum(result is None for result in self.results)

    @property
    def indices(self) -> list[str]:
        """Names of the tracking indices among the metrics: J1_ms, adaptive_J2_percent, mpc_4_J4."""
        metrics = next((result for result in self.results if result is not None), {})
        return [name for name in metrics if re.search(r"(^|_)J\d", name)]

    def values(self, metric: str) -> Floats:
        """Return one metric of all runs that ended."""
        return np.array([result[metric] for result in self.results if result is not None])

    def summary(self) -> dict[str, dict[str, float]]:
        """Return mean, standard deviation, extremes and quartiles of each metric."""
        metrics = next((result for result in self.results if result is not None), {})
        table = {}
        for name in metrics:
            v = self.values(name)
            low, middle, high = np.percentile(v, [25, 50, 75])
            table[name] = {
                "mean": float(v.mean()),
                "std": float(v.std(ddof=1)) if len(v) > 1 else 0.0,
                "min": float(v.min()),
                "q25": float(low),
                "median": float(middle),
                "q75": float(high),
                "max": float(v.max()),
            }
        return table

    def histogram(self, metric: str, bins: int = 20) -> tuple[Floats, Floats]:
        """Return density (bins) and edges (bins + 1) of a metric, normalised to unit area."""
        density, edges = np.histogram(self.values(metric), bins=bins, density=True)
        return density, edges


def ground_motion(options: Options, *, scale: float) -> Excitation:
    """Return the record of the options, or the synthetic motion of seed 1 with quiet before and after, scaled."""
    return _motion(options.record).scaled(scale)


@lru_cache(maxsize=4)
def _motion(record: Path | None) -> Excitation:
    if record is not None:
        return load_csv(record)
    return synthetic_ground_motion(seed=1, duration=30.0).padded(2.0, 3.0)


def tracking_metrics(record: Record) -> dict[str, float]:
    """Return J1 to J3 of measured against target, and what the quadratic programme needed at most."""
    found = tracking(record["measured"], record["target"], record.rate)
    return {
        "J1_ms": float(found.J1),
        "J2_percent": found.J2,
        "J3_percent": found.J3,
        "qp_iterations_max": float(record["iterations"].max()),
        "qp_not_optimal": float(np.count_nonzero(record["status"])),
    }
