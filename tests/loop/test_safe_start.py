"""A test begins where the actuator stands, or it is refused in words before anything moves."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rt_runtime import (
    Command,
    ConfigError,
    Gain,
    Loop,
    PythonBlock,
    Rig,
    StartStop,
    Table,
    Tripped,
    UdpRig,
    protect,
)
from tests.loop.rig_loop import MANNERS, PACING, STROKE, rig_loop
from tests.loop.rig_process import RATE


@contextmanager
def standing_rig(position: float) -> Iterator[Rig]:
    """A spring on a rig whose actuator stands at `position`, as after a test that was killed."""
    side = Loop(RATE)
    side.constant("command", position, unit="m")
    side.signal("x", unit="m", initial=position)
    side.signal("force", unit="N", initial=1e5 * position)
    side.add("actuator", Gain(1.0), inputs=["command"], outputs=["x"])
    side.add("spring", Gain(1e5), inputs=["x"], outputs=["force"])
    rig = Rig(side, ["command"], ["x", "force"])
    thread = threading.Thread(target=rig.serve, kwargs={"seconds": 60.0})
    thread.start()
    try:
        yield rig
    finally:
        rig.stop()
        thread.join()


@pytest.mark.paced
def test_the_command_starts_where_the_rig_stands_and_goes_to_the_target_within_its_limits() -> None:
    start = -0.0099
    with standing_rig(start) as rig:
        record = rig_loop(UdpRig(1, 2, port=rig.port)).run(1.0, paced=True, pacing=PACING)
    command, wanted = record["command"], record["wanted"]
    assert record.ended == "finished" and record["x"][0] == start
    assert abs(command[0] - start) <= STROKE.rate / RATE
    assert np.abs(np.diff(command)).max() <= STROKE.rate / RATE * (1 + 1e-9)
    same = command[200:1000] == wanted[200:1000]  # after the fade of 0.1 s the target itself,
    assert same.mean() > 0.5  # but for ticks that a busy host lets follow each other at once
    assert np.abs(command[200:1000] - wanted[200:1000]).max() <= 2.0 * STROKE.rate / RATE
    assert command[-1] == STROKE.rest


@pytest.mark.paced
def test_a_rig_that_stands_outside_the_limits_is_refused_before_a_command_is_sent(tmp_path: Path) -> None:
    with standing_rig(-0.03) as rig:
        loop = rig_loop(UdpRig(1, 2, port=rig.port))
        with pytest.raises(
            ConfigError, match=r"Command 'command' cannot start: x stands at -0\.03, outside its limits"
        ):
            loop.run(1.0, paced=True, pacing=PACING, folder=tmp_path / "run")
        assert rig._core_loop.tick == 0  # no command moved it
    assert not (tmp_path / "run").exists()


def test_a_slow_command_takes_as_long_as_its_rate_needs() -> None:
    loop = standing_loop(0.04, replace(STROKE, lower=-0.05, upper=0.05, rate=0.1, measured="x"))
    command = loop.run(2.0)["command"]
    assert abs(command[0] - 0.04) <= 0.1 / RATE
    assert np.abs(np.diff(command)).max() <= 0.1 / RATE * (1 + 1e-9)
    r = (np.arange(1, 601)) / 600.0  # 1.5 x 0.04 m / 0.1 m/s = 0.6 s
    assert command[:600] == pytest.approx(0.04 * (1.0 - r * r * (3.0 - 2.0 * r)), abs=1e-12)


def standing_loop(position: float, command: Command) -> Loop:
    """A loop whose sensor is a block of its own, so that only the monitor can see where the actuator stands."""
    loop = Loop(RATE)
    for name in ("x", "wanted"):
        loop.signal(name, unit="m")
    loop.add("sensor", PythonBlock(lambda t, u: [position], n_in=0, n_out=1), outputs=["x"])
    loop.add("target", Table([0.0, 1.0], [0.0, 0.0]), outputs=["wanted"])
    protect(loop, [command], manners=MANNERS)
    return loop


def test_the_monitor_ends_a_test_that_begins_outside_the_limits_in_the_first_tick() -> None:
    loop = standing_loop(0.03, replace(STROKE, measured="x"))
    with pytest.raises(
        Tripped, match=r"Tripped at tick 0 \(0 s\): Command 'command' cannot start: x stands at 0\.03"
    ) as e:
        loop.run(1.0)
    assert e.value.record.ticks == 1 and (e.value.record["command"] == STROKE.upper).all()


def test_arming_holds_the_start_and_rest_is_the_end() -> None:
    loop = standing_loop(0.01, replace(STROKE, measured="x"))
    record = loop.run(0.5)
    assert record["command"][-1] == STROKE.rest
    armed = Loop(RATE)
    for name in ("x", "wanted"):
        armed.signal(name, unit="m")
    armed.add("sensor", PythonBlock(lambda t, u: [0.01], n_in=0, n_out=1), outputs=["x"])
    armed.add("target", Table([0.0, 1.0], [0.0, 0.0]), outputs=["wanted"])
    protect(armed, [replace(STROKE, measured="x")], manners=StartStop(arm=0.05, soft_start=0.1))
    assert (armed.run(0.5)["command"][:50] == 0.01).all()


def test_a_real_actuator_needs_to_know_where_it_stands_and_a_clock() -> None:
    loop = rig_loop(UdpRig(1, 2, port=9, timeout=0.1))
    with pytest.raises(
        ConfigError, match=r"Block 'rig\.write' drives an actuator that is not simulated and needs the clock"
    ):
        loop.run(0.1)
    monitor = loop.blocks["monitor"]
    monitor.commands = (STROKE,)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"Command 'command' goes to an actuator that is not simulated and must name"):
        loop.run(0.1, paced=True)
    monitor.commands = (replace(STROKE, starts_at_rest="there is a stop at 0"),)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="must answer within"):
        loop.run(0.1, paced=True)
    with pytest.raises(ConfigError, match="Command 'command' must have measured or starts_at_rest, got both"):
        replace(STROKE, measured="x", starts_at_rest="why not")


def test_a_sensor_behind_the_monitor_is_refused() -> None:
    loop = Loop(RATE)
    for name in ("x", "wanted"):
        loop.signal(name)
    loop.add("target", Table([0.0, 1.0], [0.0, 0.0]), outputs=["wanted"])
    with pytest.raises(
        ConfigError, match=r"Signal 'x', measured of command 'command', must be written before the monitor"
    ):
        protect(loop, [replace(STROKE, measured="x")])


def test_a_folder_that_cannot_be_made_is_noticed_before_the_rig_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    loop = rig_loop(UdpRig(1, 2, port=9, timeout=60.0))
    with pytest.raises(
        ConfigError, match=r"Folder of a run cannot be made at .*: Not a directory; choose another place"
    ):
        loop.run(0.1, paced=True, folder=tmp_path / "file" / "run")


def test_a_start_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    loop = rig_loop(UdpRig(1, 2, port=9, timeout=0.1))
    with pytest.raises(ConfigError, match="must answer within"):
        loop.run(0.1, paced=True, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_waiting_for_a_rig_ends_on_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        rig_loop(UdpRig(1, 2, port=9, timeout=300.0)).run(0.1, paced=True, folder=tmp_path / "run")
    assert time.monotonic() - start < 100.0 and not (tmp_path / "run").exists()
