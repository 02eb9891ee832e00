"""Reinforcing bars in one step of a plan against the same operators one by one, bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from export import write
from mor import MenegottoPinto, Play
from rt_runtime import _core
from rt_runtime.bundle import plan
from rt_runtime.bundle.plan import compile_onnx
from tests.contract.reduced_models import hysteresis


def graph_of(path: Path, places: tuple[float, ...], precision: str = "float64") -> onnx.ModelProto:
    bars = MenegottoPinto("x", places, length=0.2, threshold=0.01)
    write(hysteresis(operators=(bars, Play("x", radii=(0.1,)))), path, name="rom", precision=precision)
    return onnx.load(next(path.rglob("*.onnx")))


def both(model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> tuple[tuple[_core.Plan, int, int], ...]:
    content = model.SerializeToString()
    fused = compile_onnx(content, "it")
    with monkeypatch.context() as patch:
        patch.setattr(plan, "compile_bars", lambda compiler, node: None)
        return fused, compile_onnx(content, "it")


def answers(compiled: tuple[_core.Plan, int, int], u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    steps, n_u, n_state = compiled
    rom = _core.Rom(steps, np.zeros(n_state), np.full(n_u, -9.0), np.full(n_u, 9.0), False, 0.0)
    return rom.run(u), rom.state


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("places", [(1.0,), (1.0, -1.0, 0.7, -0.7), (1.0, -1.0, 0.7, -0.7, 0.4, -0.4, 0.9, -0.9, 0.5)])
def test_bars_are_one_step_with_the_same_bits(
    places: tuple[float, ...], precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused, single = both(graph_of(tmp_path / "b", places, precision), monkeypatch)
    assert fused[0].steps < single[0].steps - 40
    rng = np.random.default_rng(0)
    walk = np.cumsum(0.05 * rng.normal(size=(20_000, 2)), axis=0)
    walk[:100] = 0.0  # at rest the logarithm of the power is far below what the exponential function takes
    walk[100:] = np.sin(walk[100:]) + 1e-3 * rng.normal(size=(19_900, 2))
    for u in (walk, np.vstack([walk[:500], [[np.inf, 0.0]], walk[:50]]), np.vstack([walk[:500], [[np.nan, 0.0]]])):
        for a, b in zip(answers(fused, u), answers(single, u), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


def changed(model: onnx.ModelProto, what: str) -> None:
    nodes = {node.output[0]: node for node in model.graph.node}
    if what == "swapped":
        nodes["bar_far"].input[1], nodes["bar_far"].input[2] = nodes["bar_far"].input[2], nodes["bar_far"].input[1]
    elif what == "operator":
        nodes["bar_higher"].op_type = "Min"
    elif what == "source":
        nodes["bar_way"].input[0] = "bar_last"
    else:
        held = next(c for c in model.graph.initializer if c.name == "bar_most")
        held.CopyFrom(numpy_helper.from_array(np.array([-1e-3]), "bar_most"))


@pytest.mark.parametrize("what", ["swapped", "operator", "source", "number"])
def test_a_graph_that_differs_anywhere_runs_one_by_one(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = graph_of(tmp_path / "b", (1.0, -1.0))
    changed(model, what)
    fused, single = both(model, monkeypatch)
    assert fused[0].steps == single[0].steps


@pytest.mark.parametrize(
    ("places", "numbers", "out"),
    [
        ([[0]] * 7, [[1.0]] * 3, 8),
        ([[0]] * 8, [[1.0]] * 2, 8),
        ([[0]] * 7 + [[0, 1]], [[1.0]] * 3, 8),
        ([[]] * 8, [[]] * 3, 8),
        ([[0]] * 7 + [[99]], [[1.0]] * 3, 8),
        ([[0]] * 7 + [[9]], [[1.0]] * 3, 8),
        ([[0]] * 8, [[1.0]] * 3, 9),
        ([[0]] * 8, [[1.0]] * 3, 3),
    ],
)
def test_what_does_not_fit_is_refused(places: list[list[int]], numbers: list[list[float]], out: int) -> None:
    law = (1e-9, 0.15, 18.0, 16.65, 1e-300, 80.0)
    steps = _core.Plan(1, 7, np.zeros(36), [8], list(range(1, 8)))
    with pytest.raises(ValueError, match="of a plan"):
        steps.bars(places, numbers, *law, out)
    assert steps.steps == 0
    steps.bars([[0]] * 8, [[1.0]] * 3, *law, 8)
