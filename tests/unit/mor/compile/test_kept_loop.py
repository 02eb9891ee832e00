"""Compiled loops over arrays kept between runs: the same numbers, never another function's, no quiet end."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mor.compile import kept, kept_loop
from mor.compile.kept_loop import KeptLoop
from tests.reference.exported_models import network_with_memory


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, and nothing in memory."""
    monkeypatch.setenv("HMOR_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "_loaded", {})
    return tmp_path / "compiled"


def scaled(gain: float) -> Callable[..., None]:
    def loop(x, out, tables, chosen):  # type: ignore[no-untyped-def]
        rows, shift = tables
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = gain * x[i, rows[j]] + (shift[j] if chosen[j] else 0.0)

    return loop


def arguments() -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    x = np.arange(6.0).reshape(2, 3)
    return x, np.empty((2, 3)), (np.array([2, 0, 1]), np.array([0.5, 1.0, 2.0])), np.array([True, False, True])


def expected(gain: float) -> np.ndarray:
    x, _, (rows, shift), chosen = arguments()
    return gain * x[:, rows] + np.where(chosen, shift, 0.0)


def test_a_kept_loop_gives_the_same_numbers_without_a_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for gain in (2.0, 3.0):  # the same text, another value closed over
        x, out, *bound = arguments()
        KeptLoop(scaled(gain), (x, out, *bound), 2)(x, out)
        np.testing.assert_array_equal(out, expected(gain))
    assert len(list(folder.glob("*.o"))) == 2
    kept._loaded.clear()
    monkeypatch.setattr(kept_loop, "_compiled", None)
    x, out, *bound = arguments()
    KeptLoop(scaled(3.0), (x, out, *bound), 2)(x, out)
    np.testing.assert_array_equal(out, expected(3.0))


def test_nothing_is_kept_where_that_is_not_wanted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMOR_CACHE", "")
    x, out, *bound = arguments()
    KeptLoop(scaled(4.0), (x, out, *bound), 2)(x, out)
    np.testing.assert_array_equal(out, expected(4.0))
    assert not folder.exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what numba has to say of the error
def test_other_types_and_an_error_inside_are_told() -> None:
    def checked(x, out):  # type: ignore[no-untyped-def]
        if x[0] < 0.0:
            raise ValueError("negative")
        out[0] = x[0]

    x, out = np.ones(1), np.zeros(1)
    loop = KeptLoop(checked, (x, out), 2)
    loop(x, out)
    assert out[0] == 1.0
    for wrong in (np.ones(1, dtype=np.float32), np.ones((1, 1)), np.ones(4)[::2]):
        with pytest.raises(TypeError, match="arguments of a loop must be"):
            loop(wrong, out)
    with pytest.raises(ArithmeticError, match="did not come to its end"):
        loop(-x, out)


def test_a_model_that_has_run_can_be_sent_to_another_process() -> None:
    model = network_with_memory()
    u = np.random.default_rng(1).uniform(*model.domain, (30, 2))
    y = model.rollout(u)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).rollout(u), y)


def test_arrays_must_be_contiguous_whatever_the_example_was() -> None:
    """An example that is not row after row let calls with such arrays through, and refused the others."""

    def copied(x, out, nothing):  # type: ignore[no-untyped-def]
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] + len(nothing)

    x, out = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    loop = KeptLoop(copied, (np.empty((3, 2)).T, out, ()), 2)
    loop(x, out)
    np.testing.assert_array_equal(out, x)
    with pytest.raises(TypeError, match="arguments of a loop must be"):
        loop(np.ascontiguousarray(x.T).T, out)
