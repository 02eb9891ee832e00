"""Files of reduced models: what is refused, and with which words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mor.reduced.base import ReducedModel, as_domain, rebuild
from mor.reduced.memory import MemoryModel
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import FORCE, linear


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'.*none.npz' does not exist; write it with save\(\)"):
        ReducedModel.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("not a model")
    with pytest.raises(ConfigError, match=r"text.npz' .* must be written by save\(\)"):
        ReducedModel.load(tmp_path / "text.npz")
    whole = linear().save(tmp_path / "whole.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigError, match=r"half.npz' .* must be written by save\(\)"):
        ReducedModel.load(tmp_path / "half.npz")
    header = np.frombuffer(json.dumps({"format": 99}).encode(), np.uint8)
    np.savez(tmp_path / "new.npz", header=header)
    with pytest.raises(ConfigError, match="must have format 1, got 99; save it again"):
        ReducedModel.load(tmp_path / "new.npz")
    with pytest.raises(ConfigError, match="must hold a model of kind 'memory', got 'linear'"):
        MemoryModel.load(tmp_path / "whole.npz")


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Kind of a reduced model must be one of .*linear.* got 'magic'"):
        rebuild({}, {"kind": "magic"})


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = linear().save(tmp_path / "m.npz")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        linear().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_wrong_domains_are_refused() -> None:
    with pytest.raises(ConfigError, match="one lower and one upper bound for each of its 1 inputs"):
        as_domain([0, 1], [2, 3], (FORCE,))
    with pytest.raises(ConfigError, match=r"Domain of input 'F_br' must have lower <= upper, got \[5, 2\]"):
        as_domain([5], [2], (FORCE,))
