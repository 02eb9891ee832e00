"""Any executable as a model: its files, its time, its exit code, and everything it may do wrong."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mor import ParameterSpace, Trajectory, Uniform, lhs, run_design
from mor.sources import CommandFailure, CommandModel
from rt_runtime.errors import ConfigError

SOLVER = """
import json, sys
given = dict(line.split() for line in open(sys.argv[1]))
json.dump({"y": float(given["a"]) ** 2 + float(given["b"]), "extra": 1.0}, open(sys.argv[2], "w"))
"""
TEMPLATE = "a {{a}}\nb {{ b:.3e }}\n"


def solver(tmp_path: Path, text: str = SOLVER, **given) -> CommandModel:  # type: ignore[no-untyped-def]
    script = tmp_path / "solver.py"
    script.write_text(text)
    command = [sys.executable, "-S", str(script), "{input}", "{output}"]
    settings = {"template": TEMPLATE, "output": "out.json", "files": [script], "name": "solver"} | given
    return CommandModel(command, settings.pop("outputs", {"y": "m"}), **settings)


def test_a_campaign_over_an_executable(tmp_path: Path) -> None:
    design = lhs(ParameterSpace({"a": Uniform(0, 2), "b": Uniform(1, 2)}), 5, seed=3)
    data = run_design(solver(tmp_path), design, store=tmp_path / "store")
    b = np.array([float(f"{value:.3e}") for value in data.X[:, 1]])
    np.testing.assert_allclose(data.Y[:, 0], data.X[:, 0] ** 2 + b, rtol=1e-15)


def test_parameters_in_the_command_and_lines_of_names_and_numbers() -> None:
    model = CommandModel(["sh", "-c", "echo y = $(({a:.0f} + 1)) > {output}"], {"y": ""})
    assert model.evaluate({"a": 4.0}) == {"y": 5.0}


def test_a_table_is_a_history(tmp_path: Path) -> None:
    text = "import sys; open(sys.argv[2], 'w').write('time [s],x [m],v\\n0,1,2\\n0.5,3,4\\n')"
    run = solver(tmp_path, text, output="out.csv", outputs=()).evaluate({"a": 1.0, "b": 1.0})
    assert isinstance(run, Trajectory)
    assert run.names == ("x", "v") and run.units == ("m", "") and run["x"].tolist() == [1.0, 3.0]


def test_a_function_may_read_the_result(tmp_path: Path) -> None:
    model = solver(tmp_path, read=lambda file: {"y": float(len(file.read_bytes()))})
    assert model.evaluate({"a": 1.0, "b": 1.0})["y"] > 10


def test_a_relative_folder_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert solver(tmp_path, folder="runs", keep="all").evaluate({"a": 2.0, "b": 1.0}) == {"y": 5.0}
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_folders_are_kept_as_asked(tmp_path: Path) -> None:
    for keep, left in (("none", 0), ("failed", 0), ("all", 1)):
        folder = tmp_path / keep
        solver(tmp_path, keep=keep, folder=folder).evaluate({"a": 1.0, "b": 1.0})
        assert len(list(folder.iterdir())) == left
    failing = solver(tmp_path, "raise SystemExit(3)", keep="failed", folder=tmp_path / "kept")
    with pytest.raises(CommandFailure):
        failing.evaluate({"a": 1.0, "b": 1.0})
    (folder,) = (tmp_path / "kept").iterdir()
    assert (folder / "input.txt").read_text() == "a 1\nb 1.000e+00\n"


def test_identity_follows_program_template_and_files(tmp_path: Path) -> None:
    first = solver(tmp_path).identity()
    assert solver(tmp_path).identity() == first
    assert solver(tmp_path, template=TEMPLATE + "# more\n").identity() != first
    assert solver(tmp_path, SOLVER + "\n").identity() != first


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    text = f"import subprocess, time; subprocess.Popen(['sh', '-c', 'sleep 3; touch {mark}']); print('deep'); time.sleep(60)"
    start = time.monotonic()
    with pytest.raises(CommandFailure, match=r"'solver' must end within 0\.5 s, but did not and was ended"):
        solver(tmp_path, text, timeout=0.5).evaluate({"a": 1.0, "b": 1.0})
    assert time.monotonic() - start < 40
    time.sleep(max(0.0, start + 5.0 - time.monotonic()))
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("raise SystemExit('no licence')", {}, r"must end with exit code 0, got exit code 1; it wrote: no licence"),
        ("import os; os.kill(os.getpid(), 11)", {}, "got signal SIGSEGV"),
        ("pass", {}, r"must write out\.json, got none; it wrote nothing"),
        ("import sys; open(sys.argv[2], 'w')", {}, r"must write out\.json, got an empty file"),
        ("import sys; open(sys.argv[2], 'w').write('[1]')", {}, "cannot be read: it must be an object"),
        ("import sys; open(sys.argv[2], 'w').write('{')", {}, "cannot be read"),
        ("import sys; open(sys.argv[2], 'w').write('{\"z\": 1}')", {}, "must hold 'y', got z"),
        ("import sys; open(sys.argv[2], 'w').write('x')", {"output": "o.csv"}, "cannot be read"),
        (
            "import sys; open(sys.argv[2], 'w').write('a b c')",
            {"output": "o.txt"},
            "a line must be a name and a number",
        ),
    ],
)
def test_what_a_program_does_wrong_is_a_sentence(tmp_path: Path, text: str, given: dict, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(CommandFailure, match=words):
        solver(tmp_path, text, **given).evaluate({"a": 1.0, "b": 1.0})


def test_nan_is_a_failed_sample_and_the_rest_is_kept(tmp_path: Path) -> None:
    text = SOLVER.replace('float(given["a"]) ** 2', 'float("nan") if float(given["a"]) > 1 else 1')
    design = lhs(ParameterSpace({"a": Uniform(0, 2), "b": Uniform(1, 2)}), 4, seed=3)
    data = run_design(solver(tmp_path, text), design, store=tmp_path / "store")
    assert len(data.X) == 2 and (data.X[:, 0] <= 1).all()


@pytest.mark.parametrize(
    ("command", "given", "words"),
    [
        ("no-such-solver-here", {}, "Program 'no-such-solver-here' of CommandModel must be a program that can be run"),
        ("", {}, "command of CommandModel must name a program"),
        ("sh", {"output": "../x"}, "output of CommandModel must be a plain file name"),
        ("sh", {"files": ["nowhere.dat"]}, "nowhere.dat' of CommandModel must exist"),
        ("sh", {"keep": "some"}, "keep of CommandModel must be one of"),
        ("sh", {"timeout": 0.0}, "timeout of CommandModel must be a positive number"),
        ("sh", {"template": Path("nowhere.txt")}, "Template 'nowhere.txt' of CommandModel cannot be read"),
    ],
)
def test_arguments_are_checked(command: str, given: dict, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ConfigError, match=words):
        CommandModel(command, {"y": ""}, **given)


def test_placeholders_and_parameters_must_fit(tmp_path: Path) -> None:
    model = solver(tmp_path)
    with pytest.raises(ConfigError, match="Placeholder 'b' of solver must be a parameter of the design"):
        model.check_parameters(["a"])
    with pytest.raises(ConfigError, match=r"Parameter 'c' of the design must stand in .* write \{\{c\}\}"):
        model.check_parameters(["a", "b", "c"])
    with pytest.raises(ConfigError, match=r"Format '\.3q' of placeholder 'a' must be one of numbers"):
        solver(tmp_path, template="{{a:.3q}}").check_parameters(["a"])
