"""hmor rig as a user calls it: which rigs there are, keys, machines on the network."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hmor.cli import app
from hmor.rigs.catalogue import CATALOGUE, RIGS, find_rig, from_part, takes_settings
from hmor.rigs.key import read_key
from hmor.rigs.process import rig_process
from rt_runtime import ConfigError
from tests.unit.hmor.commands.test_run_commands import hmor

ROOT = Path(__file__).resolve().parents[4]
SPRING = (ROOT / "hmor/studies/spring_test.toml").read_text().replace('rig = "spring" ', "port = 5005")


def test_every_rig_of_the_catalogue_and_any_substructure_can_be_played() -> None:
    for name in (*RIGS, *CATALOGUE):
        side = find_rig(name, 10_000.0, ROOT)
        side.loop.check()
        assert side.describe()["commands"] and side.describe()["measured"]
    side = find_rig("mor.models.mr_damper:mr_damper_part", 4096.0, ROOT)
    side.loop.check()
    assert side.commands and side.measured
    assert find_rig("hmor.rigs:spring", 500.0, ROOT).measured == ("position", "force")  # a function of the rate
    with pytest.raises(
        ConfigError, match="Rig must be one of spring, benchmark_specimen, motorcycle_ecvt, three_storey"
    ):
        find_rig("nothing", 1000.0, ROOT)
    with pytest.raises(ConfigError, match="must be or return a substructure or a PhysicalSide"):
        find_rig("tempfile:gettempdir", 1000.0, ROOT)
    of = (
        "must be a substructure, a PhysicalSide, or a Python function of nothing, of `rate`, or of `rate` and "
        "`settings`, got "
    )
    for name, got in {"os:system": "<built-in", "os:getcwd": "<built-in", "os:path": "<module", "math:pi": "3.14",
                      "shutil:rmtree": "one of path", "builtins:print": "<built-in", "subprocess:Popen": "<class"}.items():  # fmt: skip
        with pytest.raises(ConfigError, match=f"Rig '{name}' {of}{got}"):
            find_rig(name, 1000.0, ROOT)
    with pytest.raises(ConfigError, match=r"Rig 'no_such:thing': module 'no_such' cannot be imported: .*\.$"):
        find_rig("no_such:thing", 1000.0, ROOT)
    from mor.models.bouc_wen import bouc_wen_part

    assert from_part(bouc_wen_part(), 1000.0).loop.run(0.01).ended == "finished"


def test_a_rig_of_settings_gets_those_of_its_test_and_others_refuse_them(tmp_path: Path) -> None:
    (tmp_path / "stiff_rig.py").write_text(
        "from hmor.rigs.catalogue import spring\nfrom rt_runtime import Gain\n"
        "def made(rate, settings):\n"
        "    side = spring(rate)\n    side.loop.signal('more')\n"
        "    side.loop.add('more', Gain(float(settings.get('stiffness', 1.0))), inputs=['position'], outputs=['more'])\n"
        "    return side\n"
        "def maybe(rate, settings=None):\n    return made(rate, settings or {})\n"
    )
    assert not takes_settings("spring", tmp_path)
    for name in ("stiff_rig:made", "stiff_rig:maybe"):  # settings that may be left out are given all the same
        assert takes_settings(name, tmp_path)
        side = find_rig(name, 1000.0, tmp_path, {"stiffness": 3.0})
        assert side.loop.blocks["more"].step(0.0, np.array([2.0])) == 6.0
    result = CliRunner().invoke(app, ["rig", "spring", "--set", "stiffness=3"])
    assert "Rig 'spring' has no settings: --set stiffness=... would do nothing." in str(result.exception)


def test_a_rig_is_a_substructure_or_a_side_of_its_own_rate(tmp_path: Path) -> None:
    (tmp_path / "own_rig.py").write_text(
        "from hmor.rigs.catalogue import spring\nfrom mor.models.bouc_wen import bouc_wen_part\n"
        "part = bouc_wen_part()\nside = spring(500.0)\ndef broken(rate):\n    return 1 / 0\n"
    )
    with pytest.raises(
        ConfigError, match=r"Rig 'own_rig:broken' cannot be made: ZeroDivisionError: division by zero\."
    ):
        find_rig("own_rig:broken", 1000.0, tmp_path)
    assert find_rig("own_rig:part", 1000.0, tmp_path).loop.rate == 1000.0
    assert find_rig("own_rig:side", 500.0, tmp_path).commands == ("command",)
    with pytest.raises(ConfigError, match="Rate of rig 'own_rig:side' must be that of the test, 1000 Hz, got 500 Hz"):
        find_rig("own_rig:side", 1000.0, tmp_path)


def test_key_files_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Key file .* must exist; make one with: hmor rig --new-key"):
        read_key(tmp_path / "none")
    path = tmp_path / "key"
    path.write_text("00" * 32)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="must be readable by its owner alone; chmod 600 it"):
        read_key(path)
    path.chmod(0o600)
    assert read_key(path) == bytes(32)
    for text in ("", "\n", "00" * 15):
        path.write_text(text)
        digits = len(text.strip())
        with pytest.raises(
            ConfigError, match=f"must hold at least 32 hexadecimal digits, got {digits}; make a new one"
        ):
            read_key(path)
    path.write_text("no hex")
    with pytest.raises(ConfigError, match="must hold hexadecimal digits"):
        read_key(path)
    done = hmor("rig", "--new-key", str(path), cwd=tmp_path)
    assert done.returncode == 2 and "must be new, but it is there; delete it first." in done.stderr


def test_an_empty_key_file_is_an_error_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "rig.key").touch(mode=0o600)
    done = hmor("rig", "spring", "--key-file", "rig.key", "--seconds", "0.1", cwd=tmp_path)
    assert done.returncode != 0 and "must hold at least 32 hexadecimal digits, got 0" in done.stderr
    text = SPRING
    (tmp_path / "test.toml").write_text(text.replace("port = 5005", 'port = 5005\nkey_file = "rig.key"'))
    done = hmor("run", "test.toml", cwd=tmp_path)
    assert done.returncode != 0 and "must hold at least 32 hexadecimal digits, got 0" in done.stderr


def test_a_rig_on_another_machine_needs_a_key_unless_the_study_says_insecure(tmp_path: Path) -> None:
    from hmor.rigs.sections import UdpSection

    text = SPRING.replace("port = 5005", 'port = 5005\nhost = "10.0.0.5"')
    (tmp_path / "test.toml").write_text(text)
    done = hmor("run", "test.toml", cwd=tmp_path)
    assert (
        done.returncode != 0
        and "must be given for a rig at 10.0.0.5: without one anybody on the network" in done.stderr
    )
    assert UdpSection(kind="udp", measured={"x": "m"}, port=5005, host="10.0.0.5", insecure=True).build(
        1, 1e-3, 0, tmp_path
    )
    done = hmor("rig", "spring", "--host", "0.0.0.0", "--seconds", "0.1", cwd=tmp_path)
    assert done.returncode != 0 and "must be given for a rig at 0.0.0.0" in done.stderr
    done = hmor("rig", "spring", "--host", "0.0.0.0", "--seconds", "0.1", "--insecure", cwd=tmp_path)
    assert done.returncode == 0 and "anybody who reaches this port can move the rig" in done.stderr


def test_the_rig_gives_the_signals_back_when_it_ends() -> None:
    before = signal.getsignal(signal.SIGTERM)
    result = CliRunner().invoke(app, ["rig", "spring", "--port", "0", "--seconds", "0.05"])
    assert result.exit_code == 0 and signal.getsignal(signal.SIGTERM) is before


def test_a_played_rig_is_of_the_study_and_does_not_hear_its_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab_rig.py").write_text("from hmor.rigs.catalogue import spring\n")  # beside the study file
    started = []

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    with rig_process("lab_rig:spring", 1000.0, folder=tmp_path):
        assert os.getpgid(started[0].pid) != os.getpgrp()  # the terminal sends it to the test's own group
    assert started[0].poll() is not None
