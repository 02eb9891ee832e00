"""The full-order motorcycle in its driving scenario: what it must do, and that its step is fine enough."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mor import Trajectory, lhs
from mor.campaign.model import Evaluable
from mor.hybrid.model import HybridModel
from mor.models.motorcycle import body, ecvt, engine, hybrid, parameter_space, scenario, sensitivity_space
from mor.models.motorcycle.vehicle_body import road
from rt_runtime.errors import ConfigError
from tests.reference.motorcycle_body import rates


@cache
def run(dt: float = 1e-4) -> Trajectory:
    return hybrid().run(dt=dt, every=round(1e-3 / dt))


def test_ports_are_those_of_the_published_hybrid_model() -> None:
    model = hybrid()
    assert {name: part.signature() for name, part in model.substructures.items()} == {
        "engine": "thr, w_en [rpm] -> tau_en [Nm]",
        "ecvt": "tau_en [Nm], w_vd [rpm] -> w_en [rpm], tau_vd [Nm]",
        "body": "tau_vd [Nm], tau_rw [Nm], tau_fw [Nm] -> w_vd [rpm], w_rw [rpm], w_fw [rpm], v [m/s], x [m]",
        "rear_brake": "F_br [N], w_rw [rpm] -> tau_rw [Nm]",
        "front_brake": "F_br [N], w_fw [rpm] -> tau_fw [Nm]",
    }
    assert model.delays == ()
    assert isinstance(model, Evaluable)


def test_scenario_has_the_published_corners() -> None:
    t = np.array([4.9, 7.0, 9.0, 11.0, 15.0, 17.5, 22.5, 28.0, 34.5, 40.0])
    throttle, force = (np.interp(t, scenario().time, scenario()[name]) for name in ("thr", "F_br"))
    np.testing.assert_allclose(throttle, [0, 0.25, 0.5, 0.5, 0.25, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(force, [0, 0, 0, 0, 0, 0, 25, 50, 25, 0])


def test_it_stands_still_until_5_s() -> None:
    still = run().time < 5.0
    for name in ("v", "x", "w_rw", "w_fw", "tau_vd", "tau_rw", "tau_fw"):
        assert np.abs(run()[name][still]).max() < 1e-9, name


def test_wheel_speeds_stay_in_the_sampled_range() -> None:
    assert run()["w_rw"].min() > -1.0 and 300 < run()["w_rw"].max() < 470
    assert run()["w_fw"].min() > -1.0 and 300 < run()["w_fw"].max() < 490


def test_it_is_fastest_when_the_throttle_closes_and_nearly_stopped_at_the_end() -> None:
    fastest = run().time[run()["v"].argmax()]
    assert 14.0 < fastest < 17.5
    assert 10.0 < run()["v"].max() < 15.0
    assert abs(run()["v"][-1]) < 0.1


def test_torques_have_their_signs() -> None:
    result = run()
    braking = (result.time > 20.5) & (result.time < 27)
    assert (result["tau_rw"][braking] > 0).all() and (result["tau_fw"][braking] > 0).all()
    for brake, wheel in (("tau_rw", "w_rw"), ("tau_fw", "w_fw")):
        assert (result[brake] * result[wheel] >= 0).all()  # never drives the wheel
    driving = (result.time > 8) & (result.time < 14)
    assert (result["tau_en"][driving] > 0).all() and (result["tau_vd"][driving] > 0).all()
    assert (result["tau_en"][(result.time > 17.5) & (result.time < 19.5)] < 0).all()  # the engine holds back


def test_no_chatter_at_standstill() -> None:
    late = run().time > 30.5
    for name in ("tau_rw", "tau_fw", "v", "w_rw", "w_fw"):
        signal = run()[name][late]
        assert (np.diff(np.sign(signal)) != 0).sum() <= 2, name
        assert np.abs(np.diff(signal)).max() < 5e-3, name


def test_halving_the_step_changes_the_speed_by_less_than_a_thousandth() -> None:
    fine = run(5e-5)
    for name in ("v", "w_rw", "w_fw", "tau_rw", "tau_fw", "w_en", "tau_en"):
        error = np.sqrt(np.sum((run()[name] - fine[name]) ** 2) / np.sum(fine[name] ** 2))
        assert error < 1e-3, (name, error)


@pytest.mark.slow
def test_two_step_parts_are_nearer_to_a_fine_step_than_runge_kutta() -> None:
    """Engine, transmission and body by AB2 with one evaluation a tick, against all parts by RK4 at half and a quarter.

    RK4 holds what the parts exchange over the tick and is of first order in that; AB2 runs it on linearly.
    """
    parts = {name: part.integrated_by("rk4", part.substeps) for name, part in hybrid().substructures.items()}
    by_rk4 = HybridModel("motorcycle", list(parts.values()), dt=1e-4, excitations=scenario(), duration=45.0)
    responses = ["v", "w_rw", "w_fw", "w_en", "tau_vd", "tau_rw", "tau_fw"]
    whole, half, quarter = (by_rk4.run(dt=1e-4 / n, every=10 * n, record=responses) for n in (1, 2, 4))

    def error(result: Trajectory, reference: Trajectory, name: str) -> float:
        return 100 * float(np.sqrt(np.sum((result[name] - reference[name]) ** 2) / np.sum(reference[name] ** 2)))

    for name in responses:
        assert error(run(), quarter, name) < 0.05, name
        assert error(run(), quarter, name) < error(whole, quarter, name), name
        if name != "tau_vd":  # that of RK4 still changes by as much from half to quarter
            assert error(run(), half, name) < 0.05, name
    assert error(run(), half, "v") < 0.01


def test_numbers_of_the_page_on_full_order_models() -> None:
    result, fine = run(), run(5e-5)
    assert 3.6 * result["v"].max() == pytest.approx(44.9, abs=0.1)
    assert result.time[result["v"].argmax()] == pytest.approx(15.8, abs=0.2)
    assert result.time[np.flatnonzero(result["v"] > 0.05)[-1]] == pytest.approx(29.6, abs=0.3)
    assert (result["w_rw"].max(), result["w_fw"].max()) == (pytest.approx(387.2, abs=1), pytest.approx(399.2, abs=1))
    change = np.sqrt(np.sum((result["v"] - fine["v"]) ** 2) / np.sum(fine["v"] ** 2))
    assert 100 * change == pytest.approx(0.0005, abs=0.0001)


def test_published_uncertain_parameters() -> None:
    space = parameter_space()
    published = {
        "K_rt": (58570, 11714), "Z_rt": (11650, 3495), "K_ft": (25000, 5000), "Z_ft": (2134, 640.2),
        "K_rs": (125000, 25000), "Z_rs": (10000, 3000), "K_fs": (19000, 3800), "Z_fs": (1250, 375),
        "M": (300, 6), "J": (0.0115, 0.0023), "mu": (0.001, 0.00005),
    }  # fmt: skip
    assert space.names == tuple(published)
    for name, (mean, std) in published.items():
        assert (space[name].mean, space[name].std) == (pytest.approx(mean), pytest.approx(std))
    study = sensitivity_space()
    assert study.names == (*published, "B_mu")
    changed = {"M": (300, 15), "mu": (0.0012, 0.00018), "B_mu": (0.13, 0.0195)}
    for name, (mean, std) in (published | changed).items():
        assert (study[name].mean, study[name].std) == (pytest.approx(mean), pytest.approx(std))
    assert set(study.names) <= set(hybrid().parameters)


@pytest.mark.slow
def test_prototypes_stay_in_range() -> None:
    """Corners of the design that drive fastest (light, smooth-running) and hop most (stiff, undamped)."""
    model = hybrid(every=20)
    for sample in lhs(parameter_space(), 5, seed=3):
        result = model.evaluate(sample)
        assert np.abs(result["v"][result.time < 5]).max() < 1e-9
        assert result["w_rw"].max() < 470 and result["w_fw"].max() < 490
        assert min(result["w_rw"].min(), result["w_fw"].min()) > -3.0
        assert abs(result["v"][-1]) < 0.2


def test_road_is_the_published_one_averaged_under_the_tyre() -> None:
    a = 0.12
    assert road(1.0, a) == (0.0, 0.0)
    fine = np.linspace(-a, a, 20001)
    for x in (1.95, 2.05, 2.5, 4.4, 7.1):
        at = x + fine
        heights = np.where(at > 2, 0.02 * (np.cos(2 * np.pi * at / 3) - 1), 0.0)
        assert road(x, a)[0] == pytest.approx(np.trapezoid(heights, dx=2 * a / 20000) / (2 * a), abs=2e-6)
        slope = (road(x + 1e-6, a)[0] - road(x - 1e-6, a)[0]) / 2e-6
        assert road(x, a)[1] == pytest.approx(slope, abs=1e-5)


def test_body_follows_its_equations() -> None:
    """On the flat, over the edge and on the wave, also with a wheel in the air and rolling backwards."""
    part, rng = body(), np.random.default_rng(5)
    size = np.array([1, 8, 0.02, 0.2, 0.02, 0.3, 0.02, 0.3, 0.02, 0.3, 30, 30, 2e-3, 2e-3])
    for i, distance in enumerate((0.0, 0.55, 0.7, 1.9, 2.05, 2.2, 5.0, 77.0)):
        x, u = size * rng.normal(size=14), np.array([20.0, 100.0, 100.0]) * rng.normal(size=3)
        x[0] = distance
        parameters = {"M": 280.0 + i, "bridge": 0.1 + 0.01 * i, "b_f": 0.7, "mu_t": 0.8}
        p = part.parameter_values(parameters)
        found = part._evaluate(x, u, np.array(list(p.values())))[0]
        expected = rates(x, u, p)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_body_keeps_its_energy_without_losses() -> None:
    """All dampers, drag and slip off, the body bounces and pitches: kinetic plus spring energy is constant."""
    free = {name: 0.0 for name in ("Z_rt", "Z_ft", "Z_rs", "Z_fs", "drag", "c_rr")}
    part = body()
    p = part.parameter_values(free)
    x = np.zeros(14)
    x[[2, 4, 7]] = 0.004, 0.003, 0.02
    load_r = 9.81 * ((p["M"] - p["m_r"] - p["m_f"]) * p["b_f"] / (p["b_r"] + p["b_f"]) + p["m_r"])
    load_f = 9.81 * p["M"] - load_r

    def energy(x: np.ndarray) -> float:
        M_b = p["M"] - p["m_r"] - p["m_f"]
        kinetic = M_b * x[3] ** 2 + M_b * p["gyration"] ** 2 * x[5] ** 2 + p["m_r"] * x[7] ** 2 + p["m_f"] * x[9] ** 2
        rear, front = x[6] - x[2] + p["b_r"] * x[4], x[8] - x[2] - p["b_f"] * x[4]
        springs = p["K_rs"] * rear**2 + p["K_fs"] * front**2 + p["K_rt"] * x[6] ** 2 + p["K_ft"] * x[8] ** 2
        return 0.5 * float(kinetic + springs)

    u = np.zeros(3)
    start, h = energy(x), 1e-4
    values = np.array(list(p.values()))
    for _ in range(5000):
        k1 = part._evaluate(x, u, values)[0]
        k2 = part._evaluate(x + h / 2 * k1, u, values)[0]
        k3 = part._evaluate(x + h / 2 * k2, u, values)[0]
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + part._evaluate(x + h * k3, u, values)[0])
    assert load_f - p["K_ft"] * 0.01 > 0  # the tyres stayed on the ground, so the springs are linear
    assert energy(x) == pytest.approx(start, rel=1e-6)


def test_engine_idles_and_transmission_passes_no_torque() -> None:
    for mu in (0.0009, 0.0011):
        speed = 15.0 / (0.01 + mu)
        torque = engine().simulate({"thr": np.zeros(2000), "w_en": speed}, dt=1e-4, parameters={"mu": mu})["tau_en"]
        assert np.abs(torque).max() < 1e-9
    result = ecvt().simulate({"tau_en": np.zeros(1000), "w_vd": 0.0}, dt=1e-4)
    assert not result["tau_vd"].any()


def test_a_wheel_speed_in_the_wrong_unit_is_refused() -> None:
    model = hybrid()
    metric = body()
    metric = metric.renamed("body")
    metric.outputs = tuple(type(p)(p.name, "rad/s") if p.unit == "rpm" else p for p in metric.outputs)
    parts = [metric if name == "body" else part for name, part in model.substructures.items()]
    with pytest.raises(ConfigError, match=r"Coupling from 'w_rw' to 'rear_brake.w_rw' .* got 'rad/s' into 'rpm'"):
        HybridModel("motorcycle", parts, dt=1e-4, excitations=scenario())
