"""Reduced linear structures tell their error; they go to the loop and to every export."""

from __future__ import annotations

import numpy as np
import pytest

from mor.dynamics.projection import Balanced, CraigBampton, FreeInterface, Modes
from mor.dynamics.reduced_structure import Reduced, full_response, reduced, small_response
from mor.dynamics.transfer import StateSpaceMatrices
from mor.models.multi_axial.curved_bridge import bridge_deck, interface_freedoms
from mor.sources import FiniteElementSubstructure
from mor.substructures.exported import linear_model
from rt_runtime.errors import ConfigError

BAND = (0.0, 20.0)


@pytest.fixture(scope="module")
def deck() -> FiniteElementSubstructure:
    return bridge_deck(ratio=0.02)


def history(n: int = 4000) -> np.ndarray:
    """Ground motion in two directions and forces at the interfaces: a sweep to 4 Hz and sines that grow and fade."""
    t = np.arange(n) * 1e-3
    window = np.sin(np.pi * t / t[-1]) ** 2
    u = np.zeros((n, 12))
    u[:, 0] = 1.5 * window * np.sin(2 * np.pi * (0.5 + 0.45 * t) * t)
    u[:, 1] = 0.5 * u[:, 0]
    u[:, 2:] = 50 * window[:, None] * np.sin(2 * np.pi * np.outer(t, 0.3 + 0.2 * np.arange(10)))
    return u


def test_a_projection_that_keeps_everything_is_exact(deck: FiniteElementSubstructure) -> None:
    whole = deck.judged(Modes(deck.structure.n), band=BAND)
    assert whole.error < 1e-8
    f = 1.7
    dynamic = deck.structure.K + 2j * np.pi * f * deck.structure.C - (2 * np.pi * f) ** 2 * deck.structure.M
    direct = deck.structure.X @ np.linalg.solve(dynamic.toarray(), deck.structure.F)
    assert np.allclose(full_response(deck.structure, f), direct)
    assert np.allclose(small_response(whole.system, [f])[0], direct)


def test_26_coordinates_with_residual_attachment_are_within_a_thousandth(deck: FiniteElementSubstructure) -> None:
    kept = interface_freedoms(deck)
    free = deck.judged(FreeInterface(kept, 16), band=BAND)
    assert free.states == 52 and free.T is not None and free.T.shape[1] == 26
    assert free.history_error(history(), 1e-3).max() < 1e-3
    fixed = deck.judged(CraigBampton(kept, 16), band=BAND)
    assert free.history_error(history(), 1e-3).max() < 0.2 * fixed.history_error(history(), 1e-3).max()


def test_a_reduction_to_an_error_keeps_it(deck: FiniteElementSubstructure) -> None:
    small = reduced(deck.structure, band=BAND, error=1e-3)
    assert small.error <= 1e-3 and small.states < 2 * deck.structure.n
    fewer = reduced(deck.structure, band=BAND, error=1e-3, balanced=True)
    assert fewer.error <= 1.2e-3 and fewer.states < small.states
    assert len(deck.reduced_to(1e-2, BAND).matrices()[0]) <= small.states


def test_a_reduced_part_is_a_reduced_model_with_the_same_numbers(deck: FiniteElementSubstructure) -> None:
    part = deck.small(deck.judged(FreeInterface(interface_freedoms(deck), 6), band=BAND))
    ranges = {p.name: (-3.0, 3.0) if p.name in ("ax", "az") else (-200.0, 100.0) for p in part.inputs}
    model = linear_model(part, dt=1e-3, ranges=ranges)
    u = history(1500)
    y, run = model.rollout(u), part.simulate(u, dt=1e-3)
    assert np.abs(y - np.column_stack([run[p.name] for p in part.outputs])).max() < 1e-9 * np.abs(y).max()
    assert np.all(np.abs(y) <= model.bounds[1][:10])


def test_what_cannot_be_reduced_is_said(deck: FiniteElementSubstructure) -> None:
    with pytest.raises(ConfigError, match="interface of FreeInterface must lie from 0 to 93, the freedoms"):
        deck.judged(FreeInterface((3, 400), 4), band=BAND)
    with pytest.raises(ConfigError, match="band of a reduced structure must be 0 <= low < high in Hz"):
        deck.judged(Modes(4), band=(5.0, 1.0))
    with pytest.raises(ConfigError, match="error of reduced must lie between 0 and 1, got 0"):
        reduced(deck.structure, band=BAND, error=0)
    grows = StateSpaceMatrices(
        np.array([[0.0, 1.0], [-100.0, 0.5]]), np.ones((2, 12)), np.ones((10, 2)), np.zeros((10, 12))
    )
    with pytest.raises(ConfigError, match=r"The reduction is unstable: it grows by 0.25 1/s at 1.59 Hz"):
        Reduced(deck.structure, grows, None, BAND)
    part = deck.reduced(Balanced(8, modes=10))
    with pytest.raises(ConfigError, match="ranges of linear_model must name the inputs ax, az"):
        linear_model(part, dt=1e-3, ranges={"ax": (-1, 1)})
    with pytest.raises(ConfigError, match="must come to rest within 100 steps"):
        linear_model(part, dt=1e-3, ranges={p.name: (-1, 1) for p in part.inputs}, longest=0.1)
