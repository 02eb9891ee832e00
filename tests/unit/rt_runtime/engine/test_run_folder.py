"""The record on disk: every frame, a slow disk, a full disk, an unfinished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_runtime import ConfigError, Gain, Loop, Noise, Pacing, Record, RecordWarning, RunFolder, _core, load_run
from rt_runtime.engine.records.run_folder import FRAMES, HEADER, Stream, read_frames

QUIET = Pacing(priority=0, lock_memory=False)


def noisy_loop(rate: float = 2000.0) -> Loop:
    loop = Loop(rate)
    loop.signal("noise", unit="m")
    loop.signal("force", unit="N")
    loop.add("noise", Noise(1.0, seed=3), outputs=["noise"])
    loop.add("spring", Gain(2e5), inputs=["noise"], outputs=["force"])
    return loop


def test_the_folder_holds_everything_and_the_data_is_that_of_memory(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", study="rate = 2000.0\n", bundles={"rom": "abc"})
    record = noisy_loop().run(0.2, paced=True, pacing=QUIET, folder=folder)
    assert sorted(path.name for path in folder.path.iterdir()) == ["data.nc", "run.json", "study.toml"]
    in_memory = noisy_loop().run(0.2)
    loaded = load_run(folder.path)
    assert record.values.tobytes() == loaded.values.tobytes() == in_memory.values.tobytes()
    assert np.array_equal(loaded.time, in_memory.time)
    assert [s.unit for s in loaded.signals] == ["m", "N"]
    about = json.loads((folder.path / "run.json").read_text())
    assert about["ended"] == "finished" and about["ticks"] == 400 and about["bundles"] == {"rom": "abc"}
    assert about["versions"]["python"] and about["host"]["kernel"]
    assert sum(about["timing"]["own"]["counts"]) == 400
    assert about["record"]["frames_written"] == 400 and about["record"]["frames_dropped_ring_full"] == 0
    assert (folder.path / "study.toml").read_text() == "rate = 2000.0\n"


def test_an_unpaced_run_can_stream_too(tmp_path: Path) -> None:
    loop = noisy_loop()
    loop.record(["force"], every=10)
    record = loop.run(1.0, folder=tmp_path / "run")
    assert len(record) == 200 and record.signals[0].name == "force"
    assert record.time[1] == pytest.approx(10 / 2000)


def test_a_used_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "data.nc").write_text("precious")
    with pytest.raises(ConfigError, match=r"Folder of a run must be new or empty, got .*; choose another name"):
        noisy_loop().run(0.1, folder=tmp_path / "run")


def test_a_run_that_was_killed_is_still_readable(tmp_path: Path) -> None:
    loop = noisy_loop()
    folder = RunFolder(tmp_path / "run")
    folder.open(loop.signals, loop.rate, 1)
    frame = np.array([(7, 1.0, 2.0)], dtype=[("tick", "<i8"), ("noise", "<f8"), ("force", "<f8")])
    (folder.path / FRAMES).write_bytes(frame.tobytes() + b"half a frame")
    record = load_run(folder.path)
    assert record.ticks == 8 and record["force"].tolist() == [2.0] and record.time.tolist() == [7 / 2000]
    assert record.ended == "The run was not finished; these are the frames that reached the disk."


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Folder of a run must hold data\.nc or frames\.bin, got"):
        load_run(tmp_path)


def run_through_ring(path: Path, frames: int, ticks: int, pause: float) -> tuple[_core.Ring, _core.Writer]:
    """Push `ticks` frames of a loop at full speed into a ring whose writer waits before each write."""
    core = _core.Loop(1e-3, np.array([1.0, 2.0]))
    core.record([], 1, 0)
    ring = _core.Ring([0, 1], 1, frames)
    writer = _core.Writer(ring, str(path))
    writer.slow_down(pause)
    core.stream(ring)
    core.reset()
    core.run(ticks)
    writer.finish()
    return ring, writer


def test_a_slow_disk_loses_nothing_up_to_the_size_of_the_ring(tmp_path: Path) -> None:
    ring, writer = run_through_ring(tmp_path / FRAMES, frames=4096, ticks=4096, pause=0.05)
    ticks, values = read_frames(tmp_path / FRAMES, 2)
    assert ring.lost == 0 and writer.written == 4096
    assert np.array_equal(ticks, np.arange(4096))
    assert (values == [1.0, 2.0]).all()


def test_beyond_the_ring_whole_frames_are_dropped_and_counted(tmp_path: Path) -> None:
    ring, writer = run_through_ring(tmp_path / FRAMES, frames=256, ticks=200_000, pause=0.05)
    ticks, values = read_frames(tmp_path / FRAMES, 2)
    assert ring.lost > 0
    assert ring.lost + writer.written == 200_000 and len(ticks) == writer.written
    assert (np.diff(ticks) > 0).all() and (values == [1.0, 2.0]).all()


def test_a_full_disk_is_counted_and_said_and_the_loop_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rt_runtime.engine.records import run_folder

    monkeypatch.setattr(run_folder, "FRAMES", "../full")
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.warns(RecordWarning, match="refused by the disk"):
        record = noisy_loop().run(0.2, paced=True, pacing=QUIET, folder=tmp_path / "run")
    assert record.ticks == 400 and len(record) == 0 and record.frames_lost == 400
    assert record.ended == (
        "Finished. The record lacks 400 of 400 frames: 400 were refused by the disk (No space left on device)."
    )
    assert record.notes["frames_refused_by_disk"] == 400
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["record"]["disk_error"] == "No space left on device"
    assert about["frames_lost"] == about["record"]["frames_refused_by_disk"] == 400 and about["frames"] == 0


def test_a_disk_too_slow_for_the_clock_is_said_in_words_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowDisk(Stream):
        def __init__(self, *arguments: Any, waits: bool) -> None:
            super().__init__(*arguments, waits=waits)
            self.writer.slow_down(0.3)

    monkeypatch.setattr("rt_runtime.engine.loop.Stream", SlowDisk)
    folder = RunFolder(tmp_path / "run", ring_seconds=0.0)  # the least ring, 1024 frames
    with pytest.warns(
        RecordWarning, match=r"The record lacks \d+ of 5000 frames: \d+ came while the disk was too slow"
    ):
        record = noisy_loop(10_000.0).run(0.5, paced=True, pacing=QUIET, folder=folder)
    assert 0 < record.frames_lost == 5000 - len(record) == record.notes["frames_dropped_ring_full"]
    assert record.ended.startswith(f"Finished. The record lacks {record.frames_lost} of 5000 frames: ")
    loaded = load_run(folder.path)
    assert loaded.frames_lost == record.frames_lost and loaded.notes == record.notes and loaded.ended == record.ended
    assert json.loads((folder.path / "run.json").read_text())["frames_lost"] == record.frames_lost


def test_an_unpaced_run_waits_for_its_writer(tmp_path: Path) -> None:
    record = noisy_loop(1000.0).run(60.0, folder=tmp_path / "run")
    assert len(record) == 60_000 and record.frames_lost == 0 and record.ended == "finished"
    assert np.array_equal(record.time, np.arange(60_000) / 1000.0)


def test_gaps_in_a_run_that_was_killed_are_counted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    loop = noisy_loop()
    folder.open(loop.signals, loop.rate, 2)
    frames = np.zeros(3, dtype=[("tick", "<i8"), ("noise", "<f8"), ("force", "<f8")])
    frames["tick"] = [0, 2, 8]
    (folder.path / FRAMES).write_bytes(frames.tobytes())
    assert load_run(folder.path).frames_lost == 2


def test_no_room_for_the_netcdf_file_keeps_the_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_room(self: Record, path: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Record, "save", no_room)
    noisy_loop().run(0.2, folder=tmp_path / "run")
    assert "could not be finished (No space left on device); its frames stay in frames.bin" in capsys.readouterr().err
    assert (tmp_path / "run" / HEADER).is_file()
    assert len(load_run(tmp_path / "run")) == 400


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    ring = _core.Ring([0], 1, 16)
    with pytest.raises(RuntimeError, match=r"Record file .* cannot be opened: No such file or directory"):
        _core.Writer(ring, str(tmp_path / "missing" / FRAMES))
