"""Steps of a study: made once, made again when something changed, and clear about what is missing."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hmor.study.stages import steps as module
from hmor.study.stages.pipeline import find_pipeline
from hmor.study.stages.steps import Pipeline, Step
from hmor.views.tables import show
from rt_runtime import ConfigError


class Counted:
    """A pipeline of two steps that counts how often each is made."""

    def __init__(self, folder: Path, number: int = 1, study: str = "toy") -> None:
        self.made: list[str] = []

        def one(_: Any) -> dict[str, Any]:
            self.made.append("one")
            (folder / "data").write_text("x")
            return {"number": number}

        def two(given: Any) -> dict[str, Any]:
            self.made.append("two")
            return {"twice": 2 * given["one"]["number"]}

        steps = [Step("one", one, {"number": number}, files=("data",)), Step("two", two, {}, ("one",))]
        self.pipeline = Pipeline(study, folder, steps)


def test_a_step_whose_inputs_did_not_change_is_not_repeated(tmp_path: Path) -> None:
    first = Counted(tmp_path)
    assert first.pipeline.run("one") == {"number": 1}
    assert first.pipeline.run("two") == {"twice": 2}
    again = Counted(tmp_path)
    assert again.pipeline.run("one") == {"number": 1}
    assert again.pipeline.run("two") == {"twice": 2}
    assert again.made == []
    assert again.pipeline.run("two", force=True) == {"twice": 2}
    assert again.made == ["two"]
    assert again.pipeline.seconds("one") is not None


def test_a_change_reaches_the_steps_behind_it(tmp_path: Path) -> None:
    Counted(tmp_path).pipeline.run("one")
    Counted(tmp_path).pipeline.run("two")
    changed = Counted(tmp_path, number=3)
    with pytest.raises(ConfigError, match=r"Step 'one' of study 'toy' was made from other settings .* hmor one toy"):
        changed.pipeline.run("two")
    changed.pipeline.run("one")
    assert changed.pipeline.run("two") == {"twice": 6}
    assert changed.made == ["one", "two"]


def test_files_that_are_gone_make_a_step_untrue(tmp_path: Path) -> None:
    Counted(tmp_path).pipeline.run("one")
    (tmp_path / "data").unlink()
    again = Counted(tmp_path)
    again.pipeline.run("one")
    assert again.made == ["one"]


def in_processes(folder: Path, wrong: str = "") -> Pipeline:
    """Four steps that tell the process they were made in; the last one fails or is killed where `wrong` says so."""

    def make(number: int, _: Any) -> dict[str, Any]:
        if wrong == "fails" and number == 3:
            raise ConfigError("Number of the last must be right.")
        if wrong == "killed" and number == 3:
            while not all((folder / "steps" / "fit" / f"{i}.json").is_file() for i in range(3)):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        (folder / f"{number}.npz").write_text("x")
        return {"number": number, "process": os.getpid(), "threads": os.environ.get("OPENBLAS_NUM_THREADS")}

    steps = [
        Step(f"fit/{i}", partial(make, i), {"wrong": wrong}, files=(f"{i}.npz",), effort=1.0) for i in range(4)
    ]  # fmt: skip
    pipeline = Pipeline("toy", folder, steps)
    pipeline.rebuild = partial(in_processes, folder, wrong)
    return pipeline


def test_steps_of_a_group_are_made_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = in_processes(tmp_path).run_group("fit")
    assert [found[str(i)]["number"] for i in range(4)] == [0, 1, 2, 3]
    assert os.getpid() not in {one["process"] for one in found.values()}
    assert None not in {one["threads"] for one in found.values()}  # linear algebra of each keeps to its core
    assert in_processes(tmp_path).run_group("fit") == found  # made already
    (tmp_path / "2.npz").unlink()
    again = in_processes(tmp_path).run_group("fit")  # one step is not worth a process
    assert again["2"]["process"] == os.getpid() and again["1"] == found["1"]
    with pytest.raises(ConfigError, match=r"Number of the last must be right\."):
        in_processes(tmp_path, wrong="fails").run_group("fit")


def test_a_process_that_is_killed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with pytest.raises(
        ConfigError, match=r"process that made one of .*fit/3.* was killed .* memory.* run the command again"
    ):
        in_processes(tmp_path, wrong="killed").run_group("fit")
    assert in_processes(tmp_path, wrong="killed").holds("fit/0")  # what was finished before is kept
    assert not in_processes(tmp_path, wrong="killed").holds("fit/3")


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Step 'one' of study 'toy' is not made yet; run: hmor one toy"):
        Counted(tmp_path).pipeline.run("two")


def test_a_folder_of_another_study_or_version_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Counted(tmp_path).pipeline.run("one")
    before = (tmp_path / "steps" / "one.json").read_bytes()
    with pytest.raises(ConfigError, match=r"belongs to study 'toy', not to 'other'; choose another with --folder"):
        Counted(tmp_path, study="other").pipeline.run("one")
    monkeypatch.setattr(module, "program_version", lambda: "9.9.9")
    with pytest.raises(ConfigError, match=r"was made by hybrid-mor .*, this is 9\.9\.9; choose another with --folder"):
        Counted(tmp_path).pipeline.run("one")
    assert (tmp_path / "steps" / "one.json").read_bytes() == before
    Counted(tmp_path).pipeline.run("one", force=True)
    assert json.loads((tmp_path / "steps" / "one.json").read_text())["version"] == "9.9.9"


@pytest.mark.parametrize("text", ["{", "[]", "null", "[" * 3000, "\udcff", '{"study": "toy"}', "no result"])
def test_a_spoilt_result_is_said(tmp_path: Path, text: str) -> None:
    Counted(tmp_path).pipeline.run("one")
    path = tmp_path / "steps" / "one.json"
    if text == "no result":
        text = json.dumps(json.loads(path.read_text()) | {"result": None})
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=r"one\.json (must|cannot) .*; delete it and run again"):
        Counted(tmp_path).pipeline.run("one")


def test_a_result_is_shown_as_tables_and_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    result = {
        "prototypes": 30,
        "figures": [f"{i}.png" for i in range(9)],
        "errors": {kind: {f"response_{i}": 1.0 / 3.0 for i in range(9)} for kind in ("static", "with_memory")},
        "under_control": {"mean": {"full_order": {"J1_ms": 1234.5}, "published": {"J1_ms": 2.5, "J2_percent": 0.34}}},
    }
    show("simulate", result, as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {"simulate", "prototypes 30", "figures 9 entries"} <= set(lines)
    assert {"simulate, errors", "static with_memory", "response_8 0.333 0.333"} <= set(lines)
    assert {"simulate, under_control, mean", "J1_ms J2_percent", "full_order 1234", "published 2.5 0.34"} <= set(lines)


def test_columns_that_do_not_fit_stand_in_a_table_of_their_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    facts = {name: 0.00123 for name in ("multiply_adds", "bytes", "iterations", "train_mse", "valid_mse", "seconds")}
    models = [f"{side}_{kind}_memory" for side in ("rear", "front") for kind in ("ffnn", "pce")]
    show("train", {model: facts | {f"k{i}": 1.0 for i in range(4)} for model in models}, as_json=False)
    words = capsys.readouterr().out.split()
    assert [words.count(word) for word in models] == [1, 1, 1, 1]
    assert words.count("multiply_adds") == words.count("train") == 2 and words.count("0.00123") == 24


def test_a_model_that_moves_to_another_place_of_the_hybrid_model_is_judged_again(tmp_path: Path) -> None:
    def fingerprint(**variants: dict[str, str]) -> str:
        changes = {"hybrid": {"variants": variants}}
        return find_pipeline("motorcycle_brakes", tmp_path, changes=changes).fingerprint("validate/rear_pce")

    elsewhere = {"rear_brake": "rear.ffnn", "front_brake": "rear.pce"}
    assert fingerprint() == fingerprint() != fingerprint(pce=elsewhere, mixed=elsewhere)
