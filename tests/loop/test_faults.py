"""Every fault beside a real process over loopback UDP: the defined action, in time, with the command in its limits."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rt_runtime import (
    ConfigError,
    Loop,
    PythonBlock,
    Record,
    RecordWarning,
    Rig,
    Rule,
    RunFolder,
    Tripped,
    UdpRig,
    load_run,
    replay,
)
from tests.loop.rig_loop import BUSY, PACING, STALE, STROKE, assert_within_limits, rig_loop
from tests.loop.rig_process import STIFFNESS, rig_process

KEY = bytes(range(32))
TRIPPED, RAMPING, HOLDING = 6, 5, 4
STALE_RULE = Rule("stale", "rig.age", upper=STALE, reason=BUSY)

pytestmark = pytest.mark.paced


def trip_of(loop: object, seconds: float = 3.0) -> tuple[Record, str]:
    with pytest.raises(Tripped) as caught:
        loop.run(seconds, paced=True, pacing=PACING)  # type: ignore[attr-defined]
    record = caught.value.record
    assert_within_limits(record)
    assert record["command"][-1] == STROKE.rest
    assert record.ended == str(caught.value)
    return record, record.ended


def test_a_healthy_rig_loses_nothing_and_the_record_replays_to_the_same_bits(tmp_path: Path) -> None:
    with rig_process() as (process, port):
        rig = UdpRig(1, 2, port=port)
        loop = rig_loop(rig, [STALE_RULE])
        record = loop.run(1.0, paced=True, pacing=PACING, folder=tmp_path / "run")
        assert process.stdout is not None
        seen = json.loads(process.stdout.readline())
    assert record.ended == "finished"
    assert_within_limits(record)
    assert rig.traffic["lost"] == rig.traffic["damaged"] == rig.traffic["repeated"] == 0
    assert seen["lost"] == 0 and seen["sent"] == record.ticks
    assert np.allclose(record["force"], STIFFNESS * record["x"], rtol=1e-12)
    loaded = load_run(tmp_path / "run")
    for again in (replay(loop, record), replay(loop, loaded)):
        assert again.values.tobytes() == record.values.tobytes()


def test_signed_messages_work_and_unsigned_ones_do_not() -> None:
    with rig_process(key=KEY.hex()) as (_, port):
        assert rig_loop(UdpRig(1, 2, port=port, key=KEY), [STALE_RULE]).run(0.3, paced=True, pacing=PACING).ticks > 300
    with (
        rig_process(key=KEY.hex()) as (_, port),
        pytest.raises(ConfigError, match=r"must answer within 0\.4.* got nothing"),
    ):
        rig_loop(UdpRig(1, 2, port=port, timeout=0.4)).run(0.3, paced=True)
    wrong = b"another key, long enough"
    with rig_process() as (_, port), pytest.raises(ConfigError, match="give both sides the same key"):
        rig_loop(UdpRig(1, 2, port=port, key=wrong, timeout=2.0)).run(0.3, paced=True)


def test_nan_from_a_sensor_trips_in_the_tick_it_arrives() -> None:
    with rig_process(nan_at=300) as (_, port):
        record, why = trip_of(rig_loop(UdpRig(1, 2, port=port), [STALE_RULE]))
    first = int(np.flatnonzero(np.isnan(record["x"]))[0])
    assert "signal 'x' of block 'rig.read' is nan" in why and f"at tick {first} " in why
    assert record["monitor.state"][first] == TRIPPED


def test_a_stuck_sensor_trips_after_the_defined_ticks() -> None:
    stuck = Rule.stuck("stuck", "x", "command", 50)
    with rig_process(stuck_at=300) as (_, port):
        record, why = trip_of(rig_loop(UdpRig(1, 2, port=port), [STALE_RULE, stuck]))
    assert "time without a change of x 50 ticks exceeds its limit 49 ticks (rule 'stuck')" in why
    at = int(np.flatnonzero(record["monitor.state"] == TRIPPED)[0])
    assert (record["x"][at - 50 : at] == record["x"][at]).all()


def test_ten_percent_loss_is_counted_and_survived() -> None:
    with rig_process(loss=0.1, seed=2) as (_, port):
        rig = UdpRig(1, 2, port=port)
        record = rig_loop(rig, [STALE_RULE]).run(1.0, paced=True, pacing=PACING)
    assert record.ended == "finished"
    assert_within_limits(record)
    assert 60 <= rig.traffic["lost"] <= 180
    assert record["rig.age"].max() >= 1.0
    answered = rig.traffic["received"] + rig.traffic["lost"] + record["rig.age"][-1]  # the age: answers on their way
    assert answered >= record.ticks - 2


def test_packets_five_milliseconds_late_hold_the_command_then_stop_softly() -> None:
    late = Rule.stale("late", "rig.age", 4, action="hold")
    with rig_process(late=1.0, late_by=0.005) as (_, port):
        rig = UdpRig(1, 2, port=port)
        record = rig_loop(rig, [late]).run(4.0, paced=True, pacing=PACING)
    assert record.ended.startswith("Ramped down at tick ") and "(rule 'late')" in record.ended
    assert_within_limits(record)
    assert rig.traffic["late"] > 100
    first = int(np.flatnonzero(record["rig.age"] > 4)[0])
    assert record["monitor.state"][first] == HOLDING
    assert record["command"][-1] == STROKE.rest


def test_forged_and_replayed_packets_never_reach_the_loop() -> None:
    faults = {"forge": 0.2, "replay": 0.2, "repeat": 0.2, "reorder": 0.1}
    with rig_process(key=KEY.hex(), **faults) as (_, port):
        rig = UdpRig(1, 2, port=port, key=KEY)
        record = rig_loop(rig, [STALE_RULE]).run(1.0, paced=True, pacing=PACING)
    assert record.ended == "finished"
    assert_within_limits(record)
    assert rig.traffic["forged"] > 100 and rig.traffic["repeated"] > 100 and rig.traffic["reordered"] > 10
    assert np.abs(record["x"]).max() < 0.02  # a forged one says 1e6
    assert (record["rig.age"][10:] < STALE).all()


def test_packets_from_elsewhere_and_rubbish_are_counted() -> None:
    with rig_process() as (process, port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for rubbish in (b"", b"x" * 10, b"HMRG" + bytes(212), bytes(216), bytes(400)):
                stranger.sendto(rubbish, ("127.0.0.1", port))
        record = rig_loop(UdpRig(1, 2, port=port), [STALE_RULE]).run(0.2, paced=True, pacing=PACING)
        assert process.stdout is not None
        seen = json.loads(process.stdout.readline())
    assert record.ended == "finished"
    assert seen["damaged"] == 5


def test_a_killed_rig_trips_when_the_measurement_is_stale() -> None:
    with rig_process() as (process, port):
        threading.Timer(0.4, process.kill).start()
        rule = Rule.stale("stale", "rig.age", 100)
        record, why = trip_of(
            rig_loop(
                UdpRig(1, 2, port=port),
                [rule],
            ),
            5.0,
        )
    assert "rig.age" in why or "rig.sent" in why  # the host may also refuse to send to a port nobody listens on
    at = int(np.flatnonzero(record["monitor.state"] == TRIPPED)[0])
    assert record["rig.age"][at] <= 101


def test_a_stopped_rig_holds_the_command_and_goes_on_after_it_continues() -> None:
    hold = Rule("stale", "rig.age", upper=100, action="hold", reason="the rig comes back")
    error = replace(Rule.tracking("command_error", "x", "command", 0.02), reason="so does its sensor")
    with rig_process() as (process, port):
        threading.Timer(0.4, process.send_signal, (signal.SIGSTOP,)).start()
        threading.Timer(0.8, process.send_signal, (signal.SIGCONT,)).start()
        record = rig_loop(UdpRig(1, 2, port=port), [hold, error]).run(2.0, paced=True, pacing=PACING)
    assert record.ended == "finished"
    assert_within_limits(record)
    held = record["monitor.state"] == HOLDING
    assert held.sum() > 100
    at = int(np.flatnonzero(held)[0])
    assert record["rig.age"][at] == 101.0
    way = record["command"][at - 1 :][: held.sum() + 1] - record["command"][at - 1]
    speed = np.abs(np.diff(record["command"][at - 3 : at])).max()
    assert np.abs(way).max() <= speed * 50 / 3 and (np.diff(np.abs(way)) >= 0.0).all()  # braked, in one direction
    assert (way[70:] == way[-1]).all()  # and stands, after 50 ticks and some that came early
    assert record["monitor.state"][held.nonzero()[0][-1] + 1] == 3.0  # running again


def test_a_rig_that_was_stopped_for_longer_than_its_lease_obeys_nothing_that_waited() -> None:
    """Its process sleeps through 200 commands on a way to 4 mm; what it says after it wakes up is on its way to rest."""
    with rig_process(watchdog={"lease": 0.3, "ramp": 0.2}) as (process, port):
        actuator = UdpRig(1, 2, port=port)
        actuator.start()

        def command(x: float) -> float:
            actuator.write(0.0, np.array([x]))
            time.sleep(0.002)
            return float(actuator.read(0.0)[0][0])

        while command(0.001) < 0.0009:
            pass
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        for x in np.linspace(0.001, 0.004, 200):
            command(x)
        process.send_signal(signal.SIGCONT)
        seen, end = [0.001], time.monotonic() + 20.0
        while seen[-1] > 1e-4 and time.monotonic() < end:
            seen.append(command(0.004))
        assert seen[-1] <= 1e-4 and max(seen) <= 0.001
        assert actuator.read(0.0)[2] < 0  # the rig says that it has taken itself back
        actuator.stop()


def test_a_specimen_that_takes_longer_than_the_lease_for_a_tick_loses_its_session_as_well() -> None:
    """It dwells at 2 mm, in the midst of reading: the commands on a way to 4 mm that wait meanwhile are not obeyed."""
    dwells = []

    def follow(t: float, u: np.ndarray) -> list[float]:
        if u[0] >= 0.002 and not dwells:
            dwells.append(t)
            time.sleep(0.8)
        return [float(u[0])]

    loop = Loop(1000.0)
    loop.constant("command", 0.0, unit="m")
    loop.signal("x", unit="m")
    loop.add("specimen", PythonBlock(follow, n_in=1, n_out=1), inputs=["command"], outputs=["x"])
    rig = Rig(loop, ["command"], ["x"], lease=0.3, ramp=0.2)
    serving = threading.Thread(target=rig.serve, kwargs={"seconds": 30.0})
    serving.start()
    actuator = UdpRig(1, 1, port=rig.port)

    def command(x: float) -> float:
        actuator.write(0.0, np.array([x]))
        time.sleep(0.002)
        return float(actuator.read(0.0)[0][0])

    try:
        actuator.start()
        while command(0.001) < 0.0009:
            pass
        for x in np.linspace(0.002, 0.004, 50):
            command(x)
        seen, end = [0.001], time.monotonic() + 20.0
        while seen[-1] > 1e-4 and time.monotonic() < end:
            seen.append(command(0.004))
        assert dwells and seen[-1] <= 1e-4 and max(seen) <= 0.002
    finally:
        actuator.stop()
        rig.stop()
        serving.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_is_a_ramp_and_not_a_jump(number: signal.Signals) -> None:
    with rig_process() as (_, port):
        threading.Timer(0.35, os.kill, (os.getpid(), number)).start()
        record = rig_loop(UdpRig(1, 2, port=port), [STALE_RULE]).run(20.0, paced=True, pacing=PACING)
    assert record.ended.startswith("Stopped on request at tick ")
    assert_within_limits(record)
    assert (record["monitor.state"] == RAMPING).sum() >= 150
    assert record["command"][-1] == STROKE.rest


def test_a_full_disk_ends_a_test_softly_by_a_default_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rt_runtime.engine.records import run_folder

    monkeypatch.setattr(run_folder, "FRAMES", "../full")
    (tmp_path / "full").symlink_to("/dev/full")
    folder = RunFolder(tmp_path / "run")
    with rig_process() as (_, port):
        loop = rig_loop(UdpRig(1, 2, port=port), [STALE_RULE])
        with pytest.warns(RecordWarning, match="refused by the disk"):
            record = loop.run(3.0, paced=True, pacing=PACING, folder=folder)
    assert record.ended.startswith("Ramped down at tick ") and "host.lost" in record.ended
    assert record.notes["frames_refused_by_disk"] == record.frames_lost == record.ticks < 3000
    about = json.loads((folder.path / "run.json").read_text())
    assert about["record"]["disk_error"] == "No space left on device"
    assert about["events"][-1]["rule"] == "lost_frames"


def test_the_folder_of_a_tripped_run_is_complete(tmp_path: Path) -> None:
    with rig_process(nan_at=200) as (_, port):
        loop = rig_loop(UdpRig(1, 2, port=port), [STALE_RULE])
        with pytest.raises(Tripped) as caught:
            loop.run(2.0, paced=True, pacing=PACING, folder=tmp_path / "run")
    loaded = load_run(tmp_path / "run")
    assert loaded.ended == str(caught.value) and len(loaded) == loaded.ticks == caught.value.tick + 1
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["events"][-1]["state"] == "tripped" and about["events"][-1]["rule"] == "a block is broken"


def test_no_rig_is_one_sentence_before_the_first_tick() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        start = time.monotonic()
        with pytest.raises(
            ConfigError, match=rf"Rig at 127.0.0.1:{port} must answer within 0.3.* s, got nothing; start it"
        ):
            rig_loop(UdpRig(1, 2, port=port, timeout=0.3)).run(1.0, paced=True)
        assert time.monotonic() - start < 30.0
    with (
        rig_process() as (_, port),
        pytest.raises(ConfigError, match="has 1 commands and 2 measured signals, the loop"),
    ):
        start_directly(UdpRig(1, 3, port=port))


def start_directly(rig: UdpRig) -> None:
    """Start an actuator as the loop does."""
    try:
        rig.start()
    except RuntimeError as error:
        raise ConfigError(str(error)) from None


def test_the_rig_of_another_process_ends_with_the_test() -> None:
    with rig_process() as (process, port):
        rig_loop(UdpRig(1, 2, port=port), [STALE_RULE]).run(0.1, paced=True, pacing=PACING)
        assert process.wait(10) == 0
        assert isinstance(process, subprocess.Popen)
