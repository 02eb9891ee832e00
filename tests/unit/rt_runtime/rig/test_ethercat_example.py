"""The EtherCAT example: compiled against a stand-in of the IgH library with one played slave, stepped as an actuator.

Without a bus this shows that the example fits both headers and does what its comment says; it is no test of EtherCAT.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from export.c.compiler import WARNINGS, find_compiler
from rt_runtime import PluginActuator
from rt_runtime.errors import ConfigError
from rt_runtime.rig.actuators import include_folder

ROOT = Path(__file__).resolve().parents[4]
CONFIG = (
    "master 0 slave 0 0 vendor 0x2 product 0x1 command 0x7010 1 1e-6 measured 0x6000 17 1e-6 measured 0x6010 17 0.01"
)

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler was found (cc, gcc, clang or CC)")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stand_in, target = ROOT / "tests/fixtures/ethercat", tmp_path_factory.mktemp("bus") / "ethercat_actuator.so"
    sources = [str(ROOT / "docs/examples/ethercat_actuator.c"), str(stand_in / "stand_in.c")]
    command = [str(find_compiler()), "-std=gnu99", "-O2", "-shared", "-fPIC", *WARNINGS]
    command += ["-I", str(stand_in), "-I", str(include_folder()), *sources, "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return target


def actuator(library: Path, config: str = CONFIG, n_measured: int = 2, hold_after: int = 3) -> PluginActuator:
    return PluginActuator(library, config, n_command=1, n_measured=n_measured, dt=1e-3, hold_after=hold_after)


def test_commands_go_out_in_counts_and_inputs_come_back_in_units(library: Path) -> None:
    drive = actuator(library)
    drive.start()
    assert drive.real_time and not drive.watchdog
    measured, age, status = drive.read(0.0)
    np.testing.assert_allclose(measured, [250e-6, 7.5])  # it stays where it stood
    assert (age, status) == (0.0, 0) and drive.link()[0] == 0
    assert drive.write(0.0, np.array([0.0123456])) == 0
    measured, age, status = drive.read(1e-3)
    np.testing.assert_allclose(measured, [0.012346, 3 * 12346 * 0.01], rtol=1e-12)
    assert drive.link()[0] == 1
    assert drive.write(0.0, np.array([1e9])) == -3 and drive.write(0.0, np.array([np.nan])) == -3
    drive.stop()
    again = actuator(library, CONFIG + " watchdog")
    again.start()
    assert again.watchdog
    with pytest.raises(RuntimeError, match="the EtherCAT master cannot be had"):
        actuator(library).start()
    again.stop()


def test_a_silent_slave_is_age_first_and_an_error_after_hold_after_cycles(library: Path) -> None:
    drive = actuator(library)
    drive.start()
    assert drive.write(0.0, np.array([666e-6])) == 0  # the slave falls silent
    assert [drive.read(0.0)[1:] for _ in range(3)] == [(1.0, 0), (2.0, 0), (3.0, -1)] and drive.link()[0] == 2
    assert drive.write(0.0, np.array([0.0])) == 0
    assert drive.read(0.0)[1:] == (0.0, -1) and drive.write(0.0, np.array([0.0])) == 0
    assert drive.read(0.0)[1:] == (0.0, 0) and drive.link()[0] == 1
    assert drive.write(0.0, np.array([777e-6])) == 0  # it leaves operation
    assert drive.read(0.0)[2] == -2 and drive.link()[0] == 4
    assert drive.write(0.0, np.array([0.0])) == 0 and drive.read(0.0)[2] == -2
    drive.stop()


@pytest.mark.parametrize(
    ("config", "n_measured", "words"),
    [
        ("nonsense", 2, "config must be words like"),
        (CONFIG, 1, "one entry per command and per measured signal"),
        (CONFIG.replace("vendor 0x2", "vendor 0x3") + " wait 0.01", 2, "there is no such EtherCAT slave"),
        (CONFIG.replace("product 0x1", "product 9") + " wait 0.01", 2, "did not become operational in time"),
        (CONFIG.replace("product 0x1", "product 0"), 2, "the EtherCAT master takes no such slave"),
        (CONFIG.replace("0x7010", "0x7011"), 2, "a command is not in the process data"),
        (CONFIG.replace("0x6010", "0x6011"), 2, "a measured entry is not in the process data"),
        (CONFIG.replace("master 0", "master 4"), 2, "the EtherCAT master cannot be had"),
        (CONFIG.replace("17 0.01", "17 0"), 2, "config must be words like"),
    ],
)
def test_a_bad_configuration_is_a_sentence(library: Path, config: str, n_measured: int, words: str) -> None:
    with pytest.raises((RuntimeError, ConfigError), match=words):
        actuator(library, config, n_measured).start()
