"""What a newcomer meets on the command line: help, completion, version, errors of the system, a run looked into."""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import typer

from hmor.cli import app, main
from hmor.options import BUILT_IN
from hmor.rigs.catalogue import CATALOGUE, RIGS
from rt_runtime import Command, Loop, Rule, Table, Tripped, protect

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def hmor(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    monkeypatch.setattr(sys, "argv", ["hmor", *arguments])
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


def completed(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what bash offers behind `line`."""
    words = line.split(" ")
    monkeypatch.setenv("_HMOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line.replace(" ", "\n"))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    return hmor(monkeypatch=monkeypatch)[1].split()


def test_the_list_of_commands_is_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = hmor("--help", monkeypatch=monkeypatch)
    listed = out.partition("Commands:\n")[2].strip().splitlines()
    assert code == 0 and len(listed) == len(COMMANDS) and "docs/" not in out
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_explains_every_argument(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = hmor(command, "--help", monkeypatch=monkeypatch)
    assert code == 0 and "<bool>" not in out and "docs/" not in out  # pages do not come with the wheel
    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    assert all(getattr(p, "help", "") for p in parameters)
    sections = {"sample": "[parts.NAME]", "train": "[parts.NAME.models.KIND]", "export": "[export]", "run": "[run]"}
    assert sections.get(command, "") in out


def test_help_of_rig_names_every_rig(monkeypatch: pytest.MonkeyPatch) -> None:
    _, out, _ = hmor("rig", "--help", monkeypatch=monkeypatch)
    assert all(name in out for name in (*RIGS, *CATALOGUE))


def test_the_examples_of_the_help_are_commands_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in COMMANDS:
        _, out, _ = hmor(command, "--help", monkeypatch=monkeypatch)
        for name, rest in re.findall(r"^ {4,}hmor (\w+)(.*)$", out, flags=re.M):
            known = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
            options = {opt for p in known.params for opt in (*p.opts, *p.secondary_opts)}
            assert set(re.findall(r"--[\w-]+", rest)) <= options


def test_the_tab_key_completes_commands_studies_rigs_and_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    (tmp_path / "mine.txt").write_text("")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.toml").write_text("")
    assert completed("hmor simu", monkeypatch) == ["simulate"]
    assert set(BUILT_IN) | {"mine.toml"} <= set(completed("hmor simulate ", monkeypatch))
    assert completed("hmor simulate pend", monkeypatch) == ["pendulum"]
    for command in ("sample", "train", "validate", "export", "run", "report"):
        ours = [name for name in BUILT_IN if name.startswith("m")]
        assert completed(f"hmor {command} m", monkeypatch) == [*ours, "mine.toml", "more/"]
    assert completed("hmor run more/", monkeypatch) == ["more/other.toml"]
    assert completed("hmor run gone/", monkeypatch) == []
    assert completed("hmor check m", monkeypatch)[-2:] == ["mine.toml", "more/"]
    assert set(completed("hmor rig ", monkeypatch)) == {*RIGS, *CATALOGUE}
    assert completed("hmor bench eng", monkeypatch) == ["engine"]


def test_version(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = hmor("--version", monkeypatch=monkeypatch)
    assert code == 0 and re.fullmatch(r"hybrid-mor \d+\.\d+\.\d+\S*\n", out)


def test_an_error_of_the_system_is_one_sentence_and_a_traceback_only_with_debug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    place = str(tmp_path / "file" / "below")
    code, out, err = hmor("export", "motorcycle_brakes", "--folder", place, monkeypatch=monkeypatch)
    assert (code, out) == (2, "") and re.fullmatch(r"hmor: Not a directory: \S+\.\n", err)
    with pytest.raises(NotADirectoryError):
        hmor("--debug", "export", "motorcycle_brakes", "--folder", place, monkeypatch=monkeypatch)


def test_the_hint_of_a_missing_step_repeats_the_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("motorcycle_brakes", "--folder", "here", "--quick")
    code, _, err = hmor("train", *arguments, monkeypatch=monkeypatch)
    assert code == 2 and err.endswith("is not made yet; run: hmor sample motorcycle_brakes --folder here --quick\n")


def test_simulate_names_all_studies_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = hmor("simulate", "nonsense", monkeypatch=monkeypatch)
    assert code == 2 and err.startswith("hmor: Study must be one of benchmark_frame, ") and "motorcycle_brakes" in err


def test_info_shows_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(1000.0)
    loop.signal("wanted", unit="m")
    loop.add("table", Table([0.0, 1.0], [0.0, 0.1]), outputs=["wanted"])
    protect(loop, [Command("wanted", "command", -1.0, 1.0, 1.0)], [Rule("far", "wanted", upper=0.05)])
    folder = tmp_path / "run"
    with pytest.raises(Tripped):
        loop.run(1.0, folder=folder)
    code, out, _ = hmor("info", str(folder), monkeypatch=monkeypatch)
    assert code == 0
    assert "ended     Tripped at tick 501 (0.501 s): wanted 0.0501 m exceeds its limit 0.05 m (rule 'far')." in out
    assert "event     tick 501 (0.501 s): tripped, rule 'far', trip" in out
    assert re.search(r"^wanted +m +0 +0\.\d+$", out, flags=re.M)
    content = json.loads(hmor("info", str(folder), "--json", monkeypatch=monkeypatch)[1])
    assert content["kind"] == "run" and content["signals"]["wanted"]["unit"] == "m" and content["rate_hz"] == 1000.0
    (folder / "run.json").write_text("{")
    code, _, err = hmor("info", str(folder), monkeypatch=monkeypatch)
    assert code == 2 and re.search(r"File \S+run\.json must be JSON, got: ", err)


def test_info_shows_a_run_that_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(1000.0)
    loop.signal("x", unit="m")
    loop.add("table", Table([0.0, 1.0], [0.0, 0.1]), outputs=["x"])
    header = {"format": 1, "rate_hz": 1000.0, "every": 1, "signals": [{"name": "x", "unit": "m", "initial": 0.0}]}
    (tmp_path / "frames.json").write_text(json.dumps(header))
    code, out, _ = hmor("info", str(tmp_path), monkeypatch=monkeypatch)
    assert code == 0 and "ended     The run was not finished" in out and "x       m     nan  nan" in out


def test_every_step_of_a_study_can_be_forced() -> None:
    """A test is run each time it is asked for, a check keeps nothing: these two have no --force."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {name: {each.name for each in command.params} for name, command in commands.items()}
    steps = {name for name, found in options.items() if "study" in found}
    assert {"sample", "sensitivity", "train", "validate", "export", "simulate", "report"} <= steps
    assert {name for name in steps if "force" not in options[name]} == {"check", "run"}
