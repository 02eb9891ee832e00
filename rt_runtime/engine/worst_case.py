"""The worst tick of a loop: counted work, bound on iterations and measured maximum of every block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rt_runtime import _core
from rt_runtime.checks import Array, whole
from rt_runtime.engine.loop import Loop

SIZES = (-4.0, 4.0)
"""Powers of ten between which adversarial inputs are drawn."""


@dataclass(frozen=True)
class BlockWorstCase:
    """One block.

    Parameters
    ----------
    name
        Of the block.
    flops
        Most floating-point operations of a step; None when they are not counted.
    iterations
        Most iterations of a step, enforced; 0 when it has none.
    worst_us, mean_us
        Slowest and mean measured step in us; None for a block that talks to the outside or enters the interpreter.
    """

    name: str
    flops: float | None
    iterations: int
    worst_us: float | None
    mean_us: float | None


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

    Each block is stepped by itself over adversarial inputs; every tick is repeated from the same state, and its least
    time counts, so that a busy host does not look like a slow block. Blocks are reset afterwards.

    Parameters
    ----------
    loop
        The loop, complete.
    ticks
        Adversarial ticks per block.
    repeats
        How often they are run.
    seed
        Of the inputs.
    """
    ticks, repeats = whole(ticks, "ticks", "worst_case", 1), whole(repeats, "repeats", "worst_case", 1)
    rng = np.random.default_rng(seed)
    found = [_of_block(name, block, ticks, repeats, rng) for name, block in loop.blocks.items()]
    return WorstCase(1e6 / loop.rate, ticks, tuple(found))


def _of_block(name: str, block: _core.Block, ticks: int, repeats: int, rng: np.random.Generator) -> BlockWorstCase:
    flops, iterations = block.work
    worst = mean = None
    if block.real_time and not block.external:
        worst_ns, mean_ns = block.time_steps(adversarial_inputs(ticks, block.n_in, rng), repeats)
        worst, mean = 1e-3 * worst_ns, 1e-3 * mean_ns
    return BlockWorstCase(name, None if math.isnan(flops) else flops, iterations, worst, mean)
