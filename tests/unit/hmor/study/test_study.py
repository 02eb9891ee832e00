"""Study files: what they say, and every problem of one at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmor.study.file import load_study
from hmor.study.loading import import_object
from hmor.study.sample import TAKE
from mor import FunctionModel, Normal, QuantityModel, Trajectory, Uniform, halton, lhs, random_design, sobol
from rt_runtime.errors import ConfigError

GOOD = """
[study]
name = "brake"
seed = 3
[parts.brake]
model = "brake_of_study:torque"
outputs = {tau = "Nm"}
fixed = {mu = 0.5}
timeout = 30
workers = 2
[parts.brake.parameters]
F = {law = "uniform", lower = 0, upper = 50, unit = "N"}
w = {law = "normal", mean = 10, cv = 0.1, unit = "rad/s"}
[parts.brake.design]
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
    part = study.parts["brake"]
    model, design = part.build(study.place), part.make_design(study.study.seed)
    assert isinstance(model, FunctionModel) and model.name == "torque"
    assert model.evaluate({"F": 2.0, "w": 3.0}) == {"tau": 3.0}
    assert design.space.marginals == (Uniform(0, 50, unit="N"), Normal(10, 1, unit="rad/s"))
    np.testing.assert_array_equal(design.points, lhs(design.space, 20, seed=3, criterion="maximin").points)
    assert study.store("brake") == tmp_path / "runs" / "brake" / "samples" / "brake"
    assert part.timeout == 30 and part.workers == 2 and part.executor == "processes"


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
    design = load_study(write(tmp_path, GOOD + text)).parts["brake"].make_design(3)
    np.testing.assert_array_equal(design.points, make(design.space).points)


def test_full_factorial(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, GOOD + 'method = "full_factorial"\nlevels = {F = 2, w = 3}'))
    assert len(study.parts["brake"].make_design(3)) == 6


HYBRID = """
[study]
name = "ride"
[parts.brake]
model = "mor.models.motorcycle.model:hybrid()"
keep_runs = false
[parts.brake.quantities]
v_max = {column = "v", take = "max", unit = "km/h", scale = 3.6}
v_mean = {column = "v", take = "mean", unit = "km/h", scale = 3.6}
[parts.brake.parameters]
M = {law = "uniform", mean = 300, std = 15, unit = "kg"}
[parts.brake.design]
method = "lhs"
n = 2
"""


def test_quantities_of_a_hybrid_model_that_is_made_by_a_function(tmp_path: Path) -> None:
    model = load_study(write(tmp_path, HYBRID)).parts["brake"].build(tmp_path)
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
[parts.brake]
model = "brake_of_study:toque"
executor = "threads"
[parts.brake.parameters]
F = {law = "unform", lower = 0, upper = 50}
w = {law = "normal", mean = 10, std = -1}
v = 3
[parts.brake.design]
method = "sobol"
criterion = "maximin"
[trian]
"""
    with pytest.raises(ConfigError) as caught:
        load_study(write(tmp_path, text))
    message = str(caught.value)
    assert f"Study {tmp_path / 'study.toml'} has 7 problems:" in message
    for line in (
        "Key 'study.name' is missing.",
        "Key 'study.nam' is unknown; check its spelling and its section.",
        "Key 'parts.brake.model': module 'brake_of_study' has no 'toque'.",
        "Key 'parts.brake.parameters': F: law of the parameter must be one of uniform,",
        "; w: std of Normal must be positive, got -1; v: must be a law such as",
        "Key 'parts.brake.design': method sobol takes n, scramble, seed, skip, not criterion.",
        "Key 'parts.brake.executor' String should match pattern",
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
        ("brake_of_study:torque", "brake_of_study:torque(F)", "arguments of .* must be literals"),
        ("brake_of_study:torque", "brake_of_study:torque()", r"'brake_of_study:torque\(\)' cannot be made: TypeError"),
        ("F = {", "1F = {", "Name of a parameter must be letters"),
        ("timeout = 30", "timeout = -1", "Key 'parts.brake.timeout' must be greater than 0, got -1"),
        ("n = 20", "", "Key 'parts.brake.design': method lhs needs n."),
    ],
)
def test_messages(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_study(write(tmp_path, (GOOD + 'method = "lhs"\nn = 20').replace(old, new)))


def test_files_that_are_no_study(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Study file .*none.toml does not exist; hmor new NAME writes one"):
        load_study(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"Study .*study.toml must be TOML: "):
        load_study(write(tmp_path, "[study"))
    study = load_study(write(tmp_path, '[study]\nname = "x"'))
    with pytest.raises(ConfigError, match=r"has no section \[run\], which this command needs; add it"):
        study.need("run", study.run)
    with pytest.raises(
        ConfigError, match=r"Section \[train\] of study .* is of an earlier form: \[sample\] is \[parts.NAME\] now"
    ):
        load_study(write(tmp_path, '[study]\nname = "x"\n[train]\n'))


def test_the_quick_profile_replaces_keys(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + 'method = "lhs"\nn = 20\n[quick]\nparts.brake.design.n = 5\nstudy.seed = 8\n')
    assert load_study(path).parts["brake"].design.n == 20
    quick = load_study(path, quick=True)
    assert (quick.parts["brake"].design.n, quick.study.seed, quick.folder.name) == (5, 8, "brake_quick")
    with pytest.raises(ConfigError, match=r"has no section \[quick\], which --quick takes; leave the option out"):
        load_study(write(tmp_path, GOOD + 'method = "lhs"\nn = 20\n'), quick=True)


MODELS = (
    GOOD
    + """method = "lhs"
n = 20
[parts.brake.models.ffnn]
hidden = [3]
{ffnn}
[parts.brake.models.smooth]
kind = "pce"
{more}
"""
)


def with_models(ffnn: str, more: str) -> str:
    return MODELS.replace("{ffnn}", ffnn).replace("{more}", more)


def test_models_have_the_keys_of_their_kind(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, with_models("restarts = 2", 'method = "ols"')))
    network, polynomial = study.models()
    assert (network.path, network.key, network.section.settings.hidden) == ("brake.ffnn", "brake_ffnn", (3,))
    assert network.section.settings.seed == 3  # the study's
    assert polynomial.section.settings.arguments() == {"method": "ols"}
    assert study.exported() == {"brake_ffnn": "brake.ffnn", "brake_smooth": "brake.smooth"}


@pytest.mark.parametrize(
    ("ffnn", "more", "message"),
    [
        (
            "degree = 3",
            "",
            r"Key 'parts.brake.models.ffnn': key 'degree' is unknown; a model of kind ffnn has hidden, act",
        ),
        ("restarts = 0", "", "restarts of a fit must be a positive whole number"),
        ('hidden2 = "x"', "", "key 'hidden2' is unknown"),
        ("activation = 3", "", "Key 'activation' must be a valid string, got 3"),
        ('samples = "none"', "", r"samples of brake.ffnn must be a part \(brake\), got 'none'"),
        ("gate = {input = 'F', span = 0.0}", "", "span of a gate must be positive"),
        ("gate = 'math:pi'", "", "Key 'parts.brake.models.ffnn.gate'"),
        ("max_nrmse = -1.0", "", "Key 'parts.brake.models.ffnn.max_nrmse' must be greater than 0"),
        ("memory = {signals = ['F']}", "", "must have input_lags, output_lags, filters, states or operators"),
        ("memory = {input_lags = 1}", "", "must name the signals that drive the model"),
        ("memory = {signals = ['F'], input_lags = 1}", "", "outputs must be named for a model with memory"),
        (
            "outputs = ['tau']\nmemory = {signals = ['F'], input_lags = 1, draws = 2}",
            "",
            "memory of kind ffnn takes .*, not draws",
        ),
        (
            "",
            "[parts.brake.models.kriging]\noutputs = ['tau']\nmemory = {signals = ['F'], input_lags = 1}",
            "memory is for models of kind ffnn and pce, not kriging",
        ),
        (
            "",
            "[parts.brake.models.pck]\nkernel = 'gaussian'\ntrend = 'linear'",
            "key 'trend' is unknown; a model of kind pck has method, kernel",
        ),
        (
            "",
            "[parts.brake.models.magic]",
            "Key 'parts.brake.models.magic.kind' must be 'ffnn', 'pce', 'kriging', 'pck', 'glam' or 'spce', got 'magic'",
        ),
        (
            "",
            "[export]\nmodels = {a = 'brake.pce'}",
            r"Key 'export.models.a' must be part.model \(brake.ffnn, brake.smooth\), got",
        ),
        (
            "",
            "[hybrid]\nmodel = 'math:pi'\nresponses = ['v']\nvariants = {a = {b = 'brake.x'}}",
            "Key 'hybrid.variants.a.b' must be",
        ),
    ],
)
def test_messages_about_models(tmp_path: Path, ffnn: str, more: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_study(write(tmp_path, with_models(ffnn, more)))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("data = 'a.nc'\nmodel = 'math:sin'", "model needs parameters and design to be sampled on"),
        ("data = 'a.nc'\nstore = 'b'", "data is a file of samples; model and store must be left out beside it"),
        ("data = 'a.nc'\nsplit = [0.9, 0.2, 0.1]", "must be three fractions that add up to 1"),
        ("data = 'a.nc'\nagainst = true", "against needs the model, to run it"),
    ],
)
def test_messages_about_parts(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_study(write(tmp_path, f'[study]\nname = "x"\n[parts.a]\n{lines}\n'))


def test_what_a_file_names_is_imported_or_made(tmp_path: Path) -> None:
    assert import_object("math:pi", tmp_path) == pytest.approx(3.14159, rel=1e-5)
    assert import_object("fractions:Fraction(3, denominator=4)", tmp_path) == 0.75
    with pytest.raises(ConfigError, match=r"must be literals"):
        import_object("fractions:Fraction(__import__('os'))", tmp_path)
