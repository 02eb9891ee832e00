"""Faults of processes, hosts and operators: `hmor run` in a process of its own, a rig beside it, one fault each.

Every row says when the fault was noticed, the largest rate of the command on the wall clock, how the test ended and the
exit code of the process. The limits on time are those of a desktop (`PATIENT`), so that only the fault is noticed.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rt_runtime import Gain, Loop, PythonBlock, Rig, load_run
from rt_runtime.checks import Array

ROOT = Path(__file__).resolve().parents[1]
RATE, RUNNING, KEY = 1000.0, 3, "5a" * 32
BEFORE = 1200  # commands before the fault
PATIENT = {"stale": ("rig.age", 500.0, "trip"), "stall": ("host.elapsed", 0.5, "trip")}
DRAWN_OUT = {
    "lost_answers": ("rig.lost_recently", 100.0, "warn"),
    "growing_delay": ("rig.drift", 0.1, "warn"),
    **{
        f"{signal}_{rule}": (f"{signal}.{output}", 1.0, "warn")
        for signal in ("position", "force")
        for rule, output in (("follows", "doubt"), ("drift", "drift"), ("lag", "lag"))
    },
}
"""What a busy host alone can set off, as warnings; these rows are about other rules."""


class StampedRig:
    """A spring on a rig that notes every command it obeys with the time on its wall clock."""

    def __init__(self, at: float = 0.0, **options: Any) -> None:
        commands: list[tuple[float, float]] = []
        side = Loop(RATE)
        side.constant("command", at, unit="m")
        side.signal("position", unit="m", initial=at)
        side.signal("force", unit="N", initial=1e5 * at)

        def stamped(t: float, u: Array) -> list[float]:
            commands.append((time.monotonic(), float(u[0])))
            return [float(u[0])]

        side.add("actuator", PythonBlock(stamped, n_in=1, n_out=1), inputs=["command"], outputs=["position"])
        side.add("spring", Gain(1e5), inputs=["position"], outputs=["force"])
        self.commands = commands
        self.rig = Rig(side, ["command"], ["position", "force"], key=bytes.fromhex(KEY), **options)

    @property
    def received(self) -> int:
        """Commands so far."""
        return len(self.commands)

    def rate_after(self, moment: float) -> float:
        """Largest rate of the commands after a moment, over 20 ms, in m/s."""
        seen = np.array([row for row in self.commands if row[0] >= moment])
        if len(seen) < 2:
            return 0.0
        grid = np.arange(seen[0, 0], seen[-1, 0], 1e-3)
        held = np.interp(grid, seen[:, 0], seen[:, 1])
        return float(np.abs(held[20:] - held[:-20]).max() / 0.02) if len(held) > 20 else 0.0


@contextmanager
def served(at: float = 0.0, **options: Any) -> Iterator[StampedRig]:
    """Serve a rig in a thread."""
    stamped = StampedRig(at, **options)
    thread = threading.Thread(target=stamped.rig.serve, kwargs={"seconds": 120.0})
    thread.start()
    try:
        yield stamped
    finally:
        stamped.rig.stop()
        thread.join()


def write_study(folder: Path, port: int, change: Callable[[str], str]) -> Path:
    """Write the spring test with a port and a key, the limits on time of a desktop, and a change."""
    text = (ROOT / "hmor/studies/spring_test.toml").read_text(encoding="utf-8")
    text, n = re.subn(r'rig = "spring".*', f'port = {port}\nkey_file = "rig.key"\ntimeout = 60.0', text)
    assert n == 1
    head, *rules = text.split("[[run.rules]]")
    *rules, last = rules
    kept = [rule for rule in rules if not re.search(r'name = "(stale|stall)"', rule)]
    text = "[[run.rules]]".join([head, *kept, last])
    for name, (seen, upper, action) in (PATIENT | DRAWN_OUT).items():
        text += f'\n[[run.rules]]\nname = "{name}"\nsignal = "{seen}"\nupper = {upper}\naction = "{action}"\n'
        text += 'reason = "a desktop"\n'
    (folder / "rig.key").write_text(KEY, encoding="utf-8")
    (folder / "rig.key").chmod(0o600)
    (folder / "study.toml").write_text(change(text), encoding="utf-8")
    return folder / "study.toml"


def started(study: Path, *options: str, prepare: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    """Start `hmor run` on a study."""
    command = [sys.executable, "-m", "hmor", "run", str(study), "--json", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=study.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        preexec_fn=prepare,
    )  # fmt: skip


def until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None, seconds: float = 60.0) -> None:
    """Wait for something, or for the end of the process."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end and (process is None or process.poll() is None):
        time.sleep(0.002)


@dataclass(frozen=True)
class Fault:
    """One fault.

    Parameters
    ----------
    inject
        Does it, once the test has run for `BEFORE` commands; gets the process of the loop and the rig.
    change
        Changes the text of the study.
    options
        Of `hmor run`.
    at
        Where the rig stands, in m.
    prepare
        Called in the process of the loop before it begins.
    """

    inject: Callable[[subprocess.Popen[str], StampedRig], None] = lambda process, rig: None
    change: Callable[[str], str] = lambda text: text
    options: tuple[str, ...] = ()
    at: float = 0.0
    prepare: Callable[[], None] | None = None


def send(number: signal.Signals) -> Callable[[subprocess.Popen[str], StampedRig], None]:
    """Send a signal to the loop."""
    return lambda process, rig: process.send_signal(number)


def stopped_for(seconds: float) -> Callable[[subprocess.Popen[str], StampedRig], None]:
    """Stop the process of the loop for a while."""

    def inject(process: subprocess.Popen[str], rig: StampedRig) -> None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    return inject


def small_disk() -> None:
    """Let no file of the process grow beyond 300 kB: the disk is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def catching_up(text: str) -> str:
    """Let the loop catch up after a stall, and no rule end the test."""
    return text.replace("upper = 0.5\n", "upper = 60.0\n") + '\n[run.pacing]\noverrun = "catch_up"\n'


FAULTS = {
    **{f"{number.name} to the loop": Fault(send(number)) for number in
       (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)},
    "loop stopped for 1 s": Fault(stopped_for(1.0)),
    "loop stopped for 0.25 s, catch_up": Fault(stopped_for(0.25), catching_up),
    "rig ended": Fault(lambda process, rig: rig.rig.stop()),
    "disk full": Fault(prepare=small_disk),
    "actuator stands at -9.9 mm": Fault(at=-0.0099),
    "actuator stands outside its limits": Fault(at=-0.03),
    "no clock": Fault(options=("--unpaced",)),
    "key of 3 bytes": Fault(change=lambda text: text.replace('"rig.key"', '"short.key"')),
    "rig elsewhere without key": Fault(
        change=lambda text: text.replace('key_file = "rig.key"\n', 'host = "192.0.2.1"\n')
    ),
    "no room for the run folder": Fault(
        change=lambda text: text.replace("rate = 1000.0", 'folder = "rig.key/run"\nrate = 1000.0')
    ),
}  # fmt: skip


def inject(name: str, fault: Fault) -> dict[str, Any]:
    """Run the spring test with one fault; return its row."""
    with tempfile.TemporaryDirectory() as place, served(fault.at, lease=3.0, ramp=0.5) as rig:
        folder = Path(place)
        (folder / "short.key").write_text("5a" * 3, encoding="utf-8")
        (folder / "short.key").chmod(0o600)
        study = write_study(folder, rig.rig.port, fault.change)
        process = started(study, "--duration", "2.5", *fault.options, prepare=fault.prepare)
        until(lambda: rig.received >= BEFORE, process)
        tick, moment = rig.received, time.monotonic()
        fault.inject(process, rig)
        out, said = process.communicate(timeout=120)
        until(lambda: rig.rig.state in ("idle", "off"), seconds=10.0)
        return {"test": "spring", "fault": name} | judged(folder, out, said, process.returncode, rig, tick, moment)


def judged(folder: Path, out: str, said: str, code: int, rig: StampedRig, tick: int, moment: float) -> dict[str, Any]:
    """Read the record of a run, as far as there is one, and what the process said."""
    found: dict[str, Any] = {
        "noticed_after_ms": None,
        "largest_rate_m_per_s": rig.rate_after(moment),
        "exit_code": code,
    }
    runs = list(folder.glob("runs/*/run/*"))
    if not runs or not rig.received:
        return found | {"noticed_after_ms": 0.0, "ended": last_line(said), "moved": bool(rig.received)}
    record = load_run(runs[0])
    wall, command = np.cumsum(record["host.elapsed"]), record["command"]
    found["largest_rate_m_per_s"] = float(
        np.abs(np.diff(command) / np.maximum(record["host.elapsed"][1:], 1.0 / RATE)).max()
    )
    if code == -signal.SIGKILL:
        found["largest_rate_m_per_s"] = max(found["largest_rate_m_per_s"], rig.rate_after(moment))
        last = [t for t, _ in rig.commands if t > moment]
        found["noticed_after_ms"] = 1e3 * (last[0] - moment) if last else None
        return found | {
            "ended": f"killed; the rig went to rest by itself: {rig.rig.state} at {rig.commands[-1][1]:g} m"
        }
    ended = np.flatnonzero(record["monitor.state"] > RUNNING)
    if len(ended) and ended[0] < round(2.5 * RATE):
        found["noticed_after_ms"] = 1e3 * float(wall[ended[0]] - wall[min(tick, len(wall)) - 1])
    told = json.loads(out)["ended"]
    if not len(ended) and (late := re.match(r"Ramped down at tick (\d+)", told)):  # those frames were lost
        found["noticed_after_ms"] = 1e3 * (int(late[1]) - len(record)) / RATE
    return found | {"ended": told}


def last_line(said: str) -> str:
    """Return the last line of what a process said."""
    return said.strip().splitlines()[-1] if said.strip() else ""


def second_operator() -> dict[str, Any]:
    """Start a second test while one runs; the row is of the second, the rate of both."""
    with tempfile.TemporaryDirectory() as place, served() as rig:
        study = write_study(Path(place), rig.rig.port, lambda text: text)
        (Path(place) / "second").mkdir()
        hurried = write_study(
            Path(place) / "second", rig.rig.port, lambda text: text.replace("timeout = 60.0", "timeout = 0.5")
        )
        first = started(study, "--duration", "300")
        until(lambda: rig.received >= BEFORE, first)
        second = started(hurried, "--duration", "1")
        _, said = second.communicate(timeout=60)
        first.send_signal(signal.SIGTERM)
        out, _ = first.communicate(timeout=60)
        record = load_run(Path(place) / json.loads(out)["folder"])
        rate = np.abs(np.diff(record["command"]) / np.maximum(record["host.elapsed"][1:], 1.0 / RATE)).max()
        return {
            "test": "spring",
            "fault": "second operator",
            "noticed_after_ms": 0.0,
            "largest_rate_m_per_s": float(rate),
            "exit_code": second.returncode,
            "ended": last_line(said),
            "first_test": json.loads(out)["ended"],
        }


def killed_rig() -> dict[str, Any]:
    """Kill the process of the rig while the test runs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "rig.key").write_text(KEY, encoding="utf-8")
        (folder / "rig.key").chmod(0o600)
        command = [sys.executable, "-m", "hmor", "rig", "spring", "--key-file", "rig.key", "--hold-after", "500"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        rig = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment)
        assert rig.stderr is not None
        port = re.search(r"listens on [\d.]+:(\d+)", rig.stderr.readline())
        assert port is not None
        process = started(write_study(folder, int(port[1]), lambda text: text), "--duration", "30")
        until(lambda: bool(list(folder.glob("runs/*/run/*/frames.bin"))), process)
        time.sleep(2.0)
        rig.kill()
        out, _ = process.communicate(timeout=60)
        rig.wait()
        record = load_run(folder / json.loads(out)["folder"])
        elapsed = record["host.elapsed"]
        ended = int(np.flatnonzero(record["monitor.state"] > RUNNING)[0])
        last = int(np.flatnonzero(record["rig.age"][:ended] <= 1)[-1])
        return {
            "test": "spring",
            "fault": "SIGKILL to the rig",
            "noticed_after_ms": 1e3 * float(elapsed[last + 1 : ended + 1].sum()),
            "largest_rate_m_per_s": float(np.abs(np.diff(record["command"]) / np.maximum(elapsed[1:], 1 / RATE)).max()),
            "exit_code": process.returncode,
            "ended": json.loads(out)["ended"],
        }


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per fault; `quick` with those that need one run each and are over soon."""
    few = ("SIGKILL to the loop", "loop stopped for 1 s", "key of 3 bytes")
    found = [inject(name, fault) for name, fault in FAULTS.items() if not quick or name in few]
    return found if quick else [*found, second_operator(), killed_rig()]
