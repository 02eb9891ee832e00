"""Why a run ended and what its record lacks, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rt_runtime import _core
from rt_runtime.engine.records.record import Record


def why_it_ended(
    core: _core.Loop, stop: _core.Stop, *, rate: float, by_monitor: str, monitored_at: int | None, planned: int
) -> str:
    """Say why a run ended, as far as the loop and its monitor know.

    Parameters
    ----------
    core, stop
        The loop after its last tick, and how it stopped.
    rate
        Ticks per second.
    by_monitor
        The monitor's own sentence, empty when it has none.
    monitored_at
        The tick at which the monitor ended the test, -1 for never, None without a monitor.
    planned
        The tick at which the run was to end by itself.

    Returns
    -------
    str
        "finished", a sentence, or nothing when a block is to blame (`blame`).
    """
    tick = core.tick - 1
    if stop == _core.Stop.finished:
        if monitored_at is None or not 0 <= monitored_at < planned:
            return "finished"
        stop = _core.Stop.asked  # on its way to rest before its time, and past its time at rest
    if stop == _core.Stop.tripped and by_monitor:
        return by_monitor
    if stop == _core.Stop.asked:
        return by_monitor or f"Stopped on request at tick {tick} ({tick / rate:.6g} s)."
    if stop == _core.Stop.overrun or core.broken < 0:
        at = tick if monitored_at is None else monitored_at
        return (
            f"Tripped at tick {at} ({at / rate:.6g} s): the loop missed too many wake-up times in a row; lower the "
            "rate or free the CPU."
        )
    return ""


def blame(core: _core.Loop, at: int, rate: float, name: str, block: _core.Block, outputs: Sequence[str]) -> str:
    """Say which block ended a run at tick `at`, and how."""
    when = f"at tick {at} ({at / rate:.6g} s)"
    if not core.not_finite:
        message = getattr(block, "message", f"fault code {block.fault}")
        return f"Tripped {when}: block '{name}' could not step: {message}."
    return (
        f"Tripped {when}: signal '{outputs[core.broken_port]}' of block '{name}' is {core.broken_value}; the record "
        "holds all ticks up to this one, look there for what diverged."
    )


def with_losses(record: Record, words: str, kept_frames: Mapping[str, Any]) -> Record:
    """Return the record with what it lacks, in `ended` and as numbers."""
    ended = f"Finished. {words}" if record.ended == "finished" else f"{record.ended} {words}"
    notes = {k: kept_frames[k] for k in ("frames_dropped_ring_full", "frames_refused_by_disk")}
    return replace(record, ended=ended, notes=record.notes | notes, frames_lost=kept_frames["frames_lost"])
