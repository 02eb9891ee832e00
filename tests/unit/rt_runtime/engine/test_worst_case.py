"""The worst tick: counted work against formulas, enforced iterations, measured steps."""

from __future__ import annotations

import numpy as np
import pytest

from mor import prediction_model
from mor.models.actuators import electric_drive
from rt_runtime import ConfigError, Filter, Gain, Horizon, Loop, Mpc, PythonBlock, StateSpace, Table
from rt_runtime.engine.worst_case import adversarial_inputs, worst_case

RATE = 1024.0


def controlled() -> Loop:
    loop = Loop(RATE)
    for name in ("target", "measured", "command", "iterations", "status", "slow"):
        loop.signal(name)
    loop.add("target", Table([0.0, 1.0], [0.0, 0.01]), outputs=["target"])
    loop.add("plant", StateSpace([[-50.0]], [[50.0]], [[1.0]], dt=1 / RATE), inputs=["target"], outputs=["measured"])
    horizon = Horizon(10, output_weight=64.0, move_weight=0.002, bounds=(-0.25, 0.25), max_iterations=30)
    mpc = Mpc(prediction_model(electric_drive(), 1 / RATE), horizon)
    loop.add("mpc", mpc, inputs=["target", "measured"], outputs=["command", "iterations", "status"])
    loop.add("slow", PythonBlock(lambda t, u: [0.0], n_in=1, n_out=1), inputs=["command"], outputs=["slow"])
    return loop


def test_work_is_counted_as_the_equations_say() -> None:
    assert Gain(np.ones((2, 3))).work == (2 * 2 * 3 + 2, 0)
    assert Filter([[1.0, 0.0, 0.0, 1.0, 0.1, 0.2]] * 3).work == (27, 0)
    plant = StateSpace(np.zeros((4, 4)), np.ones((4, 2)), np.ones((3, 4)), dt=1e-3)
    assert plant.work == (2 * (4 + 3) * (4 + 2), 0)
    assert np.isnan(Table([0.0, 1.0], [0.0, 1.0]).work[0])


def test_the_report_of_a_loop_has_every_block_and_its_bound_is_kept() -> None:
    loop = controlled()
    found = worst_case(loop, ticks=300)
    assert [block.name for block in found.blocks] == ["target", "plant", "mpc", "slow"]
    by_name = {block.name: block for block in found.blocks}
    assert by_name["slow"].worst_us is None and by_name["slow"].flops is None
    mpc = by_name["mpc"]
    assert mpc.iterations == 30 and mpc.flops is not None and mpc.flops > 30 * 6 * 10**2
    assert mpc.worst_us is not None and mpc.mean_us is not None and mpc.worst_us >= mpc.mean_us > 0.0
    assert found.worst_us == sum(block.worst_us for block in found.blocks if block.worst_us is not None)
    assert found.part_of_period == found.worst_us / (1e6 / RATE)
    assert found.as_dict()["blocks"][2]["iterations"] == 30


def test_adversarial_ticks_switch_the_constraints_and_no_step_exceeds_the_bound() -> None:
    block = controlled().blocks["mpc"]
    statuses, iterations = set(), []
    for u in adversarial_inputs(3000, 2, np.random.default_rng(2)):
        command, n, status = block.step(0.0, u)
        assert abs(command) <= 0.25
        statuses.add(status)
        iterations.append(n)
    assert max(iterations) <= 30 and np.mean(np.array(iterations) > 0) > 0.1
    assert statuses <= {0.0, 1.0}


def test_arguments_are_checked() -> None:
    with pytest.raises(ConfigError, match="ticks of worst_case must be a whole number of at least 1"):
        worst_case(controlled(), ticks=0)
