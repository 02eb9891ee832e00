"""The damper of a railway bridge in a virtual rig: maxima over speed, tracking, other actuators, rig and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmor.rigs.catalogue import find_rig
from hmor.studies.base import Options
from hmor.studies.structural.railway_bridge import (
    RESONANCE,
    TEST,
    bridge_side,
    build,
    complete,
    damper_rig,
    duration,
    error,
    target_problems,
)
from hmor.studies.structural.railway_pictures import maxima_by_speed, pictures
from rt_runtime import ConfigError, Loop


@pytest.fixture(scope="module")
def resonance() -> tuple[dict[str, float], object]:
    run = TEST.simulate(Options(settings={"speed": RESONANCE}))
    return run.metrics, run.record


def test_damper_halves_the_resonance(resonance: tuple[dict[str, float], object]) -> None:
    found = resonance[0]
    assert found["bare_169_mm"] == pytest.approx(44.1, rel=0.01)
    assert found["bare_169_m_s2"] == pytest.approx(6.98, rel=0.02)
    assert found["off_169_mm"] == pytest.approx(41.1, rel=0.01)
    assert found["on_169_mm"] == pytest.approx(21.6, rel=0.01)
    assert found["on_169_m_s2"] == pytest.approx(2.39, rel=0.03)
    assert found["force_kN"] == pytest.approx(206.0, rel=0.02)
    assert found["tracking_worst"] < 0.3 and found["response_worst"] < 0.4


@pytest.mark.parametrize(("speed", "gain", "faster"), [(150.0, 1.0, 1.0), (173.0, 1.0, 1.0), (200.0, 1.01, 0.99)])
def test_speeds_and_actuators_that_nothing_was_chosen_on(speed: float, gain: float, faster: float) -> None:
    loop = build(speed, 2.0, {"gain": gain, "speed": faster}, Options(seed=7))
    record = loop.run(duration(speed))
    assert error(record["piston"], record["stretch"]) < 0.5
    assert error(record["deflection[2]"], complete(speed, 2.0)["deflection[2]"]) < 0.75
    assert np.abs(np.diff(record["wanted"])).max() < 2e-4  # 0.2 m/s: noise of the sensor stays where it is


def test_without_control_the_test_lies() -> None:
    """20 ms late, the damper feeds the bridge: the response is wrong by a tenth and the acceleration by a third."""
    record = build(RESONANCE, 2.0, {}, Options(settings={"control": "none"})).run(duration(RESONANCE))
    assert error(record["piston"], record["stretch"]) > 15
    assert error(record["deflection[2]"], complete(RESONANCE, 2.0)["deflection[2]"]) > 10


def test_reference_has_converged() -> None:
    """The damper takes the energy out that the train brings in, whatever the step: 8 kHz against the test at 1 kHz."""
    fine, coarse = complete(RESONANCE, 2.0), build(RESONANCE, 2.0, {}, Options(settings={"noise": 0.0}))
    record = coarse.run(duration(RESONANCE))
    assert np.abs(record["deflection[2]"]).max() == pytest.approx(np.abs(fine["deflection[2]"]).max(), rel=5e-3)


def test_crossings_beyond_the_rig_never_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmor.studies.structural.railway_bridge.LOAD_CELL", 150e3)
    assert target_problems(RESONANCE, 2.0) == [
        "Force on the load cell must stay within 90 % of 150000 N, got 2.06e+05 N at 169 km/h."
    ]
    with pytest.raises(ConfigError, match="Target: Force on the load cell must stay within 90 %"):
        build(RESONANCE, 2.0, {}, Options()).run(0.1)
    with pytest.raises(ConfigError, match="control of railway_bridge must be one of 'state', 'none'"):
        build(RESONANCE, 2.0, {}, Options(settings={"control": "pid"}))
    with pytest.raises(ConfigError, match="speed of study 'railway_bridge'"):
        duration(-3.0)


def test_damper_is_a_rig_and_the_bridge_a_side_beside_it() -> None:
    side = find_rig("hmor.studies.structural.railway_bridge:damper_rig", 1000.0, Path())
    assert side.commands == ("command", "voltage") and side.measured == ("position", "force")
    with pytest.raises(ConfigError, match="rate of the rig of railway_bridge must be 1000 Hz, got 500 Hz"):
        damper_rig(500.0)
    loop = Loop(1000.0)
    loop.constant("position", 0.0, unit="m")
    loop.constant("force", 0.0, unit="N")
    bridge_side(loop, {}, {"speed": 120.0})
    record = loop.run(1.0)
    assert np.abs(record["deflection[2]"]).max() > 5e-3 and np.ptp(record["wanted_voltage"]) == 0.0


def test_report_draws_set_up_and_maxima(resonance: tuple[dict[str, float], object]) -> None:
    metrics, record = resonance
    more = metrics | {f"{name}_150_{unit}": 1.0 for name in ("bare", "off", "on") for unit in ("mm", "m_s2")}
    assert maxima_by_speed(more)["mm"]["bare"] == {169.0: metrics["bare_169_mm"], 150.0: 1.0}
    figures = pictures({"nominal": {"full": more}}, record)  # type: ignore[arg-type]
    assert len(figures) == 2
    assert [len(axes.lines) for axes in figures[0][0].axes] == [3, 4]
    assert len(pictures({"nominal": {"full": metrics}}, None)) == 0
    assert TEST.drawing is not None
    words = [text.get_text() for axes in TEST.drawing().axes for text in axes.texts]
    assert "damper (physical)" in words and "44 axles of 190 kN" in words
