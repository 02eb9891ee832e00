"""The two-step explicit block against its numpy twin, its order alone and coupled, its limit, and its refusals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mor import HybridModel, OdeSubstructure, ode
from rt_runtime import AdamsBashforth
from rt_runtime.errors import ConfigError
from tests.reference.adams_bashforth import Ab2


def pendulum_rhs(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[0] + 0.5 * np.sin(3.0 * t) - p[0] * np.sin(x[0]) - 0.4 * x[1] + 0.3 * u[1] * x[0]
    y[0] = x[0]
    y[1] = 2.0 * x[1] + u[1]


@cache
def pendulum() -> OdeSubstructure:
    system = ode(
        states=["angle", "rate"],
        inputs=["torque", "gust"],
        outputs=["angle", "felt"],
        parameters={"g": 9.0},
        initial={"angle": 0.5},
        name="pendulum",
    )(pendulum_rhs)
    return OdeSubstructure(system, method="ab2", direct=("gust",))


def rhs(t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    dx, y = np.zeros(2), np.zeros(2)
    pendulum_rhs(t, x, u, [9.0], dx, y)
    return dx


@pytest.mark.parametrize(
    ("hold", "update", "substeps", "fresh"),
    [
        ("zoh", "end", 1, ()),
        ("zoh", "end", 3, ()),
        ("zoh", "start", 1, ()),
        ("zoh", "start", 2, ("gust",)),
        ("zoh", "start", 1, ("torque", "gust")),
        ("foh", "start", 3, ()),
    ],
)
def test_it_steps_as_its_numpy_twin(hold: str, update: str, substeps: int, fresh: tuple[str, ...]) -> None:
    dt, u = 0.01, np.random.default_rng(2).normal(size=(40, 2))
    part = pendulum().integrated_by("ab2", substeps)
    block = part.block(dt=dt, update=update, hold=hold, fresh=fresh)
    twin, expected = Ab2(rhs, np.array([0.5, 0.0])), []
    taken_before = [name in fresh for name in ("torque", "gust")]
    for k in range(40):
        if update == "start" and k > 0:
            start = u[k - 1] if hold == "foh" else np.where(taken_before, u[k - 1], u[k])
            twin.advance(start, u[k] if hold == "foh" else start, (k - 1) * dt, dt, substeps)
        expected.append([twin.x[0], 2 * twin.x[1] + u[k, 1]])
        if update == "end":
            twin.advance(u[k], u[k], k * dt, dt, substeps)
    for _ in range(2):
        found = np.array([block.step(k * dt, row) for k, row in enumerate(u)])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(block.state, twin.x, atol=1e-13)  # type: ignore[attr-defined]
        block.reset()


def test_it_is_of_second_order() -> None:
    exact = pendulum().integrated_by("rk4", 40).simulate(np.zeros((101, 2)), dt=0.02)["angle"]
    errors = []
    for every in (1, 2, 4, 8):
        angle = pendulum().simulate(np.zeros((100 * every + 1, 2)), dt=0.02 / every, every=every)["angle"]
        errors.append(np.abs(angle - exact).max())
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.15)


def mass_rhs(t, x, u, p, dx, y):
    dx[0] = -3.0 * u[0] - 0.2 * x[0]
    y[0] = x[0]


def coupler_rhs(t, x, u, p, dx, y):
    dx[0] = u[0] - u[1]
    y[0] = 5.0 * np.sin(x[0]) + 0.4 * u[0]
    y[1] = x[0]


def rotor_rhs(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = 8.0 * (u[0] - x[0]) - 0.5 * x[1]
    y[0] = x[1] + 0.1 * u[0]


@cache
def chain(method: str) -> HybridModel:
    """A mass, a spring that both sides wind up and a rotor: two of three blocks advance first, one input is fresh."""
    mass = ode(states=["v"], inputs=["f"], outputs=["v"], initial={"v": 1.0}, name="mass")(mass_rhs)
    coupler = ode(states=["s"], inputs=["v", "w"], outputs=["f", "s"], name="coupler")(coupler_rhs)
    rotor = ode(states=["a", "w"], inputs=["s"], outputs=["w"], name="rotor")(rotor_rhs)
    parts = [
        OdeSubstructure(mass, method=method, direct=()),
        OdeSubstructure(coupler, method=method, direct=("v",)),
        OdeSubstructure(rotor, method=method),
    ]
    return HybridModel("chain", parts, dt=0.01, duration=3.0)


def test_a_hybrid_model_of_such_parts_is_of_second_order() -> None:
    """Held over the tick, as with RK4, the inputs in between would make it one of first order."""
    assert chain("ab2").delays == ()
    exact = chain("ab2").run(dt=1e-2 / 64, every=64)
    for method, order in (("ab2", 2.0), ("rk4", 1.0)):
        runs = [chain(method).run(dt=1e-2 / n, every=n) for n in (1, 2, 4)]
        errors = np.array([[np.abs(run[name] - exact[name]).max() for name in ("v", "f", "w")] for run in runs])
        np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), order, atol=0.15)


def test_a_step_beyond_the_limit_is_refused_in_words() -> None:
    def decay_rhs(t, x, u, p, dx, y):
        dx[0] = -1000.0 * x[0]
        y[0] = x[0]

    part = OdeSubstructure(ode(states=["x"], outputs=["x"], name="decay")(decay_rhs), method="ab2")
    assert part.largest_step() == pytest.approx(1e-3)
    with pytest.raises(
        ConfigError,
        match=r"dt of substructure 'decay' must be at most 0.001 s with 1 sub-steps of AB2, got 0.0025 s; take a smaller "
        "dt or 3 sub-steps",
    ):
        part.block(dt=2.5e-3)
    part.integrated_by("ab2", 3).block(dt=2.5e-3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"hold": "foh"}, "update of AdamsBashforth must be 'start' with hold 'foh', got 'end'"),
        ({"dt": 0.0}, "dt of AdamsBashforth must be a positive number, got 0"),
        ({"substeps": 0}, "substeps of AdamsBashforth must be a whole number of at least 1, got 0"),
        ({"outputs": -1}, "outputs of AdamsBashforth must be a whole number of at least 0, got -1"),
        ({"fresh": [1]}, "fresh of AdamsBashforth must be places of its 1 inputs from 0 on, got 1"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        AdamsBashforth(8, **({"n_in": 1, "n_out": 1, "initial": [0.0], "dt": 0.1} | arguments))  # type: ignore[arg-type]
