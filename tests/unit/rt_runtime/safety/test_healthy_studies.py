"""Healthy virtual tests that once alarmed a detector: a motion that had just grown was judged on too little."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.safety_healthy import STUDIES, alarms, new_motion
from hmor.studies.base import Options
from mor import lhs


@pytest.mark.parametrize(("name", "i"), [("pendulum", 147), ("frame_mr_damper", 118), ("frame_mr_damper", 37)])
def test_a_healthy_virtual_test_alarms_nobody(name: str, i: int, tmp_path: Path) -> None:
    study, options = STUDIES[name], Options(seed=1000 + i)
    if i % 2:
        options = replace(options, record=new_motion(tmp_path, 1000 + i))
    acting, _ = alarms(study, lhs(study.space, 200, seed=1000).parameters(i), options)
    assert acting == []
