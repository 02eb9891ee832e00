"""`hmor sample` and `hmor info` as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hmor.cli import main
from tests.unit.hmor.study.test_study import GOOD, write


def hmor(*arguments: object) -> int:
    """Run the command in this process and return its exit code."""
    sys.argv = ["hmor", *map(str, arguments)]
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_sample_then_info(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study = write(tmp_path, GOOD + 'method = "lhs"\nn = 20\n')
    assert hmor("sample", study, "--json") == 0
    out, err = capfd.readouterr()
    content = json.loads(out)["brake"]
    assert content["finished"] == 18 and content["open"] == 0 and content["kind"] == "store"
    assert [f["by"] for f in content["failed"]] == ["exception"] * 2
    assert content["failed"][0]["reason"] == "RuntimeError: the pad is gone"
    assert content["failed"][0]["parameters"]["F"] > 45
    assert (
        content["outputs"]["tau"]["unit"] == "Nm"
        and content["outputs"]["tau"]["max"] > content["outputs"]["tau"]["min"]
    )
    assert err.count("squeak") == 18

    assert hmor("sample", study) == 0
    out, err = capfd.readouterr()
    assert "the pad is gone" in out and "tau" in out and "squeak" not in err and "sample/brake: unchanged" in err
    assert hmor("sample", study, "--retry-failed", "--workers", "1") == 0
    assert "unchanged" not in capfd.readouterr().err
    assert hmor("sample", study, "--executor", "nonsense") == 2
    assert "Key 'parts.brake.executor' String should match pattern" in capfd.readouterr().err
    study.write_text(study.read_text().replace("n = 20", "n = 21"))
    assert hmor("sample", study) == 2
    assert "--force" in capfd.readouterr().err
    assert hmor("sample", study, "--force", "--json") == 0
    assert json.loads(capfd.readouterr().out)["brake"]["design"]["points"] == 21
    study.write_text(study.read_text().replace("n = 21", "n = 20"))
    assert hmor("sample", study, "--force", "--json") == 0
    capfd.readouterr()

    assert hmor("info", tmp_path / "runs" / "brake" / "samples" / "brake") == 0
    out, _ = capfd.readouterr()
    assert "failed    2" in out and "uniform" in out and "rad/s" in out
    assert hmor("info", tmp_path / "runs" / "brake" / "samples" / "brake", "--json") == 0
    out, _ = capfd.readouterr()
    assert json.loads(out)["parameters"]["F"] == {"law": "uniform", "lower": 0.0, "upper": 50.0, "unit": "N"}


def test_what_a_model_prints_is_not_in_the_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study = write(tmp_path, GOOD.replace("timeout = 30", "") + 'method = "lhs"\nn = 2\n')
    assert hmor("sample", study, "--executor", "serial", "--json") == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["brake"]["finished"] == 2 and "squeak" in err


def test_bad_input_is_one_sentence_and_code_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert hmor("sample", tmp_path / "none.toml") == 2
    assert capfd.readouterr().err.startswith("hmor: Study ")
    assert hmor("info", tmp_path / "none") == 2
    assert "PATH of hmor info must exist, found nothing at" in capfd.readouterr().err
    assert hmor("info", tmp_path) == 2
    assert "PATH of hmor info must be a store (folder with campaign.json)" in capfd.readouterr().err


def test_an_interrupted_campaign_says_how_to_go_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mor.campaign.run_design", interrupted)
    study = write(tmp_path, GOOD + 'method = "lhs"\nn = 20\n')
    assert hmor("sample", study) == 130
    assert "interrupted; what is finished is safe, run the command again to go on" in capfd.readouterr().err


SLOW = """
import os, time
def slow(a, b):
    handle = os.open("evaluated", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, b"x")
    os.close(handle)
    time.sleep(0.03)
    return a * b
"""
STUDY = """
[study]
name = "slow"
[parts.slow]
model = "slow_of_study:slow"
outputs = {c = ""}
workers = 2
[parts.slow.parameters]
a = {law = "uniform", lower = 0, upper = 1}
b = {law = "truncated_normal", mu = 0, sigma = 1, lower = 0}
[parts.slow.design]
method = "sobol"
n = 64
"""


def test_a_killed_command_goes_on_when_it_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "slow_of_study.py").write_text(SLOW)
    (tmp_path / "study.toml").write_text(STUDY)
    command = [sys.executable, "-c", "from hmor.cli import main; main()", "sample", "study.toml", "--json"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)
    journal = tmp_path / "runs" / "slow" / "samples" / "slow" / "journal.log"
    while not (journal.exists() and journal.stat().st_size > 1500):
        assert first.poll() is None
        time.sleep(0.005)
    first.kill()
    assert first.communicate()[0] == b""
    done = journal.read_bytes().count(b"\n")
    evaluated = (tmp_path / "evaluated").stat().st_size
    assert 0 < done < 64
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    content = json.loads(second.stdout)["slow"]
    assert content["finished"] == 64 and content["failed"] == [] and content["parameters"]["b"]["upper"] is None
    assert (tmp_path / "evaluated").stat().st_size - evaluated == 64 - done
