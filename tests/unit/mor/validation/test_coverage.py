"""The reversal map: half cycles, and whether a record stays inside what was trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mor.excitation import loading_protocol
from mor.validation.coverage import coverage, half_cycles, turning_points
from rt_runtime.errors import ConfigError


def test_turning_points_skip_what_is_small() -> None:
    x = [0, 1, 2, 1.9, 3, -1, -0.95, -2, 0]
    np.testing.assert_array_equal(turning_points(x), [0, 2, 1.9, 3, -1, -0.95, -2, 0])
    np.testing.assert_array_equal(turning_points(x, smallest=0.5), [0, 3, -2, 0])
    np.testing.assert_array_equal(half_cycles(x, smallest=0.5), [[0, 3, 3], [3, -2, 3], [-2, 0, 3]])
    np.testing.assert_array_equal(turning_points(np.zeros(5)), [0, 0])


def test_a_record_of_the_training_is_covered_and_a_larger_one_is_not(tmp_path: Path) -> None:
    train = [loading_protocol("reversals", amplitude=0.1, seed=i, duration=8.0)["x"] for i in range(20)]
    same = coverage(train, train[3])
    assert same.inside == 1.0 and same.beyond == 0.0 and len(same.outside) == 0 and "100 %" in str(same)
    larger = coverage(train, 2.0 * train[3])
    assert larger.beyond == pytest.approx(0.5, rel=0.2) and larger.inside < 0.7
    assert "leaves the trained range" in str(larger)
    larger.picture(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000


def test_a_record_with_other_reversals_is_told_although_its_range_fits() -> None:
    """Trained on growing cycles around zero only; tested with small cycles around an offset."""
    t = np.linspace(0, 1, 2000)
    train = [a * t * np.sin(2 * np.pi * 12 * t) for a in (0.5, 1.0)]
    test = 0.7 * np.minimum(4 * t, 1.0) + 0.2 * np.sin(2 * np.pi * 15 * t) * (t > 0.4)
    found = coverage(train, test, tolerance=0.05)
    assert found.beyond == 0.0 and found.inside < 0.5
    assert coverage(train, -train[1], tolerance=0.05, mirrored=True).inside == 1.0


def test_bad_input_is_refused() -> None:
    for train, sentence in (([], "at least one history"), ([np.zeros(5)], "must move")):
        with pytest.raises(ConfigError, match=sentence):
            coverage(train, [0, 1])
    with pytest.raises(ConfigError, match="finite"):
        coverage([[0.0, 1.0]], [0.0, np.nan])
