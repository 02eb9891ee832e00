"""What every block promises, run against every kind. A new block gets these tests by one line in KINDS."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from mor import OdeSubstructure, ode
from mor.models.multi_axial.loading_box import platform
from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    AdaptiveMpc,
    Delay,
    EnergyWatch,
    Extrapolator,
    Fade,
    Filter,
    ForceTransform,
    ForwardKinematics,
    FromState,
    Gain,
    Horizon,
    Identification,
    InverseKinematics,
    KalmanFilter,
    Loop,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    Mpc,
    Noise,
    PiLead,
    Polynomial,
    PredictionModel,
    Received,
    ResponseWatch,
    StateSpace,
    Table,
    TargetPath,
    TrackingMpc,
    Tunable,
    Tunables,
)

DT = 1e-3
LAG = PredictionModel(np.array([[0.9]]), np.array([[0.1]]), np.array([[1.0]]), np.array([[0.2]]), DT)


@functools.cache
def duffing():
    @ode(states=["x", "v"], inputs=["f"], outputs=["x", "v"])
    def duffing(t, x, u, p, dx, y):
        dx[0] = x[1]
        dx[1] = u[0] - 40.0 * x[0] - 5.0 * x[0] ** 3 - 0.3 * x[1]
        y[0] = x[0]
        y[1] = x[1]

    return duffing


def stiff_duffing():
    part = OdeSubstructure(duffing(), method="rosenbrock", substeps=2, sizes={"x": 1.0, "v": 10.0})
    return part.block(dt=DT)


def cheap_duffing():
    return OdeSubstructure(duffing(), method="ab2", direct=()).block(dt=DT, update="start", fresh=["f"])


@functools.cache
def foreign():
    from tempfile import mkdtemp

    from mor.sources import FmuSubstructure
    from tests.fixtures.fmus import oscillator_fmu

    return FmuSubstructure(oscillator_fmu(Path(mkdtemp()) / "o.fmu"), real_time=True)


KINDS = {
    "fmu": lambda: foreign().block(dt=DT),
    "target_path": lambda: TargetPath(2, step=0.02, dt=DT),
    "received": lambda: Received(2, dt=DT),
    "adams_bashforth": cheap_duffing,
    "rosenbrock": stiff_duffing,
    "state_space": lambda: StateSpace([[0, 1], [-50, -1]], [[0, 0], [1, 2]], np.eye(2), np.ones((2, 2)), dt=DT),
    "state_space_start": lambda: StateSpace([[0, 1], [-50, -1]], [[0], [1]], np.eye(2), dt=DT, update="start"),
    "state_space_foh": lambda: StateSpace([[0, 1], [-50, -1]], [[0], [1]], np.eye(2), dt=DT, method="foh"),
    "ode": lambda: duffing().block(dt=DT, substeps=2),
    "ode_foh": lambda: duffing().block(dt=DT, hold="foh", update="start"),
    "table": lambda: Table([0.0, 0.1, 0.5], [[0.0, 1.0], [2.0, -1.0], [1.0, 1.0]]),
    "delay": lambda: Delay(3.5, channels=2, initial=[0.1, 0.2]),
    "gain": lambda: Gain([[1.0, 2.0, 3.0]], offset=[0.5]),
    "filter": lambda: Filter([[0.1, 0.2, 0.1, 1.0, -0.5, 0.2]], channels=3),
    "tunables": lambda: Tunables([Tunable("gain", 1.0, 0.0, 2.0, rate=5.0)], dt=DT),
    "noise": lambda: Noise([1.0, 2.0], seed=9),
    "extrapolator": lambda: Extrapolator(order=3, spacing=2, leads=[1.0, 2.0], channels=2),
    "kalman": lambda: KalmanFilter(LAG),
    "mpc": lambda: Mpc(
        LAG, Horizon(6, 3.0, 0.1, control=4, bounds=(-1.5, 1.5), rate_limit=0.4, rate_unit="per interval")
    ),
    "adaptive_mpc": lambda: AdaptiveMpc(Identification([-0.9], [0.1]), Horizon(6, 3.0, 0.1, bounds=(-1.5, 1.5)), dt=DT),
    "adaptive_mpc_late": lambda: AdaptiveMpc(
        Identification([-0.9], [0.1]), Horizon(6, 3.0, 0.1, bounds=(-1.5, 1.5)), dt=DT, largest_age=0.0
    ),
    "response_watch": lambda: ResponseWatch(dt=DT, nominal=1.0, learn=0.05),
    "energy_watch": lambda: EnergyWatch(dt=DT),
    "tracking_mpc": lambda: TrackingMpc(LAG, Horizon(6, 3.0, 0.1, bounds=(-1.5, 1.5)), preview=Polynomial(2, 3, 0.5)),
    "tracking_mpc_state": lambda: TrackingMpc(LAG, Horizon(6, 3.0, 0.1), preview=FromState(0.1 * np.ones((6, 1, 2)))),
    "inverse_kinematics": lambda: InverseKinematics(platform(1)),
    "forward_kinematics": lambda: ForwardKinematics(platform(1)),
    "force_transform": lambda: ForceTransform(platform(2)),
    "limb_forces": lambda: ForceTransform(platform(2), inverse=True),
    "fade": lambda: Fade(2, duration=0.02, dt=DT),
    "pi_lead": lambda: PiLead(2.0, 95.0, dt=DT, bounds=(-1.0, 1.0)),
    "model_based": lambda: ModelBasedCompensator(
        [[0.1, 0.2, 0.1, 1.0, -0.5, 0.2]],
        dt=DT,
        feedback=([[0.5]], [[0.1]], [[0.3]], [[0.05]]),
        adaptation=ModelReferenceAdaptation(50.0, 0.1, corner=30.0),
    ),
    "adaptive_compensation": lambda: AdaptiveCompensation(
        AdaptedGain(1.0, 10.0), AdaptedGain(0.01, 5.0, 0.0, 0.1), dt=DT
    ),
}


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


def inputs(block, n: int = 200) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, block.n_in))


def drive(block, u: np.ndarray) -> np.ndarray:
    return np.array([block.step(k * DT, row) for k, row in enumerate(u)])


def test_it_gives_as_many_finite_numbers_as_it_says(kind) -> None:
    block = kind()
    y = drive(block, inputs(block))
    assert y.shape == (200, block.n_out)
    assert np.isfinite(y).all()
    assert block.n_state >= 0
    assert block.fault == 0


def test_reset_brings_back_the_first_run_bit_for_bit(kind) -> None:
    block = kind()
    u = inputs(block)
    first = drive(block, u)
    block.reset()
    np.testing.assert_array_equal(drive(block, u), first)
    np.testing.assert_array_equal(drive(kind(), u), first)


def test_two_blocks_do_not_share_state(kind) -> None:
    one, two = kind(), kind()
    u = inputs(one)
    alone = drive(kind(), u)
    both = np.array([[one.step(k * DT, row), two.step(k * DT, row)] for k, row in enumerate(u)])
    np.testing.assert_array_equal(both[:, 0], alone)
    np.testing.assert_array_equal(both[:, 1], alone)


def test_in_a_loop_it_does_what_it_does_alone(kind) -> None:
    block = kind()
    u = inputs(block)
    loop = Loop(1 / DT)
    names = [f"u{i}" for i in range(block.n_in)]
    for i, name in enumerate(names):
        loop.signal(name)
        loop.add(f"table{i}", Table(np.arange(len(u)) * DT, u[:, i]), outputs=[name])
    outputs = [f"y{i}" for i in range(block.n_out)]
    for name in outputs:
        loop.signal(name)
    loop.add("block", block, inputs=names, outputs=outputs)
    loop.record(outputs)
    record = loop.run(len(u) * DT)
    np.testing.assert_allclose(record.values, drive(kind(), u), rtol=1e-10, atol=1e-12)


def test_it_may_run_in_real_time(kind) -> None:
    assert kind().real_time
