"""`hmor bench` and `hmor demo` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hmor.commands import bench
from rt_runtime import ConfigError


def hmor(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from hmor.cli import main; main()", *arguments]
    return subprocess.run(program, capture_output=True, text=True, cwd=cwd)


def test_bench_runs_a_topic_and_prints_one_json_object(tmp_path: Path) -> None:
    (tmp_path / "bench_toy.py").write_text("def run(quick):\n    return {'ratio': 1.5, 'quick': quick}\n")
    assert bench.run([], quick=True, folder=tmp_path) == {"toy": {"ratio": 1.5, "quick": True}}
    with pytest.raises(ConfigError, match=r"topic of hmor bench must be one of toy, got other\."):
        bench.run(["other"], quick=True, folder=tmp_path)
    with pytest.raises(ConfigError, match=r"hmor bench needs a checkout with a benchmarks folder, found none at"):
        bench.run([], quick=True, folder=tmp_path / "none")


def test_engine_benchmark_gives_its_ratios(tmp_path: Path) -> None:
    done = hmor("bench", "engine", "--quick", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["engine"]
    assert values["loop_and_function_differ_by"] < 1e-12
    assert values["frame_variants_differ_by"] < 1e-10
    assert {"loop_over_one_function", "frame_speedup_over_numpy", "ode_over_cpp_rhs"} <= set(values)


def test_a_mistake_is_one_sentence_without_a_traceback(tmp_path: Path) -> None:
    done = hmor("bench", "nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("hmor: topic of hmor bench must be one of")
    assert "Traceback" not in done.stderr
    assert "Traceback" in hmor("--debug", "bench", "nonsense", cwd=tmp_path).stderr


def test_the_demo_tells_tracking_and_errors_under_control() -> None:
    from hmor.commands.demo import controlled_lines

    found = {"J1_ms": 0.1, "J2_percent": 0.08, "J3_percent": 1.5}
    mark = {"J1_ms": 2.5, "J2_percent": 0.34, "J3_percent": 2.82}
    errors = {"tau_rw": 0.2, "tau_fw": 0.4, "v": 0.05}
    result = {
        "brakes": "ffnn_memory",
        "mean": {"ffnn_memory": found, "published": mark},
        "unstable": {"fom": 0, "ffnn_memory": 0},
        "nrmse_percent": {"reduced_against_full_order": errors},
    }
    (_, measured, beside), (_, three, _) = controlled_lines(result)
    assert (measured, beside) == ("0.1 ms, 0.08 %, 1.50 %", "2.5 ms, 0.34 %, 2.82 % published")
    assert three == "0.200 %, 0.400 %, 0.050 %"
    assert controlled_lines(None) == []
    diverged = result | {
        "unstable": {"fom": 0, "ffnn_memory": 2}, "nrmse_percent": {"reduced_against_full_order": None},
    }  # fmt: skip
    assert controlled_lines(diverged) == [("virtual test, adaptive MPC: runs that diverged", "2", "0 published")]


def test_the_demo_tells_the_largest_difference_of_rows_and_runs_alike() -> None:
    from hmor.commands.demo import headlines
    from hmor.motorcycle.hybrids import KINDS, PUBLISHED, RESPONSES

    errors = {kind: dict.fromkeys(RESPONSES, 1.0) for kind in KINDS}
    time = {"real_time_factor": 1.0, "speedup_over_fom": 1.0}
    result = {
        "simulate": {
            "nrmse_percent": errors, "published_percent": PUBLISHED, "run_time": {"fom": time, "ffnn": time},
        },
        "export": {"parity": [{"rows": 2e-14, "run": None}, {"rows": 1e-15, "run": 3e-11}]},
        "run": {"tracking": None, "missed": 0, "ticks": 10},
    }  # fmt: skip
    rows = {name: value for name, value, _ in headlines(result)}
    assert rows["largest difference between export targets"] == "3.0e-11"
