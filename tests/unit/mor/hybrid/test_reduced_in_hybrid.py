"""A reduced brake takes the place of the full-order one: as fitted, and as exported into a bundle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import write
from mor import BundleSubstructure, HybridModel, Port, ReducedSubstructure, Trajectory
from mor.models.motorcycle import hybrid
from rt_runtime import load_bundle
from rt_runtime.errors import ConfigError
from tests.reference.exported_models import network_with_memory
from tests.reference.linear_model import Linear


@pytest.fixture(scope="module")
def fitted() -> Linear:
    """Torque in proportion to the speed: crude, but it has the ports of the rear brake."""
    ports = (Port("F_br", "N"), Port("w_rw", "rpm"))
    domain = np.array([0.0, 0.0]), np.array([50.0, 470.0])
    return Linear(ports, (Port("tau_rw", "Nm"),), domain, np.zeros(1), np.array([[0.0, 0.1]]))


def test_the_fitted_model_takes_the_place_of_the_brake(fitted: Linear) -> None:
    model = hybrid().swap("rear_brake", ReducedSubstructure("any_name", fitted))
    assert model.order == hybrid().order and model.delays == ()
    driven = model.with_excitations(Trajectory([0.0, 0.5], [[0.0, 0.0], [0.5, 0.0]], {"thr": "", "F_br": "N"}))
    result = driven.run(2.5, record=["w_rw", "tau_rw"])
    assert result["w_rw"].max() > 20
    np.testing.assert_allclose(result["tau_rw"], 0.1 * result["w_rw"])


def test_the_bundle_gives_the_same_history_in_the_core(tmp_path: Path) -> None:
    """A network with memory, alone: exported and run in the core it follows its own free run."""
    network = network_with_memory()
    write(network, tmp_path / "bundle", name="brake")
    part = BundleSubstructure("reduced", load_bundle(tmp_path / "bundle"), "brake")
    u = np.random.default_rng(3).uniform(*network.domain, (200, len(network.inputs)))
    result = part.simulate(u, dt=network.dt)
    found = np.column_stack([result[p.name] for p in network.outputs])
    np.testing.assert_allclose(found, network.rollout(u), rtol=1e-9, atol=1e-12)
    assert part.real_time and part.block(dt=network.dt).real_time
    assert part.identity()["code"] == BundleSubstructure("reduced", load_bundle(tmp_path / "bundle")).identity()["code"]
    with pytest.raises(ConfigError, match="dt of substructure 'reduced' must be that of its model"):
        part.block(dt=2 * network.dt)


def test_a_folder_in_place_of_a_bundle_is_one_sentence() -> None:
    with pytest.raises(
        ConfigError, match=r"bundle of substructure 'n' must be a loaded bundle, got 'folder'; write .*load_bundle"
    ):
        BundleSubstructure("n", "folder")


@pytest.mark.parametrize("kind", ["fitted", "bundle"])
def test_a_model_with_a_longer_step_runs_in_every_nth_tick_and_is_held_in_between(kind: str, tmp_path: Path) -> None:
    network, n = network_with_memory(), 4
    part: ReducedSubstructure | BundleSubstructure = ReducedSubstructure("brake", network)
    if kind == "bundle":
        write(network, tmp_path / "bundle", name="brake")
        part = BundleSubstructure("brake", load_bundle(tmp_path / "bundle"))
    time = np.linspace(0.0, 0.2, 41)
    u = np.random.default_rng(4).uniform(*network.domain, (41, 2))
    ride = Trajectory(time, u, network.inputs)
    model = HybridModel("held", [part], dt=network.dt / n, excitations=ride, duration=0.2)
    result = model.run()
    seen = np.column_stack([result[p.name] for p in network.inputs])
    held = np.repeat(network.rollout(seen[::n]), n, axis=0)[: len(seen)]
    assert np.ptp(held) > 1.0
    np.testing.assert_allclose(result["tau_rw"], held[:, 0], rtol=1e-9)
    assert "runs in every 4 ticks, its outputs are held in between" in model.describe()


def test_a_step_that_is_no_multiple_of_the_tick_is_refused() -> None:
    network = network_with_memory()
    part = ReducedSubstructure("brake", network)
    assert part.ticks(network.dt) == 1 and part.ticks(network.dt / 10) == 10
    for dt in (0.3e-3, 2e-3):
        with pytest.raises(ConfigError, match=r"must be that of its model, 0.001 s, or a whole fraction of it, got"):
            part.ticks(dt)
