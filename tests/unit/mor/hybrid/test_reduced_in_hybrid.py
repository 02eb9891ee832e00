"""A reduced brake takes the place of the full-order one: as fitted, and as exported into a bundle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import write
from mor import BundleSubstructure, Port, ReducedSubstructure, Trajectory
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
