"""Each block against its numpy twin or a closed form."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

from mor import ode
from rt_runtime import Delay, Filter, Gain, Noise, Ode, PythonBlock, StateSpace, Sum, Table
from rt_runtime.blocks.discretise import expm as own_expm
from tests.reference import blocks as twin

RNG = np.random.default_rng(3)
DT = 1 / 256
A = np.array([[0.0, 1.0, 0.0], [-90.0, -2.0, 5.0], [0.0, 0.0, -7.0]])
B = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 2.0]])
C = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
D = np.array([[0.3, 0.0], [0.0, 0.1]])
NONE = np.empty(0)


def drive(block, u: np.ndarray, dt: float = DT) -> np.ndarray:
    return np.array([block.step(k * dt, row) for k, row in enumerate(u)])


def linear(_, x, u):
    return A @ x + B @ u


@pytest.mark.parametrize("scale", [1e-8, 0.1, 3.0, 40.0])
def test_expm_agrees_with_scipy(scale: float) -> None:
    a = scale * (RNG.normal(size=(7, 7)) - 2 * np.eye(7))
    np.testing.assert_allclose(own_expm(a), expm(a), rtol=1e-12, atol=1e-13 * np.abs(expm(a)).max())


def test_zero_order_hold_is_exact_for_a_held_input() -> None:
    u = RNG.normal(size=(200, 2))
    a, b, *_ = signal.cont2discrete((A, B, C, D), DT)
    want = twin.state_space(a, b, C, D, np.zeros(3), u)
    np.testing.assert_allclose(drive(StateSpace(A, B, C, D, dt=DT), u), want, atol=1e-13)


def test_first_order_hold_is_exact_for_a_linear_input() -> None:
    t = np.arange(200) * DT
    u = np.stack([1.0 + 3.0 * t, 2.0 - t], axis=1)  # starts away from zero
    x = np.array([0.1, -0.2, 0.3])
    block = StateSpace(A, B, C, D, dt=DT, method="foh", initial=x)
    want = []
    for k in range(len(t) - 1):
        want.append(C @ x + D @ u[k])
        x = twin.rk4(linear, x, u[k], u[k + 1], t[k], DT, 64)  # much finer than the tick
    np.testing.assert_allclose(drive(block, u[:-1]), np.array(want), atol=1e-11)


@pytest.mark.parametrize("substeps", [1, 3])
def test_linear_rk4_is_the_runge_kutta_step(substeps: int) -> None:
    u = RNG.normal(size=(50, 2))
    x, want = np.zeros(3), []
    for row in u:
        want.append(C @ x + D @ row)
        x = twin.rk4(linear, x, row, row, 0.0, DT, substeps)
    block = StateSpace(A, B, C, D, dt=DT, method="rk4", substeps=substeps)
    np.testing.assert_allclose(drive(block, u), np.array(want), atol=1e-13)
    np.testing.assert_allclose(block.state, x, atol=1e-13)


def test_state_space_that_advances_first() -> None:
    u = RNG.normal(size=(60, 2))
    x0 = np.array([1.0, 0.0, 0.5])
    a, b, *_ = signal.cont2discrete((A, B, C, np.zeros((2, 2))), DT)
    block = StateSpace(A, B, C, dt=DT, initial=x0, update="start")
    np.testing.assert_allclose(drive(block, u), twin.state_space_start(a, b, C, x0, u), atol=1e-13)


def test_discrete_matrices_are_taken_as_they_are() -> None:
    block = StateSpace([[0.5]], [[1.0]], [[1.0]], dt=DT, method="discrete", initial=[4.0])
    np.testing.assert_array_equal(drive(block, np.ones((4, 1)))[:, 0], [4.0, 3.0, 2.5, 2.25])


@pytest.fixture(scope="module")
def pendulum():
    @ode(
        states={"angle": "rad", "speed": "rad/s"},
        inputs={"moment": "Nm"},
        outputs={"angle": "rad", "sum": ""},
        parameters={"stiffness": (30.0, "1/s2"), "damping": (0.4, "1/s")},
        initial={"angle": 0.2},
    )
    def pendulum(t, x, u, p, dx, y):
        dx[0] = x[1]
        dx[1] = u[0] - p[0] * np.sin(x[0]) - p[1] * x[1] + 0.1 * np.cos(t)
        y[0] = x[0]
        y[1] = x[1] + u[0]

    return pendulum


def pendulum_rhs(t, x, u):
    return np.array([x[1], u[0] - 30.0 * np.sin(x[0]) - 0.4 * x[1] + 0.1 * np.cos(t)])


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize(("hold", "update"), [("zoh", "end"), ("zoh", "start"), ("foh", "start")])
def test_ode_is_the_runge_kutta_step(pendulum, substeps: int, hold: str, update: str) -> None:
    u = RNG.normal(size=(80, 1))
    block = pendulum.block(dt=DT, substeps=substeps, hold=hold, update=update)
    x, want = np.array([0.2, 0.0]), []
    for k in range(len(u)):
        if update == "start" and k > 0:
            x = twin.rk4(pendulum_rhs, x, u[k - 1] if hold == "foh" else u[k], u[k], (k - 1) * DT, DT, substeps)
        want.append([x[0], x[1] + u[k, 0]])
        if update == "end":
            x = twin.rk4(pendulum_rhs, x, u[k], u[k], k * DT, DT, substeps)
    np.testing.assert_allclose(drive(block, u), np.array(want), atol=1e-13)
    np.testing.assert_allclose(block.state, x, atol=1e-13)


def test_ode_converges_with_fourth_order() -> None:
    @ode(states=["x", "v"], outputs=["x"])
    def circle(t, x, u, p, dx, y):
        dx[0] = x[1]
        dx[1] = -x[0]
        y[0] = x[0]

    errors = []
    for n in (20, 40, 80):
        block = circle.block(dt=1.0 / n, initial=[1.0, 0.0])
        errors.append(abs(drive(block, np.zeros((n + 1, 0)), 1.0 / n)[-1, 0] - np.cos(1.0)))
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 4.0, atol=0.1)


def test_table_interpolates_and_holds_outside() -> None:
    times = np.cumsum(RNG.uniform(0.01, 1.0, 30))
    values = RNG.normal(size=(30, 2))
    t = np.concatenate([np.linspace(-1.0, times[-1] + 1.0, 500), RNG.uniform(0, times[-1], 100), times])
    block = Table(times, values)
    got = np.array([block.step(x, NONE) for x in t])
    np.testing.assert_allclose(got, twin.table(times, values, t), atol=1e-13)


@pytest.mark.parametrize("steps", [0, 1, 7, 0.25, 3.75])
def test_delay(steps: float) -> None:
    u = RNG.normal(size=40)
    got = drive(Delay(steps, initial=0.7), u[:, None])[:, 0]
    np.testing.assert_allclose(got, twin.delay(u, steps, 0.7), atol=1e-15)


def test_gain_and_sum() -> None:
    k, c = RNG.normal(size=(3, 2)), RNG.normal(size=3)
    u = RNG.normal(size=2)
    np.testing.assert_allclose(Gain(k, offset=c).step(0.0, u), k @ u + c, atol=1e-15)
    np.testing.assert_allclose(Gain(4.0).step(0.0, u[:1]), 4.0 * u[:1])
    np.testing.assert_allclose(Sum("+-+").step(0.0, np.array([1.0, 2.0, 4.0])), [3.0])


def test_filter_agrees_with_scipy_and_with_the_difference_equation() -> None:
    sos = signal.butter(5, 0.2, output="sos")
    u = RNG.normal(size=(300, 2))
    got = drive(Filter(sos, channels=2), u)
    np.testing.assert_allclose(got, signal.sosfilt(sos, u, axis=0), atol=1e-12)
    np.testing.assert_allclose(got[:, 0], twin.sections(sos, u[:, 0]), atol=1e-12)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_noise_is_the_seeded_generator(channels: int) -> None:
    std = [1.0, 2.0, 0.5][:channels]
    block = Noise(std, seed=5)
    got = np.array([block.step(0.0, NONE) for _ in range(50)])
    np.testing.assert_allclose(got, twin.noise(std, 5, 50), rtol=1e-13)


def test_noise_is_gaussian_and_uncorrelated() -> None:
    block = Noise([2.0, 3.0], seed=1)
    x = np.array([block.step(0.0, NONE) for _ in range(40_000)])
    np.testing.assert_allclose(x.std(axis=0), [2.0, 3.0], rtol=0.02)
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=0.05)
    assert abs(np.corrcoef(x.T)[0, 1]) < 0.02
    assert abs(np.corrcoef(x[:-1, 0], x[1:, 0])[0, 1]) < 0.02
    assert abs(((x[:, 0] / 2.0) ** 4).mean() - 3.0) < 0.15


def test_python_block_is_not_for_a_paced_loop() -> None:
    block = PythonBlock(lambda t, u: [t + u[0]], n_in=1, n_out=1)
    assert block.step(2.0, np.array([1.0])) == [3.0]
    assert not block.real_time
    assert Gain(1.0).real_time


def test_ode_keeps_its_function_alive() -> None:
    @ode(states=["x"], outputs=["x"])
    def ramp(t, x, u, p, dx, y):
        dx[0] = 1.0
        y[0] = x[0]

    block = ramp.block(dt=0.5)
    assert isinstance(block, Ode)
    del ramp
    gc.collect()
    np.testing.assert_allclose(drive(block, np.zeros((3, 0)), 0.5)[:, 0], [0.0, 0.5, 1.0])


def test_a_python_block_goes_with_the_object_whose_method_it_calls() -> None:
    class Owner:
        def __init__(self) -> None:
            self.block = PythonBlock(self.step, n_in=0, n_out=1)

        def step(self, t: float, u: object) -> list[float]:
            return [t]

    owner = Owner()
    assert owner.block.step(2.0, np.empty(0)) == [2.0]
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
