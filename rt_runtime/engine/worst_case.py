"""The worst tick of a loop: counted work, bound on iterations and measured maximum of every block."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rt_runtime import _core
from rt_runtime.checks import Array, whole
from rt_runtime.engine.loop import Loop
from rt_runtime.engine.step_times import StepTimes

SIZES = (-4.0, 4.0)
"""Powers of ten between which adversarial inputs are drawn."""

PART = 10_000
"""Ticks that are drawn at a time; a block starts from rest before each part."""

PERCENTILES = (50.0, 99.0, 99.99)

INTERRUPTED = 5000.0
"""A step that takes so many ns longer by the clock than by the CPU time of its thread was interrupted by others."""


@dataclass
class Adversary:
    """Adversarial steps of one block, counted part by part; parts may be added in several sessions.

    Parameters
    ----------
    least, once, cpu
        Time of each step without what others do to this host: its CPU time where it was interrupted, and the least of
        the repeats where its part has a step slower than all before; time and CPU time of a single repeat, with all
        that happened to it.
    iterations
        Most iterations that a step took, where the block says so.
    fallbacks
        Steps at which a controller reached its bound on iterations or found no feasible move, and made its fallback.
    ticks
        Steps done.
    """

    least: StepTimes = field(default_factory=StepTimes)
    once: StepTimes = field(default_factory=StepTimes)
    cpu: StepTimes = field(default_factory=StepTimes)
    iterations: int = 0
    fallbacks: int = 0
    ticks: int = 0

    def attack(self, block: _core.Block, ticks: int, *, seed: int, repeats: int = 3) -> None:
        """Step the block over `ticks` more adversarial inputs, the next of the sequence that `seed` begins.

        Only a part with a step slower than all before is repeated: the others cannot have the worst one.
        """
        end = self.ticks + ticks
        at = block.iterations_at
        while self.ticks < end:
            n = min(PART, end - self.ticks)
            rng = np.random.default_rng([seed, self.ticks])
            inputs = adversarial_inputs(n, block.n_in, rng)
            _, once, cpu, outputs = block.time_steps(inputs, 1)
            least = np.where(once > cpu + INTERRUPTED, cpu, once)
            if repeats > 1 and least.max() > self.least.most:
                again, once, cpu, _ = block.time_steps(inputs, repeats - 1)
                least = np.minimum(least, again)
            self.least.add(least)
            self.once.add(once)
            self.cpu.add(cpu)
            if at >= 0:
                self.iterations = max(self.iterations, int(outputs[:, at].max()))
                self.fallbacks += int((outputs[:, at + 1] != 0.0).sum())  # its status, behind the iterations
            self.ticks += n


@dataclass(frozen=True)
class BlockWorstCase:
    """One block; times in us are None for a block that talks to the outside or enters the interpreter.

    Parameters
    ----------
    name
        Of the block.
    flops
        Most floating-point operations of a step; None when they are not counted.
    iterations
        Most iterations of a step, enforced; 0 when it has none.
    iterations_seen
        Most iterations that a measured step took; None for a block that does not say.
    fallbacks
        Measured steps at which a controller made its fallback move.
    worst_us, mean_us
        Slowest and mean step, without what others do to this host.
    percentiles_us
        {percent: us} of the same.
    once_us, cpu_us
        Slowest step of a single repeat by the clock and by the CPU time of its thread, host included.
    """

    name: str
    flops: float | None
    iterations: int
    iterations_seen: int | None = None
    fallbacks: int = 0
    worst_us: float | None = None
    mean_us: float | None = None
    percentiles_us: dict[str, float] = field(default_factory=dict)
    once_us: float | None = None
    cpu_us: float | None = None

    @classmethod
    def of(cls, name: str, block: _core.Block, seen: Adversary | None) -> BlockWorstCase:
        """Put together what is counted and what was measured, if anything."""
        flops, iterations = block.work
        counted = (name, None if math.isnan(flops) else flops, iterations)
        if seen is None:
            return cls(*counted)
        return cls(
            *counted,
            seen.iterations if block.iterations_at >= 0 else None,
            seen.fallbacks,
            1e-3 * seen.least.most,
            1e-3 * seen.least.mean,
            {f"{p:g}": 1e-3 * seen.least.percentile(p) for p in PERCENTILES},
            1e-3 * seen.once.most,
            1e-3 * seen.cpu.most,
        )


@dataclass(frozen=True)
class WorstCase:
    """The blocks of a loop, in the order of a tick, beside its period in us."""

    period_us: float
    ticks: int
    blocks: tuple[BlockWorstCase, ...]

    @property
    def worst_us(self) -> float:
        """A tick in which every measured block has its worst step, in us."""
        return sum(block.worst_us for block in self.blocks if block.worst_us is not None)

    @property
    def part_of_period(self) -> float:
        """That tick over the period."""
        return self.worst_us / self.period_us

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, for JSON."""
        totals = {"period_us": self.period_us, "worst_us": self.worst_us, "part_of_period": self.part_of_period}
        return totals | {"ticks": self.ticks, "blocks": [dict(vars(block)) for block in self.blocks]}


def adversarial_inputs(ticks: int, width: int, rng: np.random.Generator) -> Array:
    """Return inputs that jump from tick to tick: random signs and sizes over eight decades, some of them held a while.

    Targets of either sign, far beyond and far below every limit, switch the constraints of a controller in each tick.
    """
    size = 10.0 ** rng.uniform(*SIZES, size=(ticks, 1))
    jumping = size * rng.choice([-1.0, 1.0], size=(ticks, width)) * rng.uniform(0.5, 1.0, size=(ticks, width))
    held = np.repeat(rng.random(-(-ticks // 8)) < 0.25, 8)[:ticks]
    start = 8 * (np.arange(ticks) // 8)
    found: Array = np.where(held[:, None], jumping[start], jumping)
    return np.ascontiguousarray(found)


def worst_case(loop: Loop, *, ticks: int = 2000, repeats: int = 3, seed: int = 0) -> WorstCase:
    """Bound and measure the work of every block of a loop that does not run.

    Each block is stepped by itself over adversarial inputs; ticks that may be the slowest are repeated from the same
    state, and their least time counts, so that a busy host does not look like a slow block. Blocks are reset after it.

    Parameters
    ----------
    loop
        The loop, complete.
    ticks
        Adversarial ticks per block.
    repeats
        How often those are run that may be the slowest.
    seed
        Of the inputs.
    """
    ticks, repeats = whole(ticks, "ticks", "worst_case", 1), whole(repeats, "repeats", "worst_case", 1)
    found = []
    for place, (name, block) in enumerate(loop.blocks.items()):
        seen = None
        if block.real_time and not block.external:
            seen = Adversary()
            seen.attack(block, ticks, seed=1000 * seed + place, repeats=repeats)
        found.append(BlockWorstCase.of(name, block, seen))
    return WorstCase(1e6 / loop.rate, ticks, tuple(found))
