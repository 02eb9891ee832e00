"""Kriging in bundles: one step of the core for each output, rounding said in words, hosts agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from export import verify, write
from mor import Dataset, Kriging, ParameterSpace, Uniform, fit_kriging, fit_pck, lhs
from mor.reduced.kriging.kernels import KERNELS
from rt_runtime.bundle.plan import compile_onnx
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"F": Uniform(0.0, 50.0, unit="N"), "w": Uniform(1.0, 49.0, unit="rad/s")})


def rows(n: int = 40) -> Dataset:
    X = lhs(SPACE, n, seed=3).points
    return Dataset(
        X, np.column_stack([X[:, 0] * np.tanh(X[:, 1] / 10.0), X[:, 1] ** 2]), SPACE.ports, {"t": "", "p": ""}
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("interactions", [False, True])
def test_correlations_are_one_step_of_the_core(kernel: str, interactions: bool, tmp_path: Path) -> None:
    model = fit_kriging(rows(20), SPACE, kernel=kernel, interactions=interactions, rounding=1e-8)
    bundle = write(model, tmp_path / "b", targets=("onnx",))
    plan, _, _ = compile_onnx(bundle.model.onnx, "model")
    assert plan.steps == 1 + 2 * 2  # standard variables; correlations and sum of two outputs
    assert all(r.ok or r.skipped for r in verify(bundle, {"model": model}))


def test_pc_kriging_with_its_trend(tmp_path: Path) -> None:
    model = fit_pck(rows(), SPACE, rounding=1e-8)
    bundle = write(model, tmp_path / "b", targets=("onnx", "c"))
    assert all(r.ok or r.skipped for r in verify(bundle, {"model": model}))


def test_a_model_that_rounds_too_much_is_refused(tmp_path: Path) -> None:
    model = fit_kriging(rows(), SPACE, kernel="gaussian")
    wild = replace(model, dual=model.dual * 1e9)
    assert isinstance(wild, Kriging)
    with pytest.raises(ConfigError, match="Rounding of the Kriging model 'model' must be at most 1e-08 of the spread"):
        write(wild, tmp_path / "b")
