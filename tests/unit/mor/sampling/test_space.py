from __future__ import annotations

import numpy as np
import pytest

from mor import Gamma, Normal, ParameterSpace, Uniform
from rt_runtime.errors import ConfigError


@pytest.fixture
def space() -> ParameterSpace:
    return ParameterSpace({"K": Normal(5.0, 2.0, unit="N/m"), "c": Uniform(1.0, 3.0, unit="Ns/m"), "m": Gamma(4, 0.5)})


def test_behaves_like_a_mapping_in_order(space: ParameterSpace) -> None:
    assert space.names == tuple(space) == ("K", "c", "m")
    assert space.units == ("N/m", "Ns/m", "")
    assert space.dimension == len(space) == 3
    assert space["c"].mean == 2.0
    assert [port.unit for port in space.ports] == ["N/m", "Ns/m", ""]
    np.testing.assert_allclose(space.mean, [5, 2, 2])
    with pytest.raises(KeyError, match="has no parameter 'x'; it has K, c, m"):
        space["x"]


def test_unit_cube_and_back(space: ParameterSpace) -> None:
    U = np.random.default_rng(0).random((50, 3))
    X = space.from_unit(U)
    np.testing.assert_allclose(space.to_unit(X), U, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(X[:, 1], 1 + 2 * U[:, 1])
    np.testing.assert_allclose(space.to_standard(X)[:, 0], (X[:, 0] - 5) / 2)


def test_samples_follow_the_marginals_and_the_seed(space: ParameterSpace) -> None:
    X = space.sample(20000, seed=3)
    np.testing.assert_array_equal(X, space.sample(20000, seed=3))
    assert not np.array_equal(X, space.sample(20000, seed=4))
    standard_error = np.array([m.std for m in space.marginals]) / np.sqrt(20000)
    assert (np.abs(X.mean(axis=0) - space.mean) < 4 * standard_error).all()
    correlation = np.corrcoef(X.T) - np.eye(3)
    assert np.abs(correlation).max() < 0.03


def test_summary_and_plain_values(space: ParameterSpace) -> None:
    lines = space.summary().splitlines()
    assert lines[0].split() == ["name", "law", "mean", "std", "lower", "upper", "unit"]
    assert lines[2].split() == ["c", "uniform", "2", "0.57735", "1", "3", "Ns/m"]
    assert ParameterSpace.from_dict(space.to_dict()).marginals == space.marginals


def test_messages(space: ParameterSpace) -> None:
    with pytest.raises(ConfigError, match="needs at least one parameter"):
        ParameterSpace({})
    with pytest.raises(ConfigError, match="Parameter 'K' of ParameterSpace must be a marginal, got 3"):
        ParameterSpace({"K": 3})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="Name of a parameter of ParameterSpace must be letters"):
        ParameterSpace({"1K": Uniform(0, 1)})
    with pytest.raises(ConfigError, match=r"U of from_unit must have 3 columns \(K, c, m\), got shape \(2,\)"):
        space.from_unit(np.zeros(2))
    with pytest.raises(ConfigError, match=r"(?s)ParameterSpace has 2 problems.*1\. law of parameter 'a'.*2\. Law"):
        ParameterSpace.from_dict({"a": {"law": "x"}, "b": {"law": "normal"}})
