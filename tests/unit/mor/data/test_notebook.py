"""Designs, datasets, trajectories, models and validations print briefly, show tables in a notebook and draw themselves."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, OdeSubstructure, ParameterSpace, Trajectory, Uniform, lhs, validate
from mor.models.bouc_wen import bouc_wen
from mor.validation.validate import Validation
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import linear, memory_of_linear

DESIGN = lhs(ParameterSpace({"k": Uniform(1.0, 2.0, unit="N/m"), "m": Uniform(3.0, 4.0, unit="kg")}), 50, seed=7)
X = np.random.default_rng(0).uniform([0, 0], [50, 49], (3000, 2))
DATA = Dataset(X, linear().predict(X), linear().inputs, linear().outputs)
RUN = Trajectory(np.arange(5000) * 1e-3, np.ones((5000, 2)), {"u": "N", "y": "m"})


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (DESIGN, "Design of 50 points of 2 parameters (lhs, seed 7)"),
        (DATA, "Dataset of 3000 rows"),
        (RUN, "Trajectory of 5000 rows, 0 to 4.999 s"),
        (linear(), "multiply-adds"),
        (memory_of_linear(), "F_br"),
        (validate(linear(), DATA), "nrmse"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_one_screen_of_text_and_a_table(shown, says: str) -> None:
    text = str(shown)
    assert says in text and len(text.splitlines()) <= 24 and max(len(line) for line in text.splitlines()) < 160
    assert "<table>" in shown._repr_html_()


def test_runs_and_step_are_named() -> None:
    data = Dataset.from_trajectories([RUN, RUN], ["u"], ["y"])
    assert str(data).startswith("Dataset of 10000 rows of 2 runs, every 0.001 s")


def test_what_people_expect_to_plot() -> None:
    assert len(DESIGN.plot().axes) == 4 and len(DATA.plot().axes) == 4 and len(RUN.plot().axes) == 2
    assert len(DATA.plot().axes[0].collections[0].get_offsets()) == 3000
    assert "NRMSE" in validate(linear(), DATA).plot().axes[0].get_title()
    assert "NRMSE" in linear().plot(DATA).axes[0].get_title()
    memory = memory_of_linear()
    u = np.linspace(0.0, 50.0, 100)[:, None]
    run = Dataset(u, memory.rollout(u), memory.inputs, memory.outputs)
    assert [len(axis.lines) for axis in memory.plot(run).axes] == [2, 1]
    assert [len(axis.lines) for axis in validate(memory, run).plot().axes] == [2, 1]
    with pytest.raises(ConfigError, match="needs the result of validate"):
        Validation([], {}).plot()
    with pytest.raises(ConfigError, match="Names to plot of a trajectory must be among u, y, got 'v'"):
        RUN.plot("v")


def test_a_simulation_plots_itself() -> None:
    run = OdeSubstructure(bouc_wen()).simulate(np.zeros((10, 2)), dt=1e-3)
    assert len(run.plot("force").axes) == 1
