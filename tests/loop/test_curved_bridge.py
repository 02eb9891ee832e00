"""Two loading boxes under one bridge: twelve actuators, previews from the numerical state, one trip for both."""

from __future__ import annotations

import numpy as np
import pytest

from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial.curved_bridge import BOXES, CASES, build, complete, deck, judge, numerical, piers
from hmor.study.simulate import built_in_test
from rt_runtime import ConfigError, PythonBlock, Tripped

FAULT_AT = 4.0


def motion(scale: float = 0.5):
    return ground_motion(Options(), scale=scale)


def test_deck_has_26_coordinates_and_the_bridge_its_frequencies() -> None:
    assert deck(0.02).T is not None and deck(0.02).T.shape[1] == 26
    closed = numerical(0.02)
    A = closed.A + closed.B[:, 2:] @ piers() @ closed.C
    w = np.sort(np.unique(np.round(np.abs(np.log(np.linalg.eigvals(A).astype(complex))) * 1000 / (2 * np.pi), 4)))
    assert w[:4] == pytest.approx([0.527, 0.656, 1.10, 1.27], rel=0.02)  # the massless piers shift them a little
    assert np.abs(np.linalg.eigvals(A)).max() < 1


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    ground = motion(1.0)
    record = build(CASES["state"], ground, {}, Options()).run(ground.duration)
    return judge(CASES["state"], record, ground)


def test_bridge_at_two_percent_damping_follows_the_complete_one(found: dict[str, float]) -> None:
    """With noise: response within 0.75 %, translations tracked within 0.75 %."""
    assert found["response_worst"] < 0.75
    assert max(found[f"box{i}_{d}"] for i in (1, 2) for d in ("ux", "uz")) < 0.75


def test_quiet_sensors_leave_half_a_percent_of_tracking() -> None:
    ground = motion()
    record = build(CASES["state"], ground, {}, Options(settings={"noise": 0.0})).run(ground.duration)
    result = judge(CASES["state"], record, ground)
    assert result["tracking_worst"] < 0.75
    assert result["response_worst"] < 0.3


def test_a_polynomial_of_third_order_is_refused_before_the_first_tick() -> None:
    """It amplifies the modes of the interface between 20 and 27 Hz."""
    with pytest.raises(ConfigError, match="Stability: The whole test must be stable on the identified actuators"):
        build(CASES["polynomial"], motion(), {}, Options(settings={"order": 3})).run(1.0)


def test_a_broken_sensor_of_one_box_takes_both_poses_to_rest() -> None:
    kept = np.zeros(6)

    def wires(t: float, u: np.ndarray) -> np.ndarray:
        reading = u[:6] + u[6:]
        reading[0] = kept[0] if t >= FAULT_AT else reading[0]
        kept[0] = reading[0]
        return reading

    lying = {2: PythonBlock(wires, n_in=12, n_out=6)}
    loop = build(CASES["state"], motion(), {}, Options(settings={"guarded": True}), potentiometers=lying)
    with pytest.raises(Tripped, match=r"box2.reading_1 .* exceeds its limit .* .rule 'box2.reading_1_stuck'") as trip:
        loop.run(8.0)
    record = trip.value.record
    assert record.time[-1] < FAULT_AT + 2.0
    ending = record["monitor.state"] == 6
    for prefix in BOXES.values():
        way = record[f"{prefix}guarded[6]"][ending]
        assert np.abs(way[0]).max() > 1e-5
        assert np.abs(way[-1]).max() < 1e-9
    assert np.abs(record["faded[10]"][ending][300:]).max() == 0.0
    assert np.abs(record["ahead[26]"][-1]).max() == 0.0  # nor does the preview go on
    assert np.abs(record["box1.pose[6]"][-1]).max() < 5e-5  # the box without a fault stands at rest


def test_a_motion_beyond_a_box_never_starts() -> None:
    with pytest.raises(ConfigError, match=r"Target: Box 1: (Force|Stroke) of limb"):
        build(CASES["state"], motion(6.0), {}, Options(settings={"guarded": True})).run(1.0)


def test_reference_is_the_undivided_bridge() -> None:
    d = complete(0.02, motion(), 5.0)
    assert d.shape == (5000, 10)
    assert 1e-4 < np.abs(d).max() < 0.05


@pytest.mark.parametrize(
    ("name", "words"), [("curved_bridge", {"pier 1", "pier 3", "X1", "Y3"}), ("moment_frame", {"column: tested", "Z"})]
)
def test_set_up_is_drawn(name: str, words: set[str]) -> None:
    test = built_in_test(name)
    assert test.drawing is not None
    assert words <= {text.get_text() for axes in test.drawing().axes for text in axes.texts}
