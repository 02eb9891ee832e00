"""Laws of a gate: nothing comes of nothing, no jump at the edge, and above it the model is what it was."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mor import Gate
from tests.reference.exported_models import network, polynomial

MODELS = {"network": network(outputs=2), "polynomial": polynomial(4, outputs=2)}
kinds = st.sampled_from(sorted(MODELS))
spans = st.floats(1e-3, 50.0)
speeds = st.floats(-5.0, 49.0)


@given(kinds, spans, speeds, st.floats(max_value=0.0, allow_nan=False))
def test_without_the_input_there_is_exactly_no_output(kind: str, span: float, speed: float, force: float) -> None:
    gated = Gate("F_br", span).around(MODELS[kind])
    assert gated.predict([force, speed]).tolist() == [[0.0, 0.0]]


@given(kinds, spans, speeds)
def test_there_is_no_jump(kind: str, span: float, speed: float) -> None:
    gated = Gate("F_br", span).around(MODELS[kind])
    edge = gated.predict([span, speed])[0]
    small = 1e-9 * span
    for force, expected in ((small, 0.0 * edge), (span - small, edge), (span + small, edge)):
        got = gated.predict([force, speed])[0]
        np.testing.assert_allclose(got, expected, atol=1e-6 * np.abs(MODELS[kind].predict([[25.0, 0.0]])).max())


@given(kinds, spans, speeds, st.floats(0.0, 1e3))
def test_above_the_span_it_is_the_model_to_the_last_bit(kind: str, span: float, speed: float, more: float) -> None:
    gated = Gate("F_br", span).around(MODELS[kind])
    point = [span + more, speed]
    assert gated.predict(point).tobytes() == MODELS[kind].predict(point).tobytes()


@given(kinds, spans, speeds, st.floats(0.0, 1.0))
def test_the_compiled_kernel_is_the_same_map(kind: str, span: float, speed: float, share: float) -> None:
    gated = Gate("F_br", span).around(MODELS[kind])
    evaluate, parameters = gated.kernel()
    y, x = np.empty(2), np.array([share * span, speed])
    evaluate(x, y, parameters)
    size = np.abs(MODELS[kind].predict([[0.0, -5.0], [50.0, 49.0]])).max(axis=0)
    np.testing.assert_array_less(np.abs(y - gated.predict(x)[0]), 1e-12 * size)
