"""Laws of a gate of a model with memory: nothing before it opens, the model above, and never a hand on the rest."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mor import Gate, MemoryModel
from tests.reference.gated_memories import MODELS, bare, behind
from tests.reference.memory_twin import one_step_map

MODEL = bare(MODELS["state"]())
NAMES = [p.name for p in MODEL.step.inputs]
shares = st.tuples(st.floats(0.0, 0.9), st.floats(0.01, 1.0), st.sampled_from(NAMES))
rows = st.lists(st.floats(-0.5, 1.5), min_size=len(NAMES), max_size=len(NAMES))


def gated(share: tuple[float, float, str], row: list[float]) -> tuple[Gate, np.ndarray]:
    """A gate on one regressor, its span a share of the range, and a row in and around the domain."""
    closed, span, name = share
    lower, upper = MODEL.step.domain
    top = span * upper[NAMES.index(name)]
    return Gate(name, top, closed * top, ("tau_rw",)), lower + np.array(row) * (upper - lower)


def asked(model: MemoryModel, x: np.ndarray) -> np.ndarray:
    """One step from the regressors x, which are (u, state)."""
    return model.advance(x[:2], x[2:])[0][0]


@given(shares, rows, st.floats(0.0, 1e9))
def test_closed_is_exactly_nothing(share: tuple[float, float, str], row: list[float], below: float) -> None:
    gate, x = gated(share, row)
    x[NAMES.index(gate.input)] = gate.closed - below
    assert asked(behind(gate, MODEL), x)[0] == 0.0


@given(shares, rows, st.floats(0.0, 1e9))
def test_open_is_the_model_to_the_last_bit(share: tuple[float, float, str], row: list[float], beyond: float) -> None:
    gate, x = gated(share, row)
    x[NAMES.index(gate.input)] = gate.span + beyond
    assert asked(behind(gate, MODEL), x).tobytes() == asked(MODEL, x).tobytes()


@given(shares, rows)
def test_hidden_outputs_are_never_touched_and_bounds_hold(share: tuple[float, float, str], row: list[float]) -> None:
    gate, x = gated(share, row)
    model = behind(gate, MODEL)
    y, free = asked(model, x), asked(MODEL, x)
    assert y[1] == free[1] and 0.0 <= abs(y[0]) <= abs(free[0])
    run, state = model.rollout(x[None, :2], state=x[2:])[0], one_step_map(model, x)[0]
    np.testing.assert_allclose(run, state, rtol=1e-9, atol=1e-9)
