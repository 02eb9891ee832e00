"""`hmor studies` and `hmor simulate` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hmor.commands.simulate import print_control, read_settings
from hmor.commands.studies import describe
from hmor.options import BUILT_IN
from hmor.studies.base import Options
from hmor.studies.settings import truth_of, whole_of
from hmor.study.simulate import built_in_test
from hmor.study.stages.pipeline import find_pipeline
from rt_runtime import Record
from rt_runtime.errors import ConfigError


def hmor(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "from hmor.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd)


def test_studies_lists_names_and_parameters(tmp_path: Path) -> None:
    found = json.loads(hmor("studies", "--json", cwd=tmp_path).stdout)
    assert found["pendulum"]["parameters"][0] == "cart_mass"
    assert found["pendulum"]["steps"] == ["simulate", "report"]
    assert found["motorcycle_brakes"]["steps"] == ["sample", "train", "validate", "export", "simulate", "run", "report"]
    assert "controller" in found["motorcycle_brakes"]["settings"] and set(found) == set(BUILT_IN)
    assert {name: describe(name)["steps"] for name in BUILT_IN} == {
        name: list(find_pipeline(name, tmp_path / name).groups) for name in BUILT_IN
    }
    every = hmor("studies", cwd=tmp_path).stdout  # of 80 columns
    assert "frame_mr_damper" in every and "three-storey frame with" in every and len(every.splitlines()) < 100
    one = hmor("studies", "pendulum", cwd=tmp_path).stdout
    assert "cart_mass, bob_mass" in one and "design, spacing, lead, frequency" in one
    assert hmor("studies", "pendolum", cwd=tmp_path).stderr.startswith("hmor: STUDY of hmor studies must be one of ")
    assert not list(tmp_path.iterdir())


def test_simulate_prints_one_json_object(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    files = ["--save", str(path), "--picture", str(tmp_path / "run.png")]
    done = hmor("simulate", "frame_mr_damper", "--runs", "3", "--json", *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["control"]
    assert found["test"] == "frame_mr_damper"
    assert found["prototypes"] == 3
    assert found["unstable"] == {"full": 0}
    assert set(found["stochastic"]["full"]["J2_percent"]) == {"mean", "std", "min", "q25", "median", "q75", "max"}
    assert len(found["histograms"]["full"]["J2_percent"]["density"]) == 20
    assert found["published"]["nominal"]["J2_percent"] == 1.88
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert len(Record.load(path)["command"]) == round(35.0 * 4096)
    again = hmor("simulate", "frame_mr_damper", "--runs", "3", "--json", cwd=tmp_path)
    assert "simulate/control: unchanged" in again.stderr and json.loads(again.stdout)["control"] == found


def test_simulate_prints_a_table_with_the_published_row(tmp_path: Path) -> None:
    done = hmor("simulate", "benchmark_frame", "--set", "case=1", "--set", "controller=pi", cwd=tmp_path)
    assert "published" in done.stdout
    assert "36.08" in done.stdout


def test_no_number_of_a_table_is_cut_short(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    spread = {"mean": 0.005164, "std": 0.01134, "median": 0.01021, "max": -1.697e-05}
    result = {
        "nominal": {"full": {"J1_ms": 0.004382, "J2_percent": 0.2734, "qp_iterations_max": 12.0}},
        "stochastic": {"full": dict.fromkeys(("J1_ms", "J2_percent", "qp_iterations_max"), spread)},
        "published": {"nominal": {"J1_ms": 0.24}, "std": {"J1_ms": 0.12}, "laboratory": {"J2_percent": 1.5}},
        "record": "synthetic", "prototypes": 5, "unstable": {"full": 0}, "wall_s": 1.5,
    }  # fmt: skip
    print_control("pendulum", result)
    shown = capsys.readouterr().out
    rows = [line.replace("│", " ").split() for line in shown.splitlines() if "│" in line]
    numbers = ["0.005164", "0.01134", "0.01021", "-1.697e-05"]
    assert "…" not in shown
    assert rows == [
        ["J1_ms", "0.004382", *numbers],
        ["published", "0.24", "0.12"],
        ["J2_percent", "0.2734", *numbers, "1.5"],
        ["qp_iterations_max", "12", *numbers],
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["nothing"],
            "Study must be one of benchmark_frame, benchmark_test, compensators, curved_bridge, curved_bridge_test",
        ),
        (
            ["pendulum", "--set", "spread=1"],
            "Setting 'spread' of virtual test 'pendulum' is unknown; it has design, spacing",
        ),
        (
            ["pendulum", "--set", "design=best"],
            "design of study 'pendulum' must be one of 'robust', 'published', got 'best'",
        ),
        (
            ["pendulum", "--set", "frequency=fast"],
            "Settings of virtual test 'pendulum' must be values that it takes, got frequency='fast': could not convert",
        ),
        (["pendulum", "--set", "spacing"], "Option --set must be name=value, got 'spacing'"),
        (["pendulum", "--record", "missing.csv"], "Record file must exist, got "),
        (["benchmark_frame", "--set", "case=7"], "case of the benchmark frame must be 1, 2, 3 or 4, got 7"),
        (["pendulum", "--picture", "run.doc"], "Picture must be a file in an existing folder that ends in one of"),
        (["delay_stability", "--picture", "x.png"], "Study 'delay_stability' records no target and measured signal"),
        (
            ["delay_stability", "--runs", "4"],
            "prototypes of [control] must be 1: test 'delay_stability' has no uncertain parameters",
        ),
        (["pendulum", "--quick"], "has no section [quick], which --quick takes"),
        (["motorcycle_ampc", "--record", __file__], "Virtual test 'motorcycle_ampc' has no ground motion"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    done = hmor("simulate", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_settings_are_numbers_words_and_truth() -> None:
    assert read_settings(["a=1", "b=0.5", "c=true", "d=word"]) == {"a": 1, "b": 0.5, "c": True, "d": "word"}


def test_counts_are_not_rounded_and_words_are_not_true() -> None:
    assert whole_of({"n": 4.0}, "n", 1) == 4 and whole_of({}, "n", 1) == 1 and truth_of({"on": 0}, "on", True) is False
    for value in (12.7, "12", True, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match=f"Setting 'n' must be a whole number, got {value!r}"):
            whole_of({"n": value}, "n", 1)
    for word in ("False", "no", 2):
        with pytest.raises(ConfigError, match=f"Setting 'on' must be true or false, got {word!r}"):
            truth_of({"on": word}, "on", True)
    with pytest.raises(ConfigError, match=r"Setting 'spacing' must be a whole number, got 12\.7"):
        built_in_test("pendulum").simulate(Options(settings={"spacing": 12.7}))


def test_a_single_prototype_is_not_a_design() -> None:
    with pytest.raises(
        ConfigError, match=r"prototypes of virtual test 'pendulum' must be a whole number of at least 2, got 1"
    ):
        built_in_test("pendulum").simulate_many(1, Options())


@pytest.mark.parametrize("step", ["sample", "train", "validate", "export", "run"])
def test_a_step_that_a_study_does_not_have_is_said(step: str, tmp_path: Path) -> None:
    done = hmor(step, "pendulum", cwd=tmp_path)
    assert done.returncode == 2 and f"Study pendulum has nothing to {step}: it has simulate, report." in done.stderr


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text('[study]\nname = "x"\n[hybrid]\nmodel = "mor.models.motorcycle:hybrid()"\nresponses = ["v"]\n')
    done = hmor("simulate", "study.toml", "--set", "a=1", cwd=tmp_path)
    assert done.returncode == 2 and "has no section [control]: --set and --record would do nothing" in done.stderr
    assert "No such option" in hmor("run", "motorcycle_brakes", "--force", cwd=tmp_path).stderr
    done = hmor("sample", "motorcycle_brakes", "--executor", "nonsense", cwd=tmp_path)
    assert done.returncode == 2 and "Key 'parts.rear.executor'" in done.stderr
    done = hmor("sample", "motorcycle_brakes", "--executor", "serial", "--workers", "3", cwd=tmp_path)
    assert done.returncode == 2 and "--workers of hmor sample" in done.stderr and "would do nothing" in done.stderr
    done = hmor("run", "pendulum", "--paced", "--duration", "1", cwd=tmp_path)
    assert done.returncode == 2 and "Study pendulum has nothing to run: it has simulate, report." in done.stderr
