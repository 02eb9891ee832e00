"""Krylov spaces, and the reductions through pyMOR: what they meet, against our own, and without the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mor.dynamics import pymor_reduction
from mor.dynamics.krylov import Krylov
from mor.dynamics.projection import Balanced, Balancing, Modes, SparseStructure, comparable, modal_basis, state_space
from mor.dynamics.pymor_reduction import Irka, PymorBalanced
from mor.dynamics.reduced_structure import full_response, small_response
from mor.dynamics.transfer import StateSpaceMatrices
from mor.models.multi_axial.curved_bridge import bridge_deck
from mor.models.slab import slab_part
from mor.sources import FiniteElementSubstructure
from rt_runtime.errors import ConfigError, MissingExtra

BAND = (0.0, 20.0)
WIDE = Modes(30)


@pytest.fixture(scope="module")
def deck() -> FiniteElementSubstructure:
    return bridge_deck(ratio=0.02)


def h2_norm(system: StateSpaceMatrices) -> float:
    """Sum of all squared gains over frequency, on a grid fine enough for 2 % damping."""
    f = np.concatenate([np.linspace(0.0, 30.0, 6000), np.geomspace(30.0, 3000.0, 2000)])
    H = np.abs(small_response(system, f)) ** 2
    return float(np.sqrt(np.trapezoid(H.sum(axis=(1, 2)), f)))


def test_krylov_meets_response_and_slope_at_its_frequencies(deck: FiniteElementSubstructure) -> None:
    chosen = (0.0, 1.3, 6.0, 15.0)
    small = deck.judged(Krylov(chosen), band=BAND)
    assert small.T is not None and small.states == 2 * small.T.shape[1] < 2 * deck.structure.n
    for f in chosen:
        exact = full_response(deck.structure, f)
        assert np.abs(small_response(small.system, [f])[0] - exact).max() < 1e-7 * np.abs(exact).max()
    h = 1e-3  # Hermite: the slope over frequency, too
    slopes = [(respond(1.3 + h) - respond(1.3 - h)) / (2 * h) for respond in (
        lambda f: full_response(deck.structure, f), lambda f: small_response(small.system, [f])[0],
    )]  # fmt: skip
    assert np.abs(slopes[1] - slopes[0]).max() < 1e-5 * np.abs(slopes[0]).max()
    assert small.error < 1e-3


def test_krylov_reads_accelerations() -> None:
    part = slab_part(cells=6)
    small = part.judged(Krylov([0.0, 20.0, 60.0]), band=(0.0, 60.0))
    exact = full_response(part.structure, 60.0)
    assert np.abs(small_response(small.system, [60.0])[0] - exact).max() < 1e-7 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("frequencies", "sentence"),
    [
        ([], "must differ and not be negative"),
        ([1.0, 1.0], "must differ"),
        ([-1.0], "must not be negative|not be negative"),
    ],
)
def test_frequencies_of_krylov_are_checked(frequencies: list[float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Krylov(frequencies)


def test_krylov_at_a_singular_frequency_is_said() -> None:
    """Nothing holds a free mass: it has no static answer."""
    free = SparseStructure(*(csr_matrix([[v]]) for v in (1.0, 0.0, 0.0)), np.ones((1, 1)),
                           *(csr_matrix([[v]]) for v in (1.0, 0.0, 0.0)))  # fmt: skip
    with pytest.raises(ConfigError, match=r"frequencies of Krylov must not be resonances .*, got 0 Hz"):
        Krylov([0.0]).reduce(free)


def test_balanced_truncation_is_that_of_our_own(deck: FiniteElementSubstructure) -> None:
    """Two codes, one mathematics: the truncated model without our direct term has the same responses."""
    pytest.importorskip("pymor", reason="needs the 'pymor' extra")
    theirs = deck.judged(PymorBalanced(30, start=WIDE), band=BAND).system
    ours = Balancing(state_space(deck.structure, modal_basis(deck.structure, WIDE))).truncated(30)
    f = np.linspace(0.1, 20.0, 50)
    H = small_response(ours, f) - ours.D
    assert np.abs(small_response(theirs, f) - H).max() < 1e-6 * np.abs(H).max()


def test_irka_is_better_than_balancing_in_the_norm_it_minimises(deck: FiniteElementSubstructure) -> None:
    pytest.importorskip("pymor", reason="needs the 'pymor' extra")
    wide = state_space(deck.structure, modal_basis(deck.structure, WIDE))
    _, _, _, per_input, per_output = comparable(wide)

    def miss(small: StateSpaceMatrices) -> float:
        A = np.block(
            [[wide.A, np.zeros((len(wide.A), len(small.A)))], [np.zeros((len(small.A), len(wide.A))), small.A]]
        )
        C = np.hstack([wide.C, -small.C]) * per_output[:, None]
        return h2_norm(StateSpaceMatrices(A, np.vstack([wide.B, small.B]) * per_input, C, np.zeros_like(wide.D)))

    irka = deck.judged(Irka(20, start=WIDE), band=BAND)
    assert irka.states == 20 and irka.T is None
    assert miss(irka.system) < miss(deck.judged(PymorBalanced(20, start=WIDE), band=BAND).system)


def test_irka_from_a_krylov_space_reads_accelerations() -> None:
    pytest.importorskip("pymor", reason="needs the 'pymor' extra")
    part = slab_part(cells=6)
    small = part.judged(Irka(12, start=Krylov([0.0, 10.0, 40.0])), band=(0.0, 20.0))
    assert small.error < 0.02
    assert small.history_error(np.random.default_rng(0).normal(size=(300, 2)), 1e-3).max() < 0.02


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Irka(7), "states of Irka must be even, as poles come in pairs, got 7"),
        (lambda: Irka(0), "states of Irka must be"),
        (lambda: PymorBalanced(0), "states of PymorBalanced must be"),
    ],
)
def test_numbers_of_states_are_checked(make: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()


@pytest.mark.parametrize("kind", [Irka, PymorBalanced])
def test_what_pymor_cannot_reduce_is_said(deck: FiniteElementSubstructure, kind: Any) -> None:
    pytest.importorskip("pymor", reason="needs the 'pymor' extra")
    with pytest.raises(ConfigError, match=rf"states of {kind.__name__} must be below \d+, those of its start, got 90"):
        deck.judged(kind(90, start=Modes(10)), band=BAND)
    with pytest.raises(ConfigError, match=f"{kind.__name__} needs a damped structure"):
        bridge_deck(ratio=0.0).judged(kind(8, start=Modes(10)), band=BAND)


@pytest.mark.parametrize("reduction", [Irka(8), PymorBalanced(8)])
def test_a_missing_package_is_named(
    deck: FiniteElementSubstructure, monkeypatch: pytest.MonkeyPatch, reduction: Irka | PymorBalanced
) -> None:
    monkeypatch.setattr(pymor_reduction, "find_spec", lambda name: None)
    name = type(reduction).__name__
    with pytest.raises(MissingExtra, match=f"{name} needs pyMOR, which is not installed; install the 'pymor' extra"):
        deck.judged(reduction, band=BAND)
    assert deck.judged(Balanced(8), band=BAND).states == 8  # needs nothing
