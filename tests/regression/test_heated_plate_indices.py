"""Chapter 8 on its virtual twin: the scale is constant, the temperature rules, all quantiles alike."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, HybridModel, Normal, OdeSubstructure, check_emulator, fit_glam
from mor.models import heated_strip as hs
from mor.stochastic import summary_indices
from tests.reference.stochastic_examples import campaign, repeated_plate


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


def test_a_strip_that_may_snap_is_told_at_repeated_points() -> None:
    """With an imperfection of 1 mm some runs snap to the other side: two peaks, which no lambda distribution has."""
    strip = HybridModel(
        "snapping",
        [OdeSubstructure(hs.strip(), name="strip"), OdeSubstructure(hs.frame(), name="frame", direct=())],
        dt=hs.DT,
        duration=hs.DURATION,
        latent=hs.NOISE | {"a0": Normal(1e-3, 5e-5, unit="m")},
        drift=hs.DRIFT,
    )
    data, space = campaign(301, strip=strip)
    model = fit_glam(data, space, check=False)
    X = np.array([[902.2, 146.0, 46.64, 1.797, 118.55], [608.0, 608.0, 45.0, 1.0, 115.0]])
    edge, middle = (
        check_emulator(model, Dataset(np.repeat([x], 30, axis=0), y[:, None], data.inputs, data.outputs))
        for x, y in zip(X, repeated_plate(X, 30, strip), strict=True)
    )
    assert edge.outputs[0].likelihood < 1e-4 and edge.outputs[0].repetition < 0.01  # type: ignore[operator]
    assert "several peaks" in edge.sentences()[0]
    assert middle.outputs[0].outside == 0 and middle.outputs[0].order <= 2  # at most its mean is a little off
