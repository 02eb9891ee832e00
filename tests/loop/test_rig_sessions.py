"""Sessions of a rig over real sockets: an owner, a lease, a release, a watchdog; what is replayed or not finite moves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_runtime import Gain, Loop, Rig, StateSpace, UdpRig
from tests.reference.rig_datagram import (
    BUSY,
    CLAIM,
    GRANTED,
    HOLDING,
    LIVE,
    NOTICE,
    OFF,
    RAMPING,
    RELEASED,
    WELCOME,
    FakeLoop,
    Message,
    unpack,
)

ROOT = Path(__file__).resolve().parents[2]
KEY = bytes(range(32))
RATE = 1000.0


def specimen(slow: bool = False) -> Loop:
    """A spring that is where it is commanded, or one that takes a second to get there."""
    loop = Loop(RATE)
    loop.constant("command", 0.0, unit="m")
    for name, unit in (("reached", "m"), ("x", "m"), ("force", "N")):
        loop.signal(name, unit=unit)
    lag = StateSpace([[-1.0]], [[1.0]], [[1.0]], dt=1 / RATE, update="start") if slow else Gain(1.0)
    loop.add("lag", lag, inputs=["command"], outputs=["reached"])
    loop.add("spring", Gain([[1.0], [2.0]]), inputs=["reached"], outputs=["x", "force"])
    return loop


@contextmanager
def rig(*, slow: bool = False, **options: Any) -> Iterator[Rig]:
    """Serve a spring in a thread of this process."""
    made = Rig(specimen(slow), ["command"], ["x", "force"], **options)
    thread = threading.Thread(target=made.serve, kwargs={"seconds": 60.0})
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join()


def wait_for(what: Callable[[], bool], seconds: float = 20.0) -> float:
    """Wait until something is so; return how long it took."""
    start = time.monotonic()
    while not what():
        assert time.monotonic() - start < seconds, "it did not happen"
        time.sleep(0.002)
    return time.monotonic() - start


def move_to(actuator: UdpRig, x: float) -> None:
    def there() -> bool:
        actuator.write(0.0, np.array([x]))
        time.sleep(0.002)
        return bool(actuator.read(0.0)[0][0] == x)

    wait_for(there)


def test_the_specimen_stays_where_a_test_left_it_and_the_next_one_is_told_before_it_commands() -> None:
    with rig() as served:
        first = UdpRig(1, 2, port=served.port)
        first.start()
        assert first.read(0.0)[0].tolist() == [0.0, 0.0]
        move_to(first, -0.0099)
        first.stop()
        second = UdpRig(1, 2, port=served.port)
        second.start()
        measured, age, status = second.read(0.0)
        assert measured.tolist() == [-0.0099, -0.0198] and age == status == 0
        second.stop()


@pytest.mark.parametrize("reset", [False, True])
def test_the_first_command_of_a_test_does_not_make_the_specimen_new_unless_asked(reset: bool) -> None:
    with rig(slow=True, reset=reset) as served:
        first = FakeLoop(served.port)
        first.open()
        for _ in range(100):
            before = first.command(0.1).values[0]
        first.close()
        assert before > 0.005
        second = FakeLoop(served.port)
        second.open()
        after = second.command(0.1).values[0]
        assert after == (pytest.approx(0.0, abs=2e-4) if reset else pytest.approx(before, abs=2e-4))


def test_the_specimen_is_new_if_asked_for() -> None:
    with rig(reset=True) as served:
        for _ in range(2):
            actuator = UdpRig(1, 2, port=served.port)
            actuator.start()
            assert actuator.read(0.0)[0].tolist() == [0.0, 0.0]
            move_to(actuator, 0.005)
            actuator.stop()


@pytest.mark.parametrize("key", [b"", KEY])
def test_a_second_operator_is_told_busy_and_the_running_test_goes_on(key: bytes) -> None:
    with rig(key=key) as served:
        owner, other = UdpRig(1, 2, port=served.port, key=key), UdpRig(1, 2, port=served.port, key=key)
        owner.start()
        move_to(owner, 0.001)
        with pytest.raises(
            RuntimeError, match=r"is busy: a test from 127\.0\.0\.1:\d+ holds it \(last command 0\.\d+ s ago\); end"
        ):
            other.start()
        move_to(owner, 0.002)
        assert owner.read(0.0)[2] == 0
        owner.stop()
        other.start()  # released: it is free at once
        assert other.read(0.0)[0][0] == 0.002
        other.stop()


def test_a_command_of_somebody_else_with_the_key_is_not_obeyed() -> None:
    with rig(key=KEY) as served:
        owner, thief = FakeLoop(served.port, KEY), FakeLoop(served.port, KEY)
        welcome = thief.ask(thief.base)  # an offer from before the session
        owner.open()
        owner.command(0.001)
        assert thief.ask(replace(thief.base, kind=CLAIM, rig_nonce=welcome.rig_nonce)).kind == BUSY
        thief.base = replace(thief.base, rig_nonce=welcome.rig_nonce)
        thief.send(replace(thief.base, kind=3, sequence=5, values=(0.02,)))
        assert owner.command(0.001).values == (0.001, 0.002)
        assert served.traffic["foreign"] == 1
        owner.close()
        thief.send(replace(thief.base, kind=CLAIM))
        wait_for(lambda: served.traffic["foreign"] == 2)  # an offer is void once another session has begun
        thief.base = replace(thief.base, rig_nonce=bytes(16))
        thief.open()


def test_a_recorded_session_moves_nothing_when_it_is_sent_again() -> None:
    with rig(key=KEY) as served:
        owner = FakeLoop(served.port, KEY)
        owner.open()
        for x in (0.001, 0.003, 0.002):
            owner.command(x)
        owner.close()
        replayed = FakeLoop(served.port, KEY)
        for data in owner.sent:  # without the key: byte by byte as recorded
            replayed.socket.send(data)
        offer = unpack(
            replayed.socket.recv(2000), KEY
        )  # the hello gets an offer with another nonce, the bye its answer
        assert offer.kind == WELCOME and offer.rig_nonce not in (owner.base.rig_nonce, bytes(16))
        assert unpack(replayed.socket.recv(2000), KEY).kind == RELEASED
        assert served.traffic["repeated"] == 3 and served.traffic["foreign"] == 1 and served.state == "idle"
        later = FakeLoop(served.port, KEY)
        assert later.open().values == (0.002, 0.004)
        for data in owner.sent:  # and in the middle of a test
            replayed.socket.send(data)
        assert later.command(0.004).values == (0.004, 0.008)
        assert served.traffic["foreign"] == 5 and served.state != "idle"  # hello and claim are told busy


def test_missing_commands_hold_then_ramp_to_rest_then_switch_off_and_every_answer_tells() -> None:
    with rig(hold_after=20, lease=0.3, ramp=0.3) as served:
        owner = FakeLoop(served.port)
        owner.open()
        assert owner.command(0.01).state == LIVE
        start = time.monotonic()
        told: list[tuple[int, float]] = []
        while not told or told[-1][0] != OFF:
            notice = unpack(owner.socket.recv(2000))
            assert notice.kind == NOTICE
            told.append((notice.state, time.monotonic() - start))
        assert [state for state, _ in told] == [HOLDING, RAMPING, OFF]
        assert told[0][1] >= 0.015 and told[1][1] >= 0.29 and told[2][1] >= told[1][1] + 0.25
        refused = owner.command(0.02)  # the owner has lost the rig
        assert (refused.state, refused.flags, refused.values) == (OFF, 1, (0.0, 0.0))
        following = FakeLoop(served.port)
        assert following.open().values == (0.0, 0.0) and following.command(0.001).state == LIVE


def test_on_its_way_to_rest_the_rig_moves_smoothly_and_is_busy() -> None:
    with rig(hold_after=5, lease=0.05, ramp=1.0) as served:
        owner = FakeLoop(served.port)
        owner.open()
        owner.command(0.01)
        wait_for(lambda: served.state == "ramping")
        start, seen = time.monotonic(), []
        while served.state == "ramping":
            answer = owner.command(0.05)
            if answer.kind != NOTICE and answer.state == RAMPING:
                seen.append((time.monotonic() - start, answer.values[0]))
            if len(seen) == 5:
                assert FakeLoop(served.port).ask(Message(1, bytes(range(16)))).kind == BUSY
            time.sleep(0.005)
        t, x = np.array(seen).T
        expected = 0.01 * (1.0 - t**2 * (3.0 - 2.0 * t))
        assert len(x) > 10 and (np.diff(x) <= 0.0).all() and x[0] <= 0.01 and np.abs(x - expected).max() < 0.005


def test_a_start_waits_for_a_rig_on_its_way_to_rest_but_not_longer_than_its_timeout() -> None:
    with rig(hold_after=5, lease=0.05, ramp=2.0) as served:
        owner = FakeLoop(served.port)
        owner.open()
        owner.command(0.01)
        wait_for(lambda: served.state == "ramping")
        with pytest.raises(
            RuntimeError, match="is busy: it is on its way to rest after another test; try again in a moment"
        ):
            UdpRig(1, 2, port=served.port, timeout=0.2).start()
        patient = UdpRig(1, 2, port=served.port, timeout=20.0)
        patient.start()
        assert patient.read(0.0)[0].tolist() == [0.0, 0.0]
        patient.stop()


def test_a_claim_that_is_sent_again_changes_nothing() -> None:
    with rig(key=KEY, hold_after=5, lease=60.0) as served:
        owner = FakeLoop(served.port, KEY)
        owner.open()
        owner.command(0.001)
        elsewhere = FakeLoop(served.port, KEY)
        elsewhere.socket.send(owner.sent[1])  # the claim, recorded: it gets the same answer as before, and no notice
        assert unpack(elsewhere.socket.recv(2000), KEY).kind == GRANTED
        assert unpack(owner.socket.recv(2000), KEY).state == HOLDING
        assert owner.command(0.002).values[0] == 0.002


def test_commands_that_come_again_in_time_go_on() -> None:
    with rig(hold_after=5, lease=30.0) as served:
        actuator = UdpRig(1, 2, port=served.port)
        actuator.start()
        move_to(actuator, 0.001)
        wait_for(lambda: served.state == "holding")
        wait_for(lambda: actuator.read(0.0)[2] == 0 and actuator.state == HOLDING)  # told without being asked
        move_to(actuator, 0.002)
        assert served.state in ("live", "holding")
        actuator.stop()
        wait_for(lambda: served.state == "idle")


def test_the_loop_reads_an_error_when_the_watchdog_has_taken_over() -> None:
    with rig(hold_after=5, lease=0.05, ramp=0.05) as served:
        actuator = UdpRig(1, 2, port=served.port)
        actuator.start()
        actuator.write(0.0, np.array([0.001]))
        wait_for(lambda: served.state == "off")
        wait_for(lambda: actuator.read(0.0)[2] == -4)
        assert actuator.state == OFF


def test_a_claim_without_a_command_moves_nothing_however_long() -> None:
    with rig(hold_after=1, lease=0.02, ramp=0.02) as served:
        actuator = UdpRig(1, 2, port=served.port)
        actuator.start()
        time.sleep(0.2)
        assert served.state == "live" and actuator.read(0.0)[2] == 0
        actuator.stop()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_signed_command_that_is_not_finite_is_refused(bad: float) -> None:
    with rig(key=KEY, hold_after=1, lease=60.0) as served:
        actuator = UdpRig(1, 2, port=served.port, key=KEY)
        actuator.start()
        move_to(actuator, 0.001)
        assert actuator.write(0.0, np.array([bad])) == 0
        wait_for(lambda: actuator.read(0.0)[2] == -3)
        assert actuator.read(0.0)[0].tolist() == [0.001, 0.002]
        assert served.traffic["refused"] == 1
        move_to(actuator, 0.002)
        assert actuator.read(0.0)[2] == 0
        actuator.stop()


def test_commands_that_are_never_finite_do_not_feed_the_watchdog() -> None:
    with rig(hold_after=5, lease=0.1, ramp=0.05) as served:
        loop = FakeLoop(served.port)
        loop.open()
        loop.command(0.01)

        def over() -> bool:
            loop.command(float("nan"))
            return served.state == "off"

        wait_for(over)


LOOP = """
import sys, time
import numpy as np
from rt_runtime import UdpRig
actuator = UdpRig(1, 2, port=int(sys.argv[1]), key=bytes(range(32)))
actuator.start()
print(actuator.goodbye_process, flush=True)
if len(sys.argv) > 2:
    import os
    if os.fork() == 0:
        time.sleep(30.0)  # a child that still holds the line
        os._exit(0)
while True:
    actuator.write(0.0, np.array([0.01]))
    time.sleep(0.001)
"""


@pytest.mark.parametrize("forked", [False, True])
def test_a_loop_that_is_killed_says_goodbye_all_the_same(forked: bool) -> None:
    with rig(key=KEY, lease=50.0, ramp=0.2) as served:  # the lease alone would hold for long
        words = [sys.executable, "-c", LOOP, str(served.port), *(["fork"] if forked else [])]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        helper = int(process.stdout.readline())
        wait_for(lambda: served.state == "live" and served.traffic["received"] > 20)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        wait_for(lambda: served.state == "off", 10.0)
        assert FakeLoop(served.port, KEY).open().values == (0.0, 0.0)
        wait_for(lambda: not Path(f"/proc/{helper}").exists() or "Z" in Path(f"/proc/{helper}/stat").read_text())


def test_the_watchdog_process_ends_with_an_orderly_test_without_a_word() -> None:
    with rig(key=KEY) as served:
        actuator = UdpRig(1, 2, port=served.port, key=KEY)
        actuator.start()
        helper = actuator.goodbye_process
        assert Path(f"/proc/{helper}/exe").resolve().name == "hmor_goodbye"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(helper, number)  # what an operator's terminal sends to everybody
        move_to(actuator, 0.003)
        actuator.stop()
        assert not Path(f"/proc/{helper}").exists() and actuator.goodbye_process == -1
        assert served.state == "idle"
        assert FakeLoop(served.port, KEY).open().values[0] == 0.003  # stays where the test left it


def test_a_rig_that_is_stopped_tells_its_owner() -> None:
    with rig() as served:
        loop = FakeLoop(served.port)
        assert loop.open().state == LIVE
        loop.command(0.001)
        served.stop()
        told = []
        while OFF not in told:
            notice = unpack(loop.socket.recv(2000))
            assert notice.kind == NOTICE
            told.append(notice.state)


def test_a_release_can_ask_for_rest() -> None:
    with rig(ramp=0.1) as served:
        loop = FakeLoop(served.port)
        loop.open()
        loop.command(0.01)
        loop.close(to_rest=True)
        wait_for(lambda: served.state == "off")
        following = FakeLoop(served.port)
        assert following.ask(following.base).state == OFF
        following.base = replace(following.base, loop_nonce=b"another loop, it")
        assert following.open().values == (0.0, 0.0)
        following.close()
        assert served.state == "idle"
