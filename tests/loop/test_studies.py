"""The case studies: published numbers as the mark to beat on the recorded motions, own limits on the synthetic one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmor.studies.base import Options
from hmor.studies.structural.benchmark_frame import PUBLISHED
from hmor.study.simulate import built_in_test

MOTIONS = Path(__file__).resolve().parents[2] / "../shared/data/ground_motions"
EL_CENTRO = MOTIONS / "elcentro_1940_ns_rths_benchmark.csv"
KOBE = MOTIONS / "kobe_1995_rths_benchmark.csv"
needs_el_centro = pytest.mark.skipif(not EL_CENTRO.exists(), reason="the El Centro record is not on this machine")
needs_kobe = pytest.mark.skipif(not KOBE.exists(), reason="the Kobe record is not on this machine")


def nominal(name: str, record: Path | None = None, **settings) -> dict[str, float]:
    return built_in_test(name).simulate(Options(record=record, settings=settings)).metrics


def many(name: str, runs: int, record: Path | None = None, **settings):
    return built_in_test(name).simulate_many(runs, Options(record=record, settings=settings))


@needs_el_centro
def test_frame_with_damper_beats_the_published_indices() -> None:
    """Published J1 = 0 ms, J2 = 1.88 %, J3 = 2.07 %."""
    found = nominal("frame_mr_damper", EL_CENTRO)
    assert abs(found["J1_ms"]) < 0.005
    assert found["J2_percent"] < 0.1
    assert found["J3_percent"] < 0.2
    assert found["qp_not_optimal"] == 0
    assert found["peak_force_N"] == pytest.approx(1440, rel=0.02)


@needs_el_centro
def test_frame_with_damper_reproduces_the_readings_of_the_published_controller() -> None:
    """Held reference: T_d of 4 samples J2 = 0.056 %, of 8 samples a lead of 0.98 ms and J2 = 2.03 %."""
    four = nominal("frame_mr_damper", EL_CENTRO, preview=False, spacing=4)
    assert four["J2_percent"] == pytest.approx(0.056, rel=0.1)
    eight = nominal("frame_mr_damper", EL_CENTRO, preview=False, spacing=8)
    assert eight["J1_ms"] == pytest.approx(-0.98, abs=0.05)
    assert eight["J2_percent"] == pytest.approx(2.03, rel=0.02)
    assert eight["J3_percent"] == pytest.approx(2.38, rel=0.02)


@needs_el_centro
def test_frame_with_damper_under_a_rate_limit_uses_the_quadratic_programme_and_tracks() -> None:
    found = nominal("frame_mr_damper", EL_CENTRO, rate_limit=0.5)
    assert found["qp_iterations_max"] > 5
    assert found["qp_not_optimal"] == 0
    assert found["J2_percent"] < 0.2
    literal = nominal("frame_mr_damper", EL_CENTRO, rate_limit=0.1)
    assert 50 < literal["J2_percent"] < 100  # 0.1 m/s read literally: the motion cannot be followed (73 %)


@needs_el_centro
@pytest.mark.slow
def test_two_hundred_frames_with_damper_are_stable() -> None:
    """Published J2 = 2.93 +- 0.63 %."""
    found = many("frame_mr_damper", 200, EL_CENTRO)
    assert found.unstable == 0
    assert np.abs(found.values("J1_ms")).max() < 0.01
    assert found.summary()["J2_percent"]["mean"] < 0.1
    assert found.summary()["J3_percent"]["mean"] < 0.2


@needs_el_centro
def test_pendulum_beats_the_published_indices() -> None:
    """Published J1 = 0.24 ms, J2 = 1.88 %, J3 = 1.86 %."""
    found = nominal("pendulum", EL_CENTRO)
    assert abs(found["J1_ms"]) < 0.05
    assert found["J2_percent"] < 0.5
    assert found["J3_percent"] < 0.5


@needs_el_centro
def test_pendulum_reproduces_the_published_delay_with_the_published_controller() -> None:
    """T_d of 18 samples: J1 = 0.24 ms in whole samples, J2 below 1 %; of 19 samples no delay."""
    found = nominal("pendulum", EL_CENTRO, design="published", spacing=18)
    assert found["J1_ms"] == pytest.approx(0.24, abs=0.05)
    assert found["J2_percent"] == pytest.approx(0.66, rel=0.05)
    assert abs(nominal("pendulum", EL_CENTRO, design="published")["J1_ms"]) < 0.05


@needs_el_centro
@pytest.mark.slow
def test_two_hundred_pendulums_are_stable() -> None:
    """Published J1 = 0.11 +- 0.12 ms, J2 = 1.96 +- 0.67 %, J3 = 1.99 +- 0.57 %."""
    found = many("pendulum", 200, EL_CENTRO)
    assert found.unstable == 0
    assert found.values("J2_percent").max() < 1.96  # a loop that grows shows here long before it overflows
    assert found.summary()["J2_percent"]["mean"] < 0.3
    assert abs(found.summary()["J1_ms"]["mean"]) < 0.11


@pytest.mark.parametrize("mass", [1.0, 4.0])
def test_the_robust_design_damps_carts_that_the_published_one_cannot_hold(mass: float) -> None:
    study = built_in_test("pendulum")
    assert study.run({"cart_mass": mass}, Options()).metrics["J2_percent"] < 1.0


@needs_el_centro
@pytest.mark.parametrize("case", [1, 2, 3, 4])
def test_benchmark_frame(case: int) -> None:
    found = nominal("benchmark_frame", EL_CENTRO, case=case)

    def row(kind: str) -> np.ndarray:
        return np.array([found[f"{kind}_{case}_J{i}"] for i in range(1, 10)])

    published = np.array(list(PUBLISHED[f"pi_{case}"].values()))
    assert row("pi")[0] == pytest.approx(published[0], abs=0.1)
    np.testing.assert_allclose(row("pi")[1:], published[1:], rtol=0, atol=1.0)
    if case != 3:  # the published row of partition 3 contradicts its own perturbed rows
        published = np.array(list(PUBLISHED[f"amrc_{case}"].values()))
        np.testing.assert_allclose(row("amrc")[1:], published[1:], rtol=0.15)
    assert row("amrc")[0] <= 0.3
    for other in ("pi", "mmbc", "amrc"):
        assert (row("mpc")[[1, 3]] < row(other)[[1, 3]]).all()


def test_benchmark_frame_on_the_synthetic_motion() -> None:
    found = nominal("benchmark_frame", case=4)
    assert found["mpc_4_J4"] < found["amrc_4_J4"] < found["mmbc_4_J4"] < found["pi_4_J4"]
    assert found["mpc_4_J2"] < 3.0
    perturbed = many("benchmark_frame", 6, case=4)
    assert perturbed.unstable == 0
    mean = {kind: perturbed.summary()[f"{kind}_4_J4"]["mean"] for kind in ("pi", "amrc", "mpc")}
    assert mean["mpc"] < mean["amrc"] < mean["pi"]


def test_motorcycle_beats_the_published_indices_and_the_plain_controller() -> None:
    """Published, adaptive: J1 = 2.5 ms, J2 = 0.32 %, J3 = 2.79 %."""
    found = nominal("motorcycle_ampc")
    assert abs(found["adaptive_J1_ms"]) < 0.5
    assert found["adaptive_J2_percent"] < 0.15
    assert found["adaptive_J3_percent"] < 1.0
    assert found["adaptive_qp_not_optimal"] == 0
    for index in ("J1_ms", "J2_percent", "J3_percent"):
        assert abs(found[f"adaptive_{index}"]) < 0.5 * abs(found[f"plain_{index}"])


def test_motorcycle_with_the_reference_held_as_published() -> None:
    found = nominal("motorcycle_ampc", preview=False, controller="adaptive")
    assert found["adaptive_J1_ms"] == pytest.approx(2.5, abs=0.4)
    assert found["adaptive_J2_percent"] < 0.32
    assert found["adaptive_J3_percent"] < 2.79


def test_motorcycle_with_a_noisy_sensor() -> None:
    found = nominal("motorcycle_ampc", design="noisy", controller="adaptive")
    assert found["adaptive_J2_percent"] < 0.1


@pytest.mark.slow
def test_motorcycle_prototypes_are_stable() -> None:
    """Published over 200 prototypes: J2 = 0.34 +- 0.01 %, J3 = 2.82 +- 0.21 %."""
    found = many("motorcycle_ampc", 8, controller="adaptive")
    assert found.unstable == 0
    assert found.values("adaptive_J2_percent").max() < 0.34
    # a crank that idles at another speed than the transmission gives a torque step at t = 0, which J3 shows
    assert found.summary()["adaptive_J3_percent"]["mean"] < 2.82


def stays_below(found: dict[str, float], name: str) -> bool:
    return found[f"{name}_sw_max_percent"] < 100


@needs_kobe
def test_delay_stability_as_published() -> None:
    found = nominal("delay_stability", KOBE)
    assert found["critical_delay_modal_ms"] == pytest.approx(8.5, abs=0.3)
    assert stays_below(found, "delay_0.98ms")
    assert stays_below(found, "delay_7.1ms")
    assert found["delay_7.1ms_nrmse_percent"] == pytest.approx(144, rel=0.05)
    assert 9 < found["delay_9ms_sw_first_above_s"] < 12
    assert 8 < found["gains_a_sw_first_above_s"] < 11
    assert found["gains_a_peak_m"] > 1.0
    assert 8 < found["gains_b_sw_first_above_s"] < found["gains_b_sw_last_above_s"] < 21
    assert stays_below(found, "gains_c")
    assert stays_below(found, "gains_d")
    assert found["gains_d_nrmse_percent"] < found["gains_c_nrmse_percent"]
    assert found["gains_d_sw_end_percent"] < found["gains_c_sw_end_percent"] < 20


def test_delay_stability_on_the_synthetic_motion() -> None:
    found = nominal("delay_stability")
    assert stays_below(found, "delay_7.1ms") and not stays_below(found, "delay_9ms")
    assert not stays_below(found, "gains_a") and stays_below(found, "gains_d")


def test_frame_and_pendulum_on_the_synthetic_motion() -> None:
    frame = many("frame_mr_damper", 6)
    assert frame.unstable == 0
    assert frame.values("J2_percent").max() < 0.3
    pendulum = many("pendulum", 6)
    assert pendulum.unstable == 0
    assert pendulum.values("J2_percent").max() < 2.0


def test_a_study_is_the_same_twice_and_a_stochastic_one_has_quartiles_and_histograms() -> None:
    one, two = (many("frame_mr_damper", 3) for _ in range(2))
    assert one.results == two.results
    summary = one.summary()["J2_percent"]
    assert summary["min"] <= summary["q25"] <= summary["median"] <= summary["q75"] <= summary["max"]
    density, edges = one.histogram("J2_percent", bins=5)
    assert np.sum(density * np.diff(edges)) == pytest.approx(1.0)
