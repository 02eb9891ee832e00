"""Version 1 of the rig protocol is still spoken when it is asked for, and by nobody's will but the operator's."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from rt_runtime import ConfigError, Gain, Loop, Rig, UdpRig
from rt_runtime.rig.actuators import LINK
from rt_runtime.safety.watches import unwatched
from tests.loop.rig_loop import rig_loop
from tests.loop.test_rig_sessions import wait_for
from tests.reference.rig_datagram import FakeLoop, FakeRig, unpack
from tests.reference.rig_datagram1 import OldLoop, OldMessage, OldRig

KEY = bytes(range(32))
LONG_KEY = bytes(range(100))


@contextmanager
def serving(rig: OldRig | FakeRig | Rig) -> Iterator[None]:
    thread = threading.Thread(target=rig.serve)
    thread.start()
    try:
        yield
    finally:
        if isinstance(rig, Rig):
            rig.stop()
        else:
            rig.running = False
        thread.join()


def spring(**options: object) -> Rig:
    loop = Loop(1000.0)
    loop.constant("command", 0.0, unit="m")
    for name, unit in (("x", "m"), ("force", "N")):
        loop.signal(name, unit=unit)
    loop.add("spring", Gain([[1.0], [2.0]]), inputs=["command"], outputs=["x", "force"])
    return Rig(loop, ["command"], ["x", "force"], protocol=1, **options)  # type: ignore[arg-type]


def exchange(rig: UdpRig, *commands: float) -> np.ndarray:
    assert rig.write(0.0, np.array(commands)) == 0
    wait_for(lambda: rig.read(0.0)[1] == 0)
    return rig.read(0.0)[0]


# Our loop, a rig of then


@pytest.mark.parametrize("key", [b"", KEY, LONG_KEY])
def test_a_rig_of_version_1_is_spoken_to(key: bytes) -> None:
    old = OldRig(key, n_command=6)  # its twin judges every byte
    with serving(old):
        rig = UdpRig(6, 12, port=old.port, key=key, protocol=1)
        rig.start()
        assert rig.read(0.0)[0].tolist() == [0.25] * 6 + [0.5] * 6 and not old.commands  # known before anything moves
        for k in range(5):
            x = 0.001 * k + 0.01 * np.arange(6)
            assert exchange(rig, *x).tolist() == [*x, *(2.0 * x)]
        assert [c.sequence for c in old.commands] == [1, 2, 3, 4, 5]
        assert abs(old.commands[-1].sent_ns - time.time_ns()) < 20e9  # version 1 tells the wall clock
        told = dict(zip(LINK, rig.link(), strict=True))
        assert told["state"] == 1.0 and 0.0 < told["delay"] < 5.0 and abs(told["drift"]) < 5.0
        assert rig.round_trips.summary_us()["max"] > 0.0
        rig.stop()
        wait_for(lambda: old.byes == 3)
        first = old.session
        rig.start()
        exchange(rig, *[0.0] * 6)
        rig.stop()
        assert old.session != first


def test_what_is_not_finite_is_not_sent_because_that_rig_would_obey() -> None:
    old = OldRig()
    with serving(old):
        rig = UdpRig(1, 2, port=old.port, protocol=1)
        rig.start()
        for bad in (np.nan, np.inf):
            assert rig.write(0.0, np.array([bad])) == -3
        assert exchange(rig, 0.5).tolist() == [0.5, 1.0] and len(old.commands) == 1
        rig.stop()


class LyingOldRig(OldRig):
    def measure(self, asked: OldMessage) -> list[OldMessage]:
        honest = super().measure(asked)[0]
        wrong = replace(honest, values=(9.0, 9.0))
        other = replace(wrong, session=honest.session ^ 1), replace(wrong, answers=honest.answers + 5)
        return [*other, honest, honest, replace(wrong, sequence=honest.sequence)]


def test_lies_of_a_version_1_rig_are_counted_and_never_used() -> None:
    old = LyingOldRig(KEY)
    with serving(old):
        rig = UdpRig(1, 2, port=old.port, key=KEY, protocol=1)
        rig.start()
        for k in range(10):
            assert exchange(rig, 0.1 * k).tolist() == [0.1 * k, 0.2 * k]
        wait_for(lambda: rig.read(0.0)[2] == 0 and rig.traffic["repeated"] == 20)
        assert rig.traffic["foreign"] == 20 and rig.traffic["conflicting"] == 10 and rig.traffic["lost"] == 0
        rig.stop()


def test_a_key_that_does_not_fit_is_named() -> None:
    class OtherKey(OldRig):
        def serve(self) -> None:
            while self.running:
                try:
                    _, peer = self.socket.recvfrom(2000)
                except TimeoutError:
                    continue
                self.socket.sendto(OldMessage(2, 1 << 32, count=2).pack(LONG_KEY), peer)
            self.socket.close()

    old = OtherKey()
    with serving(old), pytest.raises(RuntimeError, match="a signature that does not fit; give both sides the same key"):
        UdpRig(1, 2, port=old.port, key=KEY, protocol=1).start()


# No way down but the setting


def test_a_version_1_rig_is_refused_with_a_sentence_unless_it_was_asked_for() -> None:
    old = OldRig(KEY)
    with (
        serving(old),
        pytest.raises(
            RuntimeError, match=r"speaks version 1 .* this side version 2; update the rig .* say protocol = 1"
        ),
    ):
        UdpRig(1, 2, port=old.port, key=KEY, timeout=1.0).start()
    assert not old.commands


def test_a_loop_of_version_2_uses_nothing_that_version_1_says_in_its_session() -> None:
    class Downgrading(FakeRig):
        def serve(self) -> None:
            """Answer every command in version 1, as one who drops all of version 2 would like it."""
            while self.running:
                try:
                    data, peer = self.socket.recvfrom(2000)
                except TimeoutError:
                    continue
                if data[4] != 2:
                    continue
                if data[5] == 3:
                    session = int.from_bytes(data[8:12], "little") << 32 | int.from_bytes(self.nonce[:4], "little")
                    sequence = int.from_bytes(data[40:48], "little")
                    old = OldMessage(4, session, sequence, sequence, (9.0, 9.0), 2).pack(KEY)
                    self.socket.sendto(old, peer)
                    continue
                for reply in self.answer(unpack(data, KEY)):
                    self.socket.sendto(reply.pack(self.key), peer)
            self.socket.close()

    rig_there = Downgrading(KEY)
    with serving(rig_there):
        rig = UdpRig(1, 2, port=rig_there.port, key=KEY)
        rig.start()
        rig.write(0.0, np.array([0.1]))
        wait_for(lambda: rig.read(0.0)[2] == 0 and rig.traffic["damaged"] == 1)
        measured, age, _ = rig.read(0.0)
        assert measured.tolist() == [0.25, 1.5] and age == 1
        rig.stop()


def test_each_side_says_that_the_other_speaks_the_other_version() -> None:
    new = Rig(gain(), ["command"], ["x"])
    with serving(new), pytest.raises(RuntimeError, match=r"speaks version 2 .* leave protocol = 1 away"):
        UdpRig(1, 1, port=new.port, protocol=1).start()
    with serving(made := spring()):
        loop = FakeLoop(made.port)
        loop.send(loop.base)  # a rig of version 1 drops it without a word
        wait_for(lambda: made.traffic["damaged"] == 1)
        loop.socket.close()


def gain() -> Loop:
    loop = Loop(1000.0)
    loop.constant("command", 0.0)
    loop.signal("x")
    loop.add("gain", Gain(1.0), inputs=["command"], outputs=["x"])
    return loop


# A loop of then, our rig


@pytest.mark.parametrize("key", [b"", KEY, LONG_KEY])
def test_a_loop_of_version_1_is_answered(key: bytes) -> None:
    with serving(made := spring(key=key)):
        loop = OldLoop(made.port, key)
        assert loop.open() == (0.0, 0.0)
        for x in (0.001, 0.003, 0.002):
            assert loop.command(x).values[:2] == (x, 2.0 * x)
        assert abs(loop.command(0.002).sent_ns - time.time_ns()) < 20e9
        loop.close()
        wait_for(lambda: made.state == "idle")
        again = OldLoop(made.port, key)
        assert again.open() == (0.002, 0.004) and again.session != loop.session
        assert again.command(0.0).values[0] == 0.0


def test_our_two_sides_speak_version_1_with_each_other() -> None:
    with serving(made := spring(key=KEY)):
        rig = UdpRig(1, 2, port=made.port, key=KEY, protocol=1)
        rig.start()
        assert exchange(rig, 0.01).tolist() == [0.01, 0.02]
        rig.stop()
        wait_for(lambda: made.state == "idle")


def test_nobody_takes_a_running_test_over_and_nothing_recorded_moves_the_rig() -> None:
    """The rig of then began a new session with any first command of an offer, also in the middle of another test."""
    with serving(made := spring(key=KEY, hold_after=20000, lease=60.0)):
        owner, thief = OldLoop(made.port, KEY), OldLoop(made.port, KEY)
        thief.open()  # an offer from before
        owner.open()
        owner.command(0.001)
        thief.tell(0.02)
        assert owner.command(0.001).values[0] == 0.001 and made.traffic["foreign"] == 1
        thief.send(thief.hello())  # a rig in a session has no word for busy: it is silent
        thief.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            thief.hear()
        owner.close()
        wait_for(lambda: made.state == "idle")
        thief.tell(0.02)  # its offer is void
        for data in owner.sent[1:]:
            thief.socket.send(data)
        later = OldLoop(made.port, KEY)
        assert later.open()[0] == 0.001
        for data in owner.sent[1:]:
            thief.socket.send(data)
        assert later.command(0.003).values[0] == 0.003


def test_the_watchdog_works_for_a_loop_of_version_1_and_says_no_by_silence() -> None:
    with serving(made := spring(hold_after=5, lease=0.05, ramp=0.05)):
        loop = OldLoop(made.port)
        loop.open()
        loop.command(0.01)
        wait_for(lambda: made.state == "off")
        loop.tell(0.02)
        loop.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            loop.hear()
        following = OldLoop(made.port)
        assert following.open() == (0.0, 0.0)
        following.tell(float("nan"))
        wait_for(lambda: made.traffic["refused"] == 2)
        assert following.command(0.001).values[0] == 0.001


# In words


def test_too_many_signals_for_version_1_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"n_command of UdpRig must be at most 16 in protocol 1, got 17"):
        UdpRig(17, 1, port=5005, protocol=1)
    with pytest.raises(ConfigError, match=r"n_measured of UdpRig must be at most 15 in protocol 1, got 16"):
        UdpRig(1, 16, port=5005, protocol=1)
    with pytest.raises(ConfigError, match=r"protocol of UdpRig must be 1 or 2, got 3"):
        UdpRig(1, 1, port=5005, protocol=3)
    loop, names = gain(), [f"y{i}" for i in range(16)]
    for name in names:
        loop.signal(name)
    loop.add("many", Gain(np.ones((16, 1))), inputs=["command"], outputs=names)
    with pytest.raises(ConfigError, match=r"measured of Rig must be 1 to 15 signals in protocol 1, got 16"):
        Rig(loop, ["command"], names, protocol=1)


def test_the_operator_is_told_what_version_1_lacks() -> None:
    words = unwatched(rig_loop(UdpRig(1, 2, port=5005, protocol=1)))
    assert any("protocol 1 has no watchdog, the last command holds" in line for line in words)
    assert not any("watchdog" in line for line in unwatched(rig_loop(UdpRig(1, 2, port=5005))))
