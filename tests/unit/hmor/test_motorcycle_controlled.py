"""Virtual tests of the motorcycle under adaptive MPC: which runs are made, and what is said when one diverges."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hmor.motorcycle import controlled
from hmor.motorcycle.hybrids import EVERY, RESPONSES, differences
from hmor.motorcycle.page import Page
from hmor.motorcycle.report import controlled_section
from hmor.motorcycle.settings import BUILT_IN, Settings, load_settings
from hmor.studies.base import Options
from hmor.studies.motorcycle_ampc import build
from mor import Trajectory
from mor.models.motorcycle import brake
from mor.models.motorcycle.model import hybrid
from rt_runtime import Record, Tripped
from rt_runtime.record import Signal

INDICES = {"J1_ms": 0.1, "J2_percent": 0.2, "J3_percent": 0.3, "J3_after_1s_percent": 0.25}


def history(scale: float) -> Trajectory:
    """Return 2 s of a torque that is `scale` times its target."""
    time = np.linspace(0.0, 2.0, 201)
    values = np.outer(np.sin(time), [1.0, *[scale] * len(RESPONSES)])
    return Trajectory(time, values, {"target": "Nm"} | dict.fromkeys(RESPONSES, "Nm"))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of two prototypes in a folder with the mean history without control; no bundle is needed."""
    (tmp_path / "simulate").mkdir()
    history(1.0).save(tmp_path / "simulate" / "fom.nc")
    monkeypatch.setattr(controlled, "study_bundle", lambda *_: None)
    monkeypatch.setattr(controlled, "reduced_brake", lambda _, side, kind: f"{side}_{kind}")
    full = load_settings(BUILT_IN)
    return full.model_copy(update={"simulate": full.simulate.model_copy(update={"prototypes": 2})})


def test_both_brakes_run_the_same_prototypes_with_the_same_actuators(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[bool, list[tuple[int, float | None]]] = {False: [], True: []}

    def run(parameters: dict[str, float], draws: int, brakes: dict[str, Any]) -> controlled.Test:
        calls[bool(brakes)].append((draws, parameters.get("M")))
        return dict(INDICES), history(1.01 if brakes else 1.0)

    monkeypatch.setattr(controlled, "run", run)
    result = controlled.simulate(settings, tmp_path)
    assert sorted(calls[True]) == sorted(calls[False])
    assert sorted(draws for draws, _ in calls[True]) == [1, 2, 3]
    assert len({mass for _, mass in calls[True]}) == 3
    assert result["nominal"]["ffnn_memory"] == result["mean"]["fom"] == pytest.approx(INDICES)
    assert result["mean"]["published"] == {"J1_ms": 2.5, "J2_percent": 0.34, "J3_percent": 2.82}
    assert result["nrmse_percent"]["reduced_against_full_order"] == pytest.approx(dict.fromkeys(RESPONSES, 1.0))
    assert result["nrmse_percent"]["controlled_against_uncontrolled"] == pytest.approx(dict.fromkeys(RESPONSES, 0.0))
    assert result["beats_published"] == {"fom": True, "ffnn_memory": True}


def test_a_run_that_diverges_is_counted_and_nothing_is_compared(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(parameters: dict[str, float], draws: int, brakes: dict[str, Any]) -> controlled.Test | None:
        return None if brakes and draws < 3 else (dict(INDICES), history(1.0))

    monkeypatch.setattr(controlled, "run", run)
    result = controlled.simulate(settings, tmp_path)
    assert result["unstable"] == {"fom": 0, "ffnn_memory": 2}
    assert result["nominal"]["ffnn_memory"] is None
    assert result["mean"]["ffnn_memory"] == pytest.approx(INDICES)
    assert result["nrmse_percent"]["reduced_against_full_order"] is None
    assert result["nrmse_percent"]["controlled_against_uncontrolled"] is not None
    assert result["beats_published"] == {"fom": True, "ffnn_memory": False}
    page = Page("title", "lead")
    controlled_section(page, tmp_path, tmp_path, result)
    assert "Runs that diverged: 0 with full-order brakes, 2 with reduced brakes (FFNN, memory)." in str(page)
    assert "Without the first second it is 0.25 \u00b1 0.00 %" in str(page)
    assert "<img" not in str(page)


def test_a_tripped_loop_is_a_run_that_diverged(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(np.zeros(0), np.zeros((0, 1)), (Signal("v", "m/s"),), 1e4, 0)

    def trip(_: float) -> Record:
        raise Tripped("Tripped at 1 s", record, 10)

    monkeypatch.setattr(controlled, "build", lambda *_: SimpleNamespace(record=lambda _: None, run=trip))
    assert controlled.run({}, 1, {}) is None


def test_the_motorcycle_hardly_feels_the_motor_under_control() -> None:
    """An input taken for that of another tick shows here first: 0.3 % of the drive torque."""
    _, under_control = controlled.run({}, 1, {}) or pytest.fail("diverged")
    plain = hybrid(every=EVERY).run(record=list(RESPONSES))
    found = differences(under_control, plain)
    assert found["tau_en"] < 0.1
    assert all(found[name] < 0.06 for name in RESPONSES if name != "tau_en")
    assert found["v"] < 0.005


def test_the_brakes_that_are_given_stand_in_for_the_full_order_ones() -> None:
    """Two front brakes for two ends: the rear torque becomes that of the front brake."""
    torques = {}
    for name, brakes in {"own": None, "front": {"rear": brake("front")}}.items():
        loop = build("adaptive", {}, Options(), brakes)
        loop.record(["tau_rw", "tau_fw"], every=100)
        torques[name] = loop.run(23.0)
    assert torques["front"]["tau_rw"].max() > 1.2 * torques["own"]["tau_rw"].max()
    assert torques["front"]["tau_rw"].max() == pytest.approx(torques["front"]["tau_fw"].max(), rel=0.05)
