"""hmor run, rig and check as a user calls them: real processes, study files, JSON on standard output."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
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
from rich.console import Console

from hmor.commands.live.check import _print_worst_case
from hmor.study.file import load_study
from hmor.study.run import prepare
from rt_runtime import ConfigError, load_run, replay
from rt_runtime.engine.worst_case import BlockWorstCase
from rt_runtime.rig.actuators import include_folder

ROOT = Path(__file__).resolve().parents[4]
LEASE = ("--lease", "60")
EXAMPLES = ROOT / "docs" / "examples"
SPRING = (ROOT / "hmor/studies/spring_test.toml").read_text().replace('rig = "spring" ', "port = 5005")
BENCHMARK = (
    (ROOT / "hmor/studies/benchmark_test.toml").read_text().replace('rig = "benchmark_specimen" ', "port = 5006")
)
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

PATIENT = """
[[run.rules]]
name = "stall"
signal = "host.elapsed"
upper = 5.0
reason = "a busy machine"
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


def patient(text: str) -> str:
    """The study of an example for a host that is busy: neither a stall nor a silent rig of a minute ends the test."""
    stale = re.sub(r'(name = "stale"\nsignal = "rig.age"\nupper = )\S+', r'\g<1>3e5\nreason = "a busy host"', text)
    return stale.replace("upper = 0.1\n", "upper = 60.0\n")


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


def test_a_record_that_lacks_frames_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rt_runtime.engine.records.run_folder.FRAMES", "../../../../full")
    (tmp_path / "full").symlink_to("/dev/full")
    path = write_study(tmp_path)
    done = hmor("run", str(path), "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert done.returncode == 4
    assert result["frames_lost"] == result["frames_refused_by_disk"] > 0
    assert "refused by the disk (No space left on device)" in result["ended"] and result["ended"] in done.stderr
    told = hmor("info", result["folder"], cwd=tmp_path)
    assert f"{result['frames_lost']} frames are missing" in told.stdout
    assert json.loads(hmor("info", result["folder"], "--json", cwd=tmp_path).stdout)["frames_lost"] > 0


def test_a_full_disk_ends_a_paced_test_softly_and_with_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rt_runtime.engine.records.run_folder.FRAMES", "../../../../full")
    (tmp_path / "full").symlink_to("/dev/full")
    text = SIMULATED.replace("duration = 0.5", "duration = 60.0") + PATIENT
    done = hmor("run", str(write_study(tmp_path, text)), "--paced", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert done.returncode == 4 and result["ticks"] < 30_000 and result["tripped"] is False
    assert result["ended"].startswith("Ramped down at tick ") and "(rule 'lost_frames')" in result["ended"]


def test_a_real_rig_without_a_clock_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path, SPRING)
    done = hmor("run", str(path), "--unpaced", cwd=tmp_path)
    assert done.returncode == 2 and "drives an actuator that is not simulated and needs the clock" in done.stderr
    assert not list(tmp_path.glob("*.runs"))


def test_a_command_of_a_real_rig_must_say_where_it_starts(tmp_path: Path) -> None:
    text = SPRING.replace('measured = "position"\n', "")
    for command in ("run", "check"):
        done = hmor(command, str(write_study(tmp_path, text)), cwd=tmp_path)
        assert done.returncode == 2 and "Command 'command' goes to an actuator that is not simulated" in done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="a plug-in needs a C compiler")
def test_a_library_is_looked_for_beside_the_study(tmp_path: Path) -> None:
    flags = ["-std=c99", "-shared", "-fPIC", "-I", str(include_folder())]
    source = EXAMPLES / "spring_actuator.c"
    subprocess.run(["cc", *flags, str(source), "-o", str(tmp_path / "beside.so")], check=True)
    text = SPRING
    text = text.replace('kind = "udp"\nport = 5005', 'kind = "plugin"\nlibrary = "beside.so"\nconfig = "1e5"')
    write_study(tmp_path, text)
    done = hmor("run", "study.toml", "--duration", "0.1", "--json", cwd=tmp_path)
    assert "cannot be opened" not in done.stderr and json.loads(done.stdout)["ticks"] > 100


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
    again = replay(prepare(study.run, study.place, study.study.seed).loop, first)
    assert again.values.tobytes() == first.values.tobytes()


def test_a_trip_has_its_own_exit_code_and_sentence(tmp_path: Path) -> None:
    path = write_study(tmp_path, SIMULATED.replace("most = 0.015", "most = 0.005"))
    done = hmor("run", str(path), "--json", cwd=tmp_path)
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert result["tripped"] is True and "(rule 'position')" in result["ended"]
    assert result["ended"] in done.stderr
    assert load_run(tmp_path / result["folder"]).ended == result["ended"]


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
        ('position = "m" }', 'position = "m", force = "N" }', "measures one signal per command, 1, got 2"),
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
        return prepare(study.run, study.place, 0)

    if message:
        with pytest.raises(ConfigError, match=message):
            build()
    else:
        assert "command" in {signal.name for signal in build().loop.signals}


def test_a_study_without_a_run_says_so(tmp_path: Path) -> None:
    path = write_study(tmp_path, '[study]\nname = "empty"\n')
    done = hmor("run", str(path), cwd=tmp_path)
    assert done.returncode == 2 and "has nothing to run: it has report." in done.stderr


@pytest.mark.paced
def test_the_spring_example_runs_against_a_signed_rig(tmp_path: Path) -> None:
    assert hmor("rig", "--new-key", "rig.key", cwd=tmp_path).returncode == 0
    text = patient(SPRING)
    with rig("spring", "--key-file", "rig.key", *LEASE, cwd=tmp_path) as (process, port):
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
    text = patient(BENCHMARK)
    with rig("benchmark_specimen", "--rate", "4096", *LEASE, cwd=tmp_path) as (_, port):
        path = write_study(tmp_path, text.replace("port = 5006", f"port = {port}"))
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [*HMOR, "run", str(path), "--json"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            deadline = time.monotonic() + 60
            running = 200_000  # bytes: some hundred ticks after the soft start
            while sum(f.stat().st_size for f in tmp_path.glob("runs/*/run/*/frames.bin")) < running:
                assert time.monotonic() < deadline
                time.sleep(0.05)
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
    assert result["study"] == "simulated" and result["blocks"] == 6 and result["ticks"] == round(0.3 * 4096)
    assert set(result["rates"]) >= {"256", "1000", "10000"}
    assert set(result["rates"].values()) <= {"holds", "holds with rare misses", "does not hold"}
    assert result["wake_us"]["p50"] > 0 and result["host"]["scheduler"].startswith(("obtained", "not obtained"))
    worst = result["worst_case"]
    assert len(worst["blocks"]) == result["blocks"] and 0.0 < worst["part_of_period"] == worst["worst_us"] / 1000.0
    table = hmor("check", "pendulum", "--seconds", "0.2", cwd=tmp_path)
    assert "wake-up latency of this machine" in table.stdout and "10000 Hz" in table.stdout
    words = " ".join(table.stdout.split())
    assert "Neither rules nor the worst tick were checked" in words and "it has no section [run]." in words


@pytest.mark.parametrize(
    ("slowest", "words"),
    [(300.0, "300.0 us: 310.0 us, 31 % of the period."), (995.0, "more than the period: a tick is missed.")],
)
def test_the_worst_tick_is_told_with_the_slowest_wake_up_and_what_is_not_in_it(slowest: float, words: str) -> None:
    console = Console(file=io.StringIO(), width=1000)
    blocks = [
        vars(BlockWorstCase("mpc", 90.0, 7, 5, 0, 10.0, 1.0, {}, 12.0, 11.0)),
        vars(BlockWorstCase("rig", None, 0)),
    ]
    totals = {"period_us": 1000.0, "worst_us": 10.0, "part_of_period": 0.01, "ticks": 3, "blocks": blocks}
    _print_worst_case(console, totals, slowest)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "All worst steps in one tick: 10.0 us, 1 % of the period of 1000 us." in text and words in text
    assert "Not in these sums, as they wait for the outside or enter the interpreter: rig;" in text
