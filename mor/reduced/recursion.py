"""The free run of a model with memory as one compiled loop: the only place that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port
from mor.reduced.front import compiled_front
from mor.reduced.gate import Gate

Array = NDArray[np.float64]


def gate_numbers(gate: Gate | None, inputs: Sequence[Port], outputs: Sequence[Port]) -> tuple[Array, NDArray[np.bool_]]:
    """Return a gate for a compiled loop: (which of `inputs` it looks at, closed, span), which of `outputs` vanish."""
    if gate is None:
        return np.array([0.0, 0.0, 1.0]), np.zeros(len(outputs), dtype=np.bool_)
    return gate.numbers(inputs), gate.gated(outputs)


def share_of(x: float, closed: float, span: float) -> float:
    """Return c = clip((x - closed) / (span - closed), 0, 1), nan for a nan; for compiled loops."""
    c = (x - closed) / (span - closed)
    if c < 0.0:
        return 0.0
    return 1.0 if c > 1.0 else c


def _remember(state, first, size, new):  # type: ignore[no-untyped-def]
    """Put `new` before the values of the instants before, state[first : first + size]; the oldest ones fall out."""
    for i in range(first + size - 1, first + new.size - 1, -1):
        state[i] = state[i - new.size]
    if size > 0:
        for i in range(new.size):
            state[first + i] = new[i]


@cache
def runner() -> Callable[..., None]:
    """Compile the free run: operators, clipped regressors, the step, its bounds and gate, the next state."""
    from numba import njit

    share, remember, front = njit(share_of), njit(_remember), compiled_front()

    @njit
    def run(  # type: ignore[no-untyped-def]
        evaluate, parameters, u, state, sizes, table, numbers, x_low, x_high, slope, y_low, y_high, gate, gated, out,
        truth, at,
    ):  # fmt: skip
        n_u, n_y = u.shape[1], out.shape[1]
        n_past_u, n_phi = sizes[0], sizes[1]
        first_phi, first_y = n_u + n_past_u, n_u + n_past_u + n_phi
        n_past_y = x_low.size - first_y
        x, inside, y = np.empty(x_low.size), np.empty(x_low.size), np.empty(n_y)
        memory = state[n_past_u + n_past_y :]
        for k in range(u.shape[0]):
            for i in range(n_u):
                x[i] = u[k, i]
                inside[i] = min(max(x[i], x_low[i]), x_high[i])
            for i in range(n_past_u):
                x[n_u + i] = state[i]
            front(inside, memory, table, numbers, x[first_phi:first_y])
            for i in range(n_past_y):
                x[first_y + i] = state[n_past_u + i]
            for i in range(n_u, x.size):
                inside[i] = min(max(x[i], x_low[i]), x_high[i])
            evaluate(inside, y, parameters)
            c = share(x[int(gate[0])], gate[1], gate[2])
            for i in range(n_y):
                if slope.size > 0:
                    for j in range(n_u):
                        y[i] += slope[i, j] * (x[j] - inside[j])
                y[i] = min(max(y[i], y_low[i]), y_high[i])
                if gated[i]:
                    y[i] *= c
                out[k, i] = y[i]
            for i in range(at.size):
                y[at[i]] = truth[k, i]
            remember(state, 0, n_past_u, u[k])
            remember(state, n_past_u, n_past_y, y)

    return run  # type: ignore[no-any-return]
