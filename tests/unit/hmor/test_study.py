"""Study files: what they say, and every problem of one at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmor.sample_section import TAKE
from hmor.study import load_study
from mor import FunctionModel, Normal, QuantityModel, Trajectory, Uniform, halton, lhs, random_design, sobol
from rt_runtime.errors import ConfigError

GOOD = """
[study]
name = "brake"
seed = 3
[sample]
model = "brake_of_study:torque"
outputs = {tau = "Nm"}
fixed = {mu = 0.5}
timeout = 30
workers = 2
[sample.parameters]
F = {law = "uniform", lower = 0, upper = 50, unit = "N"}
w = {law = "normal", mean = 10, cv = 0.1, unit = "rad/s"}
[sample.design]
"""
CODE = """
import math
def torque(F, w, mu=0.4):
    if F > 45:
        raise RuntimeError("the pad is gone")
    print("squeak")
    return mu * F * w
number = 3
"""


def write(folder: Path, text: str) -> Path:
    (folder / "brake_of_study.py").write_text(CODE)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_a_study_becomes_model_design_and_store(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, GOOD + 'method = "lhs"\nn = 20\ncriterion = "maximin"\n'))
    model, design = study.sample_model(), study.sample_design()
    assert isinstance(model, FunctionModel) and model.name == "torque"
    assert model.evaluate({"F": 2.0, "w": 3.0}) == {"tau": 3.0}
    assert design.space.marginals == (Uniform(0, 50, unit="N"), Normal(10, 1, unit="rad/s"))
    np.testing.assert_array_equal(design.points, lhs(design.space, 20, seed=3, criterion="maximin").points)
    assert study.sample_store() == tmp_path / "brake.store"
    assert study.sample.timeout == 30 and study.sample.workers == 2 and study.sample.executor == "processes"


@pytest.mark.parametrize(
    ("text", "make"),
    [
        ('method = "sobol"\nn = 8', lambda s: sobol(s, 8)),
        ('method = "sobol"\nn = 8\nscramble = true\nskip = 2', lambda s: sobol(s, 8, seed=3, scramble=True, skip=2)),
        ('method = "halton"\nn = 8', lambda s: halton(s, 8)),
        ('method = "random"\nn = 8\nseed = 9', lambda s: random_design(s, 8, seed=9)),
    ],
)
def test_every_method(tmp_path: Path, text: str, make) -> None:
    design = load_study(write(tmp_path, GOOD + text)).sample_design()
    np.testing.assert_array_equal(design.points, make(design.space).points)


def test_full_factorial(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, GOOD + 'method = "full_factorial"\nlevels = {F = 2, w = 3}'))
    assert len(study.sample_design()) == 6


HYBRID = """
[study]
name = "ride"
[sample]
model = "mor.models.motorcycle.model:hybrid()"
keep_runs = false
[sample.quantities]
v_max = {column = "v", take = "max", unit = "km/h", scale = 3.6}
v_mean = {column = "v", take = "mean", unit = "km/h", scale = 3.6}
[sample.parameters]
M = {law = "uniform", mean = 300, std = 15, unit = "kg"}
[sample.design]
method = "lhs"
n = 2
"""


def test_quantities_of_a_hybrid_model_that_is_made_by_a_function(tmp_path: Path) -> None:
    model = load_study(write(tmp_path, HYBRID)).sample_model()
    assert isinstance(model, QuantityModel) and model.name == "motorcycle"
    assert [(p.name, p.unit) for p in model.outputs] == [("v_max", "km/h"), ("v_mean", "km/h")]
    run = Trajectory([0.0, 1.0], [[1.0], [3.0]], ["v"])
    assert [function(run) for function in model.functions.values()] == pytest.approx([10.8, 7.2])
    assert not model.keep_run
    assert len(set(model.identity()["quantities"].values())) == 2


@pytest.mark.parametrize(
    ("take", "value"),
    [
        ("max", 3.0),
        ("min", -4.0),
        ("mean", 0.0),
        ("std", np.sqrt(26 / 3)),
        ("last", 1.0),
        ("peak", 4.0),
        ("rms", np.sqrt(26 / 3)),
    ],
)
def test_what_is_taken_from_a_column(take: str, value: float) -> None:
    assert TAKE[take](np.array([3.0, -4.0, 1.0])) == pytest.approx(value)


def test_all_problems_are_listed_with_their_keys(tmp_path: Path) -> None:
    text = """
[study]
nam = "x"
[sample]
model = "brake_of_study:toque"
executor = "threads"
[sample.parameters]
F = {law = "unform", lower = 0, upper = 50}
w = {law = "normal", mean = 10, std = -1}
v = 3
[sample.design]
method = "sobol"
criterion = "maximin"
[trian]
"""
    with pytest.raises(ConfigError) as caught:
        load_study(write(tmp_path, text))
    message = str(caught.value)
    assert f"Study {tmp_path / 'study.toml'} has 9 problems:" in message
    for line in (
        "Key 'study.name' is missing.",
        "Key 'study.nam' is unknown; check its spelling and its section.",
        "Key 'sample.model': module 'brake_of_study' has no 'toque'.",
        "Key 'sample.parameters.F': law of the parameter must be one of uniform,",
        "Key 'sample.parameters.w': std of Normal must be positive, got -1.",
        "Key 'sample.parameters.v': must be a law such as",
        "Key 'sample.design': method sobol takes n, scramble, seed, skip, not criterion.",
        "Key 'sample.executor' String should match pattern",
        "Key 'trian' is unknown",
    ):
        assert line in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "brake_of_study:torque",
            "no_such_module:f",
            "module 'no_such_module' cannot be imported: ModuleNotFoundError",
        ),
        ("brake_of_study:torque", "torque", 'must be "module:name", for example'),
        ("brake_of_study:torque", "brake_of_study:number", "must be a function or a model, got int"),
        ("brake_of_study:torque", "brake_of_study:torque()", r"'brake_of_study:torque\(\)' cannot be made: TypeError"),
        ("F = {", "1F = {", "Name of a parameter must be letters"),
        ("timeout = 30", "timeout = -1", "Key 'sample.timeout' must be greater than 0, got -1"),
        ("n = 20", "", "Key 'sample.design': method lhs needs n."),
    ],
)
def test_messages(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_study(write(tmp_path, (GOOD + 'method = "lhs"\nn = 20').replace(old, new)))


def test_files_that_are_no_study(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Study .*none.toml must be a TOML file, found none of that name"):
        load_study(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"Study .*study.toml must be TOML: "):
        load_study(write(tmp_path, "[study"))
    study = load_study(write(tmp_path, '[study]\nname = "x"'))
    with pytest.raises(ConfigError, match=r"has no section \[sample\], which this command needs; add it"):
        study.sample_design()
