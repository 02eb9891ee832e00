"""Hysteresis operators: a numpy twin, holds, sampling rates, radii from the data, a fit, and the sentences."""

from __future__ import annotations

import numpy as np
import pytest

from mor import BoucWen, Dataset, MemorySpec, MenegottoPinto, Peaks, Play, Port, Power, Product, Reversals, Stop, Trail
from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.operators import Operator, operator_of, turning_points
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import OPERATORS, V, X, hysteresis
from tests.reference.memory_twin import features


def walk(seed: int, n: int = 400) -> np.ndarray:
    """A signal with turns at random levels and its rate, (n, 2)."""
    rng = np.random.default_rng(seed)
    x = np.interp(np.arange(n), np.arange(0, n, 20), rng.uniform(-1.0, 1.0, n // 20))
    return np.column_stack([x, np.gradient(x)])


def test_features_are_those_of_the_twin() -> None:
    u = walk(1)
    phi, _ = Front(OPERATORS, (X, V)).run(u)
    expected = np.hstack([features(operator, {"x": u[:, 0], "v": u[:, 1]}) for operator in OPERATORS])
    np.testing.assert_allclose(phi, expected, rtol=1e-12, atol=1e-14)


def test_a_run_goes_on_from_its_states() -> None:
    front, u = Front(OPERATORS, (X, V)), walk(2)
    phi, states = front.run(u)
    later, _ = front.run(u[150:], states[149])
    np.testing.assert_array_equal(later, phi[150:])


def test_states_and_signals_of_another_size_are_refused() -> None:
    """Compiled code checks no bounds: it would write beyond its arrays."""
    front, u = Front(OPERATORS, (X, V)), walk(2)
    for signals, state in ((u, np.zeros(len(front.states) + 1)), (u[:, :1], None), (u[:, 0], None)):
        with pytest.raises(ConfigError, match=r"u of Front\.run must have 2 columns and state \d+ values, got shapes"):
            front.run(signals, state)


def test_states_stay_in_their_ranges() -> None:
    front, u = Front(OPERATORS, (X, V)), walk(3)
    low, high = front.ranges(u.min(axis=0), u.max(axis=0))
    _, states = front.run(u)
    assert np.all(states >= low) and np.all(states <= high)
    assert len(front.meaning) == len(front.states) == states.shape[1] and all(front.meaning)


def test_ten_minutes_of_hold_move_nothing() -> None:
    model = hysteresis()
    u = np.vstack([walk(4), np.tile([0.37, 0.0], (600 * 1024, 1))])
    y = model.rollout(u)
    assert np.ptp(y[401:]) == 0.0


def test_the_sampling_rate_does_not_matter() -> None:
    """From 256 Hz to 4 kHz on a signal whose turns are sampled: the same turning points, so the same memory."""
    operators = (Play("x", radii=(0.05, 0.2, 0.5)), Stop("x", radii=(0.1,)), Peaks("x"), Reversals("x", 3, 0.01))
    front = Front(operators, (X,))
    knots = np.concatenate([[0.0], np.random.default_rng(5).uniform(-1.0, 1.0, 20)])
    runs = {}
    for rate in (256, 512, 1024, 2048, 4096):
        t = np.arange(20 * rate // 8 + 1) / (rate / 8)
        phi, _ = front.run(np.interp(t, np.arange(21), knots)[:, None])
        runs[rate] = phi[:: rate // 256]
    for rate, phi in runs.items():
        later = np.abs(phi - runs[256]) > 1e-12
        assert not later[:, :6].any(), rate
        assert later[:, 6:].mean() < 0.05  # a turn counts once the signal has come back, up to a sample later


EXACT = tuple(operator for operator in OPERATORS if not isinstance(operator, (BoucWen, Trail)))


@pytest.mark.parametrize(("operators", "tolerance"), [(EXACT, 1e-9), (OPERATORS, 1e-3)])
def test_one_model_runs_at_every_rate(operators: tuple[Operator, ...], tolerance: float) -> None:
    """Exact for operators; Bouc-Wen cells and trails are integrated by steps."""
    model = hysteresis(operators=operators)
    assert model.dt is None
    slow = np.column_stack(
        [np.interp(np.arange(200), np.arange(0, 200, 40), [0.0, 0.6, -0.5, 0.8, 0.2]), np.zeros(200)]
    )
    fast = np.column_stack([np.interp(np.arange(0, 200, 0.25), np.arange(200), slow[:, 0]), np.zeros(800)])
    y, z = model.rollout(slow)[:, 0], model.rollout(fast)[::4, 0]
    assert (np.abs(y - z) > tolerance).mean() < 0.05  # a turn counts up to a sample later


def test_bars_take_no_notice_of_noise_and_do_not_come_back_to_their_old_curve() -> None:
    """Reversals smaller than twice the threshold do not count; larger ones leave another curve behind, as in Steel02."""
    bar = Front((MenegottoPinto("x", (1.0,), 0.0, length=0.1, threshold=1e-3),), (X,))
    x = np.concatenate([np.linspace(0.0, 0.4, 400), np.linspace(0.4, -0.1, 500)])
    noisy = x + np.random.default_rng(0).uniform(-5e-4, 5e-4, len(x))
    assert np.abs(bar.run(noisy[:, None])[0] - bar.run(x[:, None])[0]).max() < 0.02
    way = np.concatenate([x, np.linspace(-0.1, -0.08, 50), np.linspace(-0.08, -0.2, 200)])
    straight = np.concatenate([x, np.linspace(-0.1, -0.2, 200)])
    assert bar.run(way[:, None])[0][-1] < bar.run(straight[:, None])[0][-1] - 0.005


def test_radii_and_thresholds_come_from_the_data() -> None:
    ports = (X,), (Port("F", "N"),)
    u = np.concatenate([walk(s)[:, :1] for s in range(3)])
    data = Dataset(u, u, *ports, run=np.repeat(np.arange(3), 400))
    spec = MemorySpec(
        *ports,
        operators=(Play("x", 8), Stop("x", 4, spacing="even"), Reversals("x"), Trail("x", 3), MenegottoPinto("x")),
    ).resolved(data)
    play, stop, turns, trail, bars = spec.operators
    assert isinstance(trail, Trail) and isinstance(bars, MenegottoPinto)
    assert (bars.length, bars.threshold) == pytest.approx((0.14 * np.abs(u).max(), 5e-4 * np.abs(u).max()))
    np.testing.assert_allclose(trail.lengths, np.abs(u).max() * np.array([1.0, 4.0, 16.0]), rtol=1e-12)
    assert isinstance(play, Play) and isinstance(stop, Stop) and isinstance(turns, Reversals)
    half = 0.5 * np.max([np.abs(np.diff(turning_points(walk(s)[:, 0]))).max() for s in range(3)])
    assert len(play.radii) == 8 and np.all(np.diff(play.radii) > 0.0) and play.radii[0] > 0.0 and play.radii[-1] < half
    np.testing.assert_allclose(stop.radii, half * np.array([0.125, 0.375, 0.625, 0.875]), rtol=1e-12)
    (geometric,) = MemorySpec(*ports, operators=(Play("x", 3, spacing="geometric"),)).resolved(data).operators
    assert isinstance(geometric, Play)
    np.testing.assert_allclose(geometric.radii, half * np.array([0.01, np.sqrt(0.008), 0.8]), rtol=1e-12)
    assert turns.threshold == pytest.approx(2e-3 * np.ptp(u))
    assert spec.resolved(data) == spec
    assert [operator_of(o.plain()) for o in spec.operators] == list(spec.operators)


def test_rows_are_drawn_along_the_way() -> None:
    ports = (X,), (Port("F", "N"),)
    u = np.concatenate([walk(0)[:, :1], np.full((4000, 1), 0.2)])
    spec = MemorySpec(*ports, operators=(Play("x", radii=(0.1,)),))
    rows = spec.table(Dataset(u, u, *ports), rows=200)
    assert np.mean(rows.X[:, 0] == 0.2) < 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Play("x", 0), "count of the plays of 'x' must be 1 or more, got 0"),
        (lambda: Play("x", radii=(0.1, -1.0)), "radii of the plays of 'x' must be positive, got"),
        (
            lambda: Play("x", spacing="odd"),
            "spacing of the plays of 'x' must be one of quantile, even, geometric, got 'odd'",
        ),
        (lambda: Reversals("x", 9), "count of the reversals of 'x' must lie between 1 and 8, got 9"),
        (lambda: Reversals("x", 2, -1.0), "threshold of the reversals of 'x' must be positive, got -1"),
        (lambda: Trail("x", lengths=(1.0, 0.0)), "lengths of the trails of 'x' must be positive, got"),
        (lambda: Trail("x", 0), "count of the trails of 'x' must be 1 or more, got 0"),
        (lambda: MenegottoPinto("x", length=0.0), "length of the bars of 'x' must be positive, got 0.0"),
        (
            lambda: MenegottoPinto("x", (1.0, 0.3)),
            "places of the bars of 'x' must lie between its lift 0.4 and 1 on either side, got",
        ),
        (lambda: Power("v", 0.0), r"exponent of the power of 'v' must lie in \(0, 5\], got 0.0"),
        (lambda: Product("x"), "of of a product must name two signals such as 'x\\*v', got 'x'"),
        (
            lambda: operator_of({"kind": "spring", "of": "x"}),
            "Kind of an operator must be one of bouc_wen, menegotto_pinto, peaks, play, .*'spring'",
        ),
        (
            lambda: operator_of({"kind": "play", "off": "x"}),
            "Settings of the operator 'play' must be those of its class",
        ),
        (lambda: MemorySpec((X,), (V,), operators=(Play("y"),)), "Operator of 'y' must follow one of x, got 'y'"),
        (lambda: MemorySpec((X,), (V,), input_lags=1), "dt of a memory with lags or filters must be given, got None"),
        (lambda: Front((Play("x", radii=(1.0,)),) * 2, (X,)), "Operators must give different features"),
        (
            lambda: MemorySpec((X,), (V,), operators=(Play("x"),)).resolved(
                Dataset(np.zeros((9, 1)), np.zeros(9), [X], [V])
            ),
            "The signal of the plays of 'x' must move in the training runs to choose their radii",
        ),
    ],
)
def test_sentences(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
