"""Records and bundles print on one screen, show a table in a notebook, and records draw themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import write
from rt_runtime import ConfigError, Loop, Table, load_bundle
from rt_runtime.engine.records.record import Record, Signal
from tests.reference.exported_models import network, network_with_memory


def record(width: int = 3, n: int = 5000) -> Record:
    loop = Loop(1000.0)
    names = [f"s{i}" for i in range(width)]
    for i, name in enumerate(names):
        loop.signal(name, unit="m" if i else "<b>")
    loop.add("table", Table([0.0, 1.0], [[0.0] * width, [1.0] * width]), outputs=names)
    return loop.run(n / 1000.0)


def test_a_record_is_one_screen_however_long_and_wide() -> None:
    for width in (3, 60):
        text = str(record(width))
        assert text == repr(record(width)) and len(text.splitlines()) <= 24
        assert text.startswith(f"Record of {width} signals, 5000 frames, 0 to 4.999 s, loop at 1000 Hz")
        assert "s1" in text and "ended: finished" in text
    assert "... and 40 more" in text
    empty = Record(np.empty(0), np.empty((0, 1)), (Signal("a"),), 10.0, 0)
    assert "0 frames" in str(empty) and "-" in str(empty)


def test_a_notebook_shows_a_table_with_every_text_escaped() -> None:
    html = record()._repr_html_()
    assert html.count("<tr>") == 4 and "&lt;b&gt;" in html and "<b>" not in html


def test_a_record_draws_a_panel_for_each_unit() -> None:
    figure = record().plot()
    assert [len(axis.lines) for axis in figure.axes] == [1, 2]
    assert [len(axis.lines) for axis in record().plot("s1").axes] == [1]
    with pytest.raises(ConfigError, match=r"Names to plot of a record must be among s0, s1, s2, got 'q'\."):
        record().plot("q")


def test_bundles_are_one_screen(tmp_path: Path) -> None:
    loaded = load_bundle(write({"plain": network(), "lagged": network_with_memory()}, tmp_path / "bundle").path)
    for shown in (loaded, loaded.bundle):
        text = str(shown)
        assert text == repr(shown) and len(text.splitlines()) <= 24 and "plain" in text and "states, dt" in text
        assert shown._repr_html_().count("<tr>") == 3
    assert "golden vectors repeated to" in str(loaded)
