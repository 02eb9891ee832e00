"""Linear systems as reduced models: a state space becomes a model with memory, ready for every export."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mor.data.ports import Port
from mor.reduced.ffnn import Ffnn
from mor.reduced.memory import MemoryModel, regressor_ports
from mor.substructures.linear import LinearSubstructure
from rt_runtime.blocks.discretise import zero_order_hold
from rt_runtime.checks import Array, positive
from rt_runtime.errors import ConfigError


def linear_model(
    part: LinearSubstructure, *, dt: float, ranges: Mapping[str, tuple[float, float]], longest: float = 600.0
) -> MemoryModel:
    """Return a linear part as a model with memory: one linear layer that puts out (y_k, x_{k+1}) for (u_k, x_k).

        x_{k+1} = A_d x_k + B_d u_k,   y_k = C x_k + D u_k        (input held over the step)

    Parameters
    ----------
    part
        A linear substructure, such as a reduced finite-element part.
    dt
        Step of the model in s.
    ranges
        {input: (lowest, highest)} of every input. States and outputs get the bounds that no input within them exceeds,
        the sums of their absolute impulse responses, so that nothing is cut off.
    longest
        Seconds after which impulse responses must have died away; undamped parts are refused.
    """
    A, B, C, D = part.matrices()
    model = zero_order_hold(A, B, C, D, positive(dt, "dt", "linear_model"))
    missing = [p.name for p in part.inputs if p.name not in ranges]
    if missing or len(ranges) != len(part.inputs):
        raise ConfigError(
            f"ranges of linear_model must name the inputs {', '.join(p.name for p in part.inputs)}, "
            f"got {', '.join(ranges) or 'nothing'}."
        )
    low, high = (np.array([ranges[p.name][i] for p in part.inputs], float) for i in (0, 1))
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high)) and np.all(low < high)):
        raise ConfigError("ranges of linear_model must be finite with lower < upper for every input.")
    reach = np.maximum(np.abs(low), np.abs(high))
    x_most, y_most = _largest(model.a, model.b, model.c, model.d, reach, int(longest / dt))
    states = tuple(Port(f"x{i + 1}") for i in range(len(A)))
    every = (*part.outputs, *states)
    regressors = regressor_ports(part.inputs, every, 0, 1)
    W = np.block([[model.d, np.zeros((len(C), len(C))), model.c], [model.b, np.zeros((len(A), len(C))), model.a]])
    most = np.concatenate([y_most, x_most])
    lower, upper = np.concatenate([low, -most]), np.concatenate([high, most])
    centre, half = (upper + lower) / 2, (upper - lower) / 2
    scaled = W * half / most[:, None]
    step = Ffnn((scaled,), (W @ centre / most,), regressors, every, (lower, upper), (-most, most))
    return MemoryModel.around(
        step, part.inputs, dt=dt, output_lags=1, bounds=(-most, most), responses=len(part.outputs)
    )


def _largest(A: Array, B: Array, C: Array, D: Array, reach: Array, steps: int) -> tuple[Array, Array]:
    """Return max |x| and |y| for |u_j| <= reach_j: sums over k and j of |A^k B|_ij reach_j and of |C A^k B|, |D|."""
    x, start = B * reach, np.abs(B * reach).max() + 1e-300
    states, outputs = np.zeros(len(A)), np.abs(D * reach).sum(axis=1)
    for _ in range(steps):
        states += np.abs(x).sum(axis=1)
        outputs += np.abs(C @ x).sum(axis=1)
        x = A @ x
        if np.abs(x).max() < 1e-9 * start:
            margin = 1.0 + 1e-6
            return margin * np.maximum(states, 1e-30), margin * np.maximum(outputs, 1e-30)
    raise ConfigError(
        f"A part must come to rest within {steps} steps after an impulse to become a reduced model with bounds; give "
        "it damping, or a larger `longest`."
    )
