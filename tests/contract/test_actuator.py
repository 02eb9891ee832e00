"""One contract for every kind of actuator: the life cycle, what a read gives, and what happens out of turn."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rt_runtime import Drive, Gain, Link, Loop, PluginActuator, Rig, Sensor, SimulatedActuator, UdpRig, _core
from rt_runtime.rig.actuators import LINK, RIG_STATES, include_folder

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "spring_actuator.c"


@contextmanager
def simulated(folder: Path) -> Iterator[_core.Actuator]:
    yield SimulatedActuator([1.0], [0.001, 1.0], dt=1e-3, channels=2)


@contextmanager
def udp(folder: Path) -> Iterator[_core.Actuator]:
    loop = Loop(1000.0)
    loop.constant("command", 0.0)
    loop.signal("x")
    loop.signal("force")
    loop.add("spring", Gain([[1.0], [1e5]]), inputs=["command"], outputs=["x", "force"])
    rig = Rig(loop, ["command"], ["x", "force"])
    thread = threading.Thread(target=rig.serve, kwargs={"seconds": 60.0})
    thread.start()
    try:
        yield UdpRig(1, 2, port=rig.port)
    finally:
        rig.stop()
        thread.join()


@contextmanager
def plugin(folder: Path) -> Iterator[_core.Actuator]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("a plug-in needs a C compiler")
    library = folder / "plugin.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-I", str(include_folder()), str(EXAMPLE), "-o", str(library)]
    subprocess.run(command, check=True)
    yield PluginActuator(library, "1e5", n_command=1, n_measured=2, dt=1e-3)


KINDS = {"simulated": simulated, "udp": udp, "plugin": plugin}


@pytest.fixture(params=KINDS)
def actuator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[_core.Actuator]:
    kind: Callable[[Path], object] = KINDS[request.param]
    with kind(tmp_path) as made:  # type: ignore[attr-defined]
        yield made


def test_a_command_is_measured_a_tick_later(actuator: _core.Actuator) -> None:
    actuator.start()
    assert actuator.real_time
    for k in range(200):
        measured, age, status = actuator.read(0.0)
        assert measured.shape == (actuator.n_measured,) and np.isfinite(measured).all()
        assert age >= 0.0 and status == 0
        assert actuator.write(0.0, np.full(actuator.n_command, 0.5)) == 0
        if k > 10 and measured[0] == pytest.approx(0.5, abs=1e-3):
            break
        threading.Event().wait(0.005)
    assert measured[0] == pytest.approx(0.5, abs=1e-3)
    actuator.stop()


def test_before_the_first_command_it_tells_where_it_stands(actuator: _core.Actuator) -> None:
    actuator.start()
    measured, age, status = actuator.read(0.0)
    assert np.isfinite(measured).all() and age == 0.0 and status == 0
    actuator.stop()


def test_its_link_tells_a_state_and_no_trouble(actuator: _core.Actuator) -> None:
    link = Link(actuator)
    assert (link.n_in, link.n_out, link.external) == (0, len(LINK), actuator.external)
    actuator.start()
    told = dict(zip(LINK, actuator.link(), strict=True))
    assert told.pop("state") == (RIG_STATES.index("live") if actuator.external else 0.0)
    assert set(told.values()) == {0.0}
    actuator.stop()


def test_it_can_be_started_again(actuator: _core.Actuator) -> None:
    for _ in range(2):
        actuator.start()
        actuator.reset()
        assert actuator.read(0.0)[2] == 0
        actuator.stop()


def test_out_of_turn_it_says_so_and_does_no_harm(actuator: _core.Actuator) -> None:
    actuator.stop()
    actuator.stop()
    real = actuator.external
    measured, _, status = actuator.read(0.0)
    assert (status < 0) == real and measured.shape == (actuator.n_measured,)
    assert (actuator.write(0.0, np.zeros(actuator.n_command)) < 0) == real
    with pytest.raises(ValueError, match="wrong length"):
        actuator.write(0.0, np.zeros(actuator.n_command + 1))


def test_sensor_and_drive_have_its_ports(actuator: _core.Actuator) -> None:
    sensor, drive = Sensor(actuator), Drive(actuator)
    assert (sensor.n_in, sensor.n_out) == (0, actuator.n_measured + 2)
    assert (drive.n_in, drive.n_out) == (actuator.n_command, 1)
    assert sensor.external is drive.external is actuator.external


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_drive_lets_no_command_through_that_is_not_finite(actuator: _core.Actuator, number: float) -> None:
    drive, good = Drive(actuator), np.full(actuator.n_command, 0.5)
    actuator.start()
    assert drive.step(0.0, good)[0] == 0.0
    bad = good.copy()
    bad[-1] = number
    assert drive.step(0.0, bad)[0] == (-3.0 if actuator.external else 0.0)
    assert not actuator.external or np.isfinite(actuator.read(0.0)[0]).all()
    actuator.stop()
