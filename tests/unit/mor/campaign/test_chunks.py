"""Samples that travel together: blocks of numbers on disk, and what a death or a late sample in a chunk costs."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import mor.campaign.workers.chunk as chunks
from mor import FunctionModel, ParameterSpace, Store, Uniform, extend, lhs, random_design, run_design
from mor.campaign import store as store_module
from mor.campaign.blocks import BlockFile, read_blocks
from mor.campaign.model import Outcome
from mor.campaign.workers.chunk import Batch, Block, Waiting

SPACE = ParameterSpace({"a": Uniform(0, 1, unit="m"), "b": Uniform(0, 1)})


def product(a: float, b: float) -> dict[str, float]:
    return {"y": a * b, "z": a - b}


PRODUCT = FunctionModel(product, {"y": "m", "z": ""})


def deadly(a: float, b: float, marks: str) -> float:
    """Once: the sample nearest to 1 is the death of its worker, the one nearest to 0 never ends."""
    for name, near in (("dead", a > 0.999), ("late", a < 0.001)):
        if near:
            Path(marks, name).touch()
            os.kill(os.getpid(), signal.SIGKILL) if name == "dead" else time.sleep(60.0)
    return a + b


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_many_samples_are_kept_in_blocks(tmp_path: Path, executor: str) -> None:
    design = random_design(SPACE, 3000, seed=0)
    data = run_design(PRODUCT, design, store=tmp_path / "s", executor=executor, progress=False)
    np.testing.assert_array_equal(data["y"], design.points[:, 0] * design.points[:, 1])
    store = Store(tmp_path / "s")
    assert store.finished == list(range(3000)) and store.open == [] and store.seconds > 0.0
    assert (tmp_path / "s" / "numbers.bin").stat().st_size < 1.2 * 3000 * 16
    assert (tmp_path / "s" / "journal.log").read_bytes().count(b"\n") < 200  # until the first times were known
    np.testing.assert_array_equal(store.dataset().Y, data.Y)
    assert list(store.trajectories()) == [] and not store.with_trajectories
    np.testing.assert_array_equal(store.to_xarray()["y"], data["y"])
    assert "finished  3000" in store.summary()


def test_an_interrupted_campaign_goes_on_behind_its_blocks(tmp_path: Path) -> None:
    design = random_design(SPACE, 2000, seed=0)
    whole = run_design(PRODUCT, design, store=tmp_path / "s", executor="serial", progress=False)
    path = tmp_path / "s" / "numbers.bin"
    path.write_bytes(path.read_bytes()[:-5])  # a crash in the last append
    open_before = len(Store(tmp_path / "s").open)
    assert Store(tmp_path / "s").damaged == 0 and 0 < open_before < 2000
    again = run_design(PRODUCT, design, store=tmp_path / "s", executor="serial", progress=False)
    np.testing.assert_array_equal(again.Y, whole.Y)
    larger = run_design(PRODUCT, extend(design, 500, seed=1), store=tmp_path / "s", executor="serial", progress=False)
    np.testing.assert_array_equal(larger.Y[:2000], whole.Y)


def test_a_large_store_has_every_number_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SMALL", 1000)
    design = random_design(SPACE, 4000, seed=0)
    data = run_design(PRODUCT, design, store=tmp_path / "s", executor="serial", progress=False)
    assert not (tmp_path / "s" / "results.nc").exists()
    raw = 8 * (data.X.size + data.Y.size)
    assert sum(f.stat().st_size for f in (tmp_path / "s").rglob("*") if f.is_file()) < 1.2 * raw
    np.testing.assert_array_equal(Store(tmp_path / "s").dataset().X, design.points)


def test_a_block_file_loses_only_what_was_cut_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "numbers.bin"
    made = [Block(np.arange(3), np.arange(6.0).reshape(3, 2), 0.5), Block(np.array([7, 4]), np.ones((2, 2)), 0.25),
            Block(np.array([9]), np.full((1, 2), 3.0), 0.125)]  # fmt: skip
    file, ends = BlockFile(path), []
    for block in made:
        file.append(block)
        ends.append(path.stat().st_size)
    file.close()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        blocks, size, damaged = read_blocks(path)
        assert (
            damaged == 0
            and len(blocks) == sum(end <= cut for end in ends)
            and size == max([0, *(e for e in ends if e <= cut)])
        )
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        blocks, _, damaged = read_blocks(path)
        assert damaged == 1 and len(blocks) == 2
        known = {tuple(block.indices): block.numbers.tobytes() for block in made}
        assert all(known[tuple(block.indices)] == block.numbers.tobytes() for block in blocks)


def test_a_store_of_the_first_format_is_read_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FORMAT", 1)
    design = random_design(SPACE, 500, seed=0)
    data = run_design(PRODUCT, design, store=tmp_path / "s", executor="serial", progress=False)
    assert not (tmp_path / "s" / "numbers.bin").exists()
    monkeypatch.undo()
    larger = run_design(PRODUCT, extend(design, 300, seed=1), store=tmp_path / "s", executor="serial", progress=False)
    np.testing.assert_array_equal(larger.Y[:500], data.Y)


def test_only_the_sample_at_fault_fails(tmp_path: Path) -> None:
    """A death and a timeout inside chunks of short samples: the others of their chunk are evaluated all the same."""
    unit = np.linspace(0.0005, 0.9995, 1500)
    design = lhs(SPACE, 1500, seed=0)
    design = type(design)(
        SPACE, np.column_stack([np.random.default_rng(0).permutation(unit), design.unit[:, 1]]), design.made
    )
    model = FunctionModel(deadly, {"y": "m"}, fixed={"marks": str(tmp_path)})
    data = run_design(model, design, store=tmp_path / "s", workers=2, timeout=1.0, progress=False)
    failed = {sample.index: sample.failure.kind for sample in Store(tmp_path / "s").failed}
    a = design.points[:, 0]
    assert failed == {int(np.argmax(a)): "died", int(np.argmin(a)): "timeout"}
    kept = np.setdiff1d(np.arange(1500), list(failed))
    np.testing.assert_array_equal(data["y"], design.points[kept].sum(axis=1))


def test_failed_samples_that_are_retried_in_a_block(tmp_path: Path) -> None:
    switch = tmp_path / "on"

    def moody(a: float, b: float, switch: str) -> float:
        if not Path(switch).exists() and a > 0.5:
            raise ValueError("off")
        return a + b

    model = FunctionModel(moody, {"y": ""}, fixed={"switch": str(switch)})
    design = random_design(SPACE, 1500, seed=1)
    run_design(model, design, store=tmp_path / "s", executor="serial", progress=False)
    assert len(Store(tmp_path / "s").failed) == np.count_nonzero(design.points[:, 0] > 0.5)
    switch.touch()
    data = run_design(model, design, store=tmp_path / "s", executor="serial", retry_failed=True, progress=False)
    assert Store(tmp_path / "s").failed == [] and len(data) == 1500


def test_chunks_follow_the_time_that_samples_take() -> None:
    waiting = Waiting(("a",), np.zeros((20_000, 1)), np.arange(20_000))
    assert len(waiting.take()) == 1
    waiting.learn(Batch([(0, Outcome({"y": 1.0}, seconds=1e-5))]))
    chunk = waiting.take()
    assert len(chunk) == pytest.approx(chunks.CHUNK / 1e-5, abs=1) and chunk.indices[0] == 1
    waiting.learn(Batch([(0, Outcome({"y": 1.0}, seconds=1.0))]))
    waiting.put_back(chunk.without(0))
    assert waiting.take().indices.tolist() == [2] and len(waiting) == 20_000 - 3


def test_more_work_travels_together_to_a_large_cluster() -> None:
    waiting = Waiting(("a",), np.zeros((10**6, 1)), np.arange(10**6))
    waiting.work = 2.0
    waiting.learn(Batch([(0, Outcome({"y": 1.0}, seconds=1e-4))]))
    assert len(waiting.take()) == pytest.approx(20_000, abs=1)
    waiting.learn(Batch([(0, Outcome({"y": 1.0}, seconds=1.0))]))
    assert len(waiting.take()) == 2


def test_blocks_of_another_campaign_do_not_count(tmp_path: Path) -> None:
    design = random_design(SPACE, 200, seed=0)
    run_design(PRODUCT, design, store=tmp_path / "s", executor="serial", progress=False)
    file = BlockFile(tmp_path / "s" / "numbers.bin")
    file.append(Block(np.arange(300), np.zeros((300, 2)), 1.0))
    file.close()
    assert Store(tmp_path / "s").damaged == 1


def same(**point: float) -> dict[str, float]:
    return {name.replace("x", "y"): value for name, value in point.items()}


def test_chunks_larger_than_a_pipe_do_not_block_both_sides(tmp_path: Path) -> None:
    model = FunctionModel(same, {f"y{i}": "" for i in range(8)})
    design = random_design(ParameterSpace({f"x{i}": Uniform(0, 1) for i in range(8)}), 40_000, seed=1)
    data = run_design(model, design, store=tmp_path / "s", executor="processes", workers=1, progress=False)
    np.testing.assert_array_equal(data.Y, design.points)
