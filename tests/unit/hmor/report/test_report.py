"""`hmor new` to `hmor report`, and the report of any study in a real browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hmor.cli import main
from hmor.commands.new import new
from hmor.options import BUILT_IN
from hmor.report.page import Page
from hmor.report.study import _times_real, report
from hmor.study.file import load_study
from hmor.study.stages.pipeline import find_pipeline
from rt_runtime import ConfigError
from tests.fixtures.browser import check_page, look


def hmor(*arguments: object) -> int:
    sys.argv = ["hmor", *map(str, arguments)]
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.slow
@pytest.mark.train
def test_a_new_study_runs_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hmor("new", "shaker") == 0
    assert sorted(path.name for path in Path("shaker").iterdir()) == ["README.md", "model.py", "study.toml"]
    monkeypatch.chdir(tmp_path / "shaker")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    commands = [
        line.split("#")[0].split() for line in Path("README.md").read_text().splitlines() if line.startswith("    hmor")
    ]
    assert [words[1] for words in commands] == ["sample", "train", "validate", "export", "simulate", "report"]
    for words in commands:
        assert hmor(*words[1:], "--json") == 0, capfd.readouterr().err
    report = json.loads(capfd.readouterr().out.strip().rpartition("\n{")[2].join(["{", ""]))
    assert report["not_made"] == []
    page = Path("runs/shaker/report/report.html")
    text = page.read_text()
    for part in (
        "The hybrid model",
        "Samples",
        "Reduced models",
        "hysteresis loops",
        "Learning curves",
        "Run time",
        "Host and versions",
    ):
        assert part in text
    check_page(page)
    sys.modules.pop("model", None)


def test_a_copy_of_every_built_in_study_is_a_study(tmp_path: Path) -> None:
    for name in BUILT_IN:
        folder = new(str(tmp_path / f"my_{name}"), name)
        copy = load_study(folder / "study.toml")
        assert copy.study.name == f"my_{name}" and "hmor report study.toml" in (folder / "README.md").read_text()
        assert copy.folder == folder / "runs" / f"my_{name}"
    with pytest.raises(ConfigError, match=r"Folder .* must be new, but it is there"):
        new(str(tmp_path / "my_pendulum"))
    with pytest.raises(ConfigError, match=r"NAME of hmor new must be letters, digits, - and _, got 'a b'"):
        new("a b")
    with pytest.raises(ConfigError, match=r"--from must be one of benchmark_frame, .*, got 'nothing'"):
        new(str(tmp_path / "x"), "nothing")


def test_the_report_of_a_virtual_test(tmp_path: Path) -> None:
    changes = {"control": {"prototypes": 3}}
    find_pipeline("frame_mr_damper", tmp_path, changes=changes).run_group("simulate")
    report = find_pipeline("frame_mr_damper", tmp_path, changes=changes).run("report")
    assert report["not_made"] == [] and report["sections"] == 1
    page = Path(report["page"])
    text = page.read_text()
    assert (
        "Tracking of the nominal test" in text and "Indices over the prototypes" in text and "published, mean" in text
    )
    assert "Three-storey frame with an MR damper on a slow electric actuator, MPC (CS2)." in text
    assert ". Runs that diverged: 0 with full parts." in text
    check_page(page)
    assert find_pipeline("frame_mr_damper", tmp_path, changes=changes).holds("report")
    find_pipeline("frame_mr_damper", tmp_path, changes=changes).run_group("simulate", force=True)
    assert not find_pipeline("frame_mr_damper", tmp_path, changes=changes).holds("report")  # it shows an older test


def test_a_report_says_what_is_not_made(tmp_path: Path) -> None:
    found = find_pipeline("pendulum", tmp_path)
    report = found.run("report")
    assert report["not_made"] == ["simulate/control"]
    assert "Not made yet: simulate/control. <code>hmor simulate pendulum --folder" in Path(report["page"]).read_text()


def test_a_report_says_what_was_made_from_other_settings(tmp_path: Path) -> None:
    """As with `hmor simulate --set`: the run is there, but is not that of the study file."""
    changes = {"control": {"prototypes": 1}, "study": {"seed": 5}}
    find_pipeline("pendulum", tmp_path, changes=changes).run_group("simulate")
    report = find_pipeline("pendulum", tmp_path).run("report")
    assert report["not_made"] == ["simulate/control"]
    text = Path(report["page"]).read_text()
    assert "Not made yet" not in text
    assert "Made, but from other settings than the study file has now: simulate/control (20" in text
    assert "<code>hmor simulate pendulum --folder" in text and "once it stands in the file" in text


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (
            "Tripped at tick 501 (0.501 s): x exceeds its limit.",
            "0.6 s. Tripped at tick 501 (0.501 s): x exceeds its limit.<",
        ),
        ("finished", "0.6 s. Finished.<"),
    ],
)
def test_a_report_says_once_how_a_run_ended(tmp_path: Path, ended: str, told: str) -> None:
    run = {"paced": False, "parts": {}, "rate_hz": 1000.0, "ticks": 600, "ended": ended, "ranges": {}}
    run |= {"tripped": ended != "finished", "folder": str(tmp_path)}
    written = report(load_study("pendulum", tmp_path), {"run": run}, {})
    assert told in Path(written["page"]).read_text()


def test_a_model_that_is_too_slow_is_not_told_as_zero_times_real_time() -> None:
    assert [_times_real(factor) for factor in (0.0943, 1.0, 244.4, 4512.0)] == ["0.094", "1", "244", "4,512"]


def test_a_page_escapes_what_it_is_given(tmp_path: Path) -> None:
    page = filled(tmp_path)
    text = page.read_text()
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert "<code>x &lt; y</code>" in text and 'class="good"' in text
    assert 'aria-label="a &quot;caption&quot;"' in text
    assert "http" not in text.replace("http://www.w3.org/", "")
    check_page(page)


def filled(folder: Path) -> Path:
    from matplotlib.figure import Figure

    page = Page("a < b", "lead & more")
    page.text("run `x < y` now")
    page.table(["h"], [[("1 < 2", True)], ["<script>"]])
    page.facts([("5 x", "faster")])
    figure = Figure(figsize=(4, 2))
    figure.subplots().plot([0, 1])
    page.figure(figure, 'a "caption"')
    path = folder / "page.html"
    path.write_text(str(page))
    return path


def test_the_browser_finds_what_is_wrong(tmp_path: Path) -> None:
    page = filled(tmp_path)
    text = page.read_text()
    for old, new_text, problem in (
        ("<svg role=\"img\" aria-label=\"a &quot;caption&quot;\"", "<svg", "a picture has no alternative text"),
        ("</main>", "<script>nothing()</script></main>", "nothing is not defined"),
        ("</main>", "<p style='position: absolute; top: 40px'>on top of it</p></main>", "overlaps"),
        ("</main>", "<div style='width: 3000px'>wide</div></main>", "the page is"),
        ("</svg>", "<text x='20' y='20'>one</text><text x='21' y='21'>two</text></svg>", '"one" overlaps "two"'),
    ):  # fmt: skip
        assert old in text
        page.write_text(text.replace(old, new_text, 1) if old != "</svg>" else new_text.join(text.rsplit("</svg>", 1)))
        try:
            problems = str(look(page)["problems"])
        except AssertionError as error:  # an error is also on the console
            problems = str(error)
        assert problem in problems
