"""What every substructure promises. A new one gets these tests by one line in PARTS."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from mor import MemoryModel, Port, Substructure, Trajectory
from mor.models import motorcycle
from mor.models.benchmark_frame import benchmark_frame, benchmark_structure, three_storey_part
from mor.models.frame import frame_part
from mor.problems import catalogue
from mor.reduced.memory import regressor_ports
from mor.sources import FmuSubstructure
from mor.substructures import BlockSubstructure, ExternalSubstructure, ReducedSubstructure, StaticSubstructure
from rt_runtime import Delay
from rt_runtime.errors import ConfigError
from tests.fixtures.fmus import oscillator_fmu
from tests.reference.linear_model import Linear

DT = 1e-4


def _square(u, p, y):  # type: ignore[no-untyped-def]
    y[0] = p[0] * u[0] * u[0]


def _memory() -> ReducedSubstructure:
    signals, outputs = (Port("F", "N"),), (Port("y", "Nm"),)
    ports = regressor_ports(signals, outputs, 1, 1)
    wide = np.full(3, np.inf)
    step = Linear(ports, outputs, (-wide, wide), np.array([0.1]), np.array([[0.3, 0.2, 0.5]]))
    return ReducedSubstructure(
        "memory", MemoryModel.around(step, signals, dt=DT, input_lags=1, output_lags=1, bounds=(-9.0, 9.0))
    )


def _fmu(exchange: bool) -> Substructure:
    return FmuSubstructure(oscillator_fmu(Path(mkdtemp()) / "o.fmu", exchange=exchange))


PARTS: dict[str, Callable[[], Substructure]] = {
    "fmu": lambda: _fmu(False),
    "fmu_exchange": lambda: _fmu(True),
    "engine": motorcycle.engine,
    "ecvt": motorcycle.ecvt,
    "body": motorcycle.body,
    "front_brake": lambda: motorcycle.brake("front"),
    "rear_brake": lambda: motorcycle.brake("rear"),
    "stiff_brake": lambda: motorcycle.brake("rear").integrated_by("rosenbrock", 2),
    "frame": lambda: frame_part(benchmark_structure()),
    "three_storey": three_storey_part,
    "numerical_frame": lambda: frame_part(benchmark_frame(4).numerical, reactions={"force": 1}),
    "duffing": lambda: catalogue.duffing().substructure,
    "static": lambda: StaticSubstructure(
        "square", _square, inputs=["a"], outputs=["b"], parameters={"k": (2.0, "", 0, 9)}
    ),
    "memory": _memory,
    "delay": lambda: BlockSubstructure("late", lambda dt, p: Delay(3), inputs=["a"], outputs=["b"]),
    "external": lambda: ExternalSubstructure("solver", lambda u, dt, p: 2 * u, inputs=["a"], outputs=["b"]),
}


@cache
def build(name: str) -> Substructure:
    return PARTS[name]()


@pytest.fixture(params=sorted(PARTS))
def part(request: pytest.FixtureRequest) -> Substructure:
    return build(request.param)


def inputs(part: Substructure, n: int = 300) -> np.ndarray:
    """Smooth and small, so that every model may start from rest with them."""
    t = np.arange(n) / n
    return np.column_stack([0.5 * np.sin(2 * np.pi * t + i) ** 2 for i, _ in enumerate(part.inputs)])


def test_simulate_gives_named_finite_columns(part: Substructure) -> None:
    result = part.simulate(inputs(part), dt=DT)
    assert result.names == (*[p.name for p in part.inputs], *[p.name for p in part.outputs])
    assert result.units == (*[p.unit for p in part.inputs], *[p.unit for p in part.outputs])
    assert len(result) == 300 and np.isfinite(result.values).all()


def test_a_run_can_be_repeated_and_leaves_nothing_behind(part: Substructure) -> None:
    first, again = (part.simulate(inputs(part), dt=DT).values for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_inputs_may_be_an_array_names_or_a_trajectory(part: Substructure) -> None:
    u = inputs(part)
    by_name = {p.name: u[:, i] for i, p in enumerate(part.inputs)}
    by_time = Trajectory(np.arange(len(u)) * DT, u, part.inputs)
    values = part.simulate(u, dt=DT).values
    np.testing.assert_array_equal(part.simulate(by_name, dt=DT).values, values)
    np.testing.assert_allclose(part.simulate(by_time, dt=DT).values, values, rtol=1e-9, atol=1e-9)


def test_the_block_steps_as_simulate_runs(part: Substructure) -> None:
    if part.kind == "external":
        pytest.skip("an external model has no block")
    u = inputs(part)
    block = part.block(dt=DT)
    assert (block.n_in, block.n_out) == (len(part.inputs), len(part.outputs))
    assert block.real_time == part.real_time
    stepped = np.array([block.step(k * DT, row) for k, row in enumerate(u)])
    np.testing.assert_allclose(part.simulate(u, dt=DT).values[:, -block.n_out :], stepped, rtol=1e-9, atol=1e-12)


def test_what_is_not_direct_does_not_act_at_once(part: Substructure) -> None:
    quiet = [i for i, p in enumerate(part.inputs) if p.name not in part.direct]
    if not quiet:
        pytest.skip("all inputs are direct")
    u = inputs(part, 5)
    other = u.copy()
    other[-1, quiet] += 0.1
    n_out = len(part.outputs)
    a, b = (part.simulate(v, dt=DT).values[-1, -n_out:] for v in (u, other))
    np.testing.assert_array_equal(a, b)


def test_identity_is_plain_and_stable_and_follows_the_defaults(part: Substructure) -> None:
    import json

    assert json.loads(json.dumps(part.identity())) == part.identity()
    assert part.renamed("other").identity() != part.identity()
    if part.parameters:
        first = part.parameters[0]
        changed = part.with_parameters({first.name: min(1.01 * first.value, first.upper)})
        assert changed.identity() != part.identity()


def test_bad_requests_are_refused_in_words(part: Substructure) -> None:
    with pytest.raises(ConfigError, match=f"dt of substructure '{part.name}' must be a positive number, got -1"):
        part.simulate(inputs(part), dt=-1.0)
    with pytest.raises(ConfigError, match=f"Parameter 'no_such' of substructure '{part.name}' is unknown"):
        part.simulate(inputs(part), dt=DT, parameters={"no_such": 1.0})
    with pytest.raises(ConfigError, match=f"Input 'no_such' of substructure '{part.name}' is unknown"):
        part.simulate({"no_such": np.ones(3)}, dt=DT)
    bounded = next((p for p in part.parameters if np.isfinite(p.upper)), None)
    if bounded is not None:
        with pytest.raises(ConfigError, match=f"Parameter '{bounded.name}' of substructure '{part.name}' must lie in"):
            part.simulate(inputs(part), dt=DT, parameters={bounded.name: 2 * bounded.upper})
