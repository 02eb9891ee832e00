"""A run without a clock keeps every frame, in order, however slow the disk is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_runtime import Gain, Loop, Noise, RunFolder, _core, load_run
from rt_runtime.engine.records.run_folder import Stream, read_frames

RATES = st.sampled_from([1.0, 256.0, 1024.0, 11000.0, 1e6])


def chain(rate: float, blocks: int) -> Loop:
    """Return noise through a chain of gains; every signal tells its tick and its place."""
    loop = Loop(rate)
    for i in range(blocks):
        loop.signal(f"s{i}")
    loop.add("noise", Noise(1.0, seed=5), outputs=["s0"])
    for i in range(1, blocks):
        loop.add(f"gain{i}", Gain(1.0 + i), inputs=[f"s{i - 1}"], outputs=[f"s{i}"])
    return loop


@settings(max_examples=20, deadline=None)
@given(
    rate=RATES,
    blocks=st.integers(1, 8),
    ticks=st.integers(1, 8000),
    every=st.integers(1, 7),
    ring=st.integers(1, 4096),
    pause=st.sampled_from([0.0, 1e-4, 2e-3]),
)
def test_an_unpaced_run_keeps_every_frame_in_order(
    rate: float, blocks: int, ticks: int, every: int, ring: int, pause: float
) -> None:
    """The ring is as small as one frame and the writer waits before each write."""

    class SlowDisk(Stream):
        def __init__(self, folder: RunFolder, indices: list[int], every: int, rate: float, *, waits: bool) -> None:
            super().__init__(folder, indices, every, rate, waits=waits)
            frames = max(ring, ticks // every // 20)  # at most about twenty waits for the disk
            self.ring = _core.Ring(indices, every, frames, waits)
            self.writer = _core.Writer(self.ring, str(folder.path / "frames.bin"))
            self.writer.slow_down(pause)

    loop = chain(rate, blocks)
    loop.record(every=every)
    expected = loop.run(ticks / rate)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        patch.setattr("rt_runtime.engine.loop.Stream", SlowDisk)
        record = loop.run(ticks / rate, folder=Path(place) / "run")
        loaded = load_run(Path(place) / "run")
        assert record.ended == "finished" and record.frames_lost == 0
        for kept in (record, loaded):
            assert len(kept) == (ticks + every - 1) // every
            assert np.array_equal(kept.time, expected.time)
            assert kept.values.tobytes() == expected.values.tobytes()


@settings(max_examples=20, deadline=None)
@given(frames=st.integers(1, 300), ticks=st.integers(1, 30_000), pause=st.sampled_from([0.0, 1e-4]))
def test_a_ring_that_waits_drops_nothing(frames: int, ticks: int, pause: float) -> None:
    core = _core.Loop(1e-3, np.array([1.0, 2.0]))
    core.record([], 1, 0)
    ring = _core.Ring([0, 1], 1, max(frames, ticks // 30), waits=True)
    with tempfile.TemporaryDirectory() as place:
        writer = _core.Writer(ring, f"{place}/frames.bin")
        writer.slow_down(pause)
        core.stream(ring)
        core.reset()
        core.run(ticks)
        writer.finish()
        found, _ = read_frames(Path(place) / "frames.bin", 2)
    assert ring.lost == 0 and np.array_equal(found, np.arange(ticks))
