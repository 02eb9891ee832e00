"""What is the motorcycle's own: its samples, its virtual test, its numerical side, and its study file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmor.studies.base import Options, Run
from hmor.studies.motorcycle.ampc import TEST, build
from hmor.studies.motorcycle.brakes import front_torque, operating_run, pad_gate, rear_torque
from hmor.studies.motorcycle.numerical import numerical_side
from hmor.study.file import load_study
from hmor.study.simulate import differences
from hmor.study.stages.pipeline import find_pipeline
from mor.models.motorcycle import brake, static_torque, touching_force
from mor.models.motorcycle.brake_runs import sample_runs
from mor.models.motorcycle.model import hybrid
from rt_runtime import ConfigError, Loop


def test_the_samples_are_those_of_the_full_order_brakes() -> None:
    assert rear_torque(F_br=30.0, w_rw=200.0) == {"tau_rw": pytest.approx(float(static_torque("rear", 30.0, 200.0)))}
    assert front_torque(F_br=0.0, w_fw=200.0) == {"tau_fw": 0.0}
    run = operating_run("front", 1103.7, duration=0.2)
    rows = sample_runs("front", [1103], duration=0.2, volume=True)
    assert run.names == ("F_br", "w_fw", "tau_fw", "V_fw")
    np.testing.assert_array_equal(run["V_fw"], rows["V_fw"])
    assert pad_gate("rear").span == touching_force("rear")


def test_the_study_has_its_parts_models_and_quick_profile() -> None:
    study = load_study("motorcycle_brakes")
    assert [model.key for model in study.models()][:4] == [
        "rear_ffnn",
        "rear_pce",
        "rear_ffnn_memory",
        "rear_pce_memory",
    ]
    assert study.hybrid is not None and study.control is not None and study.run is not None
    assert (study.hybrid.prototypes, study.control.prototypes, study.run.duration) == (30, 30, 45.0)
    quick = load_study("motorcycle_brakes", quick=True)
    assert quick.hybrid is not None and quick.run is not None
    assert (quick.hybrid.prototypes, quick.run.duration, quick.run.settings) == (4, 10.0, {"ride": "short"})
    seeds = study.parts["rear_runs"].make_design(1).points[:, 0]
    assert sorted(int(seed) for seed in seeds) == list(range(1000, 1008))  # each run once


def test_a_change_touches_the_steps_behind_it_alone(tmp_path: Path) -> None:
    def fingerprints(**changes: object) -> dict[str, str]:
        found = find_pipeline("motorcycle_brakes", tmp_path / "out", changes=changes)
        return {step: found.fingerprint(step) for step in found.steps if step != "report"}

    def changed(**changes: object) -> set[str]:
        now = fingerprints(**changes)
        return {step for step, value in now.items() if value != before[step]}

    before = fingerprints()
    behind = {"export", "simulate/hybrid", "simulate/control", "run"}
    assert changed(control={"prototypes": 3}) == {"simulate/control"}
    assert changed(run={"duration": 3.0}) == {"run"}
    assert changed(hybrid={"prototypes": 3}) == {"simulate/hybrid", "simulate/control"}
    one = {"rear": {"models": {"ffnn": {"restarts": 2}}}}
    assert changed(parts=one) == {"train/rear_ffnn", "validate/rear_ffnn"} | behind
    points = changed(parts={"front": {"design": {"n": 100}}})
    assert (
        points == {"sample/front", *(f"{s}/front_{k}" for s in ("train", "validate") for k in ("ffnn", "pce"))} | behind
    )


def test_the_motorcycle_hardly_feels_the_motor_under_control() -> None:
    """An input taken for that of another tick shows here first: 0.3 % of the drive torque."""
    responses = ("tau_rw", "tau_fw", "w_rw", "w_fw", "w_en", "w_vd", "tau_vd", "v")
    run = TEST.simulate(Options(seed=1, settings={"controller": "adaptive"}, keep=responses))
    found = differences(run.history(responses), hybrid(every=10).run(record=list(responses)))
    assert all(found[name] < 0.06 for name in responses)
    assert found["v"] < 0.005
    assert run.metrics["adaptive_J3_after_1s_percent"] <= run.metrics["adaptive_J3_percent"]


def test_the_brakes_that_are_given_stand_in_for_the_full_order_ones() -> None:
    """Two front brakes for two ends: the rear torque becomes that of the front brake."""
    torques = {}
    for name, brakes in {"own": {}, "front": {"rear": brake("front")}}.items():
        loop = build("adaptive", {}, Options(parts=brakes))
        loop.record(["tau_rw", "tau_fw"], every=100)
        torques[name] = loop.run(23.0)
    assert torques["front"]["tau_rw"].max() > 1.2 * torques["own"]["tau_rw"].max()
    assert torques["front"]["tau_rw"].max() == pytest.approx(torques["front"]["tau_fw"].max(), rel=0.05)


def test_every_prototype_has_a_motor_of_its_own() -> None:
    def motor(seed: int) -> Run:
        loop = build("adaptive", {}, Options(seed=seed))
        loop.record(["a0"], every=2500)
        return Run({}, loop.run(3.0))

    first, again, other = (motor(seed).record["a0"] for seed in (1, 0, 2))  # type: ignore[index]
    assert (first == again).all() and not (first == other).all()


def test_the_numerical_side_keeps_the_rate_of_its_controller() -> None:
    with pytest.raises(ConfigError, match=r"rate of \[run\] must be 10000 Hz, .* got 5000 Hz"):
        numerical_side(Loop(5000.0), {}, {}, {})
    with pytest.raises(ConfigError, match=r"ride of \[run.settings\] must be one of 'whole', 'short', got 'long'"):
        numerical_side(Loop(10_000.0), {}, {"ride": "long"}, {})
