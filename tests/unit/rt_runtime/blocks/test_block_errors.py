"""Bad arguments of blocks: one sentence each."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import ConfigError, Delay, Filter, Gain, Noise, Ode, PythonBlock, StateSpace, Sum, Table

EYE = np.eye(2)


def space(**changes):
    arguments = {"A": EYE, "B": np.ones((2, 1)), "C": EYE, "dt": 0.1} | changes
    return StateSpace(arguments.pop("A"), arguments.pop("B"), arguments.pop("C"), **arguments)


CASES = [
    (lambda: space(A=np.ones((2, 3))), r"A of StateSpace must have shape \(2, 2\), got \(2, 3\)\."),
    (lambda: space(B=np.ones((3, 1))), r"B of StateSpace must have shape \(2, any\), got \(3, 1\)\."),
    (lambda: space(C=np.ones((1, 3))), r"C of StateSpace must have shape \(any, 2\), got \(1, 3\)\."),
    (lambda: space(D=np.ones((1, 1))), r"D of StateSpace must have shape \(2, 1\), got \(1, 1\)\."),
    (lambda: space(A=[[np.nan, 0], [0, 1]]), r"A of StateSpace must be finite, got nan at index \(0, 0\)\."),
    (lambda: space(A="text"), r"A of StateSpace must be an array of numbers, got 'text'\."),
    (lambda: space(dt=0.0), r"dt of StateSpace must be a positive number, got 0\.0\."),
    (lambda: space(dt=float("nan")), r"dt of StateSpace must be a positive number, got nan\."),
    (lambda: space(initial=[1.0]), r"initial of StateSpace must have shape \(2\), got \(1,\)\."),
    (
        lambda: space(method="euler"),
        r"method of StateSpace must be one of 'zoh', 'foh', 'rk4', 'discrete', got 'euler'",
    ),
    (lambda: space(update="middle"), r"update of StateSpace must be one of 'end', 'start', got 'middle'\."),
    (lambda: space(D=np.ones((2, 1)), update="start"), r"D of StateSpace must be zero .* when update is 'start'"),
    (lambda: space(method="rk4", substeps=0), r"substeps of StateSpace must be a whole number of at least 1, got 0\."),
    (lambda: Ode(0, n_in=0, n_out=1, initial=[0.0], dt=0.1), r"address of Ode must be a whole number of at least 1"),
    (
        lambda: Ode(8, n_in=0, n_out=1, initial=[0.0], dt=0.1, hold="foh"),
        r"update of Ode must be 'start' with hold 'foh', got 'end'\.",
    ),
    (
        lambda: Ode(8, n_in=-1, n_out=1, initial=[0.0], dt=0.1),
        r"n_in of Ode must be a whole number of at least 0, got -1",
    ),
    (lambda: Table([0.0, 2.0, 1.0], [1, 2, 3]), r"times of Table must increase strictly, got 2 then 1 at row 2; sort"),
    (lambda: Table([0.0, 1.0], [1.0, np.nan]), r"values of Table must be finite, got nan at index \(1, 0\)\."),
    (lambda: Table([0.0, np.inf], [1.0, 2.0]), r"times of Table must be finite, got inf at index \(1\)\."),
    (lambda: Table([0.0, 1.0], [1.0]), r"values of Table must have shape \(2, any\), got \(1, 1\)\."),
    (lambda: Table([], []), r"times of Table must have at least one row, got none\."),
    (lambda: Delay(-1.0), r"steps of Delay must lie between 0 and 1e7, got -1\.0\."),
    (lambda: Delay(float("nan")), r"steps of Delay must lie between 0 and 1e7, got nan\."),
    (lambda: Delay(1.0, channels=2, initial=[1.0]), r"initial of Delay must have shape \(2\), got \(1,\)\."),
    (lambda: Gain([[np.inf]]), r"matrix of Gain must be finite, got inf"),
    (lambda: Gain(1.0, offset=[1.0, 2.0]), r"offset of Gain must have shape \(1\), got \(2,\)\."),
    (lambda: Sum("+x"), r"signs of Sum must be a text of \+ and -, got '\+x'\."),
    (lambda: Filter([[1, 0, 0, 0, 0, 0]]), r"sections of Filter must have at least one row and a0 not zero"),
    (lambda: Filter([[1, 0, 0, 1, 0, 2]]), r"sections of Filter must be stable, row 0 has a pole on or outside"),
    (lambda: Filter([[1, 0, 0]]), r"sections of Filter must have shape \(any, 6\), got \(1, 3\)\."),
    (lambda: Noise(-1.0, seed=1), r"std of Noise must not be negative, got \[-1\.0\]\."),
    (lambda: Noise(1.0, seed=-1), r"seed of Noise must be a whole number of at least 0, got -1\."),
    (lambda: PythonBlock(3, n_in=0, n_out=0), r"function of PythonBlock must be callable, got 3\."),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message[:40] for _, message in CASES])
def test_bad_arguments_are_refused_with_one_sentence(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_step_with_the_wrong_number_of_inputs() -> None:
    with pytest.raises(ValueError, match=r"u of step must have 1 numbers, got 2\."):
        Gain(1.0).step(0.0, np.zeros(2))
