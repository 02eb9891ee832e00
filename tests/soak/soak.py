"""Run a guarded, paced test against a rig for a long time and check what creeps: memory, lost frames, histograms.

    python tests/soak/soak.py --seconds 600

The loop has a reduced model, the monitor with its default rules, a recorder to disk and a UDP rig in another process.
Ends with 1 and a sentence for each thing that is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from export import write
from rt_runtime import (
    Command,
    Drive,
    Loop,
    Pacing,
    Record,
    Rule,
    RunFolder,
    Sensor,
    StartStop,
    Status,
    Table,
    UdpRig,
    load_bundle,
    protect,
)
from rt_runtime.rig.actuators import names_of
from rt_runtime.safety.defaults import actuator_rules, default_rules, response_rules
from rt_runtime.safety.watches import watched_actuators
from tests.reference.exported_models import network_with_memory

ROOT = Path(__file__).resolve().parents[2]
RATE = 1000.0
STROKE = Command("wanted", "command", -0.02, 0.02, rate=0.5, measured="position")
MOST_GROWTH_KB = 4096  # of the resident size, from a tenth of the run to its end
SHARED = "the host is used by others too, and what creeps must be seen over the whole time"
PATIENT = ("--hold-after", "1000000", "--lease", "3600")  # of the rig, for the same reason


@dataclass
class Memory:
    """Samples of the resident size of this process while the loop runs."""

    kilobytes: list[float] = field(default_factory=list)

    def sample(self, status: Status) -> None:
        """Take one sample; `Loop.run` calls this now and then."""
        found = re.search(r"VmRSS:\s*(\d+)", Path("/proc/self/status").read_text())
        self.kilobytes.append(float(found[1]) if found else 0.0)

    @property
    def growth(self) -> float:
        """Median of the last tenth less median of the second tenth, in kB."""
        n = max(1, len(self.kilobytes) // 10)
        return float(np.median(self.kilobytes[-n:]) - np.median(self.kilobytes[n : 2 * n]))


def soak(seconds: float) -> tuple[Record, Memory, dict[str, int]]:
    """Run the test and return its record, the memory it took and the traffic of the rig."""
    command = [sys.executable, "-m", "hmor", "rig", "spring", "--rate", f"{RATE:g}", "--sessions", "1", *PATIENT]
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            port = re.search(r"listens on [\d.]+:(\d+)", said)
            assert port is not None, said
            write(network_with_memory(), Path(place) / "b")
            rig = UdpRig(1, 2, port=int(port[1]), timeout=60.0)
            loop, memory = guarded_loop(rig, seconds), Memory()
            loop.signal("rom", unit="N m")
            loop.add("rom", load_bundle(Path(place) / "b").block(), inputs=["position", "force"], outputs=["rom"])
            folder = RunFolder(Path(place) / "run", study="", bundles={})
            pacing = Pacing(lock_memory=False)
            record = loop.run(seconds, paced=True, pacing=pacing, folder=folder, status=memory.sample)
            return record, memory, rig.traffic
        finally:
            process.terminate()


def guarded_loop(rig: UdpRig, seconds: float) -> Loop:
    """Return a sine of 1 Hz on the spring, with limits; default rules that a busy host can break warn, the others act."""
    loop = Loop(RATE)
    for name, unit in (("position", "m"), ("force", "N"), ("rig.age", ""), ("rig.status", ""), ("rig.sent", "")):
        loop.signal(name, unit=unit)
    loop.signal("wanted", unit="m")
    loop.add("rig.read", Sensor(rig), outputs=names_of("rig", ["position", "force"]))
    t = np.arange(0.0, seconds + 5.0, 0.01)
    loop.add("target", Table(t, 0.01 * np.sin(2.0 * np.pi * t)), outputs=["wanted"])
    protect(loop, [STROKE], warnings_of(loop), manners=StartStop(soft_start=0.5, soft_stop=0.5))
    loop.add("rig.write", Drive(rig), inputs=["command"], outputs=["rig.sent"])
    return loop


def warnings_of(loop: Loop) -> list[Rule]:
    """Return the default rules on time and on what answers in time, as warnings; lost frames and a status still act."""
    (rig,) = watched_actuators(loop)
    rules = [
        *default_rules(RATE),
        *actuator_rules(rig, RATE, alone=True),
        *response_rules(STROKE, "position", "force", RATE),
    ]
    return [replace(r, action="warn", reason=SHARED) for r in rules if r.name not in ("lost_frames", "status")]


def problems(record: Record, memory: Memory, traffic: dict[str, int], seconds: float) -> list[str]:
    """Say what is wrong with a run, a sentence each."""
    found = []
    timing = record.timing
    assert timing is not None
    if record.frames_lost or len(record) != record.ticks:
        found.append(f"Every frame must be recorded, got {len(record)} of {record.ticks}, {record.frames_lost} lost.")
    if record.ticks < seconds * record.rate:
        found.append(f"The run must have {seconds * record.rate:.0f} ticks, got {record.ticks}.")
    for name, durations in (("wake-up latency", timing.wake), ("own time", timing.own)):
        if sum(durations.counts) != record.ticks:
            found.append(f"Histogram of {name} must hold {record.ticks} ticks, got {sum(durations.counts)}.")
    command = record["command"]
    if command.min() < STROKE.lower or command.max() > STROKE.upper:
        found.append(f"The command must stay in its limits, got {command.min():g} to {command.max():g}.")
    if np.abs(np.diff(command, prepend=STROKE.rest)).max() > STROKE.rate / RATE * (1 + 1e-9):
        found.append("The command must keep its rate.")
    if not np.all(np.isfinite(record.values)):
        found.append("Every recorded number must be finite.")
    if np.any(np.diff(record.time) <= 0):
        found.append("Times of the record must increase.")
    answered = traffic["received"] + traffic["lost"] + record["rig.age"][-1]  # the age: commands on their way
    if traffic["damaged"] or traffic["forged"] or answered < 0.9 * record.ticks:
        found.append(f"Answers of the rig must be whole and as many as commands, got {traffic}.")
    if memory.growth > MOST_GROWTH_KB:
        found.append(f"Memory must grow by less than {MOST_GROWTH_KB} kB, got {memory.growth:.0f} kB.")
    return found


def main() -> int:
    """Run it and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    begun = time.monotonic()
    record, memory, traffic = soak(options.seconds)
    timing = record.timing
    assert timing is not None
    print(json.dumps({
        "seconds": round(time.monotonic() - begun, 1), "ticks": record.ticks, "frames": len(record),
        "frames_lost": record.frames_lost, "missed": timing.missed, "wake_us": timing.wake.summary_us(),
        "own_us": timing.own.summary_us(), "memory_growth_kb": memory.growth,
        "memory_kb": memory.kilobytes[-1] if memory.kilobytes else None, "traffic": traffic,
    }, indent=1))  # fmt: skip
    wrong = problems(record, memory, traffic, options.seconds)
    for sentence in wrong:
        print(f"soak: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
