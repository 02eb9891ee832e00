"""The path through targets of a slower program: reaches each, is smooth, stops when none comes."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import Posted, Received, TargetPath
from rt_runtime.errors import ConfigError

DT, STEP = 1e-3, 0.02  # 20 ticks per target


def follow(path: TargetPath, targets: np.ndarray, late: int = 0, lag: float = 1.0) -> tuple[np.ndarray, list[float]]:
    """Send each target `late` ticks after the answer to the last one; a position that follows by `lag`."""
    sent, waits, position, rows, answered = 0, 0, 0.0, [], []
    known = 0
    for k in range(100_000):
        number, answer = path.answers.read()
        if number > known:
            known, waits = number, late
            answered.append(answer[1])
        if sent == known and sent < len(targets):
            if waits == 0:
                path.targets.post(np.array([targets[sent]]))
                sent += 1
            else:
                waits -= 1
        out = path.step(k * DT, np.array([position, 5.0 * position]))
        position += lag * (out[0] - position)
        rows.append(out)
        if known == len(targets):
            break
    return np.array(rows), answered


def test_every_target_is_reached_and_answered() -> None:
    targets = 0.01 * np.sin(0.2 * np.arange(1, 60))
    rows, answered = follow(TargetPath(1, step=STEP, dt=DT, tolerance=1e-12, settle=1.0), targets)
    np.testing.assert_allclose(answered, targets, atol=1e-12)
    assert rows[-1, 2] == len(targets)
    assert len(rows) < 1.6 * len(targets) * 20  # about one step of the clock per target


def test_the_command_is_smooth_when_targets_come_in_time_and_stops_when_they_are_late() -> None:
    targets = 0.01 * np.sin(0.2 * np.arange(1, 60))
    quick, _ = follow(TargetPath(1, step=STEP, dt=DT), targets, late=3)
    speed = np.abs(np.diff(quick[:, 0])) / DT
    fastest = 0.01 * 0.2 / STEP  # of the sine itself
    assert speed.max() < 2.0 * fastest
    slow, _ = follow(TargetPath(1, step=STEP, dt=DT), targets, late=200)
    held = slow[:, 1] == 0  # the phase of holding
    assert held.mean() > 0.5
    still = held[1:] & held[:-1]
    assert np.abs(np.diff(slow[:, 0]))[still].max() == 0.0
    assert np.abs(np.diff(slow[:, 0])).max() / DT < 4.0 * fastest


def test_prediction_goes_along_the_parabola_of_the_last_three() -> None:
    path = TargetPath(1, step=STEP, dt=DT, predict=0.5)
    targets = np.array([1.0, 4.0, 9.0])
    follow(path, targets)
    ahead = [path.step(0.0, np.zeros(2))[0] for _ in range(9)]  # `follow` has made the first tick of it
    np.testing.assert_allclose(ahead, (3 + np.arange(2, 11) / 20) ** 2, rtol=1e-12)


def test_a_target_that_the_position_does_not_meet_is_answered_after_the_time() -> None:
    path = TargetPath(1, step=STEP, dt=DT, tolerance=1e-6, settle=0.05)
    path.targets.post(np.array([1.0]))
    phases = [path.step(k * DT, np.array([0.3, 7.0]))[1] for k in range(100)]
    assert phases.count(2) == 50 and phases[20:69] == [2] * 49
    number, answer = path.answers.read()
    assert number == 1 and answer.tolist() == [1.0, 0.3, 7.0]


def test_reset_begins_anew_and_does_not_take_the_old_target_again() -> None:
    path = TargetPath(2, step=STEP, dt=DT)
    path.targets.post(np.array([1.0, -1.0]))
    moved = [path.step(0.0, np.zeros(4)) for _ in range(30)]
    assert moved[19][:2].tolist() == [1.0, -1.0]
    path.reset()
    assert path.step(0.0, np.zeros(4)).tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"step": 0.002}, "step of TargetPath must be at least 5 ticks"),
        ({"predict": 1.5}, "predict of TargetPath must lie between 0 and 1"),
        ({"tolerance": -1.0}, "tolerance of TargetPath must not be negative"),
        ({"settle": float("nan")}, "settle of TargetPath must lie between 0 and 3600 s"),
    ],
)
def test_errors_are_sentences(given: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        TargetPath(1, **({"step": STEP, "dt": DT} | given))


def test_mail_arrives_with_its_age_and_goes_out() -> None:
    received, posted = Received(2, dt=0.5), Posted(2)
    assert received.step(0.0, np.zeros(0))[2] > 1e8
    received.box.post(np.array([3.0, 4.0]))
    assert [received.step(0.0, np.zeros(0)).tolist() for _ in range(3)] == [[3, 4, 0], [3, 4, 0.5], [3, 4, 1.0]]
    received.box.post(np.array([3.0, 4.0]))  # the same numbers again are news
    assert received.step(0.0, np.zeros(0)).tolist() == [3, 4, 0]
    assert posted.box.read()[0] == 0
    posted.step(0.0, np.array([8.0, 9.0]))
    assert posted.box.read()[1].tolist() == [8.0, 9.0]
    with pytest.raises(ValueError, match="must fit the mailbox"):
        received.box.post(np.zeros(3))
