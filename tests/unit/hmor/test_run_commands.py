"""hmor run, rig and check as a user calls them: real processes, study files, JSON on standard output."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmor.pipeline import Pipeline, Step
from hmor.rigs import CATALOGUE, RIGS, find_rig, from_part
from hmor.run_section import prepare, read_key
from hmor.study import load_study
from rt_runtime import ConfigError, load_run, replay

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "docs" / "examples"
HMOR = [sys.executable, "-c", "from hmor.cli import main; main()"]
SIMULATED = """
[study]
name = "simulated"
seed = 3

[run]
loop = "hmor.rigs:sine_target"
settings = { amplitude = 0.01, frequency = 5.0 }
rate = 1000.0
duration = 0.5
paced = false

[run.actuator]
kind = "simulated"
measured = { position = "m" }
denominator = [0.003, 1.0]
noise = 1e-6

[[run.commands]]
wanted = "wanted"
name = "command"
lower = -0.02
upper = 0.02
rate = 1.0

[[run.rules]]
name = "position"
signal = "position"
most = 0.015
"""


@contextmanager
def rig(*arguments: str, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start `hmor rig` on a free port and give the port."""
    process = subprocess.Popen(
        [*HMOR, "rig", *arguments, "--sessions", "1", "--seconds", "60", "--json"],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        found = re.search(r"listens on 127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert found
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait(10)


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def hmor(*arguments: str, cwd: Path) -> Done:
    """Call the command line in this process, as a user would in `cwd`."""
    from hmor.cli import main

    out, err, code, before = io.StringIO(), io.StringIO(), 0, (sys.argv, Path.cwd())
    sys.argv = ["hmor", *arguments]
    os.chdir(cwd)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = before[0]
        os.chdir(before[1])
    return Done(code, out.getvalue(), err.getvalue())


def write_study(folder: Path, text: str = SIMULATED, name: str = "study.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_simulated_test_runs_twice_alike_and_replays(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    folders = []
    for _ in range(2):
        done = hmor("run", str(path), "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["ended"] == "finished" and result["paced"] is False and result["tripped"] is False
        folders.append(tmp_path / result["folder"])
    first, second = (load_run(folder) for folder in folders)
    assert first.values.tobytes() == second.values.tobytes()
    assert (folders[0] / "study.toml").read_text() == SIMULATED
    study = load_study(path)
    assert study.run is not None
    again = replay(prepare(study.run, study.folder, study.study.seed).loop, first)
    assert again.values.tobytes() == first.values.tobytes()


def test_a_trip_has_its_own_exit_code_and_sentence(tmp_path: Path) -> None:
    path = write_study(tmp_path, SIMULATED.replace("most = 0.015", "most = 0.005"))
    done = hmor("run", str(path), "--json", cwd=tmp_path)
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert result["tripped"] is True and "(rule 'position')" in result["ended"]
    assert result["ended"] in done.stderr
    assert load_run(tmp_path / result["folder"]).ended == result["ended"]


def test_a_step_that_tripped_has_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hmor.motorcycle import study

    tripped = {"tripped": True, "ended": "Tripped at tick 7."}
    toy = Pipeline("motorcycle_brakes", tmp_path, [Step("run", lambda _: tripped, {})])
    monkeypatch.setattr(study, "motorcycle_brakes", lambda *_, **__: toy)
    for _ in range(2):
        done = hmor("run", "motorcycle_brakes", cwd=tmp_path)
        assert done.returncode == 3
        assert "hmor: Tripped at tick 7. It is kept; --force runs the test again." in done.stderr


def test_all_problems_of_a_run_section_are_listed_at_once(tmp_path: Path) -> None:
    text = SIMULATED.replace("rate = 1.0", "rate = -1.0").replace('"position"\nsignal', '"position"\nsignl')
    text = text.replace("hmor.rigs:sine_target", "hmor.rigs:nothing")
    done = hmor("check", str(write_study(tmp_path, text)), cwd=tmp_path)
    assert done.returncode == 2
    assert "module 'hmor.rigs' has no 'nothing'" in done.stderr
    assert "Key 'run.rules.0.signl' is unknown" in done.stderr
    assert "rate of command 'command' must be a positive number, got -1.0" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("position = \"m\" }", "position = \"m\", force = \"N\" }", "measures one signal per command, 1, got 2"),
        ('kind = "simulated"', 'kind = "magic"', "run.actuator"),
        ('signal = "position"', 'signal = "force"', "Signal 'force' of rule 'position' is unknown"),
        ("amplitude", "amplitud", ""),
    ],
)
def test_what_a_study_must_say(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = write_study(tmp_path, SIMULATED.replace(old, new))

    def build() -> Any:
        study = load_study(path)
        assert study.run is not None
        return prepare(study.run, study.folder, 0)

    if message:
        with pytest.raises(ConfigError, match=message):
            build()
    else:
        assert "command" in {signal.name for signal in build().loop.signals}


def test_a_study_without_a_run_says_so(tmp_path: Path) -> None:
    path = write_study(tmp_path, '[study]\nname = "empty"\n')
    done = hmor("run", str(path), cwd=tmp_path)
    assert done.returncode == 2 and "has no section [run], which this command needs; add it." in done.stderr


@pytest.mark.paced
def test_the_spring_example_runs_against_a_signed_rig(tmp_path: Path) -> None:
    assert hmor("rig", "--new-key", "rig.key", cwd=tmp_path).returncode == 0
    text = (EXAMPLES / "spring_test.toml").read_text().replace("upper = 100.0", "upper = 400.0")
    with rig("spring", "--key-file", "rig.key", cwd=tmp_path) as (process, port):
        text = text.replace("port = 5005", f'port = {port}\nkey_file = "rig.key"')
        done = hmor("run", str(write_study(tmp_path, text)), "--duration", "0.6", "--json", cwd=tmp_path)
        out, err = process.communicate(timeout=30)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["ended"] == "finished" and result["traffic"]["lost"] == 0
    assert json.loads(out)["ticks"] == result["ticks"]
    assert "Test 1 began." in err and "A test ended after" in err
    record = load_run(tmp_path / result["folder"])
    assert np.allclose(record["force"], 1e5 * record["position"])


@pytest.mark.paced
def test_sigterm_to_hmor_run_is_a_soft_stop(tmp_path: Path) -> None:
    text = (EXAMPLES / "benchmark_test.toml").read_text()
    with rig("benchmark_specimen", "--rate", "4096", cwd=tmp_path) as (_, port):
        path = write_study(tmp_path, text.replace("port = 5006", f"port = {port}").replace("upper = 400.0", "upper = 2000.0"))
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [*HMOR, "run", str(path), "--json"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            deadline = time.monotonic() + 60
            while not list(tmp_path.glob("*.runs/*/frames.bin")) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    result = json.loads(out)
    assert process.returncode == 0 and result["ended"].startswith("Stopped on request at tick ")
    record = load_run(tmp_path / result["folder"])
    assert len(record) == record.ticks and record["command"][-1] == 0.0
    assert (record["monitor.state"] == 5).sum() > 1000
    assert np.abs(np.diff(record["command"])).max() <= 2.0 / 4096 * (1 + 1e-9)


@pytest.mark.paced
def test_check_measures_the_host(tmp_path: Path) -> None:
    done = hmor("check", str(write_study(tmp_path)), "--seconds", "0.3", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["study"] == "simulated" and result["blocks"] == 5 and result["ticks"] == round(0.3 * 4096)
    assert set(result["rates"]) >= {"256", "1000", "10000"}
    assert set(result["rates"].values()) <= {"holds", "holds with rare misses", "does not hold"}
    assert result["wake_us"]["p50"] > 0 and result["host"]["scheduler"].startswith(("obtained", "not obtained"))
    table = hmor("check", "--seconds", "0.2", cwd=tmp_path)
    assert "wake-up latency of this machine" in table.stdout and "10000 Hz" in table.stdout


def test_every_rig_of_the_catalogue_and_any_substructure_can_be_played() -> None:
    for name in (*RIGS, *CATALOGUE):
        side = find_rig(name, 10_000.0, ROOT)
        side.loop.check()
        assert side.describe()["commands"] and side.describe()["measured"]
    side = find_rig("mor.models.parts:mr_damper_part", 4096.0, ROOT)
    side.loop.check()
    assert side.commands and side.measured
    assert find_rig("hmor.rigs:spring", 500.0, ROOT).measured == ("position", "force")  # a function of the rate
    with pytest.raises(ConfigError, match='Rig must be one of spring, benchmark_specimen, motorcycle_ecvt, three_storey'):
        find_rig("nothing", 1000.0, ROOT)
    with pytest.raises(ConfigError, match="must be or return a substructure or a PhysicalSide"):
        find_rig("os:getcwd", 1000.0, ROOT)
    with pytest.raises(ConfigError, match=r"Rig 'no_such:thing': module 'no_such' cannot be imported: .*\.$"):
        find_rig("no_such:thing", 1000.0, ROOT)
    from mor.models.parts import bouc_wen_part

    assert from_part(bouc_wen_part(), 1000.0).loop.run(0.01).ended == "finished"


def test_a_rig_is_a_substructure_or_a_side_of_its_own_rate(tmp_path: Path) -> None:
    (tmp_path / "own_rig.py").write_text(
        "from hmor.rigs import spring\nfrom mor.models.parts import bouc_wen_part\n"
        "part = bouc_wen_part()\nside = spring(500.0)\n"
    )
    assert find_rig("own_rig:part", 1000.0, tmp_path).loop.rate == 1000.0
    assert find_rig("own_rig:side", 500.0, tmp_path).commands == ("command",)
    with pytest.raises(ConfigError, match="Rate of rig 'own_rig:side' must be that of the test, 1000 Hz, got 500 Hz"):
        find_rig("own_rig:side", 1000.0, tmp_path)


def test_the_live_line_follows_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from hmor.commands import run as module
    from rt_runtime import Status

    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    line = module._Line(2000.0)
    line(Status(500, 2000, 3, "running", 0, False))
    line(Status(1000, 2000, 4, "running", 7, True))
    shown = [str(line._live.get_renderable())]
    line.close()
    assert shown == ["stopping  50.0 %  tick 1000  missed 4  frames lost 7"]


def test_key_files_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Key file .* must exist; make one with: hmor rig --new-key"):
        read_key(tmp_path / "none")
    path = tmp_path / "key"
    path.write_text("00" * 32)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="must be readable by its owner alone; chmod 600 it"):
        read_key(path)
    path.chmod(0o600)
    assert read_key(path) == bytes(32)
    path.write_text("no hex")
    with pytest.raises(ConfigError, match="must hold hexadecimal digits"):
        read_key(path)
    done = hmor("rig", "--new-key", str(path), cwd=tmp_path)
    assert done.returncode == 2 and "must be new, but it is there; delete it first." in done.stderr
