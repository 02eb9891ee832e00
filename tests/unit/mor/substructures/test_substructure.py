"""Substructures alone: every kind against a closed form, and every refusal in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mor import LinearStructure, MemoryModel, Port, Trajectory, ode
from mor.campaign.model import Evaluable
from mor.reduced.memory import regressor_ports
from mor.substructures import (
    BlockSubstructure,
    ExternalSubstructure,
    LinearSubstructure,
    OdeSubstructure,
    ReducedSubstructure,
    StaticSubstructure,
)
from mor.substructures.base import Substructure, same_unit
from rt_runtime import Delay
from rt_runtime.errors import ConfigError
from tests.reference.linear_model import Linear

DT = 1e-3
TIME = np.arange(2000) * DT
OSCILLATOR = {"states": {"x": "m", "v": "m/s"}, "inputs": {"force": "N"}, "outputs": {"x": "m"}}


def oscillator_rhs(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
    dx[0] = x[1]
    dx[1] = u[0] - p[0] * x[0] - p[1] * x[1]
    y[0] = x[0]


@pytest.fixture(scope="module")
def oscillator() -> OdeSubstructure:
    parameters = {"k": (400.0, "N/m", 1.0, 1e9), "c": (2.0, "Ns/m")}
    return OdeSubstructure(ode(**OSCILLATOR, parameters=parameters, name="oscillator")(oscillator_rhs), direct=())


def linear() -> LinearSubstructure:
    structure = LinearStructure([[1.0]], [[2.0]], [[400.0]])
    outputs = {"x": ("m", "x", [1.0]), "v": ("m/s", "v", [1.0]), "a": ("m/s2", "a", [1.0])}
    return LinearSubstructure.from_structure("mass", structure, inputs={"force": ("N", [1.0])}, outputs=outputs)


def square(u, p, y):  # type: ignore[no-untyped-def]
    y[0] = p[0] * u[0] * u[0]


def static() -> StaticSubstructure:
    return StaticSubstructure(
        "square", square, inputs={"a": "V"}, outputs={"b": "N"}, parameters={"k": (2.0, "N/V2", 0, 3)}
    )


def step_response(t: np.ndarray, k: float = 400.0, c: float = 2.0) -> np.ndarray:
    w = np.sqrt(k - c * c / 4)
    return (1 - np.exp(-c / 2 * t) * (np.cos(w * t) + c / (2 * w) * np.sin(w * t))) / k


def test_linear_and_ode_follow_the_closed_form(oscillator: OdeSubstructure) -> None:
    exact = step_response(TIME)
    by_matrix = linear().simulate({"force": np.ones(2000)}, dt=DT)
    np.testing.assert_allclose(by_matrix["x"], exact, atol=1e-14)
    np.testing.assert_allclose(by_matrix["a"], 1 - 400 * by_matrix["x"] - 2 * by_matrix["v"], atol=1e-12)
    assert by_matrix.names == ("force", "x", "v", "a") and by_matrix.units == ("N", "m", "m/s", "m/s2")
    np.testing.assert_allclose(oscillator.simulate(np.ones(2000), dt=DT)["x"], exact, atol=2e-10)


def test_parameters_replace_defaults_for_one_run_or_for_good(oscillator: OdeSubstructure) -> None:
    exact = step_response(TIME, k=100.0)
    np.testing.assert_allclose(
        oscillator.simulate(np.ones(2000), dt=DT, parameters={"k": 100.0})["x"], exact, atol=1e-9
    )
    np.testing.assert_allclose(
        oscillator.with_parameters({"k": 100}).simulate(np.ones(2000), dt=DT)["x"], exact, atol=1e-9
    )
    assert oscillator.parameters[0].value == 400.0


def test_first_order_hold_is_exact_for_a_ramp(oscillator: OdeSubstructure) -> None:
    ramp = Trajectory([0.0, 2.0], [0.0, 2.0], {"force": "N"})
    for model, tolerance in ((linear(), 1e-14), (oscillator, 1e-9)):
        held, linearly = (model.simulate(ramp, dt=DT, hold=hold) for hold in ("zoh", "foh"))
        t = linearly.time
        w = np.sqrt(399.0)
        # convolution of the unit step response with a ramp of slope 1
        exact = (t - 2 / 400 + np.exp(-t) * (2 / 400 * np.cos(w * t) + (2 / 400 - 1) / w * np.sin(w * t))) / 400
        np.testing.assert_allclose(linearly["x"], exact, atol=tolerance)
        assert np.abs(held["x"] - exact).max() > 1e-6


def test_static_map_and_every() -> None:
    result = static().simulate({"a": np.arange(10.0)}, dt=0.1, every=3)
    np.testing.assert_array_equal(result["b"], 2.0 * np.array([0.0, 9.0, 36.0, 81.0]))
    np.testing.assert_allclose(result.time, [0.0, 0.3, 0.6, 0.9])


def linear_map(inputs: tuple[Port, ...], slope: list[list[float]]) -> Linear:
    wide = np.full(len(inputs), np.inf)
    return Linear(inputs, (Port("y", "Nm"),), (-wide, wide), np.array([0.5]), np.array(slope))


def test_reduced_model_gives_its_predictions() -> None:
    model = linear_map((Port("F", "N"), Port("w", "rpm")), [[2.0, -1.0]])
    part = ReducedSubstructure("reduced", model)
    rows = np.random.default_rng(0).normal(size=(5, len(model.inputs)))
    result = part.simulate(rows, dt=0.1)
    np.testing.assert_array_equal(np.column_stack([result[p.name] for p in model.outputs]), model.predict(rows))
    block = part.block(dt=0.1)
    assert not block.real_time
    np.testing.assert_allclose(block.step(0.0, rows[0]), model.predict(rows[0])[0])


def test_reduced_model_with_memory_steps_as_it_rolls_out() -> None:
    signals = (Port("F", "N"),)
    step = linear_map(regressor_ports(signals, (Port("y", "Nm"),), 2, 2), [[0.3, 0.2, 0.1, 0.5, -0.2]])
    model = MemoryModel.around(step, signals, dt=DT, input_lags=2, output_lags=2, bounds=(-5.0, 5.0))
    part = ReducedSubstructure("reduced", model)
    u = np.random.default_rng(1).normal(size=(20, 1))
    np.testing.assert_array_equal(part.simulate(u, dt=DT)["y"], model.rollout(u)[:, 0])
    block = part.block(dt=DT)
    for _ in range(2):  # time 0 starts again from the initial state
        stepped = [block.step(k * DT, row)[0] for k, row in enumerate(u)]
        np.testing.assert_allclose(stepped, model.rollout(u)[:, 0], rtol=1e-14)
    with pytest.raises(
        ConfigError, match=r"dt of substructure 'reduced' must be that of its model, 0.001 s, got 0.002 s"
    ):
        part.block(dt=2 * DT)


def test_external_function_is_for_sampling_only() -> None:
    part = ExternalSubstructure(
        "solver", lambda u, dt, p: p["k"] * u, inputs=["a"], outputs=["b"], parameters={"k": 3.0}
    )
    np.testing.assert_array_equal(part.simulate(np.arange(3.0), dt=1.0, parameters={"k": 2.0})["b"], [0.0, 2.0, 4.0])
    with pytest.raises(ConfigError, match="External substructure 'solver' must be used for sampling only"):
        part.block(dt=1.0)
    wrong = ExternalSubstructure("solver", lambda u, dt, p: u[1:], inputs=["a"], outputs=["b"])
    with pytest.raises(ConfigError, match=r"must return shape \(3, 1\), got \(2, 1\)"):
        wrong.simulate(np.arange(3.0), dt=1.0)


def test_any_block_with_named_ports() -> None:
    part = BlockSubstructure(
        "lag", lambda dt, p: Delay(p["steps"]), inputs=["a"], outputs=["b"], parameters={"steps": 2.0}
    )
    np.testing.assert_array_equal(part.simulate([1.0, 2.0, 3.0, 4.0], dt=1.0)["b"], [0.0, 0.0, 1.0, 2.0])
    wide = BlockSubstructure("lag", lambda dt, p: Delay(1, channels=2), inputs=["a"], outputs=["b"])
    with pytest.raises(ConfigError, match="must have 1 inputs and 1 outputs, got 2 and 2"):
        wide.block(dt=1.0)


def test_renamed_ports_keep_the_model(oscillator: OdeSubstructure) -> None:
    part = oscillator.renamed("front", {"force": "F"})
    assert part.signature() == "F [N] -> x [m]" and oscillator.signature() == "force [N] -> x [m]"
    np.testing.assert_array_equal(
        part.simulate({"F": np.ones(9)}, dt=DT)["x"], oscillator.simulate(np.ones(9), dt=DT)["x"]
    )


def test_identity_changes_with_the_model(oscillator: OdeSubstructure) -> None:
    assert oscillator.identity() == oscillator.with_parameters({}).identity()
    others = [oscillator.with_parameters({"k": 401.0}), oscillator.renamed("other"), linear(), static()]
    assert len({str(part.identity()) for part in [oscillator, *others]}) == 5


def test_initial_state_may_follow_the_parameters() -> None:
    system = ode(**OSCILLATOR, parameters={"k": 400.0, "c": 2.0}, name="hanging")(oscillator_rhs)
    hanging = OdeSubstructure(system, initial=lambda p: [9.81 / p["k"], 0.0])
    result = hanging.simulate(np.full(50, 9.81), dt=DT, parameters={"k": 200.0})
    np.testing.assert_allclose(result["x"], 9.81 / 200.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda s: s.simulate({"forse": np.ones(3)}, dt=DT),
            "Input 'forse' of substructure 'mass' is unknown; it has force",
        ),
        (lambda s: s.simulate({"forse": np.ones(3)}, dt=DT), "Input 'force' of substructure 'mass' is missing"),
        (
            lambda s: s.simulate(np.ones((3, 2)), dt=DT),
            r"u of substructure 'mass' must have shape \(any, 1\), got \(3, 2\)",
        ),
        (
            lambda s: s.simulate([1.0, np.nan], dt=DT),
            r"u of substructure 'mass' must be finite, got nan at index \(1, 0\)",
        ),
        (lambda s: s.simulate(np.ones(3), dt=0.0), "dt of substructure 'mass' must be a positive number, got 0"),
        (lambda s: s.simulate(np.ones(3), dt=-1.0), "dt of substructure 'mass' must be a positive number, got -1"),
        (lambda s: s.simulate({"force": 1.0}, dt=DT), "at least one history among them, got lengths of numbers only"),
        (lambda s: s.simulate(np.ones((0, 1)), dt=DT), "must have at least one row, got none"),
        (
            lambda s: s.simulate(np.ones(3), dt=DT, parameters={"q": 1.0}),
            "Parameter 'q' of substructure 'mass' is unknown",
        ),
        (lambda s: s.block(dt=DT, fresh=["q"]), "fresh of substructure 'mass' must be one of 'force', got 'q'"),
        (lambda s: s.renamed("m", {"q": "r"}), "Port 'q' of substructure 'mass' is unknown; it has force"),
        (
            lambda s: s.simulate(Trajectory([0.0, 1.0], [0.0, 1.0], {"force": "kN"}), dt=DT),
            "Input 'force' of substructure 'mass' must be in 'N', got 'kN'",
        ),
        (
            lambda s: s.simulate(Trajectory([0.0, 1.0], [0.0, np.nan], {"force": "N"}), dt=DT),
            r"input 'force' of substructure 'mass' must be finite, got nan at index \(1\)",
        ),
    ],
)
def test_bad_inputs_are_refused(act: Callable[[Substructure], object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        act(linear())


def test_parameter_outside_its_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Parameter 'k' of substructure 'square' must lie in \[0, 3\] N/V2, got 4"):
        static().simulate(np.ones(2), dt=DT, parameters={"k": 4.0})


def test_a_mass_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ConfigError, match="each mass must be positive"):
        LinearStructure([[-1.0]], [[0.0]], [[1.0]])


def test_unstable_step_names_the_largest_stable_one(oscillator: OdeSubstructure) -> None:
    stiff = oscillator.with_parameters({"k": 1e8, "c": 0.0})
    assert stiff.largest_step() == pytest.approx(2 * np.sqrt(2) / 1e4, rel=1e-5)
    with pytest.raises(
        ConfigError, match=r"must be at most 0.0002828 s with 1 sub-steps of RK4, got 0.001 s.*4 sub-steps"
    ):
        stiff.simulate(np.ones(3), dt=DT)
    structure = LinearStructure([[1.0]], [[0.0]], [[1e8]])
    explicit = LinearSubstructure.from_structure(
        "m", structure, inputs={"f": ("N", [1.0])}, outputs={"x": ("m", "x", [1.0])}, method="rk4", substeps=2
    )
    with pytest.raises(ConfigError, match=r"must be at most 0.0005657 s with 2 sub-steps of RK4"):
        explicit.block(dt=DT)


def test_a_hidden_feedthrough_is_found() -> None:
    def rhs(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = -x[0] + u[0]
        y[0] = x[0] + u[0]

    system = ode(states=["x"], inputs=["a"], outputs=["b"], name="leaky")(rhs)
    with pytest.raises(
        ConfigError, match="direct of substructure 'leaky' must name input 'a', because output 'b' follows"
    ):
        OdeSubstructure(system, direct=())
    with pytest.raises(
        ConfigError, match="direct of substructure 'leaky' names 'q', which must be one of its inputs: a"
    ):
        OdeSubstructure(system, direct=("q",))


def test_units_are_compared_without_typography() -> None:
    assert same_unit("m/s^2", "m/s2") and same_unit("N m", "Nm") and same_unit("N·m", "Nm")
    assert not same_unit("rpm", "rad/s")


def test_a_model_under_given_inputs_is_evaluated_by_campaigns(oscillator: OdeSubstructure) -> None:
    run = oscillator.under({"force": np.ones(50)}, dt=DT, every=5, record=["x"])
    assert isinstance(run, Evaluable) and run.outputs == ()
    result = run.evaluate({"k": 100.0})
    assert result.names == ("x",) and len(result) == 10
    np.testing.assert_array_equal(
        result["x"], oscillator.simulate(np.ones(50), dt=DT, parameters={"k": 100.0})["x"][::5]
    )
    other = oscillator.under({"force": np.zeros(50)}, dt=DT, every=5, record=["x"])
    assert run.identity() != other.identity()
