"""Two rigs of six actuators, each a process of its own, in one loop: what happens to one takes both to rest at once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from rt_runtime import (
    Command,
    ConfigError,
    Drive,
    Gain,
    Link,
    Loop,
    Record,
    Rule,
    Sensor,
    StartStop,
    Table,
    Tripped,
    UdpRig,
    protect,
    replay,
)
from rt_runtime.rig.actuators import link_names, names_of
from tests.loop.rig_loop import BUSY, PACING, STALE
from tests.loop.rig_process import RATE, ROOT, SIX, rig_process

KEY = bytes(range(32))
NAMES = ("north", "south")
LIMIT = 0.01
MANNERS = StartStop(soft_start=0.05, soft_stop=0.1, trip=0.1)
TRIPPED = 6


@dataclass
class Pair:
    """Both rigs of a test."""

    processes: dict[str, subprocess.Popen[str]]
    rigs: dict[str, UdpRig]


@contextmanager
def two_rigs(faults: dict[str, object] | None = None, **of_both: int) -> Iterator[Pair]:
    """Start both; `faults` are those of the southern one."""
    with ExitStack() as stack:
        processes, rigs = {}, {}
        for name in NAMES:
            lies = (faults or {}) if name == "south" else {}
            processes[name], port = stack.enter_context(rig_process(program=SIX, key=KEY.hex(), **lies, **of_both))
            rigs[name] = UdpRig(6, 12, port=port, key=KEY, timeout=10.0, **of_both)
        yield Pair(processes, rigs)


def in_one_loop(rigs: dict[str, UdpRig], rules: list[Rule] | None = None) -> Loop:
    """Twelve sines, one monitor, two drives."""
    loop = Loop(RATE)
    loop.signal("wanted[12]", unit="m")
    commands, mine = [], [Rule("stall", "host.elapsed", upper=STALE / RATE, reason=BUSY)]
    for k, (name, rig) in enumerate(rigs.items()):
        loop.signal(f"{name}.x[6]", unit="m")
        loop.signal(f"{name}.force[6]", unit="N")
        for signal_name in ("age", "status", "sent"):
            loop.signal(f"{name}.{signal_name}")
        for link in link_names(name):
            loop.signal(link)
        measured = [f"{name}.{what}_{i}" for what in ("x", "force") for i in range(1, 7)]
        loop.add(f"{name}.read", Sensor(rig), outputs=names_of(name, measured))
        loop.add(f"{name}.link", Link(rig), outputs=link_names(name))
        for i in range(1, 7):
            wanted, measured_at = f"wanted_{6 * k + i}", f"{name}.x_{i}"
            commands.append(Command(wanted, f"{name}.command_{i}", -LIMIT, LIMIT, rate=0.5, measured=measured_at))
        mine.append(Rule(f"{name}_stale", f"{name}.age", upper=STALE, reason=BUSY))
        mine.append(Rule(f"{name}_lost_answers", f"{name}.lost_recently", upper=500.0, reason=BUSY))
        mine.append(Rule(f"{name}_growing_delay", f"{name}.drift", -1.0, 1.0, reason=BUSY))
    t = np.linspace(0.0, 10.0, 4001)
    sines = 0.005 * np.sin(2.0 * np.pi * t[:, None] * np.linspace(1.0, 2.0, 12))
    loop.add("target", Table(t, sines), outputs=["wanted[12]"])
    given = {rule.name for rule in rules or []}
    protect(loop, commands, [*(rules or []), *(r for r in mine if r.name not in given)], manners=MANNERS)
    for name, rig in rigs.items():
        loop.add(f"{name}.write", Drive(rig), inputs=[f"{name}.command[6]"], outputs=[f"{name}.sent"])
    return loop


def assert_both_came_to_rest(record: Record, rigs: dict[str, UdpRig], alive: tuple[str, ...]) -> int:
    """Both were on their way from the same tick on, and those alive stand at rest; return that tick."""
    first = int(np.flatnonzero(record["monitor.state"] == TRIPPED)[0])
    for name in NAMES:
        way = record[f"{name}.command[6]"]
        assert np.abs(way[first - 1]).max() > 1e-4 and np.abs(way[-1]).max() == 0.0
        left = np.abs(way[first:]) / np.abs(way[first - 1])
        assert (np.diff(left, axis=0) <= 1e-12).all()  # from that tick on every command only goes down
        assert np.ptp(left, axis=1).max() < 1e-9  # all on one way: no specimen is twisted between them
        assert np.abs(np.diff(way, axis=0)).max() <= 0.5 / RATE * (1 + 1e-9)
    assert np.allclose(record["north.command[6]"][first] / record["north.command[6]"][first - 1],
                       (record["south.command[6]"][first] / record["south.command[6]"][first - 1]), rtol=1e-9)  # fmt: skip
    for name in alive:
        rigs[name].start()
        assert np.abs(rigs[name].read(0.0)[0][:6]).max() < 1e-4
        rigs[name].stop()
    return first


def tripped(loop: Loop, words: str, *, after: float | None = None, then: Callable[[], None] = lambda: None) -> Record:
    """Run until a trip with these words; `then` happens in the middle."""
    timer = threading.Timer(after or 0.0, then)
    timer.start()
    with pytest.raises(Tripped, match=words) as trip:
        loop.run(8.0, paced=True, pacing=PACING)
    timer.join()
    return trip.value.record


@pytest.mark.paced
@pytest.mark.parametrize("protocol", [1, 2])
def test_two_rigs_answer_in_one_loop_and_their_record_replays(protocol: int) -> None:
    with two_rigs(protocol=protocol) as pair:
        loop = in_one_loop(pair.rigs)
        record = loop.run(0.5, paced=True, pacing=PACING)
        assert record.ended == "finished"
        for name in NAMES:
            assert pair.rigs[name].traffic["received"] > 300 and pair.rigs[name].traffic["foreign"] == 0
            assert np.abs(record[f"{name}.x[6]"]).max(axis=0).min() > 1e-4
            assert np.allclose(record[f"{name}.force[6]"], 1e5 * record[f"{name}.x[6]"])
        assert replay(loop, record).values.tobytes() == record.values.tobytes()


@pytest.mark.paced
def test_when_the_process_of_one_rig_is_killed_the_other_gets_its_stop() -> None:
    with two_rigs() as pair:
        record = tripped(in_one_loop(pair.rigs), r"\(rule 'south.*'\)", after=1.2, then=pair.processes["south"].kill)
        assert_both_came_to_rest(record, pair.rigs, ("north",))
        assert (record["north.status"] == 0.0).all()


@pytest.mark.paced
def test_when_one_rig_falls_silent_both_stop() -> None:
    with two_rigs() as pair:
        halted = pair.processes["south"]
        silent = Rule("south_stale", "south.age", upper=80.0, reason=BUSY)
        record = tripped(
            in_one_loop(pair.rigs, [silent]),
            r"\(rule 'south.*'\)",
            after=1.2,
            then=lambda: halted.send_signal(signal.SIGSTOP),
        )
        first = assert_both_came_to_rest(record, pair.rigs, ("north",))
        assert record["south.age"][first] > 20.0
        halted.send_signal(signal.SIGCONT)


@pytest.mark.paced
@pytest.mark.parametrize(
    ("lie", "words"),
    [({"nan_at": 1200}, r"'south\.x_1' of block 'south\.read' is nan"), ({"twin": 0.01}, "rule 'south_two_rigs'")],
)
def test_when_one_rig_lies_both_stop(lie: dict[str, object], words: str) -> None:
    with two_rigs(lie) as pair:
        record = tripped(in_one_loop(pair.rigs), words)
        first = int(np.flatnonzero(record["monitor.state"] == TRIPPED)[0])
        assert (
            np.abs(record["north.command[6]"][-1]).max() == 0.0 and np.abs(record["south.command[6]"][-1]).max() == 0.0
        )
        assert (np.diff(np.abs(record["north.command[6]"][first:]), axis=0) <= 1e-12).all()


@pytest.mark.paced
def test_a_limit_of_one_rig_stops_both() -> None:
    with two_rigs() as pair:
        rule = Rule.within("south_force", "south.force_6", 420.0)
        record = tripped(in_one_loop(pair.rigs, [rule]), "rule 'south_force'")
        assert_both_came_to_rest(record, pair.rigs, NAMES)


@pytest.mark.paced
def test_a_rig_that_is_stopped_at_its_own_controls_stops_the_other() -> None:
    with two_rigs() as pair:
        off = pair.processes["south"].terminate
        record = tripped(in_one_loop(pair.rigs), "rule 'south_status'", after=1.2, then=off)
        first = assert_both_came_to_rest(record, pair.rigs, ("north",))
        assert record["south.status"][first] == -4.0 and record["south.state"][first] == 4.0


def test_when_the_second_rig_is_not_there_the_first_is_given_back_and_nothing_moved() -> None:
    from tests.loop.test_rig_sessions import rig, wait_for

    with rig(key=KEY) as served, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        loop = Loop(RATE)
        for name, port in (("north", served.port), ("south", nobody.getsockname()[1])):
            actuator = UdpRig(1, 2, port=port, key=KEY, timeout=0.5)
            for signal_name in ("x", "force", "age", "status", "sent"):
                loop.signal(f"{name}.{signal_name}")
            outputs = names_of(name, [f"{name}.x", f"{name}.force"])
            loop.add(f"{name}.read", Sensor(actuator), outputs=outputs)
            loop.signal(f"{name}.wanted")
            loop.add(f"{name}.target", Gain([[0.5]]), inputs=[f"{name}.x"], outputs=[f"{name}.wanted"])
            loop.add(f"{name}.write", Drive(actuator), inputs=[f"{name}.wanted"], outputs=[f"{name}.sent"])
        with pytest.raises(ConfigError, match=r"must answer within 0\.5"):
            loop.run(1.0, paced=True, pacing=PACING)
        wait_for(lambda: served.state == "idle" and served.traffic["received"] >= 3)  # hello, claim, bye: no command


KILLED = """
import sys
import numpy as np
from rt_runtime import UdpRig
rigs = [UdpRig(1, 2, port=int(port), key=bytes(range(32))) for port in sys.argv[1:]]
for rig in rigs:
    rig.start()
    rig.write(0.0, np.array([0.005]))
print("both", flush=True)
sys.stdin.read()
"""


def test_when_the_loop_is_killed_both_rigs_go_to_rest_by_themselves() -> None:
    from tests.loop.test_rig_sessions import rig, wait_for

    with rig(key=KEY, lease=50.0, ramp=0.2) as north, rig(key=KEY, lease=50.0, ramp=0.2) as south:
        words = [sys.executable, "-c", KILLED, str(north.port), str(south.port)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None and process.stdout.readline() == "both\n"
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=10)
        wait_for(lambda: north.state == south.state == "off", 10.0)
