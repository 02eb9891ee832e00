"""@ode keeps a function inside its arrays, and makes it write all it must."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from numba import njit

from mor import OdeSubstructure, StaticSubstructure, ode
from rt_runtime import ConfigError, Loop, Tripped

TABLE = np.arange(5.0)


def system(function, **changes):
    arguments = {"states": {"x": "m", "v": "m/s"}, "inputs": {"force": "N"}, "outputs": {"x": "m"}} | changes
    return ode(parameters={"k": (100.0, "N/m"), "m": (2.0, "kg")}, **arguments)(function)


def by_name(t, x, u, p, dx, y):
    dx.x = x.v
    dx.v = (u.force - p.k * x.x) / p.m + p.shape
    y.x = x.x


def by_index(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = (u[0] - p[0] * x[0]) / p[1] + p[2]
    y[0] = x[0]


def shape_of(p):
    return {"shape": 0.5 * p["m"]}


def test_names_are_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a derived constant, and one whose name numpy arrays use for something else; the compiled code is the same."""
    monkeypatch.setenv("HMOR_CACHE", "")  # numba's own object has the text
    one, other = (system(function, derived=shape_of) for function in (by_name, by_index))
    for a, b in zip(one.evaluate(0.0, [0.1, 0.2], [3.0]), other.evaluate(0.0, [0.1, 0.2], [3.0]), strict=True):
        np.testing.assert_array_equal(a, b)
    lengths = [len(model.pointer._library.get_asm_str().splitlines()) for model in (one, other)]
    assert lengths[0] == lengths[1]
    rows = np.sin(np.arange(50.0))[:, None]
    runs = [OdeSubstructure(model).simulate(rows, dt=0.01)["x"] for model in (one, other)]
    np.testing.assert_array_equal(*runs)


def test_names_in_a_static_map_and_a_jacobian() -> None:
    def product(u, p, y):
        y.power = p.share * u.force * u.v

    part = StaticSubstructure("power", product, inputs=["force", "v"], outputs=["power"], parameters={"share": 0.5})
    np.testing.assert_array_equal(part.simulate(np.array([[2.0, 3.0]]), dt=0.1)["power"], [3.0])

    def slope(t, x, u, p, J):
        J[0, 1] = 1.0
        J[1, 0] = -p.k / p.m

    given = OdeSubstructure(system(by_name, derived=shape_of), method="rosenbrock", jacobian=slope)
    own = OdeSubstructure(given.system, method="rosenbrock")
    rows = np.sin(np.arange(50.0))[:, None]  # zeros left out stay zero: before, they were what the last step left there
    np.testing.assert_allclose(*[part.simulate(rows, dt=0.01)["x"] for part in (given, own)], rtol=1e-5, atol=1e-9)

    def outside(t, x, u, p, J):
        J[0, 0] = J[0, 1] = J[1, 0] = J[1, 2] = 0.0

    with pytest.raises(ConfigError, match=r"'J\[1, 2\]' of substructure 'by_name' must lie inside its 2 states \(line"):
        OdeSubstructure(system(by_name, derived=shape_of), method="rosenbrock", jacobian=outside)


def wrong_names(t, x, u, p, dx, y):
    dx.x = x.speed
    dx.w = u.force
    y.x = x.x


def reads_beyond(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[2]
    y[0] = x[-1]


def writes_beyond_in_a_rare_branch(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[0]
    y[0] = x[0]
    if u[0] > 1e300:
        dx[40] = 1.0


def writes_what_it_reads(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[0]
    y[0] = x[0]
    x[0] = 0.0
    p.k = 1.0


def computes_beyond(t, x, u, p, dx, y):
    for i in range(3):
        dx[i] = x[0]
    y[0] = x[0]


def looks_up(t, x, u, p, dx, y):
    dx[0] = TABLE[int(x[0])]
    dx[1] = y[0] = 0.0


@njit
def element(values, i):
    return values[i]


def asks_a_helper(t, x, u, p, dx, y):
    dx[0] = element(x, 7)
    dx[1] = y[0] = 0.0


def plain_element(values, i):
    return values[i]


def plain_helper(values, i):
    return 2.0 * plain_element(values, i)


def asks_a_plain_helper(t, x, u, p, dx, y):
    dx[0] = plain_helper(x, 7)
    dx[1] = y[0] = 0.0


def asks_plainly(t, x, u, p, dx, y):
    dx[0] = plain_helper(x, 1)
    dx[1] = y[0] = np.cos(u[0])


def forgets(t, x, u, p, dx, y):
    dx[0] = x[1]
    y[0] = x[0]


def forgets_in_a_branch(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = 0.0
    if u[0] > 0.5:
        y[0] = x[0]


def adds_to_what_stood_there(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] += 1.0
    y[0] = x[0]


REFUSED = [
    (wrong_names, r"(?s)'x.speed' must name one of the states of ode 'wrong_names', which are x, v \(line.*'dx.w'"),
    (reads_beyond, r"'u\[2\]' of ode 'reads_beyond' must lie inside its 1 input; the last is u\[0\] \(line \d+\)\."),
    (writes_beyond_in_a_rare_branch, r"'dx\[40\]' .* must lie inside its 2 derivatives; the last is dx\[1\] \(line"),
    (
        writes_what_it_reads,
        r"(?s)'x\[...\]' of .* must not be written: states are read only \(line .*'p.k' .*read only",
    ),
    (
        computes_beyond,
        r"must stay inside its arrays \(2 states, .*out of bounds at t = 0 s, .*; clamp it, .* in line \d+",
    ),
    (looks_up, r"must stay inside its arrays .*out of bounds at t = .*clamp it"),
    (asks_a_helper, r"must stay inside its arrays .*out of bounds at t = 0 s"),
    (asks_a_plain_helper, r"must stay inside its arrays .*out of bounds at t = 0 s"),
    (forgets, r"Derivative 'v' of ode 'forgets' \(dx\[1\]\) must be written at every call, but it is not at t = 0 s"),
    (forgets_in_a_branch, r"Output 'x' of ode 'forgets_in_a_branch' \(y\[0\]\) must be written at every call"),
    (adds_to_what_stood_there, r"Derivative 'v' .* must not depend on what stood in dx before the call"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[function.__name__ for function, _ in REFUSED])
def test_refused_before_the_first_tick(function, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        system(function)


def test_plain_functions_are_compiled_with_the_one_that_calls_them() -> None:
    dx, y = system(asks_plainly).evaluate(0.0, [1.0, 3.0], [0.5])
    assert dx.tolist() == [6.0, np.cos(0.5)] and y[0] == np.cos(0.5)


def test_a_static_map_is_kept_inside_too() -> None:
    def reads(u, p, y):
        y[0] = u[1]

    def forgets_it(u, p, y):
        if u[0] > 0.5:
            y[0] = 1.0

    for function, message in ((reads, r"'u\[1\]' of substructure 'm' must lie inside"), (forgets_it, "Output 'b'")):
        with pytest.raises(ConfigError, match=message):
            StaticSubstructure("m", function, inputs=["a"], outputs=["b"])


def test_proven_indices_leave_no_check_behind() -> None:
    """Loops over ranges and clamped indices, of arguments, constants and helpers, run without checks; others keep them."""

    def proven(t, x, u, p, dx, y):
        for i in range(2):
            dx[i] = x[1 - i] + element(x, i)
        i = min(max(int(10.0 * x[0]), 0), 3)
        y[0] = TABLE[i] + TABLE[i + 1]

    assert not system(proven).compiled.targetoptions.get("boundscheck")
    assert system(rarely_outside).compiled.targetoptions["boundscheck"]


def rarely_outside(t, x, u, p, dx, y):
    dx[0] = 1e9
    dx[1] = 0.0
    y[0] = x[0]
    if x[0] > 1e7:
        y[0] = TABLE[int(x[0])]


def rarely_forgetful(t, x, u, p, dx, y):
    dx[0] = 1e9
    dx[1] = 0.0
    if x[0] < 1e7:
        y[0] = x[0]


@pytest.mark.parametrize("function", [rarely_outside, rarely_forgetful])
def test_what_no_dry_run_met_is_nan_and_stops_the_run(function) -> None:
    """The state passes 1e7 after ten ticks; before, this read memory of others or kept an old output."""
    loop = Loop(1000.0)
    loop.constant("force", 0.0, unit="N")
    loop.signal("x", unit="m")
    loop.add("model", system(function).block(dt=1e-3), inputs=["force"], outputs=["x"])
    with pytest.raises(Tripped, match="x") as stopped:
        loop.run(0.1)
    assert 10 <= len(stopped.value.record.time) <= 12


def test_many_states_are_filled_in_place() -> None:
    """Beyond 32 derivatives and outputs there are no local arrays: an element left out is NaN all the same."""
    names = [f"s{i}" for i in range(40)]

    def chain(t, x, u, p, dx, y):
        for i in range(40):
            if x[i] < 1e7:
                dx[i] = -x[i]
        y[0] = x[-1]

    part = OdeSubstructure(ode(states=names, outputs=["last"])(chain))
    x = np.ones(40)
    x[7] = 1e8
    dx, y = part._evaluate(x, np.zeros(0), np.zeros(0))
    assert math.isnan(dx[7]) and y[0] == 1.0 and np.isnan(dx).sum() == 1


def share(u, p, y):
    y.power = 0.5 * u.force


def test_renamed_ports_leave_the_names_in_the_function_alone() -> None:
    part = StaticSubstructure("half", share, inputs=["force"], outputs=["power"])
    other = pickle.loads(pickle.dumps(part.renamed("other", {"force": "pull", "power": "heat"})))
    np.testing.assert_array_equal(other.simulate({"pull": np.ones(2)}, dt=0.1)["heat"], [0.5, 0.5])
