"""The viaduct: deck, stored campaign and responses, and the bridge made of parts against the bridge as one model."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from hmor.studies.viaduct import bridge
from hmor.studies.viaduct.accuracy import (
    CORRELATION,
    HIDDEN,
    ITERATIONS,
    ROWS,
    SWING,
    in_the_bridge,
    under_its_deck,
    worst,
)
from hmor.studies.viaduct.bridge import HEIGHTS, RATE, SPECIMEN, deck, deck_matrices, viaduct
from hmor.studies.viaduct.hybrid import hybrid, places, stored_hybrid
from hmor.studies.viaduct.piers import SETS, design, pier_model, pier_name, sets
from hmor.studies.viaduct.records import RECORDS, RESPONSES, stored_one_pier, stored_response
from mor import StaticSubstructure, nrmse
from mor.sources import opensees_installed
from rt_runtime.errors import ConfigError

needs_opensees = pytest.mark.skipif(
    not opensees_installed(), reason="openseespy is not installed; install the 'opensees' extra"
)


def test_the_deck_alone_is_a_beam_on_two_supports() -> None:
    M, K = deck_matrices()
    w = np.sqrt(np.linalg.eigvalsh(np.linalg.solve(M, K)).min())
    assert w == pytest.approx(np.pi**2 / 320.0**2 * np.sqrt(30e9 * 40.0 / 12e3), rel=1e-3)
    np.testing.assert_allclose(K, K[::-1, ::-1], rtol=1e-9, atol=1e-3)


@pytest.mark.parametrize("specimen", [True, False])
def test_under_the_stored_forces_the_deck_moves_as_in_opensees(specimen: bool) -> None:
    """Deck, Rayleigh damping of the piers and the hold of half a tick are exact: what is left is dt^2 of 256 Hz."""
    full, _ = stored_response("el_centro", 1.3, specimen=specimen)
    dt = 4 / RATE
    ag = np.interp(full.time + 0.5 * dt, full.time, full["ag"])
    forces = {f"F{i}": full[f"F{i}"] if f"F{i}" in full.names else 0.0 for i in range(1, 8)}
    run = deck(specimen=specimen, hold=0.5 * dt).simulate({"ag": ag, **forces}, dt=dt)
    for i in range(1, 8):
        assert nrmse(run[f"x{i}"], full[f"x{i}"]) < 0.003


def test_every_stored_response_is_there_and_symmetric() -> None:
    for name, scale, specimen in RESPONSES:
        full, seconds = stored_response(name, scale, specimen=specimen)
        assert seconds > 5 * full.time[-1]  # far slower than real time
        assert 0.02 < np.abs(full["x4"]).max() < 0.5
        np.testing.assert_allclose(full["x1"], full["x7"], atol=1e-6)
    for name in RECORDS:
        assert 0.03 < np.abs(stored_one_pier(name)[0]["x1"]).max() < 0.2
    with pytest.raises(ConfigError, match="is not there"):
        stored_response("el_centro", 2.0)


@pytest.mark.parametrize("height", sorted(set(HEIGHTS)))
def test_the_stored_campaign_gives_its_samples_and_no_others(height: float) -> None:
    model, drawn = pier_model(height), design(height)
    found = model.evaluate(drawn.parameters(3))
    run = found["run"]
    assert run.names == ("x", "v", "F") and np.isfinite(run.values).all()
    assert np.abs(run["x"]).max() == pytest.approx(drawn.parameters(3)["amplitude"])
    assert 1e5 < np.abs(run["F"]).max() < 2e6 and found["fallbacks"] >= 0
    count = sum(SETS[which][0] for which in sets(height))
    with pytest.raises(ConfigError, match=f"must be one of the {count} stored ones"):
        model.evaluate(drawn.parameters(3) | {"amplitude": 0.5 * drawn.parameters(3)["amplitude"]})


def test_errors_in_the_bridge_are_those_of_its_piers() -> None:
    """A linear spring in the place of each pier is far off; the worst of the others and the specimen are told apart."""

    def force(u, p, y):  # type: ignore[no-untyped-def]
        y[0] = 2e7 * u[0]

    spring = StaticSubstructure("pier", force, inputs={"x": "m"}, outputs={"F": "N"})
    found = in_the_bridge({pier_name(h): spring for h in HEIGHTS}, "pulse", 0.7)
    said = worst(found)
    assert said["specimen"] == found["x4"][0] > 0.05 and said["others"] == max(
        pair[0] for name, pair in found.items() if name != "x4"
    )
    assert under_its_deck(spring, "pulse")[0] > 0.05


def test_the_study_fits_as_its_accuracy_is_judged() -> None:
    study = tomllib.loads((Path(bridge.__file__).parent / "viaduct.toml").read_text())
    for height in sorted(set(HEIGHTS)):
        model = study["parts"][pier_name(height)]["models"]["ffnn"]
        memory = model["memory"]
        assert (tuple(model["hidden"]), memory["rows"], model["iterations"]) == (HIDDEN, ROWS, ITERATIONS)
        assert memory["mirrored"] and (memory["correlation"], memory["swing"]) == (CORRELATION, SWING)
        n, seed = SETS["train"]
        assert study["parts"][pier_name(height)]["design"] == {"method": "lhs", "n": n, "seed": seed}
        assert memory["spec"].endswith(f"memory_spec({height})")


@needs_opensees
def test_a_stored_sample_is_what_opensees_gives() -> None:
    drawn = design(7.0, "valid").parameters(2)
    stored = pier_model(7.0).evaluate(drawn)["run"]
    fresh = pier_model(7.0, stored=False)
    anew = fresh.part.simulate({"x": stored["x"][:60]}, dt=1 / 128)
    np.testing.assert_allclose(anew["F"], stored["F"][:60], rtol=1e-4, atol=200.0)


@needs_opensees
def test_the_bridge_of_parts_moves_as_the_bridge_in_one_model() -> None:
    """120 ticks of the pulse: seven piers in OpenSees under our deck, and all of it in OpenSees, as stored."""
    whole = stored_hybrid("pulse", 1.3).run()
    parts = hybrid("pulse", 1.3)
    run = parts.run(120 / RATE, every=1)
    assert set(places()) | {"deck"} == set(parts.substructures) and parts.delays == ()
    n = 30
    assert np.abs(run["x4"]).max() > 1e-4
    np.testing.assert_allclose(run["x4"][: 4 * n : 4], whole["x4"][:n], atol=2e-3 * np.abs(whole["x4"][:n]).max())
    again = viaduct().simulate({"ag": 1.3 * np.zeros(3), "F": 1e5}, dt=1 / RATE)
    assert again[f"x{SPECIMEN + 1}"][-1] > 0 and pier_name(HEIGHTS[SPECIMEN]) == "pier_14"
