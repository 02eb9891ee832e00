"""Newmark matrices, previews from the numerical state, and what is said of a controller before it runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import dlsim

from mor import design_report, model_preview, newmark_matrices, prediction_model
from mor.dynamics.control_design import inverse_with_low_pass, low_pass, lqg_feedback
from mor.dynamics.structure import LinearStructure
from mor.dynamics.tracking_design import coupling_db, hybrid_problems, hybrid_radius, parallel
from mor.dynamics.transfer import StateSpaceMatrices
from mor.models.multi_axial.loading_box import actuators
from rt_runtime import (
    ConfigError,
    Horizon,
    Loop,
    ModelBasedCompensator,
    Polynomial,
    StateSpace,
    TrackingMpc,
    previous,
)

DT = 1e-3
PLANTS = list(actuators(1).values())


def controller(plant, *, disturbance_gain=1e-7, prediction=30, lead=0.5):
    model = prediction_model(plant, DT, input_variance=1e-10, noise_variance=1e-10, disturbance_gain=disturbance_gain)
    return TrackingMpc(model, Horizon(prediction, 1.0, 0.003, control=10), preview=Polynomial(3, 12, lead))


def test_newmark_steps_are_those_of_the_rule() -> None:
    M, C = np.diag([2.0, 1.0]), np.array([[0.4, -0.1], [-0.1, 0.3]])
    K = np.array([[400.0, -150.0], [-150.0, 150.0]])
    h = 0.01
    rule = newmark_matrices(M, C, K, np.eye(2), h)
    x, v, a = np.zeros(2), np.zeros(2), np.zeros(2)
    state = np.zeros(6)
    for k in range(50):
        u = np.array([np.sin(0.3 * k), 1.0])
        left = 4 / h**2 * M + 2 / h * C + K  # the displacement form of the same rule
        right = u + M @ (4 / h**2 * x + 4 / h * v + a) + C @ (2 / h * x + v)
        new = np.linalg.solve(left, right)
        speed = 2 / h * (new - x) - v
        a = 4 / h**2 * (new - x) - 4 / h * v - a
        x, v = new, speed
        state = rule.C @ state + rule.D @ u
        assert np.allclose(state, np.r_[x, v, a], atol=1e-9 * max(1.0, np.abs(a).max()))


def test_newmark_takes_a_massless_degree_of_freedom_as_static_condensation() -> None:
    K = np.array([[300.0, -100.0], [-100.0, 200.0]])
    whole = newmark_matrices(np.diag([1.0, 0.0]), np.zeros((2, 2)), K, np.eye(2)[:, :1], 0.01)
    small = newmark_matrices([[1.0]], [[0.0]], [[300.0 - 100.0**2 / 200.0]], [[1.0]], 0.01)
    x, y = np.zeros(6), np.zeros(3)
    for k in range(200):
        x, y = whole.C @ x + whole.D @ [np.cos(0.1 * k)], small.C @ y + small.D @ [np.cos(0.1 * k)]
        assert x[0] == pytest.approx(y[0], abs=1e-12)
    with pytest.raises(ConfigError, match=r"must hold every degree of freedom: .* the weakest is number 1"):
        newmark_matrices(np.diag([1.0, 0.0]), np.zeros((2, 2)), np.diag([1.0, 0.0]), np.eye(2), 0.01)


def oscillator() -> LinearStructure:
    return LinearStructure([[100.0]], [[60.0]], [[2.0e4]], ground_mass=[100.0])


def numerical(dt: float) -> StateSpaceMatrices:
    part = oscillator().state_space([0])
    signed = StateSpaceMatrices(part.A, part.B * [1.0, -1.0], part.C[:1], np.zeros((1, 2)))
    return signed.discretise(dt) if dt else signed


@pytest.mark.parametrize("dt", [0.0, DT])
def test_preview_of_the_state_is_the_free_motion_with_the_specimen(dt: float) -> None:
    preview = model_preview(numerical(dt), stiffness=[[1.5e4]], force_inputs=[1], steps=30, dt=DT, lead=0.5)
    closed = LinearStructure([[100.0]], [[60.0]], [[3.5e4]]).state_space()
    fine = StateSpaceMatrices(closed.A, closed.B, closed.C[:1], closed.D[:1]).discretise(DT / 2)
    x = x0 = np.array([0.01, -0.2])
    path = []
    for _ in range(62):
        path.append(x[0])
        x = fine.A @ x
    expected = np.array(path)[3::2][:30] - x0[0]
    tolerance = 1e-12 if dt == 0 else 2e-5  # a sampled part holds the force over each step
    assert np.abs((preview.change @ x0)[:, 0] - expected).max() < tolerance


def test_report_tells_noise_and_delay_as_a_simulation_does() -> None:
    plant = PLANTS[0]
    mpc = controller(plant)
    report = design_report(mpc, plant.discretise(DT)).check()
    assert report.radius < 1
    assert report.coupling_db == -np.inf
    assert 2 < report.noise_gain < 15
    part = plant.discretise(DT)
    rng, x, u, sent = np.random.default_rng(0), np.zeros(6), 0.0, []
    for noise in 1e-5 * rng.standard_normal(20_000):
        u = mpc.step(0.0, np.array([0.0, float((part.C @ x)[0]) + noise]))[0]
        x = part.A @ x + part.B[:, 0] * u
        sent.append(u)
    assert np.std(sent[1000:]) / 1e-5 == pytest.approx(report.noise_gain, rel=0.1)
    assert report.delay_margin >= 0.005


def test_report_refuses_what_must_not_run_and_warns_of_the_rest() -> None:
    plant = PLANTS[0]
    loud = design_report(controller(plant, disturbance_gain=1e-4), plant.discretise(DT))
    assert loud.noise_gain > 100
    with pytest.raises(ConfigError, match=r"must not run: noise of the sensors is amplified .* times .limit 100"):
        loud.check()
    warned = design_report(controller(plant, disturbance_gain=2e-6), plant.discretise(DT))
    assert 50 < warned.noise_gain < 100
    assert "more than 50" in warned.advice[0]
    short = design_report(controller(plant, prediction=10), plant.discretise(DT))
    with pytest.raises(ConfigError, match="must not run: the loop is unstable, its largest pole"):
        short.check()
    with pytest.raises(ConfigError, match="must have 1 inputs and 1 outputs as the controllers, got 2 and 2"):
        design_report(controller(plant), parallel(PLANTS[:2]))


@pytest.mark.parametrize(("weight", "least", "most"), [(1.0, 0.4, 2.6), (100.0, 400.0, 2400.0)])
def test_noise_of_model_based_compensation_is_that_of_the_build_plan(weight: float, least: float, most: float) -> None:
    """mMBC with a low-pass of 50 Hz on six axes: (1, 1) is usable, (100, 100) makes metres of 0.01 mm."""
    feedback = lqg_feedback(low_pass(6, 50.0), error_weight=weight, process_noise=weight, dt=DT)
    gains = []
    for plant in PLANTS:
        block = ModelBasedCompensator(
            inverse_with_low_pass(plant, order=6, corner=50.0, dt=DT), dt=DT, feedback=feedback
        )
        report = design_report(block, plant.discretise(DT))
        gains.append(report.noise_gain)
        part, x, sent = plant.discretise(DT), np.zeros(6), []
    assert least * 0.8 < min(gains) < max(gains) < most * 1.2
    assert bool(report.problems) == (weight > 1)
    rng = np.random.default_rng(0)
    for noise in 1e-5 * rng.standard_normal(20_000):  # the last axis, by simulation
        u = block.step(0.0, np.array([0.0, float((part.C @ x)[0]) + noise]))[0]
        x = part.A @ x + part.B[:, 0] * u
        sent.append(u)
    assert np.std(sent[1000:]) / 1e-5 == pytest.approx(gains[-1], rel=0.1)


def test_an_unstable_test_is_named_with_its_plant() -> None:
    plant, part = PLANTS[0], numerical(DT)
    plants = {"the identified actuator": plant.discretise(DT), "a slow one": (plant * 0.5).discretise(DT)}
    arguments = {"stiffness": [[4.0e6]], "force_inputs": [1], "to_strokes": [[1.0]]}
    found = hybrid_problems(controller(plant, lead=0.0), plants, part, **arguments)
    assert any("must be stable on a slow one, got a largest pole of 1.0" in words for words in found)
    assert not hybrid_problems(controller(plant), plants, part, **(arguments | {"stiffness": [[1.0e3]]}))


def test_coupled_channels_are_advised_to_share_one_controller() -> None:
    G = np.array([[1.0, 0.1], [0.1, 1.0]])
    coupled = parallel(PLANTS[:2], G)
    assert -20.5 < coupling_db(coupled, (0.3, 0.5)) < -19
    report = design_report([controller(plant) for plant in PLANTS[:2]], coupled)
    assert "take one controller for all" in report.advice[-1]
    assert not design_report(controller(coupled), coupled).advice


@pytest.mark.parametrize("state", [False, True])
def test_radius_of_the_whole_test_is_the_growth_of_its_loop(state: bool) -> None:
    plant, part, k = PLANTS[0], numerical(DT), 4.0e5
    mpc = controller(plant, lead=0.0)
    if state:
        preview = model_preview(part, stiffness=[[k]], force_inputs=[1], steps=30, dt=DT, lead=0.0)
        mpc = TrackingMpc(mpc.model, mpc.horizon, preview=preview)
    sampled = plant.discretise(DT)
    radius = hybrid_radius(mpc, sampled, part, stiffness=[[k]], force_inputs=[1], to_strokes=[[1.0]])
    loop = Loop(1 / DT)
    for name in ("x[2]", "target", "measured", "command", "iterations", "status", "force", "ground"):
        loop.signal(name)
    loop.add("actuator", StateSpace(sampled.A, sampled.B, sampled.C, dt=DT, method="discrete", update="start"),
             inputs=[previous("command")], outputs=["measured"])  # fmt: skip
    from rt_runtime import Gain, Table

    loop.add("specimen", Gain(k), inputs=["measured"], outputs=["force"])
    loop.add("ground", Table([0, 0.01, 0.02], [0.0, 1.0, 0.0]), outputs=["ground"])
    block = StateSpace(part.A, part.B, np.eye(2), dt=DT, method="discrete")
    loop.add("numerical", block, inputs=["ground", "force"], outputs=["x[2]"])
    loop.add("target", Gain(part.C), inputs=["x[2]"], outputs=["target"])
    inputs = ["target", "measured", *(["x[2]"] if state else [])]
    loop.add("mpc", mpc, inputs=inputs, outputs=["command", "iterations", "status"])
    x = loop.run(2.0)["target"]
    first, second = np.abs(x[600:1000]).max(), np.abs(x[1600:2000]).max()
    assert (second / first) ** 1e-3 == pytest.approx(radius, abs=3e-4)


def test_side_by_side_plants_keep_their_responses() -> None:
    both = parallel(PLANTS[:2], [[1.0, 0.2], [0.0, 1.0]]).discretise(DT)
    alone = PLANTS[1].discretise(DT)
    u = np.random.default_rng(0).normal(size=(100, 2))
    _, y, _ = dlsim((both.A, both.B, both.C, both.D, DT), u)
    _, expected, _ = dlsim((alone.A, alone.B, alone.C, alone.D, DT), u[:, 1:])
    assert np.allclose(y[:, 1], expected[:, 0], atol=1e-12)
