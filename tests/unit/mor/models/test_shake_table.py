"""Shake table with a frame, and the mass on its track, against closed forms, scipy and energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mor.models.shake_table import BRACED_TABLE, GRAVITY, POSITION_TABLE, LoadedTable, two_storey_frame
from mor.models.track_sink import PARAMETERS, frame_with_sink, track_height, track_sink
from rt_runtime import ConfigError, Loop, Table

SINK = {"curvature": 3200.0, "damping": 5.0}


def lagrange(a: float, c: float, m: float = 2.457, g: float = 9.81):
    """Relative acceleration and force of the mass from position, velocity and floor acceleration."""

    def found(x: float, v: float, floor: float) -> tuple[float, float]:
        first, second = 4 * a * x**3, 12 * a * x**2
        relative = (-m * floor - c * v - m * (first * second * v * v + g * first)) / (m * (1 + first**2))
        return relative, m * (relative + floor)

    return found


def middle(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values in the middle of the ticks over which the loop holds them."""
    return np.interp(t + 0.5 * (t[1] - t[0]), t, values)


def test_published_frequencies_and_models() -> None:
    assert np.allclose(two_storey_frame("unbraced").modes().frequencies, [1.729, 4.640], atol=6e-4)
    assert np.allclose(two_storey_frame().modes().frequencies, [1.719, 4.617], atol=6e-4)
    f = np.linspace(0.01, 10.0, 20_000)
    size = np.abs(BRACED_TABLE.response(f)) / GRAVITY
    assert (size.max(), f[size.argmax()]) == pytest.approx((3.841, 7.53), rel=1e-3)
    assert 1e3 * POSITION_TABLE.phase_delay(1.0) == pytest.approx(61.7, abs=0.05)


def test_loaded_table_with_the_braced_frame_is_the_identified_one() -> None:
    s = LoadedTable().with_frame(two_storey_frame("braced"))
    f = np.linspace(0.5, 15.0, 400)
    own = np.array([(s.C[0] @ np.linalg.solve(2j * np.pi * x * np.eye(len(s.A)) - s.A, s.B) + s.D[0])[0] for x in f])
    away = np.abs(own / BRACED_TABLE.response(f) - 1)
    assert np.median(away) < 0.015
    assert away.max() < 0.25  # at the two sharp peaks, which lie 0.5 and 0.8 % beside the published ones


def test_loaded_table_keeps_momentum() -> None:
    """Without its drive the table's spring and damper carry all that moves: m a + sum m_i (a + a_i) = -c v - k x."""
    frame, table = two_storey_frame("unbraced"), LoadedTable()
    s = table.with_frame(frame)
    state = np.random.default_rng(1).normal(size=len(s.A))
    state[-1] = 0.0
    rate = s.A @ state
    accelerations = rate[3:6]
    inertia = table.mass * accelerations[0] + frame.M.diagonal() @ (accelerations[0] + accelerations[1:])
    assert inertia == pytest.approx(-table.damping * state[3] - table.stiffness * state[0])
    assert s.C[0] @ state == pytest.approx(accelerations[0])


def test_mass_on_its_track_against_scipy() -> None:
    t = np.arange(0.0, 6.0, 1e-3)
    floor = 3.0 * np.sin(2 * np.pi * 1.7 * t)
    relative = lagrange(SINK["curvature"], SINK["damping"])

    def rhs(time: float, x: np.ndarray) -> list[float]:
        return [x[1], relative(x[0], x[1], np.interp(time, t, floor))[0]]

    twin = solve_ivp(rhs, (0.0, t[-1]), [0.0, 0.0], t_eval=t, rtol=1e-9, atol=1e-11, max_step=5e-3)
    loop = Loop(1000.0)
    for name, unit in (("floor", "m/s2"), ("x", "m"), ("force", "N")):
        loop.signal(name, unit=unit)
    loop.add("floor", Table(t, middle(t, floor)), outputs=["floor"])
    loop.add("sink", track_sink().block(dt=1e-3, parameters=SINK), inputs=["floor"], outputs=["x", "force"])
    record = loop.run(t[-1])
    n = len(record.time)
    assert np.abs(twin.y[0]).max() > 0.03
    assert np.allclose(record["x"], twin.y[0][:n], atol=2e-4 * np.abs(twin.y[0]).max())
    forces = [relative(x, v, a)[1] for x, v, a in zip(*twin.y, floor, strict=True)]
    assert np.abs(record["force"]).max() == pytest.approx(np.abs(forces).max(), rel=5e-3)


def test_mass_keeps_its_energy_without_damping() -> None:
    block = track_sink().block(dt=1e-4, parameters={"curvature": 3200.0, "damping": 0.0}, initial=[0.05, 0.0])
    m, g = PARAMETERS[0].value, PARAMETERS[3].value

    def energy(x: float, v: float) -> float:
        slope = 4 * 3200.0 * x**3
        return 0.5 * m * (1 + slope**2) * v**2 + m * g * float(track_height(np.array(x), 3200.0))

    start = energy(0.05, 0.0)
    for _ in range(20_000):
        block.step(0.0, np.zeros(1))
    assert energy(*block.state) == pytest.approx(start, rel=1e-6)


def test_undivided_frame_against_scipy() -> None:
    frame = two_storey_frame()
    t = np.arange(0.0, 5.0, 1e-3)
    ground = 1.0 * np.sin(2 * np.pi * 1.6 * t) * np.exp(-0.3 * t)
    a, c, m = SINK["curvature"], SINK["damping"], 2.457

    def rhs(time: float, s: np.ndarray) -> np.ndarray:
        """Three unknown accelerations from one linear system, without elimination by hand."""
        x, v, y, w = s[:2], s[2:4], s[4], s[5]
        first, second = 4 * a * y**3, 12 * a * y**2
        r = frame.C @ v + frame.K @ x
        pull = c * w + m * (first * second * w * w + 9.81 * first)
        A = np.array([
            [frame.M[0, 0], 0.0, 0.0],
            [0.0, frame.M[1, 1], -m * first**2],
            [0.0, m, m * (1 + first**2)],
        ])  # fmt: skip
        floor = np.linalg.solve(A, [-r[0], -r[1] + pull, -pull])
        here = np.interp(time, t, ground)
        return np.r_[v, floor[0] - here, floor[1] - here, w, floor[2]]

    twin = solve_ivp(rhs, (0.0, t[-1]), np.zeros(6), t_eval=t, rtol=1e-9, atol=1e-11, max_step=5e-3)
    loop = Loop(1000.0)
    for name, unit in (("g", "m/s2"), ("x1", "m"), ("x2", "m"), ("x", "m"), ("a2", "m/s2")):
        loop.signal(name, unit=unit)
    loop.add("g", Table(t, middle(t, ground)), outputs=["g"])
    loop.add("frame", frame_with_sink(frame, SINK).block(dt=1e-3), inputs=["g"], outputs=["x1", "x2", "x", "a2"])
    record = loop.run(t[-1])
    n = len(record.time)
    for name, row in (("x1", 0), ("x2", 1), ("x", 4)):
        assert np.allclose(record[name], twin.y[row][:n], atol=5e-4 * np.abs(twin.y[row]).max()), name


def test_bad_input_gets_a_sentence() -> None:
    with pytest.raises(ConfigError, match="kind of two_storey_frame must be one of 'identified', 'braced', 'unbraced'"):
        two_storey_frame("welded")
    with pytest.raises(ConfigError, match="mass of LoadedTable must be a positive number"):
        LoadedTable(mass=0.0)
    from mor.models.frame import shear_frame

    with pytest.raises(ConfigError, match=r"frame of frame_with_sink must have two floors .* got 3 floors"):
        frame_with_sink(shear_frame([1.0] * 3, [1.0] * 3))
    with pytest.raises(ConfigError, match=r"'curvature'"):
        frame_with_sink(two_storey_frame(), {"curvature": -1.0})
