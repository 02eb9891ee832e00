"""The EtherCAT example on a bus: EtherCAT frames over a pair of virtual Ethernet devices to an emulated slave.

The plug-in is the example as it stands, below it a small master on a raw socket (tests/fixtures/ethercat), in a network
namespace of its own, so that no right on this machine is needed where user namespaces are allowed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.c.compiler import WARNINGS, find_compiler
from rt_runtime.rig.actuators import include_folder

ROOT = Path(__file__).resolve().parents[4]
HERE = ROOT / "tests/fixtures/ethercat"
CONFIG = (
    "master 0 slave 0 0 vendor 0x2 product 0x1 command 0x7010 1 1e-6 measured 0x6000 17 1e-6 measured 0x6010 17 0.01"
)
STUDY = """
[study]
name = "drive"

[run]
loop = "hmor.rigs:sine_target"
rate = 200.0
duration = 1.0
settings = {{ amplitude = 0.002, frequency = 2.0 }}

[run.actuator]
kind = "plugin"
library = "{library}"
config = "{config}"
hold_after = 100
measured = {{ position = "m", force = "N" }}

[[run.commands]]
wanted = "wanted"
name = "command"
lower = -0.01
upper = 0.01
rate = 0.1
measured = "position"
"""


def namespace(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["unshare", "-rn", *command], capture_output=True, text=True, cwd=ROOT, timeout=120)


def can_have_a_bus() -> bool:
    if not shutil.which("unshare") or not shutil.which("ip") or find_compiler() is None:
        return False
    return namespace("ip", "link", "add", "ecat0", "type", "veth", "peer", "name", "far0").returncode == 0


pytestmark = pytest.mark.skipif(
    not can_have_a_bus(), reason="no C compiler, or no network namespace with virtual Ethernet (unshare -rn, ip, veth)"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("bus") / "ethercat_actuator.so"
    sources = [str(ROOT / "docs/examples/ethercat_actuator.c"), str(HERE / "raw_master.c")]
    command = [str(find_compiler()), "-std=gnu99", "-O2", "-shared", "-fPIC", *WARNINGS]
    command += ["-I", str(HERE), "-I", str(include_folder()), *sources, "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return target


def on_a_bus(what: str, library: Path, *more: str) -> dict[str, Any]:
    code = f"import sys, runpy; sys.path.insert(0, {str(ROOT)!r}); runpy.run_path({str(HERE / 'on_a_bus.py')!r}, run_name='__main__')"
    done = namespace(sys.executable, "-c", code, what, str(library), *more)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_it_starts_where_the_drive_stands_and_every_count_arrives(library: Path) -> None:
    told = on_a_bus("cycles", library, "200")
    np.testing.assert_allclose(told["first"], [250e-6, 7.5])
    assert told["error"] < 1e-12


def test_a_silent_host_meets_the_watchdog_of_the_slave(library: Path) -> None:
    told = on_a_bus("watchdog", library)
    np.testing.assert_allclose(told["moved"][0], [2e-3, 60.0])
    assert told["moved"][2] == 0 and told["live"] == 1
    np.testing.assert_allclose(told["lost"][0], [2e-3, 60.0])  # the command after it moved nothing
    assert told["lost"][2] == -2 and told["state"] == 4
    assert told["again"][2] == 0 and told["again"][0] == told["lost"][0]


def test_a_cut_cable_is_age_first_and_then_an_error(library: Path) -> None:
    assert on_a_bus("cut", library)["seen"] == [[1.0, 0], [2.0, 0], [3.0, -1], [4.0, -1]]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (CONFIG.replace("product 0x1", "product 0x7"), "is not in the process data of the slave; is the slave on the bus?"),
        (CONFIG.replace("slave 0 0", "slave 0 3"), "is not in the process data of the slave; is the slave on the bus?"),
        (CONFIG.replace("0x6010 17", "0x6010 18"), "a measured entry is not in the process data"),
        (CONFIG.replace("master 0", "master 5"), "the EtherCAT master cannot be had"),
    ],
)  # fmt: skip
def test_what_is_not_on_the_bus_is_a_sentence(library: Path, config: str, words: str) -> None:
    assert words in on_a_bus("config", library, config)["said"]


@pytest.mark.paced
def test_a_study_drives_it_against_the_clock(library: Path, tmp_path: Path) -> None:
    fine = CONFIG.replace("1e-6", "1e-8")  # coarse counts look frozen to the detectors of a slow stop
    (tmp_path / "study.toml").write_text(STUDY.format(library=library, config=fine))
    told = on_a_bus("study", library, str(tmp_path / "study.toml"))
    assert not told["tripped"], told["ended"]
    command, position, age = (np.array(told[name]) for name in ("command", "position", "age"))
    assert position[0] == pytest.approx(250e-8) and np.abs(position).max() > 1.9e-3
    answered = age[1:] == 0.0
    assert answered.mean() > 0.5
    assert np.abs(position[1:] - command[:-1])[answered].max() < 0.51e-8  # half a count


@pytest.mark.skipif(find_spec("kickcat") is None, reason="kickcat is not installed; an EtherCAT master of other people")
def test_the_emulated_slave_satisfies_a_master_of_other_people(library: Path) -> None:
    told = on_a_bus("other_master", library)
    assert told == {"sizes": [4, 8], "first": [250, 750], "moved": [1234, 3702], "left": True}
