"""Models with memory: the free run against a recursion by hand, the clipping, the sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mor.data.ports import Port
from mor.reduced.memory import MemoryModel, regressor_ports
from rt_runtime.errors import ConfigError
from tests.contract.reduced_models import FORCE, SPEED, TORQUE, linear, memory_of_linear


def test_free_run_is_the_first_order_lag() -> None:
    model = memory_of_linear()
    u = np.abs(np.sin(np.arange(400) / 30.0))[:, None] * 30.0
    y = np.zeros(401)
    for k in range(400):
        y[k + 1] = 0.9 * y[k] + 0.2 * u[k, 0] + 0.05 * (u[k - 1, 0] if k else 0.0)
    np.testing.assert_allclose(model.rollout(u)[:, 0], y[1:], rtol=1e-13)


def test_a_run_can_go_on_from_its_state() -> None:
    model = memory_of_linear()
    u = np.linspace(0.0, 40.0, 100)[:, None]
    whole = model.rollout(u)
    rest = model.rollout(u[60:], state=np.array([u[59, 0], whole[59, 0]]))
    np.testing.assert_array_equal(rest, whole[60:])


def test_inputs_beyond_the_domain_count_as_its_edge() -> None:
    model = memory_of_linear()
    np.testing.assert_array_equal(model.rollout(np.full((50, 1), 1e6)), model.rollout(np.full((50, 1), 50.0)))
    assert model.rollout(np.full((500, 1), 1e9))[-1, 0] == pytest.approx(125.0)
    assert replace(model, bounds=(np.zeros(1), np.full(1, 90.0))).rollout(np.full((500, 1), 1e9)).max() == 90.0
    assert model.outside([[20.0], [51.0], [-1.0]]).tolist() == [False, True, True]
    with pytest.raises(ConfigError, match=r"X of MemoryModel.outside must have 1 columns \(F_br\), got shape \(2, 2\)"):
        model.outside([[20.0, 1.0], [51.0, 1.0]])


def test_regressors_are_named_newest_first() -> None:
    names = [p.name for p in regressor_ports((FORCE, SPEED), (TORQUE,), 1, 2)]
    assert names == ["F_br", "w_rw", "F_br_lag1", "w_rw_lag1", "tau_rw_lag1", "tau_rw_lag2"]


def test_wrong_models_are_refused() -> None:
    good = memory_of_linear()
    with pytest.raises(ConfigError, match="dt of a model with memory must be positive, got 0 s"):
        replace(good, dt=0.0)
    with pytest.raises(ConfigError, match="it must have lags or operators, got input_lags=0, output_lags=0"):
        MemoryModel.around(linear(), (FORCE, SPEED), dt=0.1, input_lags=0, output_lags=0, bounds=(0.0, 1.0))
    with pytest.raises(ConfigError, match=r"must have 6 inputs for 1 input and 1 output lags .* got 2"):
        MemoryModel.around(linear(), (FORCE, SPEED), dt=0.1, input_lags=1, output_lags=1, bounds=(0.0, 1.0))
    with pytest.raises(ConfigError, match="must be finite with lower < upper"):
        replace(good, bounds=(np.zeros(1), np.array([np.inf])))
    with pytest.raises(ConfigError, match=r"Initial state .* must have 2 values, got shape \(3,\)"):
        replace(good, initial=np.zeros(3))
    with pytest.raises(ConfigError, match=r"u of MemoryModel.rollout must have 1 columns \(F_br\), got shape \(4, 2\)"):
        good.rollout(np.zeros((4, 2)))
    with pytest.raises(ConfigError, match=r"State of MemoryModel.rollout must have 2 values"):
        good.rollout(np.zeros((4, 1)), state=np.zeros(1))


def test_two_outputs_and_several_lags_shift_in_order() -> None:
    from tests.reference.linear_model import Linear

    signals, outputs = (Port("a"), Port("b")), (Port("p"), Port("q"))
    inputs = regressor_ports(signals, outputs, 2, 2)
    slope = np.random.default_rng(0).uniform(-0.2, 0.2, (2, len(inputs)))
    wide = (np.full(len(inputs), -1e6), np.full(len(inputs), 1e6))
    model = MemoryModel.around(
        Linear(inputs, outputs, wide, np.zeros(2), slope), signals, dt=0.1, input_lags=2, output_lags=2,
        bounds=(-1e6, 1e6),
    )  # fmt: skip
    u = np.random.default_rng(1).normal(size=(30, 2))
    padded, y = np.vstack([np.zeros((2, 2)), u]), np.zeros((32, 2))
    for k in range(2, 32):
        y[k] = slope @ np.concatenate([padded[k], padded[k - 1], padded[k - 2], y[k - 1], y[k - 2]])
    np.testing.assert_allclose(model.rollout(u), y[2:], rtol=1e-12)
