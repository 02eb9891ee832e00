"""The worst tick: counted work against formulas, enforced iterations, measured steps."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mor import prediction_model
from mor.models.actuators import electric_drive
from rt_runtime import ConfigError, Filter, Gain, Horizon, Loop, Mpc, PythonBlock, StateSpace, Table
from rt_runtime.engine.step_times import StepTimes
from rt_runtime.engine.worst_case import Adversary, adversarial_inputs, worst_case

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
    assert mpc.iterations_seen is not None and 0 < mpc.iterations_seen <= 30
    assert by_name["plant"].iterations_seen is None and by_name["plant"].fallbacks == 0
    us = mpc.percentiles_us
    assert 0.0 < us["50"] <= us["99"] <= us["99.99"] <= mpc.worst_us * (1 + 1e-12)
    assert mpc.once_us is not None and mpc.once_us >= mpc.worst_us and mpc.cpu_us is not None and mpc.cpu_us > 0.0


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


def test_far_targets_beside_narrow_limits_give_feasible_moves_in_the_right_direction() -> None:
    """Numbers eight decades apart leave no step to make at times; the move is then the feasible one, never a hold."""
    limits = {"bounds": (-0.25, 0.25), "rate_limit": 0.1, "rate_unit": "per second", "preview": True}
    block = Mpc(prediction_model(electric_drive(), 1 / RATE), Horizon(10, 64.073, 0.002, **limits))
    y = np.array([block.step(0.0, u) for u in adversarial_inputs(10_000, 11, np.random.default_rng([0, 10_000]))])
    assert set(y[:, 2]) == {0.0, 1.0}
    assert np.abs(y[:, 0]).max() <= 0.25 and np.abs(np.diff(y[:, 0])).max() <= 0.1 / RATE * (1 + 1e-9)


def test_a_cap_of_one_iteration_is_kept_and_counted_as_fallbacks() -> None:
    horizon = Horizon(10, output_weight=64.0, move_weight=0.002, bounds=(-0.25, 0.25), max_iterations=1)
    block = Mpc(prediction_model(electric_drive(), 1 / RATE), horizon)
    seen = Adversary()
    seen.attack(block, 2000, seed=3, repeats=1)
    assert seen.iterations == 1 and seen.fallbacks > 0 and seen.ticks == 2000
    for u in adversarial_inputs(500, 2, np.random.default_rng(4)):
        assert abs(block.step(0.0, u)[0]) <= 0.25


def test_parts_add_up_to_the_same_sequence() -> None:
    block = controlled().blocks["mpc"]
    whole, parts = Adversary(), Adversary()
    whole.attack(block, 20_500, seed=5, repeats=1)
    for ticks in (10_000, 10_000, 500):
        parts.attack(block, ticks, seed=5, repeats=1)
    assert (whole.iterations, whole.fallbacks, whole.ticks) == (parts.iterations, parts.fallbacks, 20_500)
    assert whole.least.steps == parts.cpu.steps == 20_500


class Timed:
    """Stands for a block: its first pass over a part takes the given times by the clock and by the CPU, others 100 ns."""

    n_in, iterations_at = 1, -1

    def __init__(self, once: float, cpu: float) -> None:
        self.first, self.repeats = (once, cpu), []

    def time_steps(self, inputs, repeats: int):
        self.repeats.append(repeats)
        once, cpu = (np.full(len(inputs), 100.0) for _ in range(2))
        if repeats == 1:
            once[7], cpu[7] = self.first
        return once, once, cpu, np.zeros((len(inputs), 1))


def test_only_what_may_be_the_slowest_is_repeated_and_an_interruption_is_no_slow_step() -> None:
    seen = Adversary()
    first = Timed(50_000.0, 48_000.0)
    seen.attack(first, 1000, seed=0)  # the first part is always repeated: the step is not slow after all
    assert first.repeats == [1, 2] and seen.least.most == 100.0
    interrupted = Timed(4e6, 90.0)
    seen.attack(interrupted, 1000, seed=0)  # by others for 4 ms
    assert interrupted.repeats == [1] and seen.least.most == 100.0 and seen.once.most == 4e6
    slower = Timed(4e4, 3.9e4)
    seen.attack(slower, 1000, seed=0)
    assert slower.repeats == [1, 2] and seen.ticks == seen.least.steps == 3000


def test_step_times_have_the_percentiles_of_their_numbers() -> None:
    ns = np.random.default_rng(0).lognormal(7.0, 1.0, 20_000)
    times = StepTimes()
    for some in np.split(ns, 4):
        times.add(some)
    times = StepTimes.from_plain(json.loads(json.dumps(times.plain())))
    assert times.steps == 20_000 and times.most == ns.max()
    np.testing.assert_allclose(times.mean, ns.mean())
    for percent in (1.0, 50.0, 99.0, 99.99):
        np.testing.assert_allclose(times.percentile(percent), np.percentile(ns, percent), rtol=0.02)
    assert times.percentile(100.0) == ns.max() and StepTimes().percentile(50.0) == 0.0


def test_arguments_are_checked() -> None:
    with pytest.raises(ConfigError, match="ticks of worst_case must be a whole number of at least 1"):
        worst_case(controlled(), ticks=0)
