"""The generated C: warning-free under every compiler found, no heap, and the numbers of the model."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from export.c.compiler import compile_c, find_compiler
from export.c.golden import c_main
from export.c.source import c_header, c_source
from export.c.text import CType, comment_text
from export.engines import CEngine
from export.forms import form_of
from export.golden import golden_vectors
from mor.reduced.base import ReducedModel
from mor.reduced.gate import Gate
from mor.reduced.memory import MemoryModel
from rt_runtime.bundle.read import difference
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import hysteresis
from tests.reference.exported_models import (
    constant_polynomial,
    network,
    network_with_memory,
    polynomial,
    polynomial_with_memory,
    sparse_polynomial,
)

MODELS = {
    "tanh": lambda: network(),
    "sigmoid": lambda: network("sigmoid", hidden=(6, 4), outputs=2),
    "relu": lambda: network("relu", hidden=(6, 4), skip=True),
    "softplus": lambda: network("softplus", outputs=2, skip=True),
    "linear": lambda: network(hidden=()),
    "memory": lambda: network_with_memory(2, 2, 2),
    "memory of inputs": lambda: network_with_memory(2, 0),
    "memory of outputs": lambda: network_with_memory(0, 2),
    "polynomial": lambda: polynomial(outputs=2),
    "sparse polynomial": sparse_polynomial,
    "constant polynomial": constant_polynomial,
    "memory of a polynomial": polynomial_with_memory,
    "operators": hysteresis,
    "operators and lags": lambda: hysteresis("tangent", lags=2),
    "gate": lambda: Gate("F_br", 0.7).around(network(outputs=2)),
}


def files(model: ReducedModel, precision: str = "float64", tolerance: float = 1e-12) -> dict[str, bytes]:
    form = form_of(model, "brake")
    golden = golden_vectors(model, form.domain, seed=1)
    texts = {
        "brake.h": c_header(form, precision),
        "brake.c": c_source(form, precision),
        "brake_main.c": c_main(form, golden, precision, tolerance),
    }
    return {name: text.encode() for name, text in texts.items()}


@pytest.mark.parametrize("kind", MODELS)
def test_compiled_c_repeats_the_model(kind: str) -> None:
    model = MODELS[kind]()
    engine = CEngine("brake", files(model), len(model.outputs), "float64", "gcc")
    domain = model.domain
    if isinstance(model, MemoryModel):
        domain = tuple(np.concatenate(pair) for pair in zip(domain, model.state_domain, strict=True))
    X = np.random.default_rng(3).uniform(*domain, (3000, len(domain[0])))
    n_u = len(model.inputs)
    assert engine.replay() == 0
    assert difference(engine.rows(X), model.advance(X[:, :n_u], X[:, n_u:])[0]) < 1e-14


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("kind", ["softplus", "memory", "sparse polynomial", "gate", "operators and lags"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_no_warning_under_any_compiler(compiler: str, kind: str, precision: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed here")
    for name, content in files(MODELS[kind](), precision, 1e-4).items():
        (tmp_path / name).write_bytes(content)
    sources = [tmp_path / "brake.c", tmp_path / "brake_main.c"]
    for options in (("-O0",), ("-O3", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wdouble-promotion")):
        wide = options if precision == "float64" else options[:3]
        program = compile_c(sources, tmp_path / "a.out", compiler=compiler, options=wide)
        assert subprocess.run([program], capture_output=True).returncode == 0


@pytest.mark.parametrize("kind", ["memory", "sparse polynomial", "memory of a polynomial", "operators and lags"])
def test_sanitizers_find_nothing(kind: str, tmp_path: Path) -> None:
    for name, content in files(MODELS[kind]()).items():
        (tmp_path / name).write_bytes(content)
    sources = [tmp_path / "brake.c", tmp_path / "brake_main.c"]
    options = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = compile_c(sources, tmp_path / "a.out", compiler="gcc", options=options)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_header_serves_cpp_and_the_object_needs_only_math(tmp_path: Path) -> None:
    for name, content in files(network_with_memory()).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "user.cpp").write_text('#include "brake.h"\nint main() { double y[1], s[BRAKE_N_STATE], u[2] = {1, 2};\n'
                                       "brake_reset(s); brake_step(u, s, y); return y[0] > 0 && BRAKE_DT < 1 ? 0 : 1; }\n")  # fmt: skip
    subprocess.run(["gcc", "-std=c99", "-O2", "-c", "brake.c"], cwd=tmp_path, check=True)
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "user.cpp", "brake.o", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run(["./a.out"], cwd=tmp_path).returncode == 0
    symbols = subprocess.run(["nm", "-u", "brake.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\bU (\w+)", symbols)) <= {"tanh"}


def test_wrong_numbers_are_noticed_by_the_replay() -> None:
    content = files(network())
    broken = re.sub(rb"(biases_2\[1\] = \{\s*)(\S+)", rb"\g<1>1.0e+00 + \2", content["brake.c"])
    assert broken != content["brake.c"]
    assert CEngine("brake", content | {"brake.c": broken}, 1, "float64", "gcc").replay() == 1


def test_nan_and_the_range_of_the_inputs() -> None:
    model = network_with_memory()
    engine = CEngine("brake", files(model), 1, "float64", "gcc")
    x = np.array([[np.nan, 1.0, 1.0, 1.0, 20.0, 20.0], [1e6, -1e6, 1.0, 1.0, 20.0, 20.0]])
    y = engine.rows(x)
    assert np.isnan(y[0, 0])
    assert difference(y[1:], model.advance(x[1:, :2], x[1:, 2:])[0]) < 1e-14


def test_literals_give_every_bit_back() -> None:
    rng = np.random.default_rng(0)
    double, single = CType("float64"), CType("float32")
    spread = rng.normal(size=100) * 10.0 ** rng.integers(-30, 30, 100)
    for value in [0.0, -0.0, 1.0, 1e-30, *spread]:
        assert float(double.literal(value)) == value
        assert np.float32(single.literal(value).removesuffix("f")) == np.float32(value)
    for value in [1e-308, 5e-324, 1.7976931348623157e308]:
        assert float(double.literal(value)) == value
    assert double.literal(-np.inf) == "-HUGE_VAL" and single.literal(np.inf) == "HUGE_VALF"
    with pytest.raises(ValueError, match="must not contain NaN"):
        double.literal(np.nan)


def test_units_cannot_leave_a_comment() -> None:
    assert comment_text("N */ evil(); /*\n°C") == "N * / evil(); / * ?C"


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.c").write_text("int main(void) { return undefined; }\n")
    with pytest.raises(ConfigError, match=r"(?s)C compiler 'gcc' refused the generated source: .*undefined"):
        compile_c([tmp_path / "x.c"], tmp_path / "x", compiler="gcc")
    with pytest.raises(ConfigError, match="C compiler '/nowhere/cc' could not be run"):
        compile_c([tmp_path / "x.c"], tmp_path / "x", compiler="/nowhere/cc")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert find_compiler() is None
