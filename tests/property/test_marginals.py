"""What holds for every law, whatever its mean and standard deviation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mor.marginals import LAWS, Marginal, TruncatedNormal, marginal_from
from mor.marginals.recurrence import evaluate

MEAN = st.floats(0.1, 1e4)
CV = st.floats(0.02, 0.3)


def law_of(name: str, mean: float, cv: float) -> Marginal:
    bounds = {"lower": mean * (1 - 3 * cv), "upper": mean * (1 + 3.5 * cv)}
    bounded = name in ("beta", "truncated_normal")
    return marginal_from({"law": name, "mean": mean, "std": cv * mean, **(bounds if bounded else {})})


@pytest.mark.parametrize("name", [name for name in LAWS if name != "tabulated"])  # it has no two-parameter form
@given(mean=MEAN, cv=CV)
def test_moments_quantiles_and_polynomials_agree(name: str, mean: float, cv: float) -> None:
    law = law_of(name, mean, cv)
    assert law.mean == pytest.approx(mean, rel=1e-8)
    assert law.std == pytest.approx(cv * mean, rel=1e-7)
    q = np.linspace(0.001, 0.999, 41)
    x = law.ppf(q)
    assert (np.diff(x) > 0).all() and (law.pdf(x) >= 0).all()
    np.testing.assert_allclose(law.cdf(x), q, atol=1e-9)
    alpha, beta = law.recurrence(3)
    assert float(law.from_standard(alpha[0])) == pytest.approx(mean, rel=1e-8)
    scale = float(law.from_standard(1.0) - law.from_standard(0.0))
    assert scale * math.sqrt(beta[1]) == pytest.approx(cv * mean, rel=1e-7)
    np.testing.assert_allclose(evaluate(law.to_standard(x), alpha, beta)[:, 1], (x - mean) / (cv * mean), atol=1e-6)
    assert marginal_from(law.to_dict()) == law


@given(low=st.floats(-20, 20), width=st.floats(0.1, 30))
def test_a_cut_normal_law_stays_between_its_bounds(low: float, width: float) -> None:
    law = TruncatedNormal(0.0, 1.0, low, low + width)
    x = law.ppf(np.linspace(0, 1, 21))
    assert (np.diff(x) >= 0).all() and x[0] == low and x[-1] == low + width
    assert low < law.mean < low + width and 0 < law.std < 1.0 + 1e-9
    assert law.mean == pytest.approx(float(np.mean(law.ppf((np.arange(20000) + 0.5) / 20000))), abs=1e-3)
