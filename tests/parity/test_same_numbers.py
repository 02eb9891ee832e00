"""One model, every engine, the same numbers: on many points of the domain and over a whole free run of a brake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from export import verify, write
from export.c.compiler import find_compiler
from export.engines import CEngine, OnnxEngine
from export.fmu.host import FmuHost
from mor.reduced.base import ReducedModel
from mor.reduced.hysteresis.operators import Peaks, Stop
from mor.reduced.hysteresis.steel import MenegottoPinto
from mor.reduced.memory import MemoryModel
from rt_runtime.bundle.read import Bundle, difference
from rt_runtime.bundle.rom import Rom
from tests.contract.reduced_models import V, X, gru, hysteresis
from tests.reference.exported_models import (
    network,
    network_with_memory,
    polynomial,
    polynomial_with_memory,
    sparse_polynomial,
)

STATIC: dict[str, Callable[[], ReducedModel]] = {
    "2-10-1 network": network,
    "polynomial of degree 10": polynomial,
    "sparse polynomial": sparse_polynomial,
    "network with direct path": lambda: network("softplus", hidden=(8, 5), outputs=2, skip=True),
}
MEMORY: dict[str, Callable[[], MemoryModel]] = {"network": network_with_memory, "polynomial": polynomial_with_memory}


def c_engine(bundle: Bundle) -> CEngine:
    model = bundle.model
    files = {name.split("/")[-1]: bundle.content[name] for name in model.description["c"]}
    compiler = find_compiler()
    assert compiler is not None
    return CEngine(model.name, files, len(model.outputs), model.precision, compiler)


def fmu_run(bundle: Bundle, file: str, u: np.ndarray) -> np.ndarray:
    with FmuHost(bundle.content[file], len(bundle.model.inputs), len(bundle.model.outputs)) as host:
        return host.run(u, bundle.model.dt or 1e-3)


@pytest.mark.parametrize("kind", STATIC)
def test_a_hundred_thousand_points(kind: str, tmp_path: Path) -> None:
    model = STATIC[kind]()
    bundle = write(model, tmp_path / "b", targets=("onnx", "c", "fmu"))
    X = np.random.default_rng(17).uniform(*model.domain, (100_000, len(model.inputs)))
    Y = model.predict(X)
    assert difference(OnnxEngine(bundle.model.onnx, None).rows(X), Y) < 1e-9
    assert difference(Rom(bundle.model).predict(X), Y) < 1e-9
    assert difference(c_engine(bundle).rows(X), Y) < 1e-12
    assert difference(fmu_run(bundle, "fmu/model.fmu", X), Y) < 1e-12


@pytest.mark.parametrize("kind", MEMORY)
def test_every_engine_repeats_the_golden_vectors(kind: str, tmp_path: Path) -> None:
    models = {"brake": MEMORY[kind](), "plain": network(outputs=2)}
    results = verify(write(models, tmp_path / "b", targets=("onnx", "c", "fmu", "fmu3")), models)
    engines = ["numpy", "onnxruntime", "rt_runtime", "c", "fmu", "fmu3"]
    for name in models:
        assert [r.engine for r in results if r.model == name] == engines
    assert all(r.ok and not r.skipped for r in results)
    assert all(r.run is not None for r in results if r.model == "brake")
    assert all(r.rows is not None for r in results if r.model == "plain")


def test_an_engine_that_differs_or_is_not_there_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = write(network(), tmp_path / "b", targets=("onnx", "fmu"))
    other = verify(bundle, {"model": network("sigmoid")})
    by_engine = {r.engine: r for r in other}
    assert not by_engine["numpy"].ok and not by_engine["numpy"].skipped
    assert by_engine["c"].skipped and by_engine["c"].note == "not in the bundle; export it with target c"
    assert not by_engine["c"].ok
    monkeypatch.setenv("CC", "no-such-compiler")
    without = write(network(), tmp_path / "c", targets=("onnx", "c", "fmu"))
    by_engine = {r.engine: r for r in verify(without)}
    assert by_engine["c"].note == "no C compiler was found (cc, gcc, clang or CC)"
    assert "has no binary for this host" in by_engine["fmu"].note
    assert "no C compiler was found" in without.model.description["skipped"][0]
    assert by_engine["fmu"].to_dict()["rows"] is None and by_engine["onnxruntime"].to_dict()["ok"]


@pytest.mark.slow
@pytest.mark.train
def test_a_brake_with_memory_runs_freely_for_450_000_steps(tmp_path: Path) -> None:
    """Filters of the lever force and of the heat in the disc, whose memory of 52 s would show any drift."""
    pytest.importorskip("torch")
    from mor.excitation import operating_range
    from mor.models.motorcycle.brake_runs import brake_channels, brake_history, sample_runs
    from training import FfnnConfig, MemoryConfig, fit_ffnn_memory

    runs = [sample_runs("rear", seeds, duration=3.0, dt=1e-4) for seeds in (range(4), range(10, 11))]
    config = MemoryConfig(network=FfnnConfig((8,), restarts=1, seed=0, iterations=40), rows=1000, iterations=0)
    model = fit_ffnn_memory(runs[0], brake_history("rear", dt=1e-4), valid=runs[1], config=config)
    bundle = write(model, tmp_path / "b", targets=("onnx", "c", "fmu", "fmu3"))
    drive = operating_range(brake_channels("rear"), duration=45.0, rate=1e4, seed=99)
    u = np.column_stack([drive[port.name].values for port in model.inputs])[:450_000]
    assert len(u) == 450_000
    y = model.rollout(u)
    assert np.ptp(y[:, 0]) > 10.0
    assert difference(c_engine(bundle).run(u), y) < 1e-12
    assert difference(fmu_run(bundle, "fmu/model.fmu", u), y) < 1e-12
    assert difference(fmu_run(bundle, "fmu/model_fmi3.fmu", u), y) < 1e-12
    assert difference(Rom(bundle.model).rollout(u), y) < 1e-9
    assert difference(OnnxEngine(bundle.model.onnx, model.initial).run(u), y) < 1e-9


def steady_gru() -> MemoryModel:
    """A recurrent unit as fits give it: its output does not come back, and what it remembers fades."""
    unit = gru()
    inner = unit.inner * [1.0, 1.0, 0.0]
    step = replace(unit, inner=inner, hidden=0.5 * unit.hidden, direct=unit.direct * [1.0, 1.0, 0.0])
    bounds = ([-5, -1, -1, -1], [5, 1, 1, 1])
    return MemoryModel.around(step, (X, V), dt=1e-2, output_lags=1, bounds=bounds, responses=1)


PIER = (MenegottoPinto("x", length=0.15, threshold=5e-4), Peaks("x"), Stop("x", radii=(0.01, 0.1, 0.8)))
FREE: dict[str, Callable[[], MemoryModel]] = {
    "gru": steady_gru,
    "operators": lambda: hysteresis("tangent", lags=2),
    "bars": lambda: hysteresis(operators=PIER),  # what a reduced pier remembers, nothing that fades
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FREE)
def test_cells_and_operators_run_freely_for_450_000_steps(kind: str, tmp_path: Path) -> None:
    """A gated recurrent unit; all operators with a linear recurrent cell and outputs that come back; bars of a pier.

    onnxruntime takes some 50 us a step for these: of the operators it runs the first 60 000.
    """
    model = FREE[kind]()
    bundle = write(model, tmp_path / "b", targets=("onnx", "c", "fmu", "fmu3"))
    rng, n = np.random.default_rng(3), 450_000
    knots = rng.uniform(*model.domain, (n // 90, len(model.inputs)))
    knots[100:200] = knots[100]  # a hold in between
    u = np.column_stack([np.interp(np.arange(n), np.arange(len(knots)) * 90.0, column) for column in knots.T])
    y = model.rollout(u)
    assert np.ptp(y) > 0.1
    assert difference(c_engine(bundle).run(u), y) < 1e-12
    assert difference(fmu_run(bundle, "fmu/model.fmu", u), y) < 1e-12
    assert difference(fmu_run(bundle, "fmu/model_fmi3.fmu", u), y) < 1e-12
    assert difference(Rom(bundle.model).rollout(u), y) < 1e-9
    short = n if kind == "gru" else 60_000
    assert difference(OnnxEngine(bundle.model.onnx, model.initial).run(u[:short]), y[:short]) < 1e-9
