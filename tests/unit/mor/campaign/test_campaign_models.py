"""Substructures, hybrid models and quantities of their trajectories as models of a campaign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mor import (
    Evaluable,
    FunctionModel,
    ParameterSpace,
    QuantityModel,
    SimulationModel,
    Store,
    Trajectory,
    Uniform,
    lhs,
    ode,
    run_design,
)
from mor.hybrid.model import HybridModel
from mor.substructures import OdeSubstructure, StaticSubstructure
from rt_runtime.errors import ConfigError


def spring_rhs(u, p, y):  # type: ignore[no-untyped-def]
    y[0] = p[0] * u[0] + u[1]


def spring() -> StaticSubstructure:
    return StaticSubstructure(
        "spring", spring_rhs, inputs={"x": "m", "v": "m/s"}, outputs={"f": "N"}, parameters={"k": (200.0, "N/m")}
    )


@ode(
    states={"x": "m", "v": "m/s"},
    inputs={"a_g": "m/s2", "force": "N"},
    outputs={"x": "m", "v": "m/s"},
    parameters={"m": (2.0, "kg"), "c": (0.5, "Ns/m"), "k_frame": (800.0, "N/m")},
)
def frame(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
    dx[0] = x[1]
    dx[1] = (u[1] - p[1] * x[1] - p[2] * x[0]) / p[0] - u[0]
    y[0] = x[0]
    y[1] = x[1]


def hybrid() -> HybridModel:
    ground = Trajectory([0.0, 0.1, 0.2], [0.0, 2.0, 0.0], {"a_g": "m/s2"})
    couplings = {"frame.force": ["-spring.f"]}
    return HybridModel(
        "split",
        [spring(), OdeSubstructure(frame, direct=[])],
        dt=1e-3,
        couplings=couplings,
        excitations=ground,
        duration=0.3,
    )


def test_inputs_and_parameters_of_a_substructure_are_sampled_alike(tmp_path: Path) -> None:
    space = ParameterSpace({"x": Uniform(0, 1, unit="m"), "k": Uniform(100, 300, unit="N/m")})
    subject = SimulationModel(spring(), dt=0.1, duration=0.5, u={"v": 2.0})
    data = run_design(subject, lhs(space, 9, seed=0), store=tmp_path / "last", workers=1)
    np.testing.assert_allclose(data["f"], data["k"] * data["x"] + 2.0, rtol=1e-14)
    assert data.outputs[0].unit == "N"
    whole = SimulationModel(spring(), dt=0.1, duration=0.5, u={"v": np.arange(6.0)}, result="run")
    run_design(whole, lhs(space, 2, seed=0), store=tmp_path / "run", workers=1)
    run = Store(tmp_path / "run").trajectory(0)
    np.testing.assert_allclose(run["f"], run["x"] * lhs(space, 2, seed=0).points[0, 1] + np.arange(6.0))


def test_whole_hybrid_simulations_with_trajectories_and_quantities(tmp_path: Path) -> None:
    space = ParameterSpace({"k": Uniform(100, 300, unit="N/m")})
    design = lhs(space, 4, seed=0)
    subject = hybrid()
    assert isinstance(subject, Evaluable)
    run_design(subject, design, store=tmp_path / "runs", workers=2)
    expected = [subject.run(parameters=p) for p in design]
    for index, run in Store(tmp_path / "runs").trajectories():
        np.testing.assert_array_equal(run.values, expected[index].values)
        assert run.ports == expected[index].ports
    peaks = QuantityModel(subject, {"x_max": ("m", lambda run: float(np.abs(run["x"]).max()))}, keep_run=True)
    data = run_design(peaks, design, store=tmp_path / "peaks", workers=2)
    np.testing.assert_array_equal(data["x_max"], [np.abs(run["x"]).max() for run in expected])
    assert data.outputs[0].unit == "m" and Store(tmp_path / "peaks").with_trajectories
    assert "x_max" in peaks.identity()["quantities"]


def test_compiled_models_travel() -> None:
    """They are pickled without addresses, by cloudpickle as dask does it, and compiled again."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="comes with the 'dask' extra")
    there = cloudpickle.loads(cloudpickle.dumps(hybrid()))
    assert there.identity() == hybrid().identity()
    np.testing.assert_array_equal(there.run().values, hybrid().run().values)


def test_a_changed_substructure_is_noticed_on_resume(tmp_path: Path) -> None:
    design = lhs(ParameterSpace({"x": Uniform(0, 1), "v": Uniform(0, 1)}), 2, seed=0)
    run_design(SimulationModel(spring(), dt=0.1, duration=0.5), design, store=tmp_path / "s", workers=1)
    changed = SimulationModel(spring().with_parameters({"k": 201.0}), dt=0.1, duration=0.5)
    with pytest.raises(ConfigError, match="Model 'substructure' of store"):
        run_design(changed, design, store=tmp_path / "s", workers=1)


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="result of SimulationModel must be 'last' or 'run', got 'mean'"):
        SimulationModel(spring(), dt=0.1, duration=1.0, result="mean")
    with pytest.raises(ConfigError, match=r"needs a positive dt and a duration of at least dt, got 0.1 s and 0 s"):
        SimulationModel(spring(), dt=0.1, duration=0.0)
    with pytest.raises(ConfigError, match=r"Input 'v' of SimulationModel must be a number or have 11 rows .* \(3,\)"):
        SimulationModel(spring(), dt=0.1, duration=1.0, u={"v": [1, 2, 3]})
    with pytest.raises(ConfigError, match=r"(?s)has 2 problems.*Parameter 'm' of the design must be an input or a "
                       r"parameter of substructure 'spring' \(k, v, x\).*Input 'v' of .* has no value; sample"):  # fmt: skip
        SimulationModel(spring(), dt=0.1, duration=1.0).check_parameters(["x", "m"])
    with pytest.raises(ConfigError, match="f must return a Trajectory to take quantities from, got dict"):
        QuantityModel(FunctionModel(lambda a: {"b": a}, name="f"), {"c": ("", len)}).evaluate({"a": 1.0})
    whole = SimulationModel(spring(), dt=0.1, duration=1.0, u={"v": 0.0, "x": 0.0}, result="run")
    with pytest.raises(ConfigError, match="Parameter 'm' of the design must be an input or a parameter"):
        QuantityModel(whole, {"f_max": ("N", lambda run: run["f"].max())}).check_parameters(["m"])
    with pytest.raises(ConfigError, match="a substructure becomes such a model by SimulationModel"):
        run_design(spring(), lhs(ParameterSpace({"x": Uniform(0, 1)}), 2, seed=0), store=tmp_path / "s")  # type: ignore[arg-type]
