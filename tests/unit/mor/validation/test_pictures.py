"""Pictures: they are drawn, of the right size and from the right numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, Port
from mor.validation import pictures
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import FORCE, TORQUE, linear, memory_of_linear
from tests.reference.linear_model import Linear


def data(n: int = 400) -> Dataset:
    model = linear()
    X = np.random.default_rng(0).uniform([0, 0], [50, 49], (n, 2))
    return Dataset(X, 1.02 * model.predict(X), model.inputs, model.outputs)


def test_parity_shows_every_row_and_the_error(tmp_path: Path) -> None:
    figure = pictures.parity(linear(), data())
    assert [len(axis.collections[0].get_offsets()) for axis in figure.axes] == [400, 400]
    assert "NRMSE 1.96 %" in figure.axes[0].get_title()
    path = pictures.save(figure, tmp_path / "parity.png")
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_error_map_averages_the_rows_of_a_square() -> None:
    figure = pictures.error_map(linear(), data())
    mesh = figure.axes[0].collections[0]
    error = 0.02 * np.abs(linear().predict(data().X)[:, 0])
    values = np.asarray(mesh.get_array())
    assert np.nanmax(values) <= error.max() + 1e-12
    assert np.nanmin(values) >= error.min() - 1e-12
    assert pictures.error_map(linear(), data(), inputs=["w_rw"]).axes[0].lines[0].get_xdata().size == 400
    with pytest.raises(ConfigError, match="inputs of error_map must be one or two of F_br, w_rw, got v"):
        pictures.error_map(linear(), data(), inputs=["v"])


def test_error_map_of_many_inputs_shows_the_two_most_important() -> None:
    ports = [Port(f"a{i}", "m") for i in range(5)]
    X = np.random.default_rng(0).uniform(-1, 1, (400, 5))
    model = Linear(
        tuple(ports), (Port("y"),), (-np.ones(5), np.ones(5)), np.zeros(1), np.array([[0.1, 0.3, 2.0, 0.0, 1.0]])
    )
    figure = pictures.error_map(model, Dataset(X, 1.1 * model.predict(X), ports, ["y"]))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("a2 [m]", "a4 [m]")


def test_learning_curve_has_a_line_per_output() -> None:
    curve = {"size": np.array([10.0, 20.0, 40.0]), "y": np.array([[0.1, 0.2], [0.01, 0.02], [0.001, 0.002]])}
    figure = pictures.learning(curve)
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [15.0, 1.5, 0.15])


def test_free_run_shows_both_and_the_difference() -> None:
    model = memory_of_linear()
    u = np.full((100, 1), 20.0)
    figure = pictures.free_run(model, Dataset(u, model.rollout(u) + 0.5, [FORCE], [TORQUE]))
    top, below = figure.axes
    assert len(top.lines) == 2
    np.testing.assert_allclose(below.lines[0].get_ydata(), -0.5)
