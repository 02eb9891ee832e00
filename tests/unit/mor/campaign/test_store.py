"""The store under everything that can go wrong: kills, two writers, a full disk, damaged files."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mor import FunctionModel, ParameterSpace, Store, Uniform, lhs, run_design
from mor.campaign.journal import Journal, read_journal
from mor.campaign.lock import locked
from rt_runtime.errors import ConfigError
from tests.reference.campaign_models import oscillator

ROOT = Path(__file__).resolve().parents[4]
SPACE = ParameterSpace({"k": Uniform(50, 100, unit="N/m"), "c": Uniform(0.1, 1.0, unit="Ns/m")})
DESIGN = lhs(SPACE, 120, seed=0)
FORK = multiprocessing.get_context("fork")


def campaign(store: Path, log: Path, workers: int = 2, pause: float = 0.004) -> None:
    fixed = {"log": str(log), "pause": pause}
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"}, fixed=fixed)
    run_design(subject, DESIGN, store=store, workers=workers, progress=False)


def content(store: Path) -> dict[str, bytes]:
    """All files that hold results, byte by byte."""
    files = [store / "results.nc", *sorted((store / "runs").iterdir()), *sorted(store.glob("design-*"))]
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


def test_killed_twenty_times_at_random_and_resumed_it_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    chance = random.Random(1)
    log = tmp_path / "log"
    kills, finished = 0, []
    for _ in range(200):
        before = log.read_text().splitlines() if log.exists() else []
        process = FORK.Process(target=campaign, args=(tmp_path / "killed", log))
        process.start()
        process.join(chance.uniform(0.0, 0.06))
        if kills == 20:
            process.join()
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.join()
        repeated = set(log.read_text().splitlines()[len(before) :]) if log.exists() else set()
        assert not repeated & {repr(DESIGN.points[i, 0].item()) for i in finished}
        if (tmp_path / "killed" / "campaign.json").exists():
            store = Store(tmp_path / "killed")
            assert store.damaged == 0 and set(finished) <= set(store.finished)
            finished = store.finished
        if process.exitcode == 0:
            break
    assert kills == 20 and len(finished) == 120
    # the log's path is part of the model's identity: the same one for both campaigns
    log.unlink()
    campaign(tmp_path / "whole", log, workers=1)
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


def test_workers_end_with_a_killed_campaign_and_free_its_lock(tmp_path: Path) -> None:
    process = FORK.Process(target=campaign, args=(tmp_path / "runs", tmp_path / "log", 2, 0.3))
    process.start()
    while not (tmp_path / "log").exists():
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    for _ in range(100):
        if not any(Path(f"/proc/{child}").exists() for child in children):
            break
        time.sleep(0.02)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    subject = FunctionModel(
        oscillator, {"lowest": "m", "last": "m"}, fixed={"log": str(tmp_path / "log"), "pause": 0.3}
    )
    with Store.writing(tmp_path / "runs", subject, DESIGN) as store:
        assert store.note.startswith(f"The last writer (process {process.pid} on ")
    with Store.writing(tmp_path / "runs", subject, DESIGN) as store:
        assert store.note == ""


def test_two_campaigns_cannot_write_one_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
    with (
        Store.writing(tmp_path / "runs", subject, DESIGN),
        pytest.raises(
            ConfigError, match=rf"Store .* is being written by process {os.getpid()} on \S+ since .*; wait for"
        ),
    ):
        run_design(subject, DESIGN, store=tmp_path / "runs")
    assert (tmp_path / "runs" / "lock").read_text() == ""
    (tmp_path / "runs" / "lock").write_text('{"pid": 12, "host": "lab", "since": "noon"}')
    assert len(run_design(subject, DESIGN, store=tmp_path / "runs", workers=1)) == 120
    assert "The last writer (process 12 on lab since noon) died; its finished" in capsys.readouterr().err


FILL = """
import sys
from mor import FunctionModel, ParameterSpace, Uniform, lhs, run_design
from mor.campaign.lock import locked
from rt_runtime.errors import ConfigError
from tests.reference.campaign_models import oscillator
space = ParameterSpace({"k": Uniform(50, 100, unit="N/m"), "c": Uniform(0.1, 1.0, unit="Ns/m")})
subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
try:
    run_design(subject, lhs(space, 120, seed=0), store=sys.argv[1], workers=2)
except ConfigError as error:
    print(error)
    sys.exit(7)
"""


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    """A tmpfs of 256 kB, then a copy of what is on it goes on with room."""
    mounted = ["unshare", "-Urm", "sh", "-c"]
    if subprocess.run([*mounted, "mount -t tmpfs none /mnt"], capture_output=True).returncode:
        pytest.skip("this system does not let a test mount a tmpfs")
    (tmp_path / "fill.py").write_text(FILL)
    script = f'mount -t tmpfs -o size=256k none /mnt && "{sys.executable}" "{tmp_path}/fill.py" /mnt/runs; code=$?;'
    script += f' cp -r /mnt/runs "{tmp_path}/runs"; exit $code'
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*mounted, script], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.returncode == 7, done.stderr
    assert "Store /mnt/runs cannot be written: No space left on device. Finished samples are safe" in done.stdout
    check_and_finish(tmp_path)


def test_a_quota_in_the_middle_of_the_journal_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    """A limit on the size of a file cuts an append in two: the half is taken back."""
    (tmp_path / "fill.py").write_text(FILL)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(tmp_path / "fill.py"), str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, preexec_fn=limit)
    assert done.returncode == 7, done.stderr
    assert "cannot be written: File too large" in done.stdout
    assert (tmp_path / "runs" / "journal.log").stat().st_size <= 5000
    check_and_finish(tmp_path)


def check_and_finish(folder: Path) -> None:
    stopped = Store(folder / "runs")
    assert stopped.damaged == 0 and 0 < len(stopped.finished) < 120
    for index, run in stopped.trajectories():
        np.testing.assert_array_equal(run.values, oscillator(**DESIGN.parameters(index))["run"].values)
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
    data = run_design(subject, DESIGN, store=folder / "runs", workers=1)
    np.testing.assert_array_equal(data["last"], [oscillator(**p)["last"] for p in DESIGN])


def test_a_journal_loses_only_what_was_cut_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "journal.log"
    journal = Journal(path)
    journal.append([{"sample": 0}, {"sample": 1}])
    journal.append([{"sample": 2}])
    journal.close()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        records, size, damaged = read_journal(path)
        assert damaged == 0 and size <= cut and [r["sample"] for r in records] == list(range(whole[:cut].count(b"\n")))
        journal = Journal(path)
        journal.append([{"sample": 9}])
        journal.close()
        assert read_journal(path)[0] == [*records, {"sample": 9}]
    for at in range(len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        records, _, damaged = read_journal(path)
        assert damaged >= 1 and all(record in [{"sample": i} for i in range(3)] for record in records)


def test_damaged_samples_are_open_again(tmp_path: Path) -> None:
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
    design = lhs(SPACE, 5, seed=0)
    data = run_design(subject, design, store=tmp_path / "runs", executor="serial")
    lines = (tmp_path / "runs" / "journal.log").read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"0", b"1", 1)
    (tmp_path / "runs" / "journal.log").write_bytes(b"".join(lines))
    assert Store(tmp_path / "runs").open == [2]
    assert "damaged   1 lines of the journal, which do not count" in Store(tmp_path / "runs").summary()
    again = run_design(subject, design, store=tmp_path / "runs", executor="serial")
    np.testing.assert_array_equal(data.Y, again.Y)


def test_messages(tmp_path: Path) -> None:
    subject = FunctionModel(oscillator, {"lowest": "m", "last": "m"})
    design = lhs(SPACE, 2, seed=0)
    with pytest.raises(
        ConfigError, match=r"Store .* must be a folder with campaign.json, as run_design writes; found none"
    ):
        Store(tmp_path)
    with pytest.raises(ConfigError, match="Store s cannot be locked: No such file or directory; choose a folder"):
        locked(tmp_path / "none" / "lock", "Store s").__enter__()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ConfigError, match=r"must be a new or empty folder, found notes.txt in it"):
        run_design(subject, design, store=tmp_path)
    with pytest.raises(ConfigError, match=r"notes.txt must be a folder, found a file"):
        run_design(subject, design, store=tmp_path / "notes.txt")
    run_design(subject, design, store=tmp_path / "runs", executor="serial")
    store = Store(tmp_path / "runs")
    with pytest.raises(ConfigError, match=r"Sample 7 of store .* has no trajectory"):
        store.trajectory(7)
    campaign = json.loads((tmp_path / "runs" / "campaign.json").read_text())
    (tmp_path / "runs" / "campaign.json").write_text("{")
    with pytest.raises(ConfigError, match=r"campaign.json of store .* must be JSON, got"):
        Store(tmp_path / "runs")
    (tmp_path / "runs" / "campaign.json").write_text(json.dumps({**campaign, "format": 9}))
    with pytest.raises(
        ConfigError, match="has format 9, this version reads formats 1 and 2; use the version that wrote it"
    ):
        Store(tmp_path / "runs")
    campaign["design"]["hash"] = "0"
    (tmp_path / "runs" / "campaign.json").write_text(json.dumps(campaign))
    with pytest.raises(ConfigError, match=r"Design file design-\w+.nc of store .* is damaged"):
        Store(tmp_path / "runs")
    shutil.rmtree(tmp_path / "runs")

    def moody(k: float, c: float) -> dict[str, float]:
        return {"a": 1.0} if k < 75 else {"b": 1.0}

    with pytest.raises(ConfigError, match=r"Sample 1 of store .* must have outputs [ab], got [ab]"):
        run_design(moody, design, store=tmp_path / "runs", executor="serial")
