from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import qmc

from mor import Normal, ParameterSpace, Uniform, extend, full_factorial, halton, lhs, random_design, sobol
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Uniform(0, 1), "b": Normal(0, 1), "c": Uniform(10, 20)})
FLAT = ParameterSpace({name: Uniform(0, 1) for name in "abcd"})


def test_a_design_is_points_of_its_space() -> None:
    design = lhs(SPACE, 8, seed=1)
    np.testing.assert_allclose(design.points, SPACE.from_unit(design.unit))
    assert len(design) == 8
    assert design.made == {"method": "lhs", "seed": 1, "criterion": None}
    assert design.parameters(2) == dict(zip("abc", design.points[2], strict=True)) == list(design)[2]
    with pytest.raises(ValueError, match="read-only"):
        design.points[0, 0] = 0.0


@pytest.mark.parametrize("make", [lhs, random_design, lambda s, n, seed: sobol(s, n, seed=seed, scramble=True)])
def test_the_seed_decides(make) -> None:
    np.testing.assert_array_equal(make(SPACE, 9, seed=5).points, make(SPACE, 9, seed=5).points)
    assert not np.array_equal(make(SPACE, 9, seed=5).points, make(SPACE, 9, seed=6).points)


def test_stored_points_are_the_same_on_every_machine() -> None:
    """Renew only on purpose: these are the points that published studies were run with."""
    flat = ParameterSpace({"a": Uniform(0, 1), "b": Uniform(0, 1)})
    plain = lhs(flat, 4, seed=0).unit
    spread = lhs(flat, 5, seed=0, criterion="maximin").unit
    scrambled = sobol(flat, 3, seed=0, scramble=True).unit
    np.testing.assert_allclose(plain, STORED["plain"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(spread, STORED["maximin"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(scrambled, STORED["scrambled"], rtol=0, atol=1e-12)


STORED: dict[str, list[list[float]]] = {
    "plain": [
        [0.70331755980007, 0.97818889431943],
        [0.15165894394179, 0.682374140246],
        [0.38590624786636, 0.48376810594694],
        [0.95396338853038, 0.00068462504254],
    ],
    "maximin": [
        [0.55513823762037, 0.86177147254385],
        [0.85396735710016, 0.17262404083786],
        [0.77626143454754, 0.50214130110873],
        [0.06885914619247, 0.79898346963218],
        [0.26318870907354, 0.23654247578531],
    ],
    "scrambled": [
        [0.40994958858937, 0.9641202185303],
        [0.72191165946424, 0.10752477683127],
        [0.90486640669405, 0.5285515235737],
    ],
}


def test_maximin_is_a_latin_hypercube_with_larger_distances() -> None:
    plain = [pdist(lhs(FLAT, 40, seed=s).unit).min() for s in range(20)]
    spread = [lhs(FLAT, 40, seed=s, criterion="maximin").unit for s in range(5)]
    for unit in spread:
        np.testing.assert_array_equal(np.sort(np.floor(unit * 40), axis=0), np.tile(np.arange(40)[:, None], 4))
    assert min(pdist(unit).min() for unit in spread) > max(plain)


def test_sobol_is_the_known_sequence() -> None:
    flat = ParameterSpace({"a": Uniform(0, 1), "b": Uniform(0, 1)})
    expected = [[0, 0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375], [0.875, 0.875]]
    np.testing.assert_array_equal(sobol(flat, 6, skip=0).unit, expected)
    np.testing.assert_array_equal(sobol(flat, 2, skip=4).unit, expected[4:])
    assert sobol(flat, 12).made["skip"] == 16
    np.testing.assert_array_equal(halton(flat, 3).unit[:, 0], [0.5, 0.25, 0.75])
    np.testing.assert_allclose(halton(flat, 3).unit[:, 1], [1 / 3, 2 / 3, 1 / 9])


@pytest.mark.parametrize("make", [sobol, halton])
def test_sequences_fill_space_better_than_random(make) -> None:
    random = np.median([qmc.discrepancy(random_design(FLAT, 128, seed=s).unit) for s in range(15)])
    assert qmc.discrepancy(make(FLAT, 128).unit) < 0.5 * random
    assert qmc.discrepancy(make(FLAT, 128, seed=1, scramble=True).unit) < 0.5 * random


def test_full_factorial() -> None:
    design = full_factorial(SPACE, {"a": 2, "b": 1, "c": 3})
    assert len(design) == 6
    np.testing.assert_allclose(design.points[:3, 2], [10 + 10 / 6, 15, 20 - 10 / 6])
    np.testing.assert_allclose(design.points[:, 0], [0.25] * 3 + [0.75] * 3)
    assert len(full_factorial(SPACE, 2)) == 8 and len(full_factorial(SPACE, [1, 2, 3])) == 6


def test_extension_keeps_the_old_points_and_goes_on() -> None:
    for make in (lhs, random_design):
        design = make(FLAT, 12, seed=1)
        longer = extend(design, 7, seed=2)
        np.testing.assert_array_equal(longer.points[:12], design.points)
        assert len(longer) == 19 and longer.made["extended"] == [{"by": 7, "seed": 2}]
        assert len(np.unique(longer.unit, axis=0)) == 19
    start = sobol(FLAT, 10, skip=16)
    np.testing.assert_array_equal(extend(extend(start, 3, seed=0), 3, seed=0).unit, sobol(FLAT, 16, skip=16).unit)
    scrambled = sobol(FLAT, 8, seed=3, scramble=True)
    np.testing.assert_array_equal(extend(scrambled, 8, seed=0).unit, sobol(FLAT, 16, seed=3, scramble=True).unit)


def test_extension_of_a_latin_hypercube_fills_empty_slices_and_keeps_its_distance() -> None:
    design = lhs(FLAT, 20, seed=1)
    doubled = extend(design, 20, seed=2).unit
    np.testing.assert_array_equal(np.sort(np.floor(doubled * 40), axis=0), np.tile(np.arange(40)[:, None], 4))
    some = extend(design, 7, seed=2).unit
    for column in np.floor(some * 27).T:
        assert len(set(column[20:])) == 7 and not set(column[20:]) & set(column[:20])
    naive = [pdist(np.vstack([design.unit, lhs(FLAT, 20, seed=s).unit])).min() for s in range(3, 23)]
    assert pdist(doubled).min() > np.median(naive)


def test_messages() -> None:
    with pytest.raises(ConfigError, match="n of lhs must be a whole number of at least 1, got 0"):
        lhs(SPACE, 0, seed=0)
    with pytest.raises(ConfigError, match="criterion of lhs must be None or \"maximin\", got 'x'"):
        lhs(SPACE, 3, seed=0, criterion="x")
    with pytest.raises(ConfigError, match="seed of lhs must be a whole number of at least 0, got None"):
        lhs(SPACE, 3, seed=None)  # type: ignore[arg-type]
    assert type(lhs(SPACE, 3, seed=np.int64(4)).made["seed"]) is int
    for make in (sobol, halton):
        with pytest.raises(ConfigError, match=f"seed of {make.__name__} must be given when scramble is on"):
            make(SPACE, 3, scramble=True)
        with pytest.raises(ConfigError, match=f"skip of {make.__name__} must be at least 0, got -1"):
            make(SPACE, 3, skip=-1)
    with pytest.raises(ConfigError, match="Points of a Design must be finite; leave out 0 and 1"):
        sobol(SPACE, 3, skip=0)
    with pytest.raises(ConfigError, match=r"levels of full_factorial must be 3 whole numbers.*got \[1, 2\]"):
        full_factorial(SPACE, [1, 2])
    with pytest.raises(ConfigError, match="levels of full_factorial must name each of a, b, c once, got a"):
        full_factorial(SPACE, {"a": 2})
