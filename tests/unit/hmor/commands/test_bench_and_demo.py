"""`hmor bench` and `hmor demo` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.parts import Parts, code_state
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
    with pytest.raises(
        ConfigError, match=r"hmor bench needs a checkout of the source .* found none at .* clone the repository"
    ):
        bench.run([], quick=True, folder=tmp_path / "none")


def test_engine_benchmark_gives_its_ratios(tmp_path: Path) -> None:
    done = hmor("bench", "engine", "--quick", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["engine"]
    assert values["loop_and_function_differ_by"] < 1e-12
    assert values["frame_variants_differ_by"] < 1e-10
    assert {"loop_over_one_function", "frame_speedup_over_numpy", "ode_over_cpp_rhs"} <= set(values)


def test_parts_of_a_long_benchmark_are_kept_until_their_sources_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HMOR_BENCH_FOLDER", raising=False)
    monkeypatch.delenv("HMOR_BENCH_SECONDS", raising=False)
    calls: list[str] = []

    def measure() -> dict[str, object]:
        calls.append("measured")
        return {"error": 0.25}

    sources = tmp_path / "sources"
    sources.mkdir()
    for count, (name, text) in enumerate((("a.py", "a = 1"), ("a.py", "a = 2"), ("b.toml", "b = 1"), ("c.npz", "c"))):
        (sources / name).write_text(text)
        state = code_state(str(sources))
        for _ in range(2):  # the second time as after an interruption
            parts = Parts("toy", tmp_path / "runs" / "toy")
            assert parts.measured("first", state, measure) == {"error": 0.25}
        assert calls == ["measured"] * (count + 1)
    (sources / "notes.txt").write_text("no source")
    assert code_state(str(sources)) == state != code_state(str(sources), also="quick")
    Parts("toy").measured("first", state, measure)  # without a folder nothing is kept
    assert len(calls) == 5


def test_a_long_benchmark_ends_when_its_time_is_over_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMOR_BENCH_FOLDER", str(tmp_path / "given"))
    monkeypatch.setenv("HMOR_BENCH_SECONDS", "-1")
    late = Parts("toy", tmp_path / "default")
    assert late.measured("first", "one", lambda: {"error": 0.25}) == {} and late.open == 1
    monkeypatch.delenv("HMOR_BENCH_SECONDS")
    again = Parts("toy", tmp_path / "default")
    assert again.measured("first", "one", lambda: {"error": 0.25}) == {"error": 0.25} and again.open == 0
    assert again.folder == tmp_path / "given" and [path.name for path in again.folder.iterdir()] == ["toy.json"]


def test_a_mistake_is_one_sentence_without_a_traceback(tmp_path: Path) -> None:
    done = hmor("bench", "nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("hmor: topic of hmor bench must be one of")
    assert "Traceback" not in done.stderr
    assert "Traceback" in hmor("--debug", "bench", "nonsense", cwd=tmp_path).stderr


def test_the_demo_tells_tracking_and_errors_under_control() -> None:
    from hmor.commands.demo import controlled_lines

    names = ("adaptive_J1_ms", "adaptive_J2_percent", "adaptive_J3_percent")
    result = {
        "stochastic": {"reduced": {name: {"mean": value} for name, value in zip(names, (0.1, 0.08, 1.5), strict=True)}},
        "published": {"mean": dict(zip(names, (2.5, 0.34, 2.82), strict=True))},
        "unstable": {"full": 0, "reduced": 0},
        "nrmse_percent": {"reduced_against_full": {"tau_rw": 0.2, "tau_fw": 0.4, "v": 0.05}},
    }
    (_, measured, beside), (_, three, _) = controlled_lines(result)
    assert (measured, beside) == ("0.1 ms, 0.08 %, 1.50 %", "2.5 ms, 0.34 %, 2.82 % published")
    assert three == "0.200 %, 0.400 %, 0.050 %"
    assert controlled_lines(None) == []
    diverged = result | {"unstable": {"full": 0, "reduced": 2}, "nrmse_percent": {}}
    assert controlled_lines(diverged) == [("virtual test, adaptive MPC: runs that diverged", "2", "0 published")]


def test_the_headlines_of_the_demo() -> None:
    from hmor.commands.demo import headlines

    errors = {"tau_rw": 1.0, "tau_fw": 1.0, "v": 1.0}
    time = {"real_time_factor": 1.0, "speedup_over_full": 1.0}
    result = {
        "simulate": {"hybrid": {
            "nrmse_percent": {"ffnn": errors}, "published_percent": {"ffnn": {"v": 1.47}},
            "run_time": {"full": time, "ffnn": time},
        }},
        "export": {"parity": [{"rows": 2e-14, "run": None}, {"rows": 1e-15, "run": 3e-11}]},
        "run": {"tracking": None, "missed": 0, "ticks": 10, "ranges": {"tau_rw": [0.0, 100.0, "Nm"], "tau_fw": [0.0, 200.0, "Nm"]}},
    }  # fmt: skip
    rows = {name: (value, beside) for name, value, beside in headlines(result)}
    assert rows["largest difference between export targets"] == ("3.0e-11", "-")
    assert rows["real time: largest torque of the reduced brakes"] == ("100 Nm rear and 200 Nm front", "-")
    assert rows["hybrid model, FFNN"] == ("1 x real time, as fast", "2.2 x faster published")
    assert rows["NRMSE, FFNN, speed"] == ("1.000 %", "1.47 % published")


def test_a_slower_model_is_called_slower_and_a_row_of_cards_belongs_to_one_model() -> None:
    from hmor.report.figures import label, speed_words
    from hmor.report.study import cards

    assert [speed_words(ratio) for ratio in (2.14, 1.04, 0.96, 0.5)] == [
        "2.1 x faster",
        "as fast",
        "as fast",
        "2.0 x slower",
    ]
    assert [label(name, {"v": "speed"}) for name in ("ffnn_memory", "full", "v", "my_part")] == [
        "FFNN, memory",
        "full order",
        "speed",
        "my part",
    ]
    hybrid = {
        "nrmse_percent": {"ffnn": {"tau": 2.0, "v": 0.3}, "ffnn_memory": {"tau": 0.2, "v": 0.01}},
        "run_time": {
            "ffnn": {"speedup_over_full": 2.0, "real_time_factor": 150.0},
            "ffnn_memory": {"speedup_over_full": 0.8, "real_time_factor": 60.0},
        },
    }
    assert [value for value, _ in cards("ffnn", hybrid, {})] == ["2.0 x faster", "150 x", "2 %", "1.1 %"]
    memory = cards("ffnn_memory", hybrid, {})
    assert [value for value, _ in memory] == ["1.2 x slower", "60 x", "0.2 %", "0.11 %"]
    assert all(words.startswith("FFNN, memory: ") for _, words in memory)


def test_the_rig_benchmark_measures_both_authenticators() -> None:
    values = bench.run(["rig"], quick=True)["rig"]
    assert {f"{name}_{n}_values_ns" for name in ("hmac_sha256", "blake2s") for n in (2, 32)} <= set(values)
    assert all(float(value) > 0.0 for value in values.values())
