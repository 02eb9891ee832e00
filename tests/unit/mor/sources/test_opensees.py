"""OpenSees in a process of its own: right numbers, and no fault of it reaches us."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mor import HybridModel, LinearSubstructure, ParameterSpace, Store, Uniform, lhs, run_design
from mor.campaign import HistoryModel
from mor.excitation import Excitation, LoadingProtocols
from mor.sources import SolverFailure, opensees_installed, rc_pier
from rt_runtime.errors import ConfigError
from tests.reference import opensees_models as models

pytestmark = pytest.mark.skipif(
    not opensees_installed(), reason="openseespy is not installed; install the 'opensees' extra"
)
X = 0.05 * np.sin(np.linspace(0, 9, 200)) * np.linspace(0, 1, 200)


def bilinear(x: np.ndarray, k: float = 2e6, fy: float = 3e4, b: float = 0.1) -> np.ndarray:
    """Kinematic hardening in closed form: an elastic spring b k beside a stop of stiffness (1 - b) k."""
    s, last, out = 0.0, 0.0, []
    for u in x:
        s, last = np.clip(s + (1 - b) * k * (u - last), -(1 - b) * fy, (1 - b) * fy), u
        out.append(b * k * u + s)
    return np.array(out)


def newmark(ag: np.ndarray, force: np.ndarray, dt: float, m: float = 1000.0, k: float = 2e6) -> np.ndarray:
    """Average acceleration of an elastic oscillator."""
    x, v, a, out = 0.0, 0.0, 0.0, [0.0]
    for i in range(1, len(ag)):
        p = force[i] - m * ag[i] + m * (4 / dt**2 * x + 4 / dt * v + a)
        new = p / (k + 4 * m / dt**2)
        acceleration = 4 / dt**2 * (new - x) - 4 / dt * v - a
        v, x, a = v + dt / 2 * (a + acceleration), new, acceleration
        out.append(x)
    return np.array(out)


def test_an_imposed_displacement_gives_the_restoring_force_of_a_bilinear_spring() -> None:
    run = models.spring().run(X, dt=0.01)
    np.testing.assert_allclose(run.trajectory["F"], bilinear(X), rtol=1e-9, atol=1e-3)
    assert run.counts == {"steps": 199.0, "halvings": 0.0, "fallbacks": 0.0}
    stiffer = models.spring().simulate(X, dt=0.01, parameters={"k": 3e6}, every=3)
    np.testing.assert_allclose(stiffer["F"], bilinear(X, 3e6)[::3], rtol=1e-9, atol=1e-3)


def test_a_force_and_a_ground_motion_move_an_oscillator() -> None:
    rng = np.random.default_rng(0)
    ag, force = rng.normal(0, 0.5, 300), rng.normal(0, 300.0, 300)
    run = models.oscillator().simulate({"ag": ag, "F": force}, dt=0.002, parameters={"yield_force": 1e8})
    np.testing.assert_allclose(run["x"], newmark(ag, force, 0.002), rtol=1e-7, atol=1e-12)


def test_stepping_gives_the_numbers_of_the_whole_history_and_trials_leave_no_trace() -> None:
    whole = models.spring().simulate(X, dt=0.01)["F"]
    with models.spring().stepper(dt=0.01) as stepper:
        for i, x in enumerate(X[:40]):
            if i % 13 == 5:
                far = stepper.step([0.3])
                np.testing.assert_array_equal(stepper.step([0.3]), far)
                stepper.revert()
            if i % 13 == 7:
                assert stepper.step([x])[0] == whole[i]
                assert stepper.commit()[0] == whole[i]
            else:
                assert stepper.advance([x])[0] == whole[i]
        assert stepper.counts["steps"] == 39
        with pytest.raises(ConfigError, match="needs a step before it"):
            stepper.commit()


def test_it_stands_in_a_hybrid_model_as_full_order_reference() -> None:
    """A mass on an OpenSees spring against the same mass on the spring's closed form, in the same loop."""
    A, B = [[0.0, 1.0], [0.0, -0.5]], [[0.0, 0.0], [-1.0, -1e-3]]
    mass = LinearSubstructure(
        "mass", (A, B, [[1.0, 0.0]], [[0.0, 0.0]]), inputs={"ag": "m/s2", "F": "N"}, outputs={"x": "m"}
    )
    ag = 4.0 * np.sin(40.0 * np.arange(200) * 0.002)
    hybrid = HybridModel(
        "frame", [mass, models.spring()], dt=0.002, excitations={"ag": Excitation(ag, 0.002)}, duration=0.398
    )
    run = hybrid.run()
    assert np.abs(run["x"]).max() > 0.002
    np.testing.assert_allclose(run["F"], bilinear(run["x"]), rtol=1e-9, atol=1e-3)
    again = hybrid.run()
    np.testing.assert_array_equal(run.values, again.values)
    with pytest.raises(Exception, match=r"paced|real time"):
        hybrid.loop().run(0.01, paced=True)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (models.build_crash, "ended by signal SIGABRT"),
        (models.build_hang, "took longer than 0.5 s"),
        (models.build_mechanism, "found no equilibrium"),
    ],
)
def test_a_solver_that_crashes_hangs_or_does_not_converge_says_so(build: object, sentence: str) -> None:
    part = models.spring(build, timeout=0.5 if build is models.build_hang else 60.0)
    with pytest.raises(SolverFailure, match=sentence) as failure:
        part.simulate(X[:5] + 1e-3, dt=0.01)
    if build is models.build_crash:
        assert "about to crash" in failure.value.messages


def test_what_opensees_writes_is_captured(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SolverFailure) as failure:
        models.spring(models.build_mechanism).simulate(X[:3] + 1e-3, dt=0.01)
    assert "WARNING" in failure.value.messages or "failed" in failure.value.messages
    assert capfd.readouterr() == ("", "")


def test_a_trial_step_that_crashes_keeps_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    from mor.sources import opensees_engine

    plain = opensees_engine.Engine.advance

    def fragile(self: opensees_engine.Engine, u: np.ndarray, dt: float) -> np.ndarray:
        if u[0] > 1.0:
            os.abort()
        return plain(self, u, dt)

    monkeypatch.setattr(opensees_engine.Engine, "advance", fragile)
    with models.spring().stepper(dt=0.01) as stepper:
        stepper.advance([0.0])
        stepper.advance([0.03])
        with pytest.raises(SolverFailure, match="the state before it is kept"):
            stepper.step([2.0])
        assert stepper.advance([0.05])[0] == bilinear(np.array([0.03, 0.05]))[-1]
        with pytest.raises(SolverFailure, match="SIGABRT"):
            stepper.advance([2.0])
        with pytest.raises(SolverFailure, match="has ended"):
            stepper.advance([0.0])


def test_ports_must_exist_in_the_built_model() -> None:
    with pytest.raises(ConfigError, match="'x' of substructure 'spring' is at node 2"):
        models.spring(models.build_wrong).simulate(X[:3], dt=0.01)


def test_a_long_way_is_halved_and_counted() -> None:
    """The virgin pier cannot go 60 mm in one step of plain Newton: the way is halved, the force is that of small steps."""
    pier = rc_pier()
    pier._in = (type(pier._in[0])(14, 2),)  # without its own limit on a step
    rough = pier.run({"x": [0.0, 0.06]}, dt=0.01)
    fine = rc_pier().run({"x": np.linspace(0, 0.06, 25)}, dt=0.01)
    assert rough.counts["halvings"] + rough.counts["fallbacks"] > 0
    assert rough.trajectory["F"][-1] == pytest.approx(fine.trajectory["F"][-1], rel=2e-3)


def test_a_campaign_draws_histories_and_survives_what_fails(tmp_path: Path) -> None:
    family = LoadingProtocols((0.01, 0.08), duration=1.0, rate=64.0)
    space = ParameterSpace({**family.space, "k": Uniform(5e5, 1.5e6, unit="N/m")})
    design = lhs(space, 8, seed=1)
    part = models.spring(models.build_crash)
    data = run_design(HistoryModel(part, family), design, store=tmp_path / "runs", executor="processes", workers=2)
    store = Store(tmp_path / "runs")
    stiff = design.points[:, space.names.index("k")] > 1e6
    assert len(data) == 8 - stiff.sum() and 0 < stiff.sum() < 8
    assert all("SIGABRT" in sample.failure.reason for sample in store.failed)
    assert [port.name for port in data.outputs] == ["steps", "halvings", "fallbacks"]
    for index, run in store.trajectories():
        p = design.parameters(index)
        assert run.names == ("x", "v", "F")
        np.testing.assert_array_equal(run["x"], family.history(p)["x"])
        np.testing.assert_allclose(run["F"], bilinear(run["x"], p["k"]), rtol=1e-9, atol=1e-3)


def test_a_campaign_refuses_a_design_that_does_not_name_the_histories(tmp_path: Path) -> None:
    family = LoadingProtocols((0.01, 0.08))
    design = lhs(ParameterSpace({"k": Uniform(5e5, 1.5e6)}), 2, seed=1)
    with pytest.raises(ConfigError, match="'seed' of the histories is missing"):
        run_design(HistoryModel(models.spring(), family), design, store=tmp_path / "runs", executor="serial")
