"""What a virtual test is, and how many runs of it are made at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mor import Design, ParameterSpace, Port, Substructure, Trajectory, lhs, tracking
from mor.excitation import Excitation, load_csv, synthetic_ground_motion
from rt_runtime import Loop, Record, Tripped
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = 10
"""Kept of a history is each tenth tick."""


@dataclass(frozen=True)
class Options:
    """How a virtual test is run.

    seed: of noise and of what is drawn. record: ground motion (None: seeded synthetic motion). settings: of the test.
    parts: substructures that stand in for those of the test, by place. keep: signals to record beside its own.
    """

    seed: int = 0
    record: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Substructure] = field(default_factory=dict)
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Run:
    """One run: named numbers, and the signals when they are kept."""

    metrics: dict[str, float]
    record: Record | None = None

    def history(self, signals: Sequence[str]) -> Trajectory:
        """Return some signals at each tenth tick."""
        assert self.record is not None
        units = {signal.name: signal.unit for signal in self.record.signals}
        values = np.column_stack([self.record[name][::EVERY] for name in signals])
        return Trajectory(self.record.time[::EVERY], values, [Port(name, units[name]) for name in signals])


@dataclass(frozen=True, eq=False)
class VirtualTest:
    """A test whose specimen, actuator and controller are all models.

    `run` makes one run for {parameter: value} (empty: nominal), `space` is what may vary. published: {what: {metric:
    value}}. settings: the names it knows. parts: the places where other substructures may stand in. ground_motion: true
    when it takes a record. drawing: a picture of the set-up. pictures: what a report draws of the result (as
    `simulate/control` keeps it) and the record of the nominal run, each with its caption.
    """

    name: str
    run: Callable[[Mapping[str, float], Options], Run]
    space: ParameterSpace | None = None
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    ground_motion: bool = True
    drawing: Callable[[], Figure] | None = None
    pictures: Callable[[Mapping[str, Any], Record | None], Sequence[tuple[Figure, str]]] | None = None

    def check(self, options: Options) -> None:
        """Refuse what the test does not know or take."""
        for what, given, known in (("Setting", options.settings, self.settings), ("Part", options.parts, self.parts)):
            unknown = [name for name in given if name not in known]
            if unknown:
                names = ", ".join(known) or "none"
                raise ConfigError(f"{what} '{unknown[0]}' of virtual test '{self.name}' is unknown; it has {names}.")
        if options.record is not None and not self.ground_motion:
            raise ConfigError(f"Virtual test '{self.name}' has no ground motion: a record must be left out.")

    def simulate(self, options: Options | None = None) -> Run:
        """Make the nominal run."""
        options = options or Options()
        self.check(options)
        return self._run({}, options)

    def _run(self, parameters: Mapping[str, float], options: Options) -> Run:
        """Make a run; a setting of the wrong kind is the user's mistake, not ours."""
        try:
            return self.run(parameters, options)
        except (TypeError, ValueError) as error:
            if isinstance(error, ConfigError) or not options.settings:
                raise
            given = ", ".join(f"{name}={value!r}" for name, value in options.settings.items())
            raise ConfigError(
                f"Settings of virtual test '{self.name}' must be values that it takes, got {given}: {error}."
            ) from error

    def simulate_many(
        self,
        runs: int,
        options: Options | None = None,
        *,
        workers: int | None = None,
        done: Callable[[], None] = lambda: None,
    ) -> Ensemble:
        """Run a Latin-hypercube design of `runs` prototypes in threads (the loop does not hold the interpreter)."""
        options = options or Options()
        self.check(options)
        if self.space is None:
            raise ConfigError(
                f"Virtual test '{self.name}' has no uncertain parameters: prototypes must be 1, got {runs}."
            )
        design = lhs(self.space, whole(runs, "prototypes", f"virtual test '{self.name}'", 2), seed=options.seed)

        def one(i: int) -> tuple[dict[str, float] | None, Trajectory | None]:
            try:
                run = self._run(design.parameters(i), replace(options, seed=options.seed + 1 + i))
                return run.metrics, run.history(options.keep) if options.keep else None
            except Tripped:
                return None, None
            finally:
                done()

        first = one(0)  # compiles once, before the threads start
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            results = [first, *pool.map(one, range(1, len(design)))]
        return Ensemble(design, [metrics for metrics, _ in results], [kept for _, kept in results if kept is not None])


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The runs of a design; None stands for a run that diverged."""

    design: Design
    results: list[dict[str, float] | None]
    histories: list[Trajectory] = field(default_factory=list)

    @property
    def unstable(self) -> int:
        """Number of runs that diverged."""
        return sum(result is None for result in self.results)

    @property
    def mean_history(self) -> Trajectory | None:
        """Mean of the kept signals over all runs; None when one of them diverged or nothing was kept."""
        return None if self.unstable or not self.histories else mean_history(self.histories)

    @property
    def indices(self) -> list[str]:
        """Names of the tracking indices among the metrics: J1_ms, adaptive_J2_percent, mpc_4_J4."""
        metrics = next((result for result in self.results if result is not None), {})
        return [name for name in metrics if re.search(r"(^|_)J\d", name)]

    def values(self, metric: str) -> Array:
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

    def histogram(self, metric: str, bins: int = 20) -> tuple[Array, Array]:
        """Return density (bins) and edges (bins + 1) of a metric, normalised to unit area."""
        density, edges = np.histogram(self.values(metric), bins=bins, density=True)
        return density, edges


def mean_history(runs: Sequence[Trajectory]) -> Trajectory:
    """Return the mean of runs of equal length."""
    values: Array = np.mean([run.values for run in runs], axis=0)
    return Trajectory(runs[0].time, values, runs[0].ports)


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


def tracked(build: Callable[[Mapping[str, float], Options], tuple[Loop, float]]) -> Callable[..., Run]:
    """Return the `run` of a test whose `build` gives loop and duration: tracking and the largest feedback force."""

    def run(parameters: Mapping[str, float], options: Options) -> Run:
        loop, duration = build(parameters, options)
        record = loop.run(duration)
        return Run(tracking_metrics(record) | {"peak_force_N": float(np.abs(record["force"]).max())}, record)

    return run
