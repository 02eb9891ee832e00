"""Numbers held with their inputs: the same results as without them, in every method, and refusals in words."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from mor import Held, OdeSubstructure, ode
from mor.models.motorcycle.hydraulic_brake import brake, brake_rhs, friction_of_speed
from rt_runtime import ConfigError

PORTS = {"states": {"x": "m"}, "inputs": {"u": "m", "w": "rad/s"}, "outputs": {"y": "m"}}
PARAMETERS = {"rate": (3.0, "1/s", 0.1, 10.0)}


def decay(t, x, u, p, dx, y):
    dx.x = p.rate * (u.grip * u.u - x.x)
    y.y = x.x + u.grip


def grip(u, p, h):
    h.grip = math.exp(-p.rate * u.w * u.w)


def whole(t, x, u, p, dx, y):
    grip = math.exp(-p.rate * u.w * u.w)
    dx.x = p.rate * (grip * u.u - x.x)
    y.y = x.x + grip


HELD = Held(("grip",), grip)


def systems():
    return (
        ode(**PORTS, parameters=PARAMETERS, held=HELD, name="decay")(decay),
        ode(**PORTS, parameters=PARAMETERS, name="decay")(whole),
    )


@pytest.mark.parametrize(("method", "substeps"), [("rk4", 3), ("ab2", 1), ("rosenbrock", 2)])
@pytest.mark.parametrize("hold", ["zoh", "foh"])
def test_every_method_gives_the_bits_of_the_plain_right_hand_side(method: str, substeps: int, hold: str) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 2))
    runs = [
        OdeSubstructure(system, method=method, substeps=substeps).simulate(
            rows, dt=0.01, hold=hold, parameters={"rate": 2.0}
        )
        for system in systems()
    ]
    np.testing.assert_array_equal(runs[0]["y"], runs[1]["y"])


def test_points_slopes_and_copies_see_what_is_held() -> None:
    with_held, plain = systems()
    for system in (with_held, pickle.loads(pickle.dumps(with_held))):
        pair = (system.evaluate(0.0, [0.2], [1.0, 0.5]), plain.evaluate(0.0, [0.2], [1.0, 0.5]))
        for found, expected in zip(*pair, strict=True):
            np.testing.assert_array_equal(found, expected)
    u = np.array([1.0, 0.5])
    np.testing.assert_array_equal(*(system.block(dt=0.01).step(0.0, u) for system in (with_held, plain)))
    parts = [OdeSubstructure(system, name="a") for system in (with_held, plain)]
    np.testing.assert_array_equal(parts[0].jacobian([0.2], [1.0, 0.5]), parts[1].jacobian([0.2], [1.0, 0.5]))
    changed = ode(**PORTS, parameters=PARAMETERS, held=Held(("grip",), softer), name="decay")(decay)
    assert OdeSubstructure(changed, name="a").identity() != parts[0].identity()


def softer(u, p, h):
    h.grip = math.exp(-0.5 * p.rate * u.w * u.w)


def unwritten(u, p, h):
    if u.w > 0.0:
        h.grip = 1.0


def beyond(u, p, h):
    h[0] = 1.0
    h[1] = 2.0


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (Held(("u",), grip), "held of ode 'decay' must have names of its own, got 'u', which is an input"),
        (Held((), grip), "held of ode 'decay' must name at least one number, got none"),
        (Held(("grip",), unwritten), "held of ode 'decay'.* must be written at every call|must not depend on"),
        (Held(("grip",), beyond), "held of ode 'decay'"),
    ],
)
def test_what_cannot_be_held_is_refused(held: Held, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ode(**PORTS, parameters=PARAMETERS, held=held, name="decay")(decay)


def test_the_brake_is_its_equations_with_the_friction_asked_once_a_tick() -> None:
    """RK4 in Python with exp and tanh in every evaluation: the torque of the compiled brake to rounding."""
    part = brake("front")
    p = part.system.numbers([q.value for q in part.parameters])
    t = 1e-4 * np.arange(600)
    rows = np.column_stack([np.minimum(2000.0 * t, 50.0), 300.0 - 900.0 * t])

    def f(x, u):
        held, dx, y = np.zeros(3), np.zeros(8), np.zeros(1)
        friction_of_speed(u, p, held)
        brake_rhs(0.0, x, np.concatenate([u, held]), p, dx, y)
        return dx, y[0]

    x, h, torque = part.initial(), 1e-4 / part.substeps, []
    for u in rows:
        torque.append(f(x, u)[1])
        for _ in range(part.substeps):
            k1 = f(x, u)[0]
            k2 = f(x + 0.5 * h * k1, u)[0]
            k3 = f(x + 0.5 * h * k2, u)[0]
            k4 = f(x + h * k3, u)[0]
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    found = part.simulate(rows, dt=1e-4)["tau_fw"]
    assert np.max(torque) > 10.0
    np.testing.assert_allclose(found, torque, rtol=0.0, atol=1e-9 * np.max(torque))
