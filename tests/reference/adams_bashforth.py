"""Two-step Adams-Bashforth in plain numpy, written from the formula: x <- x + h (3 f_n - f_before) / 2, first step Heun."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rt_runtime.checks import Array


class Ab2:
    """Steps over an interval dt in sub-steps; the input runs linearly from u0 to u1."""

    def __init__(self, f: Callable[[float, Array, Array], Array], x: Array) -> None:
        self.f, self.x, self.before = f, x, np.zeros(0)

    def advance(self, u0: Array, u1: Array, t: float, dt: float, substeps: int) -> None:
        h = dt / substeps
        for s in range(substeps):
            start, end = (u0 + (s + w) / substeps * (u1 - u0) for w in (0.0, 1.0))
            k = self.f(t + s * h, self.x, start)
            if len(self.before):
                self.x = self.x + h * (3 * k - self.before) / 2
            else:
                self.x = self.x + h / 2 * (k + self.f(t + (s + 1) * h, self.x + h * k, end))
            self.before = k
