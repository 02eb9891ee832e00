"""Detectors of lying sensors: the numbers of their twins, every lie on the spring test, default rules and reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hmor.rigs.lies import LIES
from hmor.rigs.rehearsal import Rehearsal, healthy, rehearse
from rt_runtime import (
    Command,
    ConfigError,
    Drive,
    EnergyWatch,
    Gain,
    InProcessRig,
    Loop,
    ResponseWatch,
    Rule,
    Sensor,
    StartStop,
    Table,
    Tripped,
    protect,
)
from rt_runtime.rig.actuators import names_of
from tests.reference.response_watch import energy_watch, response_watch

DT = 1e-3
EXAMPLE = Path(__file__).resolve().parents[4] / "hmor" / "studies" / "spring_test.toml"
SPRING = Rehearsal(EXAMPLE, "spring", ("position", "force"), (5e-6, 0.5), 3.0)


def motion(seed: int, n: int = 2800) -> tuple[np.ndarray, np.ndarray]:
    """A command that grows and a late, noisy response whose sensor drifts and sticks near the end."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) * DT
    u = 0.2 + (np.sin(2 * np.pi * 3 * t) + 0.3 * np.sin(2 * np.pi * 7 * t)) * (1.0 + 3.0 * np.clip(t - 1.5, 0.0, 0.1))
    y = 2.0 * np.interp(t - 0.012, t, u) + 1e-3 * rng.normal(size=n)
    y += np.where(t > 2.2, 0.4 * (t - 2.2), 0.0)
    y[2450:] = y[min(2450, n - 1)]
    return u, y


def test_the_response_watch_is_its_twin() -> None:
    u, y = motion(3)
    block = ResponseWatch(dt=DT, nominal=2.0, caution=1.5, learn=0.4)
    got = np.array([block.step(k * DT, np.array([u[k], y[k]])) for k in range(len(u))])
    settings = {"lags": [0, 2, 5, 10, 20, 40, 80, 160], "every": 1, "learn": 400, "tolerance": 0.05, "caution": 1.5}
    wanted = response_watch(u, y, **settings, nominal=2.0, window=50, experience=400.0, memory=250)
    pauses = np.diff(wanted[:2200, 0] > 0) & (wanted[1:2200, 0] == 0)
    assert pauses.any()
    assert (wanted[:, :3].max(axis=0) > 0.1).all() and wanted[-1, 4] > 0.1 and wanted[-1, 5] > 10.0
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-7)


def test_the_energy_watch_is_its_twin() -> None:
    u, y = motion(4, 900)
    block = EnergyWatch(dt=DT)
    got = np.array([block.step(k * DT, np.array([u[k], -y[k]]))[0] for k in range(len(u))])
    np.testing.assert_allclose(got, energy_watch(u, -y, fade=0.5, dt=DT), rtol=1e-9, atol=1e-12)
    block.reset()
    assert (
        max(block.step(k * DT, np.array([u[k], -u[k]]))[0] for k in range(len(u))) > 0.75
    )  # a force of the wrong sign


def test_numbers_that_are_not_finite_are_not_learned() -> None:
    u, y = motion(3, 1200)
    block = ResponseWatch(dt=DT)
    for k in range(1200):
        block.step(k * DT, np.array([u[k], np.nan if k == 700 else y[k]]))
    assert np.isfinite(block.step(1.2, np.array([u[-1], y[-1]]))).all()


@pytest.mark.parametrize("lie", LIES)
def test_every_lie_on_the_spring_is_noticed_before_the_specimen_is_a_fifth_off(lie: str) -> None:
    found = rehearse(SPRING, lie, seed=5)
    assert found["noticed_after_ms"] is not None and found["specimen_error"] < 0.2, found
    assert found["exit_code"] == 3


def test_a_healthy_spring_alarms_nobody() -> None:
    assert all(healthy(SPRING, seed) is None for seed in range(3))


def guarded(rules: list[Rule] | None = None, *, command: Command | None = None) -> Loop:
    specimen = Loop(1000.0)
    specimen.constant("u", 0.0, unit="m")
    specimen.signal("x", unit="m")
    specimen.signal("f", unit="N")
    specimen.add("spring", Gain([[1.0], [1e5]]), inputs=["u"], outputs=["x", "f"])
    rig = InProcessRig(specimen, ["u"], ["x", "f"])
    loop = Loop(1000.0)
    for name, unit in (("x", "m"), ("f", "N"), ("rig.age", ""), ("rig.status", ""), ("rig.sent", ""), ("wanted", "m")):
        loop.signal(name, unit=unit)
    loop.add("rig.read", Sensor(rig), outputs=names_of("rig", ["x", "f"]))
    t = np.linspace(0.0, 3.0, 601)
    loop.add("target", Table(t, 0.01 * np.sin(12.0 * t)), outputs=["wanted"])
    protect(
        loop,
        [command or Command("wanted", "command", -0.02, 0.02, rate=0.5, measured="x")],
        rules or [],
        manners=StartStop(soft_start=0.2, soft_stop=0.2),
    )
    loop.add("rig.write", Drive(rig), inputs=["command"], outputs=["rig.sent"])
    return loop


ALWAYS = {
    "stall", "lost_frames", "stale", "status", "sent", "command_error", "command_range", "command_rate",
    "command_acceleration", "x_follows", "x_drift", "x_lag", "x_gain", "x_frozen", "x_quiet", "f_follows", "f_drift",
    "f_lag", "f_gain", "f_frozen", "f_quiet", "f_energy",
}  # fmt: skip


def test_a_guarded_loop_has_the_default_rules_and_runs_with_them() -> None:
    loop = guarded()
    assert {rule["name"] for rule in loop.blocks["monitor"].described() if rule["default"]} == ALWAYS  # type: ignore[attr-defined]
    assert loop.run(2.0).ended == "finished"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("stale", "rig.age", upper=200), "upper 100"),
        (Rule("stale", "rig.age", upper=100, action="hold"), "action trip"),
        (Rule("stale", "rig.age", upper=100, ticks=2), "ticks 1"),
        (Rule("stale", "rig.status", upper=100), "signal rig.age"),
        (Rule("f_follows", "f.doubt", upper=1.5), "upper 1"),
    ],
)
def test_a_looser_rule_needs_a_reason_that_is_kept_in_the_record(rule: Rule, words: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=rf"Rule '{rule.name}' is looser than the default \({words}\) and must say why"
    ):
        guarded([rule])
    guarded([replace(rule, reason="as agreed")]).run(0.1, folder=tmp_path / "run")
    kept = {r["name"]: r for r in json.loads((tmp_path / "run" / "run.json").read_text())["rules"]}
    assert kept[rule.name]["reason"] == "as agreed" and not kept[rule.name]["default"] and kept["status"]["default"]


def test_a_tighter_rule_needs_none() -> None:
    assert guarded([Rule("stale", "rig.age", upper=20)]).run(0.1).ended == "finished"


def test_a_declared_stiffness_tells_a_force_of_the_wrong_sign_or_unit_from_the_first_tick() -> None:
    stroke = Command("wanted", "command", -0.02, 0.02, rate=0.5, measured="x", stiffness=-1e5)
    with pytest.raises(Tripped, match=r"f\.gain -1\.0\d* is below its limit 0\.2 \(rule 'f_gain'\)"):
        guarded(command=stroke).run(2.0)


def test_the_acceleration_of_a_wanted_command_is_a_quantity() -> None:
    loop = guarded([Rule("jerky", "wanted", -1.0, 1.0, "ramp", "acceleration")])
    assert "acceleration of wanted" in loop.run(2.0).ended
