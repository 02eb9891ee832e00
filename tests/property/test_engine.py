"""Laws that hold for every input."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rt_runtime import Delay, Gain, Loop, StateSpace, Table, previous

NUMBERS = st.floats(-1e3, 1e3, allow_subnormal=False)


def stable(rng: np.random.Generator, n: int) -> np.ndarray:
    a = rng.normal(size=(n, n))
    return a - (np.abs(np.linalg.eigvals(a)).max() + 1.0) * np.eye(n)


def drive(block, u: np.ndarray) -> np.ndarray:
    return np.array([block.step(0.0, row) for row in u])


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 4), st.floats(-3, 3), st.floats(-3, 3))
def test_state_space_is_linear(seed: int, n: int, m: int, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = stable(rng, n), rng.normal(size=(n, m)), rng.normal(size=(2, n))
    u, v = rng.normal(size=(2, 30, m))

    def response(w: np.ndarray) -> np.ndarray:
        return drive(StateSpace(a, b, c, dt=0.01), w)

    together = response(alpha * u + beta * v)
    np.testing.assert_allclose(together, alpha * response(u) + beta * response(v), atol=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_two_half_steps_are_one_step(seed: int, n: int) -> None:
    """exp(A h) exp(A h) = exp(2 A h): the exact hold does not depend on how the interval is cut."""
    rng = np.random.default_rng(seed)
    a, b, c = stable(rng, n), rng.normal(size=(n, 1)), np.eye(n)
    u = rng.normal(size=(20, 1))
    coarse = drive(StateSpace(a, b, c, dt=0.02), u)
    fine = drive(StateSpace(a, b, c, dt=0.01), np.repeat(u, 2, axis=0))[::2]
    np.testing.assert_allclose(coarse, fine, atol=1e-10)


@given(arrays(float, st.integers(1, 60), elements=NUMBERS), st.integers(0, 20), st.integers(0, 20))
def test_delays_add_up(u: np.ndarray, one: int, two: int) -> None:
    first, second, both = Delay(one), Delay(two), Delay(one + two)
    chained = drive(second, drive(first, u[:, None]))
    np.testing.assert_array_equal(chained, drive(both, u[:, None]))


@given(arrays(float, (8, 2), elements=NUMBERS), st.floats(-1, 9))
def test_table_stays_between_its_neighbours(values: np.ndarray, t: float) -> None:
    y = Table(np.arange(8.0), values).step(t, np.empty(0))
    i = int(np.clip(np.floor(t), 0, 6))
    low, high = values[i : i + 2].min(axis=0), values[i : i + 2].max(axis=0)
    slack = 1e-12 * (1 + np.abs(values).max())
    assert ((low - slack <= y) & (y <= high + slack)).all()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 40))
def test_a_block_runs_in_every_nth_tick_only(every: list[int], ticks: int) -> None:
    loop = Loop(1.0)
    for i, n in enumerate(every):
        loop.signal(f"count{i}")
        loop.add(f"add{i}", Gain(1.0, offset=1.0), inputs=[previous(f"count{i}")], outputs=[f"count{i}"], every=n)
    record = loop.run(float(ticks))
    for i, n in enumerate(every):
        np.testing.assert_array_equal(record[f"count{i}"], np.arange(ticks) // n + 1)
