"""Pictures of awkward results: tiny and huge values, equal ones, many inputs; no label lies on another."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hmor.report import figures
from hmor.report.page import Page
from tests.fixtures.browser import check_page


def test_labels_keep_clear_of_each_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    page = Page("figures", "awkward ones")
    for duration, size in ((0.55, 1e-7), (0.0367, 1234.5), (45.0, 1e5)):
        t = np.linspace(0, duration, 5000)
        target = size * np.sin(9 * t / duration)
        measured = target + 1e-4 * size * np.cos(50 * t / duration)
        page.figure(figures.tracking(t, target, measured, "target and measured [Nm]"), f"tracking over {duration} s")
    many = {
        f"part {i}, PC-Kriging: displacement": {f"parameter_{j}": {"first": 0.1, "total": 0.2} for j in range(8)}
        for i in range(3)
    }
    page.figure(figures.sobol(many, {}), "indices of many inputs")
    equal = {"density": rng.random(20) * 1e4, "edges": np.linspace(0.1234567, 0.1234591, 21)}
    page.figure(
        figures.index_histograms({f"adaptive_J{i}_percent": equal for i in range(6)}), "indices that hardly differ"
    )
    spread = {f"parameter_{i}": rng.random(60) * 10.0 ** (3 * i - 6) for i in range(5)}
    page.figure(figures.samples(spread, dict.fromkeys(spread, "N s/m"), {}), "parameters of very different sizes")
    curve = {
        "iteration": np.arange(1, 400, 20),
        "train_mse": np.logspace(-1, -9, 20),
        "valid_mse": np.logspace(-1, -8, 20),
    }
    page.figure(figures.learning({f"rear brake, FFNN {i}": curve for i in range(3)}), "errors over eight decades")
    counts = {"from_us": [2, 3, 4, 5, 6000], "counts": [5, 10, 1000, 20_000, 1]}
    page.figure(figures.ticks({"own time": counts, "wake-up latency": counts}, 100.0), "times of ticks")
    points = (np.linspace(1e-5, 2e-5, 9), np.linspace(1e-5, 2e-5, 9))
    page.figure(figures.parity({kind: points for kind in ("ffnn", "pce", "kriging")}, "displacement [m]"), "parity")
    times = {"full": 1.0, "ffnn": 0.2, "ffnn_memory": 1.2}
    page.figure(figures.bars(times, ["1 s, 4,500 x real time, 1.2 x slower"] * 3, "wall time [s]", {}), "times")
    path = tmp_path / "page.html"
    path.write_text(str(page))
    check_page(path)


def test_a_thinned_curve_keeps_its_peaks() -> None:
    x = np.linspace(0, 1, 450_000)
    y = np.sin(400 * x)
    y[12_345] = 9.0
    at, values = figures.thinned(x, y)
    assert len(at) <= 2 * figures.DENSE and values.max() == 9.0 and (np.diff(at) >= 0).all()
    assert figures.thinned(x[:100], y[:100])[0] is not None and len(figures.thinned(x[:100], y[:100])[0]) == 100
