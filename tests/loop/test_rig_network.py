"""What the network and a lying rig can do to the loop, with real sockets: counted, told as signals, never used."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from rt_runtime import (
    Command,
    Drive,
    Gain,
    Link,
    Loop,
    Rig,
    Rule,
    Sensor,
    StartStop,
    Table,
    Tripped,
    UdpRig,
    protect,
    replay,
)
from rt_runtime.rig.actuators import LINK, link_names, names_of
from tests.loop.rig_loop import PACING, STALE
from tests.loop.rig_process import RATE, ROOT, rig_process
from tests.reference.rig_datagram import COMMAND, OFF, FakeLoop, FakeRig, Message, unpack

KEY = bytes(range(32))
LONG_KEY = bytes(range(100))


@contextmanager
def serving(rig: FakeRig) -> Iterator[FakeRig]:
    thread = threading.Thread(target=rig.serve)
    thread.start()
    try:
        yield rig
    finally:
        rig.running = False
        thread.join()


def exchange(rig: UdpRig, times: int = 10) -> None:
    """Send commands and read until the rig has answered the last one."""
    for k in range(times):
        assert rig.write(0.0, np.full(rig.n_command, 0.001 * k)) == 0
        until = time.monotonic() + 10.0
        while rig.read(0.0)[1] > 0 and time.monotonic() < until:
            time.sleep(0.0005)


def told(rig: UdpRig) -> dict[str, float]:
    return dict(zip(LINK, rig.link(), strict=True))


@pytest.mark.parametrize("key", [b"", KEY, LONG_KEY])
def test_the_loop_speaks_as_the_page_says(key: bytes) -> None:
    with serving(FakeRig(key)) as there:  # its twin judges every byte
        rig = UdpRig(1, 2, port=there.port, key=key)
        rig.start()
        assert rig.read(0.0)[0].tolist() == [0.25, 1.5]
        exchange(rig)
        rig.stop()
        assert [c.sequence for c in there.commands] == list(range(1, 11))
        assert [c.values[0] for c in there.commands] == [0.001 * k for k in range(10)]
        assert {c.kind for c in there.commands} == {COMMAND} and len({c.loop_nonce for c in there.commands}) == 1
        first = there.commands[0].loop_nonce
        rig.start()
        exchange(rig, 1)
        rig.stop()
        assert there.commands[-1].loop_nonce != first and there.commands[-1].sequence == 1


@pytest.mark.parametrize("key", [b"", KEY, LONG_KEY])
def test_thirty_two_values_go_both_ways(key: bytes) -> None:
    loop = Loop(1000.0)
    ins, outs = [f"c{i}" for i in range(32)], [f"y{i}" for i in range(32)]
    for name in ins:
        loop.constant(name, 0.0)
    for name in outs:
        loop.signal(name)
    loop.add("gain", Gain(2.0 * np.eye(32)), inputs=ins, outputs=outs)
    served = Rig(loop, ins, outs, key=key)
    thread = threading.Thread(target=served.serve, kwargs={"seconds": 60.0})
    thread.start()
    try:
        rig = UdpRig(32, 32, port=served.port, key=key)
        rig.start()
        wanted = np.arange(32.0) + 0.5
        until = time.monotonic() + 10.0
        while time.monotonic() < until and not (rig.read(0.0)[0] == 2.0 * wanted).all():
            rig.write(0.0, wanted)
            time.sleep(0.002)
        assert rig.read(0.0)[0].tolist() == (2.0 * wanted).tolist()
        rig.stop()
    finally:
        served.stop()
        thread.join()


class Lying(FakeRig):
    """A rig that says more than it was asked for."""

    def __init__(self, lie: Callable[[Message, int], list[Message]], key: bytes = b"") -> None:
        super().__init__(key)
        self.lie = lie

    def measure(self, asked: Message, back: Message) -> list[Message]:
        honest = super().measure(asked, back)[0]
        return self.lie(replace(honest, sent_ns=time.monotonic_ns()), len(self.commands))


TWICE = [lambda m, k: [m, m], "repeated"]
TWO_ANSWERS = [lambda m, k: [replace(m, sequence=2 * k - 1), replace(m, sequence=2 * k, values=(9.0, 9.0))], "repeated"]
TWO_RIGS = [lambda m, k: [m, replace(m, values=(9.0, 9.0))], "conflicting"]
OTHER_RIG = [lambda m, k: [replace(m, rig_nonce=bytes(16), values=(9.0, 9.0)), m], "foreign"]
NEVER_ASKED = [
    lambda m, k: [replace(m, answers=m.answers + 7, sequence=m.sequence + 7, values=(9.0, 9.0)), m],
    "foreign",
]
FAR_AHEAD = [lambda m, k: [replace(m, sequence=2**64 - k, values=(9.0, 9.0)), m], "foreign"]
ZERO = [lambda m, k: [replace(m, sequence=0, values=(9.0, 9.0)), m], "foreign"]
TOO_MANY = [lambda m, k: [replace(m, values=(9.0,) * 31), m], "foreign"]


@pytest.mark.parametrize(
    ("lie", "counted"), [TWICE, TWO_ANSWERS, TWO_RIGS, OTHER_RIG, NEVER_ASKED, FAR_AHEAD, ZERO, TOO_MANY]
)
def test_a_lie_over_the_network_is_counted_and_never_used(
    lie: Callable[[Message, int], list[Message]], counted: str
) -> None:
    with serving(Lying(lie, KEY)) as there:
        rig = UdpRig(1, 2, port=there.port, key=KEY)
        rig.start()
        exchange(rig, 20)
        time.sleep(0.05)
        measured, age, status = rig.read(0.0)
        assert measured.tolist() == [0.25, 1.5] and age == status == 0
        assert told(rig)[counted] == 20.0 and told(rig)["lost"] == 0.0
        assert rig.traffic[counted] == 20
        rig.stop()


def test_a_rig_whose_clock_is_slow_or_whose_answers_come_later_and_later_drifts() -> None:
    with serving(Lying(lambda m, k: [replace(m, sent_ns=m.sent_ns // 2)])) as there:
        rig = UdpRig(1, 2, port=there.port)
        rig.start()
        start = time.monotonic()
        exchange(rig, 1)
        time.sleep(0.3)
        exchange(rig, 1)
        assert told(rig)["drift"] == pytest.approx(0.5 * (time.monotonic() - start), abs=0.1)
        rig.stop()
    for wild in (2**63 - 1, -(2**63)):
        with serving(Lying(lambda m, k, sent=wild: [replace(m, sent_ns=sent if k % 2 else 0)])) as there:  # type: ignore[misc]
            rig = UdpRig(1, 2, port=there.port)
            rig.start()
            exchange(rig, 5)
            assert np.isfinite(rig.link()).all()
            rig.stop()


def patient() -> list[Rule]:
    """The default rules on time, with the patience of a busy machine."""
    rules = [Rule("stall", "host.elapsed", upper=STALE / RATE), Rule("stale", "rig.age", upper=STALE)]
    rules += [Rule("growing_delay", "rig.drift", -1.0, 1.0), Rule("lost_answers", "rig.lost_recently", upper=500.0)]
    return [replace(rule, reason="a busy machine") for rule in rules]


def watched_loop(rig: UdpRig, rules: list[Rule]) -> Loop:
    """The loop of the fault tests with the connection as signals."""
    loop = Loop(RATE)
    for name in ("x", "force", "wanted", "rig.age", "rig.status", "rig.sent", *link_names("rig")):
        loop.signal(name)
    loop.add("rig.read", Sensor(rig), outputs=names_of("rig", ["x", "force"]))
    loop.add("rig.link", Link(rig), outputs=link_names("rig"))
    loop.add("target", Table([0.0, 5.0], [0.0, 0.005]), outputs=["wanted"])
    manners = StartStop(soft_start=0.02, soft_stop=0.05, trip=0.05)
    command = Command("wanted", "command", -0.02, 0.02, rate=0.5, measured="x")
    protect(loop, [command], [*rules, *patient()], manners=manners)
    loop.add("rig.write", Drive(rig), inputs=["command"], outputs=["rig.sent"])
    return loop


@pytest.mark.paced
@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ({"twin": 0.5}, Rule("two rigs", "rig.conflicting", upper=0.0)),
        ({"repeat": 0.5}, Rule("doubled", "rig.repeated", upper=20.0)),
        ({"forge": 0.5}, Rule("attack", "rig.rejected", upper=20.0)),
        ({"loss": 0.5}, Rule("lossy", "rig.lost", upper=20.0)),
        ({"creep": 0.2}, Rule("delay grows", "rig.delay", upper=0.05)),
    ],
)
def test_rules_on_the_connection_trip(fault: dict[str, float], rule: Rule) -> None:
    with rig_process(key=KEY.hex(), **fault) as (_, port):
        rig = UdpRig(1, 2, port=port, key=KEY)
        loop = watched_loop(rig, [rule])
        with pytest.raises(Tripped, match=rf"\(rule '{rule.name}'\)"):
            loop.run(4.0, paced=True, pacing=PACING)


@pytest.mark.paced
def test_a_healthy_connection_tells_nothing_alarming_and_replays() -> None:
    with rig_process(key=KEY.hex()) as (_, port):
        rig = UdpRig(1, 2, port=port, key=KEY)
        loop = watched_loop(rig, [])
        record = loop.run(0.5, paced=True, pacing=PACING)
    for name in ("repeated", "conflicting", "foreign", "rejected"):
        assert (record[f"rig.{name}"] == 0.0).all()
    assert set(np.unique(record["rig.state"])) <= {1.0, 2.0}
    assert record["rig.delay"].min() >= 0.0 and record["rig.delay"][-1] > 0.0
    assert replay(loop, record).values.tobytes() == record.values.tobytes()


# Version 1


def version1(kind: int) -> bytes:
    numbers = (1.0, 0.25, 1.5, *(0.0,) * 13)
    body = struct.pack("<4sHBBQQQqq16d", b"HMRG", 1, kind, 2, 5 << 32, 0, 0, 0, 0, *numbers) + bytes(32)
    return body + struct.pack("<II", zlib.crc32(body), 0)


def test_a_version_1_loop_is_told_that_the_rig_speaks_version_2() -> None:
    with rig_process() as (_, port), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loop:
        loop.connect(("127.0.0.1", port))
        loop.settimeout(5.0)
        loop.send(version1(1))
        answer = loop.recv(2000)
    assert len(answer) == 216 and answer[:4] == b"HMRG" and struct.unpack("<H", answer[4:6]) == (2,)
    assert struct.unpack("<I", answer[208:212]) == (zlib.crc32(answer[:208]),)  # good enough for version 1 to read on


def test_a_later_version_is_named() -> None:
    class Later(FakeRig):
        def answer(self, asked: Message) -> list[Message]:
            return [replace(asked, kind=2, version=3)]

    with serving(Later()) as there, pytest.raises(RuntimeError, match=r"speaks version 3 .* update the loop"):
        UdpRig(1, 2, port=there.port).start()


# Waiting and ending

WAIT = """
import sys
from rt_runtime import UdpRig
rig = UdpRig(1, 2, port=int(sys.argv[1]), timeout=60.0)
print("waiting", flush=True)
rig.start()
"""


def test_waiting_for_a_rig_ends_on_ctrl_c() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        words = [sys.executable, "-c", WAIT, str(nobody.getsockname()[1])]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        process.stdout.readline()
        nobody.recv(2000)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert "KeyboardInterrupt" in said and process.returncode != 0


@pytest.mark.parametrize(
    ("number", "live"),
    [(signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGHUP, True), (signal.SIGQUIT, False)],
)
def test_hmor_rig_ends_on_a_signal(number: signal.Signals, live: bool) -> None:
    words = [sys.executable, "-m", "hmor", "rig", "spring", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    port = int(process.stderr.readline().split("127.0.0.1:")[1].split()[0])
    if live:
        loop = FakeLoop(port)
        loop.open()
        loop.command(0.001)
    os.kill(process.pid, number)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and json.loads(said)["ticks"] == int(live)
    told = []
    while live and OFF not in told:  # holding first, perhaps
        told.append(unpack(loop.socket.recv(2000)).state)
