"""The built-in study of the heated plate, made small, and what a study file may say of stochastic parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmor.study.file import load_study
from hmor.study.stages.pipeline import run_step
from rt_runtime.errors import ConfigError

BEAM = """
[study]
name = "beam"
[parts.tip]
model = "beam:tip"
outputs = {d = "mm"}
parameters.force = {law = "uniform", lower = 900.0, upper = 1100.0}
design = {method = "lhs", n = 30}
split = [0.9, 0.1, 0.0]
executor = "serial"
"""
LATENT = 'latent.modulus = {law = "normal", mean = 210.0, std = 5.0}\n'
CODE = "def tip(force, modulus=210.0):\n    return {'d': force / modulus}\n"


def test_heated_plate_from_samples_to_report(tmp_path: Path) -> None:
    def make(group: str) -> dict[str, object]:
        return run_step(group, "heated_plate", tmp_path, quick=True)

    sampled = make("sample")
    assert sampled["plate"]["finished"] == 60 and sampled["repeated"]["finished"] == 20  # type: ignore[index]
    make("train")
    judged = make("validate")
    law = judged["plate_glam"]["law"]  # type: ignore[index]
    assert law["terms"]["u_max"]["ln_lambda2"] == 1 and law["tests"]["u_max"]["fits"]
    for row in law["indices"]["first"].values():
        assert max(row, key=lambda name: row[name][0]) == "theta_max" and row["theta_max"][0] > 0.8
    assert [one["runs"] for one in law["repeated"]] == [10, 10]
    assert "share of the noise" in law["classical"]["notes"][0]
    exported = make("export")
    assert exported["models"] == ["plate_glam"]
    page = Path(str(make("report")["page"])).read_text()
    for words in (
        "Stochastic responses",
        "the drift removed by regression",
        "Density of the emulator at the repeated points",
        "95 % quantile",
    ):
        assert words in page


def study(folder: Path, text: str) -> Path:
    (folder / "beam.py").write_text(CODE)
    path = folder / "beam.toml"
    path.write_text(text)
    return path


def test_a_function_with_latent_variables(tmp_path: Path) -> None:
    path = study(
        tmp_path,
        BEAM
        + LATENT
        + "[parts.tip.models.glam]\ncriterion = 'bic'\n[parts.tip.models.spce]\ndegree = 1\nlatent = 'normal'\n",
    )
    run_step("sample", path, None)
    run_step("train", path, None)
    judged = run_step("validate", path, None)
    assert set(judged) == {"tip_glam", "tip_spce"}
    assert "indices" in judged["tip_spce"]["law"]  # type: ignore[index]
    other = study(tmp_path, BEAM.replace('"beam"', '"plain"') + "[parts.tip.models.pce]\n")
    run_step("sample", other, None)
    run_step("train", other, None)
    with pytest.raises(
        ConfigError, match="must be judged"
    ):  # a model of the mean alone has the test rows to be judged on
        run_step("validate", other, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LATENT + "[parts.tip.models.glam]\nrepeated = 'again'\n", "repeated of tip.glam must be a part"),
        ("[parts.tip.models.pce]\nrepeated = 'tip'\n", "repeated is for models of kind glam and spce"),
        ("[parts.tip.models.glam]\ngate = {input = 'force', span = 10.0}\n", "gate is not for models of kind glam"),
        ("[parts.tip.models.glam]\ndegrees = [3, 1]\n", "degrees"),
        ("[parts.tip.models.glam]\ncriterion = 'loo'\n", "criterion"),
    ],
)
def test_bad_keys_are_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_study(study(tmp_path, BEAM + text))


def test_replications_need_something_that_is_drawn(tmp_path: Path) -> None:
    path = study(tmp_path, BEAM + "replications = 3\n")
    with pytest.raises(ConfigError, match="replications must be 1 for a part without latent variables"):
        run_step("sample", path, None)
    path = study(tmp_path, BEAM.replace("n = 30", "n = 30, rows = [31]") + LATENT)
    with pytest.raises(ConfigError, match="rows of a design must lie between 1 and 30, got 31"):
        run_step("sample", path, None)
