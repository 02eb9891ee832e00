"""The file of the motorcycle study."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmor.motorcycle.page import Page
from hmor.motorcycle.realtime import run
from hmor.motorcycle.settings import BUILT_IN, CONTROL_STEP, load_settings
from hmor.pipelines import find_pipeline
from hmor.studies.motorcycle_ampc import RATE
from rt_runtime import ConfigError


def test_the_built_in_file_is_read_and_has_a_quick_profile() -> None:
    settings = load_settings(BUILT_IN)
    assert (settings.sample.points, settings.simulate.prototypes, settings.run.seconds) == (200, 30, 45.0)
    quick = settings.quickly()
    assert quick.simulate.prototypes == settings.quick.prototypes < 30
    assert quick.run.seconds < 45.0
    assert quick.train == settings.train


def test_all_mistakes_are_listed_with_their_keys(tmp_path: Path) -> None:
    text = BUILT_IN.read_text()
    for right, wrong in (
        ("points = 200", "points = 2"),
        ('brakes = "ffnn_memory"', 'brakes = "fnn"'),
        ("[export]", "[export]\nspeed = 3"),
        ("prototypes = 30", 'prototypes = "many"'),
        ("controlled = true ", 'controlled = "perhaps" '),
    ):
        assert right in text
        text = text.replace(right, wrong, 1)
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_settings(path)
    message = str(error.value)
    assert "has 5 problems" in message
    assert "Key 'sample.points' must be greater than or equal to 30, got 2" in message
    assert "Key 'run.brakes' must be 'ffnn', 'pce', 'ffnn_memory' or 'pce_memory', got 'fnn'" in message
    assert "Key 'export.speed' is unknown; check its spelling and its section." in message
    assert "Key 'simulate.prototypes' must be a valid integer" in message
    assert "Key 'simulate.controlled' must be a valid boolean" in message


def test_the_rate_must_be_that_of_the_step(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(BUILT_IN.read_text().replace("rate = 10000.0", "rate = 5000.0"))
    with pytest.raises(ConfigError, match=r"run\.rate must be 10000 Hz, one tick a simulate\.step, got 5000 Hz"):
        load_settings(path)
    path.write_text("[study\n")
    with pytest.raises(ConfigError, match=r"must be TOML"):
        load_settings(path)


def test_runs_under_control_keep_the_step_of_the_controller(tmp_path: Path) -> None:
    assert 1.0 / RATE == CONTROL_STEP
    path = tmp_path / "study.toml"
    text = BUILT_IN.read_text().replace("step = 0.0001", "step = 0.0002").replace("rate = 10000.0", "rate = 5000.0")
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"simulate\.step must be 0\.0001 s for runs under adaptive MPC, got 0\.0002 s"):
        load_settings(path)
    path.write_text(text.replace("controlled = true", "controlled = false", 1))
    settings = load_settings(path)
    assert not settings.simulate.controlled
    assert settings.quick.controlled
    assert not settings.quickly().simulate.controlled


def test_the_setting_of_runs_under_control_touches_their_step_alone(tmp_path: Path) -> None:
    text = BUILT_IN.read_text()

    def fingerprints(name: str, *changes: tuple[str, str]) -> dict[str, str]:
        changed = text
        for old, new in changes:
            assert old in changed
            changed = changed.replace(old, new, 1)
        path = tmp_path / name
        path.write_text(changed)
        pipeline = find_pipeline(path, tmp_path / "out")
        assert pipeline is not None
        return {step: pipeline.fingerprint(step) for step in pipeline.steps}

    off, other = ("controlled = true", "controlled = false"), ('brakes = "ffnn_memory"', 'brakes = "pce"')
    with_control, without = fingerprints("a.toml"), fingerprints("b.toml", off)
    assert {step for step in with_control if with_control[step] != without[step]} == {"simulate", "report"}
    other_brakes = fingerprints("c.toml", other)
    assert {step for step in with_control if with_control[step] != other_brakes[step]} == {"simulate", "run", "report"}
    assert without["simulate"] == fingerprints("d.toml", off, other)["simulate"]


def test_pipelines_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    assert find_pipeline("nonsense") is None
    other = tmp_path / "other.toml"
    other.write_text('[study]\nname = "x"\n')
    assert find_pipeline(other) is None
    copy = tmp_path / "mine.toml"
    copy.write_text(BUILT_IN.read_text().replace('name = "motorcycle_brakes"', 'name = "mine"'))
    mine = find_pipeline(copy, tmp_path / "out", quick=True)
    assert mine is not None
    assert mine.study == "mine"
    assert list(mine.steps) == ["sample", "train", "validate", "export", "simulate", "run", "report"]
    assert mine.fingerprint("simulate") != find_pipeline(copy, tmp_path / "out").fingerprint("simulate")  # type: ignore[union-attr]


def test_a_page_escapes_what_it_is_given(tmp_path: Path) -> None:
    page = Page("a < b", "lead & more")
    page.text("run `x < y` now")
    page.table(["h"], [[("1 < 2", True)], ["<script>"]])
    page.facts([("5 x", "faster")])
    (tmp_path / "p.png").write_bytes(b"png")
    page.picture(tmp_path / "p.png", 'a "caption"')
    text = str(page)
    assert "<script>" not in text
    assert "<code>x &lt; y</code>" in text
    assert 'class="good"' in text
    assert "data:image/png;base64,cG5n" in text
    assert "http" not in text


def test_a_run_keeps_the_rate_of_its_controller(tmp_path: Path) -> None:
    text = BUILT_IN.read_text().replace("step = 0.0001", "step = 0.0002").replace("rate = 10000.0", "rate = 5000.0")
    path = tmp_path / "study.toml"
    path.write_text(text.replace("controlled = true", "controlled = false"))
    with pytest.raises(ConfigError, match=r"run\.rate of study 'motorcycle_brakes' must be 10000 Hz to run, .* got 5000"):
        run(load_settings(path), tmp_path)
    assert not (tmp_path / "run").exists()
