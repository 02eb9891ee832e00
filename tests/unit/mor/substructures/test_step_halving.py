"""Step limits where the linearisation at rest says nothing: found by halving the step, and said."""

from __future__ import annotations

import numpy as np
import pytest

from mor import HybridModel, OdeSubstructure, Trajectory, ode
from mor.models.bouc_wen import bouc_wen
from rt_runtime import ConfigError

DT = 0.0156
"""RK4 keeps z of the element below near 0 with this step, at 1 m/s; it should settle at 5 mm."""


def held(velocity: float, n: int = 100) -> dict[str, np.ndarray]:
    return {"displacement": np.zeros(n), "velocity": np.full(n, velocity)}


def test_a_hysteretic_element_has_a_limit() -> None:
    """df/dx = -(beta + gamma) |v| = -200 /s at 1 m/s, so RK4 is unstable beyond 13.9 ms and follows up to a little less."""
    limit = OdeSubstructure(bouc_wen()).step_limit()
    assert 0.6 * 13.9e-3 < limit.step < 13.9e-3
    assert "the linearisation says nothing" in limit.found and "velocity -1 to 1 m/s (assumed)" in str(limit)
    wide = OdeSubstructure(bouc_wen(), ranges={"velocity": (-5.0, 5.0), "displacement": (-0.1, 0.1)})
    assert wide.largest_step() == pytest.approx(limit.step / 5, rel=0.05)
    assert "velocity -5 to 5 m/s" in str(wide.step_limit()) and "assumed" not in str(wide.step_limit())


def test_a_run_that_the_step_gets_wrong_is_refused() -> None:
    part = OdeSubstructure(bouc_wen())
    wrong = r"dt of substructure 'bouc_wen' must follow its motion, but halving the step of 0\.0156 s changes state 'z' by .*"
    with pytest.raises(ConfigError, match=wrong + r"where its inputs are largest; take a smaller dt or 2 sub-steps"):
        part.simulate(held(1.0), dt=DT)
    for fine in (part.simulate(held(0.1), dt=DT), part.integrated_by("rk4", 2).simulate(held(1.0), dt=DT)):
        z = (fine["force"] - 0.1 * 1e6 * fine["displacement"]) / 0.9e6
        assert z[-1] == pytest.approx(5e-3, rel=1e-3)


def test_a_block_is_tried_out_over_the_declared_ranges() -> None:
    part = OdeSubstructure(bouc_wen(), ranges={"velocity": (-1.0, 1.0)})
    with pytest.raises(ConfigError, match=r"changes state 'z' by .* over its ranges; take a smaller dt or 2 sub-steps"):
        part.block(dt=DT)
    part.block(dt=DT / 2)
    part.integrated_by("rosenbrock").block(dt=DT)


def test_a_hybrid_model_is_checked_once_the_inputs_are_known() -> None:
    drive = {"displacement": 0.0, "velocity": Trajectory([0.0, 2.0], [1.0, 1.0], {"velocity": "m/s"})}
    model = HybridModel("brace", [OdeSubstructure(bouc_wen())], dt=DT, excitations=drive, duration=1.0)
    assert "step checked after a run only" in model.describe()
    with pytest.raises(
        ConfigError, match=r"must follow its motion, but halving the step of 0\.0156 s changes state 'z'"
    ):
        model.run()
    model.run(dt=DT / 4)
    known = HybridModel(
        "brace", [OdeSubstructure(bouc_wen(), ranges={"velocity": (-1, 1)})], dt=DT / 4, excitations=drive, duration=1.0
    )
    assert "step checked" not in known.describe()


def test_what_no_step_gets_wrong_has_no_limit() -> None:
    @ode(states=["x"], inputs=["v"], outputs=["x"])
    def integrator(t, x, u, p, dx, y):
        dx.x = u.v
        y.x = x.x

    assert not OdeSubstructure(integrator).step_is_unknown
    limit = OdeSubstructure(integrator).step_limit()
    assert limit.step == np.inf and "changes no state" in limit.found


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"speed": (0.0, 1.0)}, r"ranges of substructure 'bouc_wen' must be .*displacement.*got 'speed'"),
        ({"velocity": (1.0, 0.0)}, r"range of 'velocity' of .* must be \(lower, upper\), got \(1, 0\)\."),
        ({"velocity": (np.nan, 0.0)}, r"range of 'velocity' of .* must be finite"),
    ],
)
def test_bad_ranges_are_one_sentence(ranges, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        OdeSubstructure(bouc_wen(), ranges=ranges)
