"""The study into which `hmor bench safety` injects faults is the built-in spring test, with a port and a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.safety_faults import FAULTS, write_study
from hmor.rigs.sections import UdpSection
from hmor.study.file import load_study
from rt_runtime.errors import ConfigError


def test_faults_are_injected_into_the_spring_test(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, 4711, lambda text: text))
    section = study.need("run", study.run)
    assert isinstance(section.actuator, UdpSection)
    assert (section.actuator.rig, section.actuator.port, section.actuator.key_file) == (None, 4711, "rig.key")
    limits = {rule.name: rule.upper for rule in section.rules}
    assert limits["stall"] == 0.5 and limits["stale"] == 500.0


def test_a_rig_elsewhere_without_a_key_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path, 4711, FAULTS["rig elsewhere without key"].change)
    with pytest.raises(ConfigError, match=r"key .* must be given for a rig at 192\.0\.2\.1"):
        load_study(path)
