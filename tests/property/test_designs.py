"""Stratification of Latin hypercubes and nets of Sobol' sequences hold for every size and seed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from mor import ParameterSpace, Uniform, extend, lhs, random_design, sobol


def flat(d: int) -> ParameterSpace:
    return ParameterSpace({f"x{i}": Uniform(0, 1) for i in range(d)})


@given(n=st.integers(1, 40), d=st.integers(1, 6), seed=st.integers(0, 2**31), spread=st.booleans())
def test_every_slice_of_a_latin_hypercube_holds_one_point(n: int, d: int, seed: int, spread: bool) -> None:
    unit = lhs(flat(d), n, seed=seed, criterion="maximin" if spread else None).unit
    assert ((unit > 0) & (unit < 1)).all()
    np.testing.assert_array_equal(np.sort(np.floor(unit * n), axis=0), np.tile(np.arange(n)[:, None], d))


@given(n=st.integers(1, 15), factor=st.integers(1, 3), d=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_a_latin_hypercube_multiplied_is_one_again(n: int, factor: int, d: int, seed: int) -> None:
    unit = extend(lhs(flat(d), n, seed=seed), factor * n, seed=seed + 1).unit
    total = len(unit)
    np.testing.assert_array_equal(np.sort(np.floor(unit * total), axis=0), np.tile(np.arange(total)[:, None], d))


@given(m=st.integers(0, 9), d=st.integers(1, 8), seed=st.integers(0, 2**31), scramble=st.booleans())
def test_each_axis_of_a_sobol_net_is_stratified(m: int, d: int, seed: int, scramble: bool) -> None:
    """2^m points, from a start that is a multiple of 2^m, put one point into each of 2^m slices of each axis."""
    n = 2**m
    unit = sobol(flat(d), n, seed=seed, scramble=scramble).unit
    np.testing.assert_array_equal(np.sort(np.floor(unit * n), axis=0), np.tile(np.arange(n)[:, None], d))


@given(m=st.integers(5, 9), d=st.integers(2, 6), seed=st.integers(0, 2**31), scramble=st.booleans())
def test_the_discrepancy_of_a_sobol_net_is_below_that_of_random_points(
    m: int, d: int, seed: int, scramble: bool
) -> None:
    net = qmc.discrepancy(sobol(flat(d), 2**m, seed=seed, scramble=scramble).unit)
    random = [qmc.discrepancy(random_design(flat(d), 2**m, seed=seed + i).unit) for i in range(5)]
    assert net < 0.5 * np.median(random)
