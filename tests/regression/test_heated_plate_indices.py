"""Chapter 8 on its virtual twin: the scale is constant, the temperature rules, all quantiles alike."""

from __future__ import annotations

import numpy as np
import pytest

from mor import fit_glam
from mor.stochastic import summary_indices
from tests.reference.stochastic_examples import campaign


@pytest.mark.parametrize("seed", [300, 301])
def test_temperature_rules_all_quantiles_alike(seed: int) -> None:
    data, space = campaign(seed)
    model = fit_glam(data, space)
    assert model.terms()["ln_lambda2"] == 1
    found = summary_indices(model, space, moments=False, n=2**11).first
    assert found is not None
    heat = found.value[:, space.names.index("theta_max")]
    assert np.all((heat > 0.94) & (heat < 0.98)) and np.ptp(heat) < 0.02
    assert found.value[:, :4].max() < 0.05
    assert 0.15 < float(model.std(space.mean[None, :])[0, 0]) < 0.25  # mm
