"""@ode: what is accepted runs in the loop, what is refused says why."""

from __future__ import annotations

import inspect
import math
import pickle

import numpy as np
import pytest

from mor import OdeSubstructure, Parameter, ode
from rt_runtime import ConfigError, Loop, Table

TABLE = np.array([1.0, 2.0, 3.0])


def system(function, **changes):
    arguments = {"states": {"x": "m", "v": "m/s"}, "inputs": {"force": "N"}, "outputs": {"x": "m"}} | changes
    return ode(**arguments)(function)


def spring(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = (u[0] - p[0] * x[0]) / p[1]
    y[0] = x[0]


PARAMETERS = {"k": (100.0, "N/m", 1.0, 1e4), "m": Parameter("m", 2.0, "kg")}


def test_names_units_and_defaults_are_kept() -> None:
    model = system(spring, parameters=PARAMETERS, initial={"v": 0.5})
    assert model.name == "spring"
    assert [(port.name, port.unit) for port in model.states] == [("x", "m"), ("v", "m/s")]
    assert [(p.name, p.value, p.unit) for p in model.parameters] == [("k", 100.0, "N/m"), ("m", 2.0, "kg")]
    np.testing.assert_array_equal(model.initial, [0.0, 0.5])
    dx, y = model.evaluate(0.0, [0.1, 0.2], [30.0], {"k": 200.0})
    np.testing.assert_allclose(dx, [0.2, 5.0])
    np.testing.assert_allclose(y, [0.1])


def test_it_steps_in_the_loop_and_matches_the_closed_form() -> None:
    model = system(spring, parameters=PARAMETERS)
    loop = Loop(1000.0)
    loop.signal("force", unit="N")
    loop.signal("x", unit="m")
    loop.add("push", Table([0.0], [5.0]), outputs=["force"])
    loop.add("spring", model.block(dt=1e-3), inputs=["force"], outputs=["x"])
    record = loop.run(2.0)
    w = math.sqrt(50.0)
    np.testing.assert_allclose(record["x"], 0.05 * (1 - np.cos(w * record.time)), atol=1e-9)


def detuned(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[0] / p[1] - p[2] * x[0]
    y[0] = x[0] + p[3] * u[0]


def by_mass(p):
    return {"w2": p["k"] / p["m"], "per_k": 1.0 / p["k"]}


def test_what_is_derived_from_parameters_stands_behind_them() -> None:
    model = system(detuned, parameters=PARAMETERS, derived=by_mass)
    np.testing.assert_array_equal(model.numbers([200.0, 4.0]), [200.0, 4.0, 50.0, 0.005])
    for twin in (model, pickle.loads(pickle.dumps(model))):
        dx, y = twin.evaluate(0.0, [0.1, 0.2], [30.0], {"k": 200.0})
        np.testing.assert_allclose(dx, [0.2, 5.0])
        np.testing.assert_allclose(y, [0.25])
    part, plain = OdeSubstructure(model), OdeSubstructure(system(spring, parameters=PARAMETERS))
    for parameters in ({}, {"m": 3.0}):
        runs = [p.simulate(np.ones((50, 1)), dt=0.01, parameters=parameters)["x"] for p in (part, plain)]
        np.testing.assert_allclose(runs[0] - 1.0 / 100.0, runs[1], atol=1e-15)
        np.testing.assert_allclose(
            part.jacobian([0.1, 0.2], [1.0], parameters), plain.jacobian([0.1, 0.2], [1.0], parameters), atol=1e-7
        )
    other = system(detuned, parameters=PARAMETERS, derived=lambda p: {"w2": 1.0, "per_k": p["k"]})
    assert OdeSubstructure(other, name="a").identity() != OdeSubstructure(model, name="a").identity()
    with pytest.raises(ConfigError, match="derived of ode 'detuned' must be finite"):
        system(detuned, parameters=PARAMETERS, derived=lambda p: {"w2": math.nan, "per_k": 1.0})


def test_what_is_derived_keeps_its_names_whatever_the_parameters() -> None:
    """The compiled function reads places: fewer numbers would be read beyond their end, others by the wrong name."""
    for changed in (lambda p: {"w2": 1.0}, lambda p: {"per_k": 1.0, "w2": 1.0}):
        model = system(
            detuned, parameters=PARAMETERS, derived=lambda p, c=changed: by_mass(p) if p["m"] == 2.0 else c(p)
        )
        model.block(dt=1e-3)
        names = r"derived of ode 'detuned' must give w2, per_k for all parameters, in this order, got "
        with pytest.raises(ConfigError, match=names):
            model.block(dt=1e-3, parameters={"m": 3.0})
        with pytest.raises(ConfigError, match=names):
            OdeSubstructure(model).block(dt=1e-3, parameters={"m": 3.0})


def test_outputs_alone_are_those_of_the_whole_function_and_leave_its_work_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMOR_CACHE", "")  # numba's own object has the text

    def costly(t, x, u, p, dx, y):
        dx[0] = math.sin(x[1]) * math.exp(x[0]) + math.tanh(u[0])
        dx[1] = x[0] / p[0]
        y[0] = 3.0 * x[1] + t + (dx[1] if u[0] > 1.0 else 0.0)

    model = system(costly, parameters=PARAMETERS)
    code = model.outputs_pointer.inspect_llvm()
    assert "sin" in model.pointer.inspect_llvm() and "@llvm.sin" not in code and "@llvm.exp" not in code
    for u in (0.5, 2.0):
        block = model.block(dt=1e-3, update="start", initial=[0.1, 0.2])
        np.testing.assert_array_equal(block.step(7.0, np.array([u])), model.evaluate(7.0, [0.1, 0.2], [u])[1])


def test_mathematics_branches_loops_and_constant_arrays_are_accepted() -> None:
    def rich(t, x, u, p, dx, y):
        total = 0.0
        for i in range(3):
            total += TABLE[i] * math.tanh(x[0]) ** i
        if total > u[0]:
            dx[0] = math.exp(-abs(total)) + np.sqrt(abs(x[1])) / x[0]
        else:
            dx[0] = math.atan2(x[1], 1.0) + min(x[0], x[1])
        dx[1] = -math.copysign(1.0, x[1]) * math.hypot(x[0], 2.0)
        y[0] = max(x[0], 0.0)

    dx, _ = system(rich).evaluate(0.0, [0.3, -0.4], [1.0])
    total = sum(TABLE[i] * math.tanh(0.3) ** i for i in range(3))
    np.testing.assert_allclose(dx[0], math.exp(-total) + math.sqrt(0.4) / 0.3, rtol=1e-14)


def test_division_by_zero_is_not_an_exception() -> None:
    def divides(t, x, u, p, dx, y):
        dx[0] = u[0] / x[0]
        dx[1] = 0.0
        y[0] = x[0]

    assert math.isinf(system(divides).evaluate(0.0, [0.0, 0.0], [1.0])[0][0])


def matrix_product(t, x, u, p, dx, y):
    dx[:] = np.array([[0.0, 1.0], [2.0, 3.0]]) @ x
    y[0] = x[0]


def array_expression(t, x, u, p, dx, y):
    dx[:] = 2.0 * x
    y[0] = x[0]


def new_array(t, x, u, p, dx, y):
    work = np.zeros(2)
    work[0] = x[0]
    dx[0] = work[0]
    dx[1] = work[1]
    y[0] = x[0]


def new_list(t, x, u, p, dx, y):
    work = [x[0], x[1]]
    dx[0] = work[1]
    dx[1] = work[0]
    y[0] = x[0]


@pytest.mark.parametrize("function", [matrix_product, array_expression, new_array, new_list])
def test_what_would_allocate_is_refused_at_definition(function) -> None:
    with pytest.raises(
        ConfigError, match=rf"Function of ode '{function.__name__}' must not allocate memory, but its comp"
    ):
        system(function)


def raises(t, x, u, p, dx, y):
    if x[0] > 1.0:
        raise ValueError("too far")
    dx[0] = dx[1] = y[0] = x[0]


def prints(t, x, u, p, dx, y):
    print(x[0])
    dx[0] = dx[1] = y[0] = x[0]


@pytest.mark.parametrize("function", [raises, prints])
def test_what_would_raise_or_print_is_refused_at_definition(function) -> None:
    with pytest.raises(ConfigError, match=r"must not raise, print or call the interpreter, but its compiled code"):
        system(function)


def test_a_function_that_does_not_compile_names_the_line() -> None:
    def wrong(t, x, u, p, dx, y):
        dx[0] = x[1]
        dx[1] = np.clip(x[0], 0.0, 1.0)
        y[0] = x[0]

    line = inspect.getsourcelines(wrong)[1] + 2
    with pytest.raises(ConfigError, match=rf"ode 'wrong' must compile at line {line} of .*test_ode\.py, got: .*'clip'"):
        system(wrong)


def test_a_name_that_does_not_exist_is_said() -> None:
    def unknown(t, x, u, p, dx, y):
        dx[0] = missing_thing  # noqa: F821
        y[0] = x[0]

    with pytest.raises(ConfigError, match=r"Function of ode 'unknown' must compile.*missing_thing"):
        system(unknown)


BAD = [
    (lambda: ode(states=["x"], outputs=["y"])(lambda t, x: None), r"Name of an ode must be letters.*got '<lambda>'"),
    (
        lambda: ode(states=["x"], outputs=["y"], name="f")(lambda t, x: None),
        r"Function of ode 'f' must take \(t, x, u, p, dx, y\), got \(t, x\)\.",
    ),
    (lambda: system(spring, states={}), r"states of ode 'spring' must name at least one state, got none\."),
    (lambda: system(spring, states=["x", "x"]), r"Names in states of ode 'spring' must differ, got x more than once\."),
    (lambda: system(spring, inputs={"1f": "N"}), r"Name of a port must be letters, digits and underscores.*got '1f'\."),
    (
        lambda: system(spring, parameters={"k": (1.0, "N/m", 0.0)}, initial={"z": 1.0}),
        r"initial of ode 'spring' names 'z', which must be one of its states x, v\.",
    ),
    (
        lambda: system(spring, parameters={"k": (1.0, "", 0, 1, 2)}),
        r"Parameter 'k' of ode 'spring' must be \(value, unit\) or \(value, unit, lower, upper\)",
    ),
    (
        lambda: system(spring, parameters={"k": (5.0, "N/m", 0.0, 1.0)}),
        r"Parameter 'k' must lie in \[0, 1\] N/m, got 5\.",
    ),
    (
        lambda: system(spring, parameters=PARAMETERS).block(dt=0.1, parameters={"k": 0.1}),
        r"Parameter 'k' must lie in \[1, 10000\] N/m, got 0\.1\.",
    ),
    (
        lambda: system(spring, parameters=PARAMETERS).block(dt=0.1, parameters={"c": 0.1}),
        r"Parameter 'c' of ode 'spring' is unknown; it has k, m\.",
    ),
    (
        lambda: system(spring, parameters=PARAMETERS).block(dt=0.1, initial=[1.0]),
        r"initial of ode 'spring' must have shape \(2\), got \(1,\)\.",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_one_sentence(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
