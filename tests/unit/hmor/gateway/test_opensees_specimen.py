"""The `actuator` element of OpenSees as the specimen of a test."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hmor.study.file import load_study
from mor.sources import opensees_installed
from rt_runtime import OpenSeesActuator
from rt_runtime.errors import ConfigError

ROOT = Path(__file__).resolve().parents[4]
K, EA = 1e5, 1e9
STUDY = """
[study]
name = "specimen"

[run]
loop = "hmor.rigs:sine_target"
rate = 100.0
duration = 1.0
paced = {paced}
settings = {{ amplitude = 0.01, frequency = 1.0 }}

[run.actuator]
kind = "opensees"
port = {port}
measured = {{ position = "m", force = "N" }}

[[run.commands]]
wanted = "wanted"
name = "command"
lower = -0.02
upper = 0.02
rate = 1.0
measured = "position"
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.skipif(not opensees_installed(), reason="openseespy is not installed; install the 'opensees' extra")
def test_a_study_drives_a_model_in_opensees(tmp_path: Path) -> None:
    from hmor.study.stages.execute import run_test
    from rt_runtime import load_run

    port = free_port()
    given = json.dumps({"stiffness": K, "ea": EA, "steps": 10_000})
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    script = [sys.executable, str(ROOT / "tests/fixtures/opensees_specimen.py"), str(port), given]
    (tmp_path / "study.toml").write_text(
        STUDY.format(paced="false", port=port).replace("measured = {", "timeout = 60.0\nmeasured = {")
    )
    specimen = subprocess.Popen(script, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        result = run_test(load_study(tmp_path / "study.toml"))
        assert specimen.wait(30.0) is not None  # told to end
    finally:
        specimen.kill()
    assert not result["tripped"], result["ended"]
    record = load_run(result["folder"])
    position, force, command = (record[name] for name in ("position", "force", "command"))
    np.testing.assert_allclose(position[1:], command[:-1] / (1 + K / EA), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(force, K * position, rtol=1e-6, atol=1e-6)
    assert np.abs(position).max() > 0.0099


def test_it_is_refused_with_a_clock(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(paced="true", port=5005))
    with pytest.raises(ConfigError, match=r'paced must be false with actuator\.kind = "opensees"'):
        load_study(tmp_path / "study.toml")
    assert not OpenSeesActuator(5005).real_time


def test_nobody_there_and_bad_arguments_are_sentences() -> None:
    port = free_port()
    with pytest.raises(RuntimeError, match=rf"OpenSees does not listen at 127\.0\.0\.1:{port}"):
        OpenSeesActuator(port, timeout=0.05).start()
    with pytest.raises(RuntimeError, match="Address of OpenSees must be like"):
        OpenSeesActuator(port, host="nowhere").start()
    with pytest.raises(ConfigError, match="port of OpenSeesActuator must lie between"):
        OpenSeesActuator(99999)
    with pytest.raises(ConfigError, match="steps of OpenSeesActuator must be a whole number of at least 2"):
        OpenSeesActuator(5005, steps=1)


def test_an_opensees_that_dies_or_hangs_is_a_status_not_an_exception() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        peers = []
        thread = threading.Thread(target=lambda: peers.append(server.accept()[0]))
        thread.start()
        actuator = OpenSeesActuator(server.getsockname()[1], timeout=0.2)
        actuator.start()
        thread.join()
        assert actuator.read(0.0)[2] == -1  # silent
        peers[0].close()
        assert actuator.read(0.0)[2] == -1 and actuator.write(0.0, np.zeros(1)) == -1
        actuator.stop()
