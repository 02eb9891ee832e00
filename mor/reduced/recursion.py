"""The free run of a model with memory as one compiled loop: the only place that runs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from mor.reduced.hysteresis.front import compiled_front


def _remember(state, first, size, new):  # type: ignore[no-untyped-def]
    """Put `new` before the values of the instants before, state[first : first + size]; the oldest ones fall out."""
    for i in range(first + size - 1, first + new.size - 1, -1):
        state[i] = state[i - new.size]
    if size > 0:
        for i in range(new.size):
            state[first + i] = new[i]


@cache
def free_run(evaluate: Callable[..., None]) -> Callable[..., Any]:
    """Return the free run of a one-step map: operators, clipped regressors, the step, its bounds, the next state.

    run(u, state, out, truth, at, parameters, sizes, operators, x_range, slope, y_range, work) moves `state` on and
    writes all that the map puts out; `truth` takes the place of the outputs `at`. sizes: how many regressors are lags
    of u, and features of operators; operators: their table and numbers; work: room for x twice, and for y.
    """
    from numba import njit

    remember, front = njit(_remember), compiled_front()

    def run(u, state, out, truth, at, parameters, sizes, operators, x_range, slope, y_range, work):  # type: ignore[no-untyped-def]
        (table, numbers), (x_low, x_high), (y_low, y_high), (x, inside, y) = operators, x_range, y_range, work
        n_u, n_y = u.shape[1], out.shape[1]
        n_past_u, n_phi = sizes[0], sizes[1]
        first_phi, first_y = n_u + n_past_u, n_u + n_past_u + n_phi
        n_past_y = x_low.size - first_y
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
            for i in range(n_y):
                if slope.size > 0:
                    for j in range(n_u):
                        y[i] += slope[i, j] * (x[j] - inside[j])
                y[i] = min(max(y[i], y_low[i]), y_high[i])
                out[k, i] = y[i]
            for i in range(at.size):
                y[at[i]] = truth[k, i]
            remember(state, 0, n_past_u, u[k])
            remember(state, n_past_u, n_past_y, y)

    return run
