"""What a study can say of other worlds: a rig behind a site, controllers to write, OPC UA, an FMU against the clock."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hmor.cli import app
from hmor.commands.live.check import check
from hmor.study.file import load_study
from rt_runtime import load_run
from rt_runtime.errors import ConfigError
from tests.fixtures.fmus import oscillator_fmu
from tests.unit.hmor.gateway.test_site_server import Client, needs_opensees, opensees

RIG = """
[study]
name = "site"

[run]
loop = "hmor.gateway.rig:target_path"
rate = 200.0
duration = 60.0
settings = {{ positions = ["position"], forces = ["force"], stiffness = [[1e5]], step = 0.05, settle = 0.2 {more} }}

[run.actuator]
kind = "udp"
rig = "spring"
measured = {{ position = "m", force = "N" }}

[[run.commands]]
wanted = "wanted"
name = "command"
lower = -0.05
upper = {upper}
rate = 0.5
action = "trip"
measured = "position"

[run.manners]
soft_start = 0.0
"""


def serve(folder: Path, *arguments: str, sessions: int = 1) -> tuple[subprocess.Popen[str], int]:
    """Start hmor serve in a process and wait until it listens."""
    code = "from hmor.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", *arguments, "--port", "0", "--sessions", str(sessions), "--json"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"listens on port (\d+)", line):
            return process, int(found[1])
    raise AssertionError(process.communicate())


def end(process: subprocess.Popen[str]) -> dict:  # type: ignore[type-arg]
    out, err = process.communicate(timeout=120)
    assert out, err
    return dict(json.loads(out))


@pytest.mark.paced
def test_a_rig_behind_a_site_follows_the_targets_and_a_trip_closes_the_connection(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(RIG.format(more="", upper=0.02))
    process, port = serve(tmp_path, "site.toml")
    client = Client(port)
    client.sizes(1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 16)
    for k, target in enumerate((0.004, 0.009, 0.012)):
        client.send(3, target, 0.01 * (k + 1))
        force = client.ask(10)[0]
        assert force == pytest.approx(1e5 * target, rel=0.2)  # a spring behind a lag
        client.send(5)
    client.send(3, 0.03, 0.05)  # beyond the limit of the command, whose action is a trip
    client.send(10)
    assert client.socket.recv(8) == b""
    result = end(process)
    assert result["tripped"] and "Tripped" in result["ended"]
    (session,) = result["sessions"]
    assert session["commits"] == 3 and "the test has ended: the monitor" in session["ended"]


def central(load: np.ndarray, mass: float, stiffness: float, dt: float) -> np.ndarray:
    """Average acceleration of one mass on a spring."""
    x, v, out = 0.0, 0.0, []
    a = load[0] / mass
    for p in load[1:]:
        x_t, v_t = x + dt * v + 0.25 * dt**2 * a, v + 0.5 * dt * a
        a = (p - stiffness * x_t) / (mass + 0.25 * dt**2 * stiffness)
        x, v = x_t + 0.25 * dt**2 * a, v_t + 0.5 * dt * a
        out.append(x)
    return np.array(out)


@needs_opensees
@pytest.mark.paced
@pytest.mark.parametrize("udp", [False, True])
def test_opensees_steps_a_structure_whose_spring_is_the_rig(tmp_path: Path, udp: bool) -> None:
    (tmp_path / "site.toml").write_text(RIG.format(more=", tolerance = 2e-5", upper=0.02))
    process, port = serve(tmp_path, "site.toml", *(["--udp"] if udp else []))
    steps, dt, mass = 20, 0.05, 1000.0
    load = 300.0 * np.sin(6.0 * dt * np.arange(steps + 2))
    done = opensees(port, steps=steps, udp=udp, integrator="alphaos", dof=1, dt=dt, mass=[mass], load=load.tolist())
    result = end(process)  # stops by itself behind its only client
    assert not result["tripped"], result["ended"]
    assert result["sessions"][0]["commits"] == steps and result["sessions"][0]["ended"] == "ended the test"
    x = np.array(json.loads(done.stdout.splitlines()[-1])["x"])[:, 0]
    expected = central(load[: steps + 1], mass, 1e5, dt)
    assert np.abs(x - expected).max() < 0.02 * np.abs(expected).max()  # the tolerance of the targets
    record = load_run(tmp_path / result["folder"])
    assert set(np.unique(record["path.phase"])) >= {1.0, 3.0}  # it corrects and predicts
    assert np.abs(np.diff(record["command"])).max() <= 0.5 / 200.0 + 1e-12


@pytest.mark.paced
def test_a_client_killed_in_the_middle_of_a_step_leaves_the_rig_held_and_ready(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(RIG.format(more=", tolerance = 2e-5", upper=0.02))
    process, port = serve(tmp_path, "site.toml", sessions=2)
    first = Client(port)
    first.sizes(1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 16)
    first.send(3, 0.01, 0.01)
    first.send(10)
    first.socket.close()  # while the rig is under way
    second = Client(port)
    second.sizes(1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 16)
    second.send(3, 0.012, 0.01)
    assert second.ask(10)[0] == pytest.approx(1200.0, rel=0.05)
    second.send(99)
    result = end(process)
    assert not result["tripped"], result["ended"]
    assert [s["commits"] for s in result["sessions"]] == [0, 0]
    assert "connection" in result["sessions"][0]["ended"] or "lost" in result["sessions"][0]["ended"]
    position = load_run(tmp_path / result["folder"])["position"]
    assert len(position) == result["ticks"] and position.max() == pytest.approx(0.012, abs=1e-4)


def test_a_study_serves_a_model_it_has_exported(tmp_path: Path) -> None:
    from export import write
    from tests.reference.exported_models import network

    (tmp_path / "s.toml").write_text('[study]\nname = "s"\n')
    write({"brake": network()}, load_study(tmp_path / "s.toml").folder / "bundle")
    process, port = serve(tmp_path, "s.toml", "--model", "brake")
    client = Client(port)
    client.sizes(1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 16)
    client.send(3, 20.0, 0.0)
    assert client.ask(10)[0] == pytest.approx(network().predict(np.array([[20.0, 0.0]]))[0, 0], rel=1e-9)
    client.send(99)
    assert end(process)["sessions"][0]["ended"] == "ended the test"


def test_a_site_of_a_module_and_its_end_by_a_signal(tmp_path: Path) -> None:
    (tmp_path / "mysite.py").write_text("from hmor.gateway.sites import LinearSite\nsite = LinearSite([[4.0]])\n")
    process, port = serve(tmp_path, "mysite:site")
    client = Client(port)
    client.sizes(1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 16)
    client.send(3, 2.0)
    assert client.ask(10)[0] == 8.0
    process.send_signal(signal.SIGTERM)
    assert end(process)["sessions"][0]["messages"] == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RIG.format(more=", colour = 1", upper=0.02), "unknown: colour"),
        (RIG.format(more="", upper=0.02).replace("step = 0.05, ", ""), "missing: step"),
        (RIG.format(more="", upper=0.02).replace('["force"]', "[]"), "must be as many as positions, 1, got 0"),
        (
            RIG.format(more="", upper=0.02).replace("rate = 200.0", "rate = 200.0\npaced = false"),
            "the rig goes by the clock",
        ),
        (
            RIG.format(more="", upper=0.02).replace("hmor.gateway.rig:target_path", "hmor.rigs:sine_target"),
            "must add a TargetPath",
        ),
    ],
)
def test_a_study_that_cannot_be_served_is_refused(tmp_path: Path, text: str, words: str) -> None:
    from hmor.gateway.rig import serve_rig

    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(ConfigError, match=words):
        serve_rig(str(tmp_path / "site.toml"), {}, sessions=1)


def test_what_is_no_site_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("site = 3\n")
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        for what, words in (("odd:site", "must be or return a Site"), ("nowhere", "does not exist")):
            result = CliRunner().invoke(app, ["serve", what, "--port", "0"])
            assert result.exit_code != 0 and words in f"{result.output} {result.exception}"
    finally:
        os.chdir(here)


def test_hmor_check_measures_an_fmu_that_is_to_run_against_the_clock(tmp_path: Path) -> None:
    oscillator_fmu(tmp_path / "o.fmu")
    (tmp_path / "side.py").write_text(
        "from pathlib import Path\n"
        "from mor.sources import FmuSubstructure\n"
        "def loop(loop, bundles, settings):\n"
        "    part = FmuSubstructure(Path(__file__).with_name('o.fmu'), outputs=['x'], real_time=True)\n"
        "    loop.signal('wanted', unit='m')\n"
        "    loop.add('fmu', part.block(dt=1 / loop.rate), inputs=['force'], outputs=['wanted'])\n"
    )
    text = RIG.format(more="", upper=0.02).replace("hmor.gateway.rig:target_path", "side:loop")
    (tmp_path / "study.toml").write_text(text)
    found = check(str(tmp_path / "study.toml"), 0.1)["fmu_us"]["fmu"]
    assert 0 < found["median"] <= found["p99"] <= found["most"]
    assert found["most_of_tick"] == pytest.approx(found["most"] * 200.0 / 1e6)


def test_the_opcua_section_adds_signals(tmp_path: Path) -> None:
    pytest.importorskip("asyncua", reason="asyncua is not installed; install the 'opcua' extra")
    from hmor.study.stages.execute import prepare_study

    section = '\n[run.opcua]\nurl = "opc.tcp://127.0.0.1:4840"\nread = { pressure = "ns=2;s=p" }\nunits = { pressure = "Pa" }\n'
    (tmp_path / "study.toml").write_text(RIG.format(more="", upper=0.02) + section)
    prepared = prepare_study(load_study(tmp_path / "study.toml"))
    units = {signal.name: signal.unit for signal in prepared.loop.signals}
    assert units["pressure"] == "Pa" and units["opcua.age"] == "s"
    assert prepared.channel is not None


def test_a_study_writes_its_controllers(tmp_path: Path) -> None:
    from hmor.gateway.controllers import export_controller

    (tmp_path / "mine.py").write_text(
        "from rt_runtime import PiLead\nfrom rt_runtime.safety.monitor import Command\n"
        "def make():\n    return PiLead(2.0, 95.0, dt=1e-3), [Command('w', 'c', -0.1, 0.1, 1.0)]\n"
    )
    text = '[study]\nname = "s"\n[export]\ntargets = ["c"]\ncontrollers = { pi = "mine:make" }\n'
    (tmp_path / "study.toml").write_text(text)
    study = load_study(tmp_path / "study.toml")
    assert export_controller(study, "pi", study.export.controllers["pi"]) == {"c": 0.0}
    limits = json.loads((study.folder / "controllers/pi/controller.json").read_text())["limits"]
    assert limits[0]["upper"] == 0.1
    assert np.load(study.folder / "controllers/pi/golden.npz")["y"].max() == 0.1
