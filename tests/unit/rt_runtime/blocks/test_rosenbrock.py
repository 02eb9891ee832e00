"""The linearly implicit block against its numpy twin, its order, its stability, and its refusals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mor import OdeSubstructure, ode
from rt_runtime import Loop, Rosenbrock, Tripped
from rt_runtime.errors import ConfigError
from tests.reference.rosenbrock import ros2

STIFF = 2000.0


def pendulum_rhs(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[0] + 0.5 * np.sin(3.0 * t) - 9.0 * np.sin(x[0]) - 0.4 * x[1]
    dx[2] = -p[0] * (x[2] - np.cos(x[0]))
    y[0] = x[0]
    y[1] = x[2]


def pendulum_jacobian(t, x, u, p, J):
    for i in range(3):
        for j in range(3):
            J[i, j] = 0.0
    J[0, 1] = 1.0
    J[1, 0] = -9.0 * np.cos(x[0])
    J[1, 1] = -0.4
    J[2, 0] = -p[0] * np.sin(x[0])
    J[2, 2] = -p[0]


@cache
def pendulum(*, given: bool = True) -> OdeSubstructure:
    system = ode(
        states=["angle", "rate", "fast"],
        inputs=["torque"],
        outputs=["angle", "fast"],
        parameters={"k": STIFF},
        initial={"angle": 0.5},
        name="pendulum",
    )(pendulum_rhs)
    return OdeSubstructure(system, method="rosenbrock", jacobian=pendulum_jacobian if given else None)


def rhs(t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    dx, y = np.zeros(3), np.zeros(2)
    pendulum_rhs(t, x, u, [STIFF], dx, y)
    return dx


def jacobian(x: np.ndarray) -> np.ndarray:
    J = np.zeros((3, 3))
    pendulum_jacobian(0.0, x, None, [STIFF], J)
    return J


@pytest.mark.parametrize(("hold", "update", "substeps"), [("zoh", "end", 1), ("zoh", "start", 2), ("foh", "start", 3)])
@pytest.mark.parametrize("given", [True, False])
def test_it_steps_as_its_numpy_twin(hold: str, update: str, substeps: int, given: bool) -> None:
    dt, u = 0.01, np.random.default_rng(2).normal(size=(40, 1))
    block = pendulum(given=given).integrated_by("rosenbrock", substeps).block(dt=dt, update=update, hold=hold)
    x, states = np.array([0.5, 0.0, 0.0]), []
    for k in range(40):
        if update == "end":
            states.append(x)
            x = ros2(rhs, jacobian, x, u[k], u[k], k * dt, dt, substeps)
        else:
            if k > 0:
                start = u[k - 1] if hold == "foh" else u[k]
                x = ros2(rhs, jacobian, x, start, u[k], (k - 1) * dt, dt, substeps)
            states.append(x)
    found = np.array([block.step(k * dt, row) for k, row in enumerate(u)])
    np.testing.assert_allclose(found, np.array(states)[:, [0, 2]], rtol=0, atol=1e-12 if given else 2e-6)
    if given:
        np.testing.assert_allclose(block.state, x, atol=1e-12)


def test_it_is_of_second_order_also_beyond_the_explicit_limit() -> None:
    assert pendulum().integrated_by("rk4").largest_step() == pytest.approx(2.785 / STIFF, rel=1e-3)
    exact = pendulum().integrated_by("rk4", 20).simulate(np.zeros((201, 1)), dt=0.01)["angle"]
    errors = []
    for every in (1, 2, 4):  # steps of 20, 10 and 5 times 1 / stiffness
        angle = pendulum().simulate(np.zeros((200 * every + 1, 1)), dt=0.01 / every, every=every)["angle"]
        errors.append(np.abs(angle - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.2)


def test_a_stiff_mode_is_damped_out_at_once() -> None:
    system = ode(states=["x"], outputs=["x"], parameters={"k": 1.0}, initial={"x": 1.0}, name="decay")(decay_rhs)
    part = OdeSubstructure(system, method="rosenbrock").with_parameters({"k": 1e9})
    block = part.block(dt=1.0)
    values = [abs(block.step(k, np.zeros(0))[0]) for k in range(4)]
    assert values[0] == 1.0 and max(values[1:]) < 1e-6


def decay_rhs(t, x, u, p, dx, y):
    dx[0] = -p[0] * x[0]
    y[0] = x[0]


def explode_rhs(t, x, u, p, dx, y):
    dx[0] = np.exp(x[0] * x[0])
    y[0] = 0.0


def test_a_step_that_cannot_be_solved_stops_the_loop_in_words() -> None:
    system = ode(states=["x"], outputs=["x"], initial={"x": 30.0}, name="explode")(explode_rhs)
    loop = Loop(10.0)
    loop.signal("x")
    loop.add("model", OdeSubstructure(system, method="rosenbrock").block(dt=0.1), outputs=["x"])
    with pytest.raises(
        Tripped, match=r"block 'model' could not step: its matrix I - g h J is singular or not finite; take"
    ):
        loop.run(1.0)


def test_a_wrong_jacobian_is_found() -> None:
    def wrong(t, x, u, p, J):
        pass

    with pytest.raises(ConfigError, match=r"Jacobian of substructure 'pendulum' must be the derivative .* row 'angle'"):
        OdeSubstructure(pendulum().system, jacobian=wrong)
    with pytest.raises(
        ConfigError, match=r"Jacobian of substructure 'pendulum' must take \(t, x, u, p, J\), got \(t, x\)"
    ):
        OdeSubstructure(pendulum().system, jacobian=lambda t, x: None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"scales": [1.0, 2.0]}, r"scales of Rosenbrock must have shape \(1\), got \(2,\)"),
        ({"scales": [0.0]}, r"scales of Rosenbrock must be positive, got \[0.0\]"),
        ({"scales": [1.0], "hold": "foh"}, "update of Rosenbrock must be 'start' with hold 'foh', got 'end'"),
        ({"scales": [1.0], "dt": 0.0}, "dt of Rosenbrock must be a positive number, got 0"),
        ({"scales": [1.0], "substeps": 0}, "substeps of Rosenbrock must be a whole number of at least 1, got 0"),
        ({"scales": [1.0], "jacobian": -1}, "jacobian of Rosenbrock must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Rosenbrock(8, **({"n_in": 0, "n_out": 1, "initial": [0.0], "dt": 0.1} | arguments))  # type: ignore[arg-type]


def test_method_and_sizes_of_a_substructure_are_checked() -> None:
    known = "'rk4', 'ab2', 'rosenbrock'"
    with pytest.raises(ConfigError, match=f"method of substructure 'pendulum' must be one of {known}, got 'euler'"):
        pendulum().integrated_by("euler")
    with pytest.raises(
        ConfigError, match="sizes of substructure 'pendulum' names 'q', which must be one of its states"
    ):
        OdeSubstructure(pendulum().system, sizes={"q": 1.0})
