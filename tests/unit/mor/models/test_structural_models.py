"""Pendulum, dampers, hysteresis and plate: energy balances, closed forms, published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special

from mor.compile.ode import OdeSystem
from mor.excitation import pulse_acceleration
from mor.models.actuators import PENDULUM_HYDRAULIC
from mor.models.bouc_wen import bouc_wen, bouc_wen_oscillator
from mor.models.cart_pendulum import (
    PARAMETERS,
    cart_pendulum,
    cart_pendulum_energy,
    cart_pendulum_rhs,
    linearised,
    pendulum,
    pendulum_rhs,
)
from mor.models.mr_damper import ARTICLE_FRICTION, mr_damper, semi_active_damper
from mor.models.plate_strip import (
    nonlinear_plate_strip,
    plate_partitions,
    plate_strip,
    plate_strip_energy,
    plate_strip_rhs,
)
from rt_runtime import Loop, Table

RATE = 4096.0


def run(system: OdeSystem, duration: float, inputs=None, parameters=None, initial=None, rate=RATE):  # type: ignore[no-untyped-def]
    """States cannot be recorded, outputs can: return {output: history}; inputs are functions of time."""
    loop = Loop(rate)
    t = np.arange(round(duration * rate) + 1) / rate
    names = [f"in_{port.name}" for port in system.inputs]
    for name in (*names, *[f"out_{port.name}" for port in system.outputs]):
        loop.signal(name)
    if names:
        values = np.column_stack([(inputs or {}).get(p.name, np.zeros_like)(t) for p in system.inputs])
        loop.add("u", Table(t, values), outputs=names)
    block = system.block(dt=1 / rate, parameters=parameters, initial=initial)
    loop.add("f", block, inputs=names, outputs=[f"out_{port.name}" for port in system.outputs])
    record = loop.run(duration)
    return {port.name: record[f"out_{port.name}"] for port in system.outputs} | {"time": record.time}


FREE = {"rail_friction": 0.0, "pivot_friction": 0.0}


def states(rhs, n: int, p: np.ndarray, x0, t: np.ndarray, u=(0.0,)) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Integrate a right-hand side by scipy, tightly: states (len(t), n)."""
    dx, y = np.zeros(n), np.zeros(8)

    def slope(time: float, x: np.ndarray) -> np.ndarray:
        rhs(time, x, np.asarray(u, float), p, dx, y)
        return dx.copy()

    return integrate.solve_ivp(slope, (0, t[-1]), x0, t_eval=t, rtol=1e-11, atol=1e-13, method="DOP853").y.T


def pendulum_energy(z: np.ndarray, p: np.ndarray) -> np.ndarray:
    return p[1] * (0.5 * (p[2] * z[:, 1]) ** 2 + p[5] * p[2] * (1 - np.cos(z[:, 0])))


def spring_energy(z: np.ndarray, p: np.ndarray) -> np.ndarray:
    return 0.5 * p[6] * z[:, 1] ** 2 + 0.5 * p[0] * z[:, 0] ** 2


CONSERVATIVE = {
    "cart_pendulum": (cart_pendulum, FREE, [0.1, 0.2, 2.0, -1.0], cart_pendulum_energy),
    "pendulum": (pendulum, FREE, [2.5, 0.0], pendulum_energy),
    "plate_strip": (nonlinear_plate_strip, {"dashpot": 0.0}, [0.05, -0.03, 0.0, 0.2, 0.1, 0.0], plate_strip_energy),
    "bouc_wen_oscillator": (bouc_wen_oscillator, {"alpha": 1.0}, [0.01, 0.1, 0.0], spring_energy),
}


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_compiled_conservative_models_keep_their_energy_in_the_loop(name: str) -> None:
    """RK4 at 4096 Hz, 2 s, every state of every tick."""
    make, parameters, start, energy_of = CONSERVATIVE[name]
    system = make()
    block = system.block(dt=1 / RATE, parameters=parameters, initial=start)
    rest = np.zeros(len(system.inputs))
    z = []
    for k in range(8192):
        z.append(np.array(block.state))
        block.step(k / RATE, rest)
    energy = energy_of(np.array(z), system.parameter_values(parameters))
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_frictionless_cart_and_pendulum_keep_their_energy() -> None:
    p = np.array([q.value for q in PARAMETERS])
    p[3:5] = 0.0
    x0 = [0.1, 0.2, 2.0, -1.0]
    z = states(cart_pendulum_rhs, 4, p, x0, np.linspace(0, 10, 200))
    energy = cart_pendulum_energy(z, p)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    momentum = (p[0] + p[1]) * z[:, 1] + p[1] * p[2] * z[:, 3] * np.cos(z[:, 2])
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-8)


def test_cart_and_pendulum_in_the_loop_keep_their_energy() -> None:
    """Energy from the outputs of the compiled model: the pull of the pendulum does the work the cart gains."""
    got = run(cart_pendulum(), 20.0, parameters=FREE, initial=[0.0, 0.0, 1.5, 0.0])
    x, v, theta = got["displacement"], got["velocity"], got["angle"]
    p = np.array([q.value for q in PARAMETERS])
    omega = -(p[0] + p[1]) * v / (p[1] * p[2] * np.cos(theta))  # no force: the momentum stays zero
    fine = np.abs(np.cos(theta)) > 0.2
    energy = cart_pendulum_energy(np.column_stack([x, v, theta, omega]), p)[fine]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)
    gained = 0.5 * p[0] * v**2
    work = np.concatenate([[0.0], np.cumsum(0.5 * (got["reaction"][1:] + got["reaction"][:-1]) * np.diff(x))])
    np.testing.assert_allclose(work, gained, atol=1e-5 * gained.max())


def test_pendulum_period_is_the_elliptic_integral() -> None:
    start = 1.2
    got = run(pendulum(), 6.0, parameters=FREE, initial=[start, 0.0])
    crossings = np.flatnonzero((got["angle"][:-1] > 0) & (got["angle"][1:] <= 0))
    share = got["angle"][crossings] / (got["angle"][crossings] - got["angle"][crossings + 1])
    times = (crossings + share) / RATE
    exact = 4 * np.sqrt(0.7 / 9.81) * special.ellipk(np.sin(start / 2) ** 2)
    np.testing.assert_allclose(np.diff(times), exact, rtol=1e-6)


def test_pendulum_on_the_moving_cart_pulls_as_the_whole_does() -> None:
    """The pivot acceleration of the whole, fed to the pendulum alone, gives the same angle acceleration and pull."""
    p = np.array([q.value for q in PARAMETERS])
    rng = np.random.default_rng(3)
    for _ in range(20):
        x, f = rng.standard_normal(4), rng.standard_normal(1)
        dx, y, dq, yq = np.zeros(4), np.zeros(4), np.zeros(2), np.zeros(2)
        cart_pendulum_rhs(0.0, x, f, p, dx, y)
        pendulum_rhs(0.0, x[2:], dx[1:2], p, dq, yq)
        np.testing.assert_allclose([dq[1], yq[1]], [dx[3], y[3]], rtol=1e-10)


def test_linearised_pendulum_has_the_published_and_the_physical_numbers() -> None:
    printed, physical = linearised(printed_sign=True), linearised()
    np.testing.assert_allclose(printed.numerator, [0.5, 0.0007823, 8.058], rtol=1e-4)
    np.testing.assert_allclose(printed.denominator, [1.0, 0.001963, 15.07, 0.007, 0.0], rtol=2e-3)
    assert physical.numerator[-1] == pytest.approx(7.007, abs=5e-4)
    x, dx, y = np.zeros(4), np.zeros(4), np.zeros(4)
    p = np.array([q.value for q in PARAMETERS])
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    for j in range(4):
        x[:] = 0.0
        x[j] = 1e-6
        cart_pendulum_rhs(0.0, x, np.zeros(1), p, dx, y)
        A[:, j] = dx / 1e-6
    cart_pendulum_rhs(0.0, np.zeros(4), np.ones(1), p, dx, y)
    B[:, 0] = dx
    s = 2j * np.pi * 0.4
    assert np.linalg.solve(s * np.eye(4) - A, B)[0, 0] == pytest.approx(physical.response([0.4])[0], rel=1e-6)


def test_hydraulic_cylinder_under_the_pendulum() -> None:
    plant = PENDULUM_HYDRAULIC.around(linearised(printed_sign=True))
    assert plant.denominator.size == 8 and plant.dc_gain == pytest.approx(1.0261)
    assert plant.phase_delay(5.0) == pytest.approx(3.41e-3, abs=2e-5)
    np.testing.assert_allclose(sorted(np.abs(plant.poles))[-1], np.hypot(43.6, 576.6), rtol=1e-3)


def test_damper_at_constant_velocity_in_closed_form() -> None:
    """W = 1 - exp(-rho v t): the dry friction builds up over 1 / rho metres."""
    v, voltage = 0.05, 1.5
    got = run(
        mr_damper(), 0.05, {"velocity": lambda t: np.full_like(t, v), "voltage": lambda t: np.full_like(t, voltage)}
    )
    W = 1 - np.exp(-4795.0 * v * got["time"])
    expected = (978.0 + 4075.0 * voltage) * v + (60.11 + 344.78 * voltage) * W
    np.testing.assert_allclose(got["force"], expected, rtol=1e-7)


def test_damper_dissipates_and_its_presets_differ() -> None:
    drive = {"velocity": lambda t: 0.1 * np.cos(20 * t), "voltage": lambda t: np.full_like(t, 2.0)}
    got = run(mr_damper(), 2.0, drive)
    velocity = 0.1 * np.cos(20 * got["time"])
    power = got["force"] * velocity
    assert np.cumsum(power).min() >= 0 and power.mean() > 0
    assert np.abs(got["force"]).max() == pytest.approx((978 + 8150) * 0.1 + 60.11 + 689.56, rel=1e-3)
    article = run(mr_damper(), 2.0, drive, parameters=ARTICLE_FRICTION)
    assert np.abs(article["force"]).max() == pytest.approx((978 + 8150) * 0.1 + 160.11 + 1001.56, rel=1e-3)


def test_bang_bang_voltage_follows_the_target() -> None:
    w = 10.0
    drive = {
        "velocity": lambda t: 0.1 * np.cos(w * t),
        "target": lambda t: np.sin(w * t),
        "target_velocity": lambda t: np.cos(w * t),
    }
    got = run(semi_active_damper(), 1.0, drive, parameters={"v_min": 0.5, "v_max": 1.5})
    away = np.sin(w * got["time"]) * np.cos(w * got["time"]) > 0
    np.testing.assert_array_equal(got["voltage"], np.where(away, 1.5, 0.5))
    fixed = run(mr_damper(), 1.0, drive | {"voltage": lambda t: np.where(np.sin(2 * w * t) > 0, 1.5, 0.5)})
    np.testing.assert_allclose(got["force"], fixed["force"], rtol=1e-12)


def test_hysteresis_first_loading_in_closed_form() -> None:
    """n = 1, z and v positive: dz/dx = A - (beta + gamma) z."""
    v = 0.02
    got = run(bouc_wen(), 2.0, {"displacement": lambda t: v * t, "velocity": lambda t: np.full_like(t, v)})
    x = v * got["time"]
    z = (1 - np.exp(-200.0 * x)) / 200.0
    np.testing.assert_allclose(got["force"], 1e6 * (0.1 * x + 0.9 * z), rtol=1e-8)


@pytest.mark.parametrize("n", [1.0, 2.0, 3.5])
def test_hysteresis_is_bounded_and_dissipates_each_cycle(n: float) -> None:
    w, size = 2 * np.pi, 0.05
    scale = 200.0**n / 200.0  # the same ultimate z = 5 mm for every n
    parameters = {"alpha": 0.0, "n": n, "beta": 100.0 * scale, "gamma": 100.0 * scale}
    drive = {"displacement": lambda t: size * np.sin(w * t), "velocity": lambda t: size * w * np.cos(w * t)}
    got = run(bouc_wen(), 3.0, drive, parameters=parameters)
    assert np.abs(got["force"]).max() == pytest.approx(1e6 * 0.005, rel=2e-3)
    x = size * np.sin(w * got["time"])
    work = np.array([integrate.trapezoid(got["force"][i : i + 4097], x[i : i + 4097]) for i in (4096, 8190)])
    np.testing.assert_allclose(work[0], work[1], rtol=1e-3)
    ideal = 4 * 1e6 * 0.005 * (size - 0.005)  # an elastic-plastic loop, which large n comes close to
    assert 0.8 * ideal < work[0] < 1.15 * ideal


def test_linear_limit_of_the_hysteretic_oscillator_keeps_its_energy() -> None:
    """alpha = 1: a linear spring, period 2 pi sqrt(m / k)."""
    got = run(bouc_wen_oscillator(), 5.0, parameters={"alpha": 1.0}, initial=[0.01, 0.0, 0.0], rate=8192.0)
    energy = 0.5 * 1000.0 * got["velocity"] ** 2 + 0.5 * 1e6 * got["displacement"] ** 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)
    np.testing.assert_allclose(got["displacement"], 0.01 * np.cos(np.sqrt(1000.0) * got["time"]), atol=1e-8)


def test_hysteretic_oscillator_balances_its_energy() -> None:
    """Input work = kinetic + work of the force, over a ground motion."""
    ground = {"ground_acceleration": lambda t: 3.0 * np.sin(25.0 * t)}
    got = run(bouc_wen_oscillator(), 4.0, ground, rate=16384.0)
    a = 3.0 * np.sin(25.0 * got["time"])
    v = got["velocity"]
    supplied = integrate.cumulative_trapezoid(-1000.0 * a * v, got["time"], initial=0)
    taken = integrate.cumulative_trapezoid(got["force"] * v, got["time"], initial=0)
    kinetic = 0.5 * 1000.0 * v**2
    np.testing.assert_allclose(supplied, taken + kinetic, atol=2e-3 * np.abs(supplied).max())


def plate_parameters(k: float) -> np.ndarray:
    _, strip = plate_partitions()
    assert strip.n == 3
    system = nonlinear_plate_strip()
    return system.parameter_values({"k_1": k, "k_2": k})


@pytest.mark.parametrize(("spring", "period"), [(20.0, 0.6825), (120.0, 0.4497)])
def test_plate_periods(spring: float, period: float) -> None:
    modes = plate_strip(plate_parameters(spring)).modes()
    assert 1 / modes.frequencies[0] == pytest.approx(period, abs=1e-4)
    assert modes.frequencies[-1] == pytest.approx(10.4, abs=0.05)
    assert modes.ratios[-1] == pytest.approx(0.115, abs=1e-3)


def test_plate_matrices_are_those_of_the_derivation() -> None:
    _, strip = plate_partitions()
    np.testing.assert_allclose(strip.K[:2, :2], [[113.48, 56.74], [56.74, 113.48]], rtol=1e-4)
    assert strip.K[2, 2] == pytest.approx(8.511e7, rel=1e-4)
    np.testing.assert_allclose(strip.M[0, :2], [3.105e-3, -2.329e-3], rtol=1e-3)
    assert strip.M[2, 2] == pytest.approx(0.492, abs=5e-4)
    np.testing.assert_allclose(strip.ground_mass, [0.0578, -0.0578, 0.0], atol=1e-5)


def test_nonlinear_plate_is_the_linear_one_for_small_motion() -> None:
    p = plate_parameters(70.0)
    structure = plate_strip(p)
    A = structure.state_matrix()
    dx, y = np.zeros(6), np.zeros(6)
    columns = []
    for j in range(6):
        x = np.zeros(6)
        x[j] = 1e-9
        plate_strip_rhs(0.0, x, np.zeros(1), p, dx, y)
        columns.append(dx / 1e-9)
    np.testing.assert_allclose(np.column_stack(columns), A, rtol=1e-6, atol=1e-6)
    plate_strip_rhs(0.0, np.zeros(6), np.ones(1), p, dx, y)
    np.testing.assert_allclose(dx[3:], -np.linalg.solve(structure.M, structure.ground_mass), rtol=1e-12)


def test_undamped_nonlinear_plate_keeps_its_energy() -> None:
    p = plate_parameters(70.0)
    p[9] = 0.0
    x0 = [0.05, -0.03, 0.0, 0.2, 0.1, 0.0]
    z = states(plate_strip_rhs, 6, p, x0, np.linspace(0, 4, 100))
    energy = plate_strip_energy(z, p)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    system = nonlinear_plate_strip()
    got = run(system, 4.0, parameters={"dashpot": 0.0}, initial=x0)
    np.testing.assert_allclose(got["rotation_1"][-1], states(plate_strip_rhs, 6, p, x0, got["time"])[-1, 0], rtol=1e-5)


def test_sample_run_of_the_sensitivity_study() -> None:
    """K = 70 Nm/rad, pulse of 2 m/s and 1.25 s: 6.3e-3 rad and 0.355 Nm at most."""
    pulse = {"ground_acceleration": lambda t: pulse_acceleration(t, peak_velocity=2.0, period=1.25)}
    got = run(nonlinear_plate_strip(), 6.5, pulse, rate=1000.0)
    assert np.abs(got["rotation_1"]).max() == pytest.approx(6.3e-3, abs=5e-5)
    assert np.abs(got["moment_1"]).max() == pytest.approx(0.355, abs=3e-3)
