"""The multi-axial studies: published and measured numbers on records, limits on the synthetic motion."""

from __future__ import annotations

import numpy as np
import pytest

from hmor.studies.base import Options
from hmor.studies.multi_axial.loading_box import coupling_matrix, perturbed
from hmor.study.simulate import built_in_test
from mor.models.multi_axial.loading_box import actuators
from mor.models.multi_axial.moment_frame import Column, moment_frame, yielding_column
from mor.models.multi_axial.multi_axial_benchmark import numerical, plant, reference
from rt_runtime import ConfigError
from tests.loop.test_studies import EL_CENTRO, KOBE, needs_el_centro, needs_kobe


def frame(case: str, record=None, **settings) -> dict[str, float]:
    run = built_in_test("moment_frame").simulate(Options(record=record, settings={"case": case, **settings}))
    return {name.removeprefix(case + "_"): value for name, value in run.metrics.items()}


def benchmark(control: str, record=None, **settings) -> dict[str, float]:
    test = built_in_test("multi_axial_benchmark")
    run = test.simulate(Options(record=record, settings={"control": control, **settings}))
    return {name.removeprefix(control + "_"): value for name, value in run.metrics.items()}


def test_frames_have_the_published_frequencies() -> None:
    part, whole = moment_frame()
    assert np.allclose(part.modes().frequencies, [1.093, 2.653, 10.517], atol=6e-4)
    assert np.allclose(whole.modes().frequencies, [1.624, 3.949, 11.710], atol=6e-4)
    assert np.allclose(Column().stiffness[0], [1254.317e3, 286611.5], rtol=1e-5)


def test_yielding_column_is_elastic_for_small_moments_and_bounded_for_large_ones() -> None:
    small = yielding_column().block(dt=1e-3, update="start")
    w = np.array([1e-3, 2e-3])
    small.step(0.0, np.zeros(4))
    for k in range(1, 101):
        out = small.step(0.0, np.r_[w * k / 100, w / 0.1])
    assert np.allclose(out, Column().stiffness @ w, rtol=1e-3)
    large = yielding_column().block(dt=1e-3, update="start")
    large.step(0.0, np.zeros(4))
    for k in range(1, 1001):
        large.step(0.0, np.array([0.06 * k / 1000, 0.0, 0.06, 0.0]))
    assert Column().plastic_moment < large.state[0] < 1.35 * Column().plastic_moment


@needs_el_centro
def test_moment_frame_on_the_record_its_settings_were_chosen_on() -> None:
    """2 % damping, 1 kHz, noise: tracking at most 0.5 and 1.1 %, response within 1 % of the complete frame."""
    found = frame("mpc", EL_CENTRO)
    assert found["ux"] < 0.5
    assert found["rz"] < 1.1
    assert max(found[f"response_{i}"] for i in (1, 2, 3)) < 1.0
    coupled = frame("mpc6_coupled", EL_CENTRO)
    assert coupled["ux"] < 0.5
    assert coupled["response_2"] < 1.0


@needs_kobe
def test_moment_frame_on_another_record() -> None:
    found = frame("mpc", KOBE)
    assert found["ux"] < 0.55
    assert found["rz"] < 1.1
    assert max(found[f"response_{i}"] for i in (1, 2, 3)) < 1.0


@needs_el_centro
def test_open_loop_tracks_as_the_laboratory_and_the_reference_say() -> None:
    none, forward = frame("open_none", EL_CENTRO), frame("open_feedforward", EL_CENTRO)
    assert none["ux"] == pytest.approx(23.0, rel=0.05)
    assert none["rz"] == pytest.approx(19.0, rel=0.05)
    assert forward["ux"] == pytest.approx(9.1, rel=0.05)
    assert forward["rz"] == pytest.approx(11.8, rel=0.05)


@needs_el_centro
def test_yielding_frame_follows_the_complete_one() -> None:
    found = frame("yielding", EL_CENTRO)
    assert found["ux"] < 0.6
    assert max(found[f"response_{i}"] for i in (1, 2, 3)) < 1.2


def test_simulated_actuators_are_the_identified_ones_unless_perturbed() -> None:
    same, fast = perturbed({}), perturbed({"speed_X1": 2.0, "gain_X1": 0.5})
    known = actuators(1)["X1"]
    assert np.allclose(same[0].denominator, known.denominator)
    assert fast[0].dc_gain == pytest.approx(0.5 * known.dc_gain)
    assert np.allclose(np.sort_complex(fast[0].poles), np.sort_complex(2 * known.poles))
    assert np.allclose(np.abs(coupling_matrix(-20.0) - np.eye(6))[0, 1:], 0.1)


def test_an_unknown_case_is_named() -> None:
    with pytest.raises(ConfigError, match="case of study 'moment_frame' must be one of 'open_none'"):
        frame("closed")
    with pytest.raises(ConfigError, match="control of study 'multi_axial_benchmark' must be one of 'none'"):
        benchmark("pid")


def test_benchmark_constants_are_the_published_ones() -> None:
    M, _, K = reference()
    held = np.flatnonzero(np.diag(M) == 0)
    free = np.flatnonzero(np.diag(M))
    condensed = K[np.ix_(free, free)] - K[np.ix_(free, held)] @ np.linalg.solve(
        K[np.ix_(held, held)], K[np.ix_(held, free)]
    )
    w = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M[np.ix_(free, free)], condensed)).real)) / (2 * np.pi)
    assert np.allclose(w[:3], [2.291, 12.748, 26.280], atol=2e-3)
    cut = K - numerical()[2]
    assert cut[26, 26] == pytest.approx(4915814.4, rel=1e-6)
    assert cut[20, 28] == pytest.approx(-133980.64, rel=1e-4)
    assert (M - numerical()[0])[26, 26] == pytest.approx(902.5, abs=0.1)
    gains = [[entry.dc_gain for entry in row] for row in plant({"frame": 1.1, "pole_1a": 0.9})]
    assert np.allclose(gains, [[0.864, 0.131], [0.140, 0.926]], atol=5e-4)


@needs_el_centro
def test_benchmark_indices_of_a_perfect_and_of_no_controller() -> None:
    """Measured in an independent prototype: perfect actuators one tick late, and no control."""
    perfect = benchmark("perfect", EL_CENTRO)
    expected = {"1_J2": 1.4, "2_J2": 1.4, "1_J3": 1.6, "1_J7": 9.1, "2_J7": 7.0, "1_J8": 7.0, "2_J8": 6.4, "1_J9": 7.0,
                "2_J9": 5.6, "1_J10": 5.3, "2_J10": 5.2}  # fmt: skip
    assert {name: perfect[name] for name in expected} == pytest.approx(expected, abs=0.06)
    none = benchmark("none", EL_CENTRO)
    assert (round(none["1_J1"]), round(none["2_J1"])) == (40, 23)
    assert none["1_J2"] == pytest.approx(53, abs=1)
    assert none["2_J2"] == pytest.approx(33, abs=1)


@needs_el_centro
def test_benchmark_under_predictive_control_is_near_the_floor_of_its_noise() -> None:
    """J2 at most 2.65 and 1.37 %, of which the noise of the sensors alone is 2.57 and 1.31 %."""
    found = benchmark("mpc", EL_CENTRO)
    assert found["1_J1"] == found["2_J1"] == 0.0
    assert found["1_J2"] < 2.65
    assert found["2_J2"] < 1.37
    assert found["1_J5"] < 0.3
    quiet = benchmark("mpc", EL_CENTRO, noise=0.0)
    assert quiet["1_J2"] < 0.3


@needs_el_centro
def test_quiet_controllers_of_the_bridge_keep_half_a_percent_in_spite_of_noise() -> None:
    """Twelve identified actuators, 2 % damping, noise: tracking within 0.5 %, response within 0.75 %; Kobe judges."""
    run = built_in_test("curved_bridge").simulate(Options(record=EL_CENTRO, settings={"case": "quiet"}))
    assert run.metrics["quiet_tracking_worst"] < 0.5
    assert run.metrics["quiet_response_worst"] < 0.75


@needs_kobe
def test_quiet_controllers_of_the_bridge_on_another_record() -> None:
    run = built_in_test("curved_bridge").simulate(Options(record=KOBE, settings={"case": "quiet", "scale": 0.6}))
    assert run.metrics["quiet_tracking_worst"] < 0.75
    assert run.metrics["quiet_response_worst"] < 0.75
