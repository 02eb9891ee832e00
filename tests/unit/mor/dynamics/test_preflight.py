"""A target that a device cannot follow is refused before the test."""

from __future__ import annotations

import numpy as np
import pytest

from mor.dynamics.preflight import preflight
from mor.models.loading_box import FLOW, LOAD_CELL, PISTON, platform
from mor.models.moment_frame import Column
from rt_runtime import ConfigError


def motion(size: float) -> np.ndarray:
    t = np.arange(1000) * 1e-3
    return np.outer(size * np.sin(2 * np.pi * 1.6 * t), [1.0, 0, 0, 0, 0, -1.7])


def stiffness() -> np.ndarray:
    k = np.zeros((6, 6))
    k[np.ix_([0, 5], [0, 5])] = Column().stiffness
    return k


def test_a_small_motion_passes_with_its_numbers() -> None:
    box = platform(1)
    found = preflight(
        box, motion(7e-3), 1000.0, stiffness=stiffness(), force_limit=LOAD_CELL, piston_area=PISTON, flow_limit=FLOW
    ).check()
    J = box.jacobian()
    w = motion(7e-3)[156]
    assert found.strokes[156] == pytest.approx(J @ w, rel=0.2, abs=2e-4)
    assert 0.1 < found.stroke_share < 0.9
    assert 0 < found.force < LOAD_CELL
    assert 0 < found.flow < FLOW


def test_every_limit_has_its_sentence() -> None:
    found = preflight(
        platform(1), motion(60e-3), 1000.0, stiffness=stiffness(), force_limit=1e3, piston_area=PISTON, flow_limit=FLOW
    )
    with pytest.raises(ConfigError) as refusal:
        found.check()
    words = str(refusal.value)
    assert "Stroke of limb 'X1' must stay within 90 % of its limit" in words
    assert "Force of limb" in words
    assert "Flow of the target must be at most 0.00063 m3/s" in words
    with pytest.raises(ConfigError, match=r"target of preflight must have shape \(any, 6\)"):
        preflight(platform(1), np.zeros((3, 5)), 1000.0)
