"""Stochastic hybrid models: latent noise on parameters, sensors and specimens, replications, drift and its removal."""

from __future__ import annotations

import numpy as np
import pytest

from mor import (
    Dataset,
    HybridModel,
    Normal,
    OdeSubstructure,
    Parameter,
    ParameterSpace,
    QuantityModel,
    RandomSubstructure,
    StaticSubstructure,
    Uniform,
    detrend,
    fit_glam,
    lhs,
    observed,
    ode,
    replicate,
    run_design,
)
from mor.hybrid.latent import latent_of
from rt_runtime.errors import ConfigError
from tests.reference.stochastic_examples import EXAMPLES


def _mass(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
    dx[0] = x[1]
    dx[1] = (1.0 - u[0]) / p[0]
    y[0] = x[0]


def _spring(u, p, y):  # type: ignore[no-untyped-def]
    y[0] = p[0] * u[0]


MASS = ode(
    states={"x": "m", "v": "m/s"}, inputs={"f": "N"}, outputs={"x": "m"}, parameters=[Parameter("M", 2.0, "kg")]
)(_mass)


def oscillator(**options: object) -> HybridModel:
    """A mass on a spring under a constant force."""
    parts = [
        OdeSubstructure(MASS, name="mass", direct=()),
        StaticSubstructure(
            "spring", _spring, inputs={"x": "m"}, outputs={"f": "N"}, parameters=[Parameter("k", 10.0, "N/m")]
        ),
    ]
    return HybridModel("oscillator", parts, dt=1e-2, duration=2.0, **options)  # type: ignore[arg-type]


def test_a_seed_draws_and_no_seed_takes_the_means() -> None:
    model = oscillator(latent={"M": Normal(3.0, 0.1, unit="kg"), "spring.k": Normal(12.0, 0.5)})
    plain = oscillator()
    np.testing.assert_array_equal(model.run()["x"], plain.run(parameters={"M": 3.0, "k": 12.0})["x"])
    one, again, other = (model.run(seed=s)["x"] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-4
    fixed = model.run(seed=1, parameters={"M": 3.0, "spring.k": 12.0})
    np.testing.assert_array_equal(fixed["x"], model.run()["x"])


def test_a_sensor_is_read_with_its_offset_by_all() -> None:
    model = oscillator(latent={"x": Normal(0.0, 0.01, unit="m")})
    run = model.run(parameters={"x": 0.02})
    np.testing.assert_allclose(run["x_measured"], run["x"] + 0.02)
    np.testing.assert_allclose(run["f"], 10.0 * run["x_measured"])  # the spring answers to what is measured
    assert "x.measured" in model.signals
    assert np.abs(run["x"] - oscillator().run()["x"]).max() > 1e-3


def test_identity_knows_the_noise() -> None:
    plain, noisy = oscillator().identity(), oscillator(latent={"M": Normal(2.0, 0.1)}).identity()
    assert "latent" not in plain and noisy["latent"]["M"]["std"] == 0.1
    assert oscillator(drift={"x": (0.0, 1.0)}).identity()["drift"] == {"x": [0.0, 1.0]}


def test_replications_and_common_random_numbers() -> None:
    model = oscillator(latent={"M": Normal(2.0, 0.1), "x": Normal(0.0, 0.01)}, drift={"x": (0.0, 0.3)})
    design = lhs(ParameterSpace({"k": Uniform(8.0, 12.0)}), 4, seed=0)
    drawn = replicate(design, model, replications=3, seed=5)
    assert drawn.space.names == ("k", "M", "x", "x_drift") and len(drawn) == 12
    np.testing.assert_array_equal(drawn.points[:, 0], np.repeat(design.points[:, 0], 3))
    np.testing.assert_allclose(drawn.points[:, 3], np.linspace(0.0, 0.3, 12))
    assert len(np.unique(drawn.points[:, 1])) == 12
    common = replicate(design, model, replications=3, seed=5, common=True)
    np.testing.assert_array_equal(common.points[:3, 1:3], common.points[3:6, 1:3])
    np.testing.assert_array_equal(replicate(design, model, replications=3, seed=5).points, drawn.points)
    assert latent_of(QuantityModel(model, {}))[0] is not None


def test_a_campaign_runs_a_stochastic_model_and_drift_is_removed(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model = oscillator(latent={"M": Normal(2.0, 0.02), "x": Normal(0.0, 1e-3)}, drift={"x": (0.0, 0.05)})
    taken = {
        "peak": ("m", lambda run: float(run["x_measured"].max())),
        "zero": ("m", lambda run: float(run["x_measured"][0])),
    }
    space = ParameterSpace({"k": Uniform(8.0, 12.0)})
    design = replicate(lhs(space, 24, seed=1), model, seed=1)
    data = run_design(QuantityModel(model, taken), design, store=tmp_path / "s", executor="serial")
    seen = observed(data, space.names)
    assert seen.names == ("k", "peak", "zero")
    mended = detrend(seen, "peak", "zero")
    fresh = replicate(
        lhs(space, 24, seed=1), oscillator(latent={"M": Normal(2.0, 0.02), "x": Normal(0.0, 1e-3)}), seed=1
    )
    truth = run_design(
        QuantityModel(oscillator(latent=model.latent.laws), taken), fresh, store=tmp_path / "t", executor="serial"
    )
    before, after = (float(np.sqrt(np.mean((d["peak"] - truth["peak"]) ** 2))) for d in (seen, mended))
    assert after < 0.1 * before
    np.testing.assert_array_equal(mended["zero"], seen["zero"])


def test_a_random_specimen_is_drawn_in_every_run() -> None:
    example = EXAMPLES["sine"]
    glam = fit_glam(example.data(200, 0), example.space)
    part = RandomSubstructure("specimen", glam)
    model = HybridModel(
        "test", [part], dt=0.1, duration=0.5, excitations={"z": 0.4}, latent={"specimen.level": Uniform(0.0, 1.0)}
    )
    assert model.run()["y"][0] == pytest.approx(float(glam.quantile([[0.4]], 0.5)[0, 0]))
    drawn = np.array([model.run(seed=s)["y"][-1] for s in range(40)])
    assert len(np.unique(drawn)) == 40
    assert 0.1 < np.mean(drawn < glam.quantile([[0.4]], 0.5)[0, 0]) < 0.9
    np.testing.assert_allclose(
        part.simulate({"z": np.array([0.1, 0.2])}, dt=0.1, parameters={"level": 0.9})["y"],
        glam.quantile([[0.1], [0.2]], 0.9)[:, 0],
    )
    with pytest.raises(ConfigError, match="stochastic emulator"):
        RandomSubstructure("specimen", glam.expansion)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latent": {"mass_of_all": Normal(0.0, 1.0)}}, "'mass_of_all' of hybrid model 'oscillator'.*is neither"),
        ({"latent": {"M": 3.0}}, "must be a marginal such as Normal"),
        ({"drift": {"M": (1.0, 1.0)}}, "first and last value"),
    ],
)
def test_bad_latent_variables_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        oscillator(**options)


def test_bad_designs_and_columns_are_refused() -> None:
    space = ParameterSpace({"k": Uniform(8.0, 12.0)})
    design = lhs(space, 4, seed=0)
    with pytest.raises(ConfigError, match="model with latent"):
        replicate(design, oscillator())
    with pytest.raises(ConfigError, match="must not be latent too, got k"):
        replicate(design, space)
    data = Dataset([[1.0], [2.0], [3.0]], [[1.0, 2.0], [2.0, 2.0], [1.5, 2.0]], {"k": ""}, {"y": "", "r": ""})
    with pytest.raises(ConfigError, match="must vary to show a drift"):
        detrend(data, "y", "r")
    with pytest.raises(ConfigError, match="another column"):
        detrend(data, "y", "y")
    with pytest.raises(ConfigError, match="inputs of observed"):
        observed(data, ["m"])
