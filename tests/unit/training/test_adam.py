"""Adam through Lightning: it learns, stops early, repeats itself, and resumes where it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rt_runtime.errors import ConfigError, MissingExtra
from tests.unit.training.test_fit import brake
from training import FfnnConfig, fit_ffnn
from training.trainers.network import Layout

pytestmark = pytest.mark.train
ADAM = FfnnConfig(hidden=(8,), trainer="adam", restarts=1, iterations=60, learning_rate=0.02)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "softplus"])
def test_torch_and_numpy_agree(activation: str) -> None:
    import torch

    from training.trainers.adam import FfnnModule

    layout = Layout((2, 5, 3, 1), activation)
    theta = np.random.default_rng(0).normal(size=layout.size)
    module = FfnnModule(layout, theta, 1e-2)
    X = np.random.default_rng(1).uniform(-1.0, 1.0, (6, 2))
    np.testing.assert_array_equal(module.theta, theta)
    np.testing.assert_allclose(module(torch.from_numpy(X)).detach().numpy(), layout.forward(theta, X), rtol=1e-12)


def test_it_learns_and_repeats_itself() -> None:
    train, valid = brake(100, 0), brake(30, 1)
    a, b = (fit_ffnn(train, valid=valid, config=ADAM) for _ in range(2))
    assert a.origin["valid_mse"] < 0.02
    assert a.weights[0].tobytes() == b.weights[0].tobytes()
    assert a.origin["trainer"] == "adam"


def test_it_stops_when_validation_stops_improving() -> None:
    train, valid = brake(40, 0), brake(20, 1)
    config = FfnnConfig(hidden=(4,), trainer="adam", restarts=1, iterations=500, patience=3, learning_rate=0.3)
    assert fit_ffnn(train, valid=valid, config=config).origin["iterations"] < 500


def test_an_interrupted_fit_resumes_to_the_same_bits(tmp_path: Path) -> None:
    train, valid = brake(60, 0), brake(20, 1)
    whole = fit_ffnn(train, valid=valid, config=ADAM)
    part = FfnnConfig(hidden=(8,), trainer="adam", restarts=1, iterations=25, learning_rate=0.02)
    fit_ffnn(train, valid=valid, config=part, folder=tmp_path)
    assert (tmp_path / "restart_0" / "last.ckpt").exists()
    resumed = fit_ffnn(train, valid=valid, config=ADAM, folder=tmp_path, resume=True)
    assert resumed.weights[0].tobytes() == whole.weights[0].tobytes()
    assert (tmp_path / "restart_0" / "metrics.csv").exists()
    assert list((tmp_path / "restart_0").glob("events.*"))


def test_it_needs_validation_data() -> None:
    with pytest.raises(ConfigError, match="valid of a fit with trainer 'adam' must be given: it decides when to stop"):
        fit_ffnn(brake(30, 0), config=ADAM)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "training.trainers.adam", raising=False)
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    with pytest.raises(MissingExtra, match=r"trainer 'adam' needs torch and lightning .*; install hybrid-mor\[train\]"):
        fit_ffnn(brake(30, 0), valid=brake(10, 1), config=ADAM)
