"""Play a record back through its loop: what came from outside comes from the record, the rest is computed again."""

from __future__ import annotations

import numpy as np

from rt_runtime import _core
from rt_runtime.engine.loop import Loop
from rt_runtime.engine.records.record import Record
from rt_runtime.errors import ConfigError


def replay(loop: Loop, record: Record) -> Record:
    """Run `loop` again with the outside of `record` and return the new record; the same loop gives the same bits.

    Blocks whose outputs come from outside (sensors and drives of real rigs, the host) are replaced by their recorded
    outputs; no actuator moves. The record must hold these signals at every tick.
    """
    if len(record) != record.ticks or record.ticks == 0:
        raise ConfigError(
            f"Record of a replay must hold every tick, got {len(record)} frames of {record.ticks} ticks; record with "
            "every=1 and without dropped frames."
        )
    if abs(record.rate - loop.rate) > 1e-9 * loop.rate:
        raise ConfigError(f"Rate of the loop must be that of the record, {record.rate:g} Hz, got {loop.rate:g} Hz.")
    recorded = {signal.name for signal in record.signals}
    stand_ins: dict[str, _core.Block] = {}
    missing = []
    for name, outputs in loop.external_outputs().items():
        missing += [f"Signal '{s}' of block '{name}' comes from outside and is not in the record." for s in outputs
                    if s not in recorded]  # fmt: skip
        if not missing:
            stand_ins[name] = _core.Playback(np.ascontiguousarray(np.stack([record[s] for s in outputs], axis=1)))
    if missing:
        raise ConfigError.from_problems("Record of a replay", missing)
    return loop.rerun(record.ticks, stand_ins)
