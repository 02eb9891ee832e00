"""Describe a loop in words and names, check it as a whole, then build and run it in the core."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rt_runtime import _core
from rt_runtime.checks import positive, whole
from rt_runtime.errors import ConfigError, Tripped
from rt_runtime.pacing import Pacing, Status, run_paced
from rt_runtime.record import Record, Signal
from rt_runtime.run_folder import FRAMES, RunFolder, Stream, read_frames
from rt_runtime.safety import Monitor

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


@dataclass(frozen=True)
class Previous:
    """Marks an input as last tick's value of a signal; see `previous`."""

    name: str


def previous(name: str) -> Previous:
    """Declare that a block reads last tick's value of a signal, because its writer comes later in the tick."""
    return Previous(name)


@dataclass(frozen=True)
class _Call:
    name: str
    block: _core.Block
    inputs: tuple[str | Previous, ...]
    outputs: tuple[str, ...]
    every: int


class Loop:
    """A bus of named signals and an ordered list of blocks, stepped `rate` times per second.

    A tick calls each block once, in the order of `add`; tick k is at t = k / rate. A block with `every=n` runs in
    every n-th tick and its outputs are held in between.

    >>> from rt_runtime import Gain, Loop
    >>> loop = Loop(1000.0)
    >>> loop.constant("force", 2.0, unit="N")
    >>> loop.signal("moment", unit="Nm")
    >>> loop.add("lever", Gain(0.5), inputs=["force"], outputs=["moment"])
    >>> loop.run(0.003)["moment"]
    array([1., 1., 1.])
    """

    def __init__(self, rate: float) -> None:
        self.rate = positive(rate, "rate", "Loop")
        self._signals: dict[str, Signal] = {}
        self._constants: set[str] = set()
        self._calls: list[_Call] = []
        self._recorded: tuple[str, ...] | None = None
        self._record_every = 1

    @property
    def signals(self) -> tuple[Signal, ...]:
        """All signals in the order they were declared."""
        return tuple(self._signals.values())

    @property
    def blocks(self) -> dict[str, _core.Block]:
        """All blocks by name, in the order a tick calls them."""
        return {call.name: call.block for call in self._calls}

    def signal(self, name: str, *, unit: str = "", initial: float = 0.0) -> None:
        """Declare a signal that a block will write; `initial` is its value before the first tick."""
        if not isinstance(name, str) or not _NAME.match(name):
            raise ConfigError(f"Name of a signal must be letters, digits, dots and underscores, got {name!r}.")
        if name in self._signals:
            raise ConfigError(f"Signal '{name}' of the loop must have a name of its own, but it is declared already.")
        if not np.isfinite(initial):
            raise ConfigError(f"initial of signal '{name}' must be finite, got {initial!r}.")
        self._signals[name] = Signal(name, unit, float(initial))

    def constant(self, name: str, value: float, *, unit: str = "") -> None:
        """Declare a signal that keeps its value for the whole run."""
        self.signal(name, unit=unit, initial=value)
        self._constants.add(name)

    def add(
        self,
        name: str,
        block: _core.Block,
        *,
        inputs: Sequence[str | Previous] = (),
        outputs: Sequence[str] = (),
        every: int = 1,
    ) -> None:
        """Append a block. `inputs` and `outputs` name declared signals, one per port of the block, in its order."""
        what = f"block '{name}'"
        if not isinstance(block, _core.Block):
            raise ConfigError(f"{what.capitalize()} of the loop must be a block of rt_runtime, got {block!r}.")
        if not isinstance(name, str) or not _NAME.match(name):
            raise ConfigError(f"Name of a block must be letters, digits, dots and underscores, got {name!r}.")
        if name in self.blocks:
            raise ConfigError(f"{what.capitalize()} of the loop must have a name of its own, but it is taken.")
        if any(block is call.block for call in self._calls):
            raise ConfigError(f"{what.capitalize()} is in the loop already under another name; build a second one.")
        if isinstance(inputs, str) or isinstance(outputs, str):
            raise ConfigError(f"inputs and outputs of {what} must be lists of signal names, got a text.")
        every = whole(every, "every", what, 1)
        for ports, given, n in (("inputs", inputs, block.n_in), ("outputs", outputs, block.n_out)):
            if len(given) != n:
                raise ConfigError(f"{ports} of {what} must name {n} signals, got {len(given)}.")
            for item in given:
                signal = item.name if isinstance(item, Previous) else item
                if signal not in self._signals:
                    raise ConfigError(
                        f"Signal '{signal}' in the {ports} of {what} is unknown; declare it with loop.signal first."
                    )
        for signal in outputs:
            if signal in self._constants:
                raise ConfigError(f"Signal '{signal}' is a constant; {what} must write another signal.")
            writer = self._writer(signal)
            if writer is not None or list(outputs).count(signal) > 1:
                raise ConfigError(
                    f"Signal '{signal}' of the loop must have one writer, got '{writer.name if writer else name}' "
                    f"and '{name}'."
                )
        period = every / self.rate
        if block.period and abs(block.period - period) > 1e-9 * period:
            raise ConfigError(
                f"{what.capitalize()} must be built for dt = {period:.9g} s (every {every} ticks at {self.rate:g} Hz), "
                f"got {block.period:.9g} s."
            )
        self._calls.append(_Call(name, block, tuple(inputs), tuple(outputs), every))

    def record(self, signals: Sequence[str] | None = None, *, every: int = 1) -> None:
        """Choose the signals to record (default all) and a decimation."""
        if isinstance(signals, str):
            raise ConfigError(f"signals of record must be a list of signal names, got the text {signals!r}.")
        unknown = [name for name in signals or () if name not in self._signals]
        if unknown:
            raise ConfigError(f"Signal '{unknown[0]}' to record is unknown; the loop has {', '.join(self._signals)}.")
        self._recorded = None if signals is None else tuple(dict.fromkeys(signals))
        self._record_every = whole(every, "every", "record", 1)

    def check(self) -> None:
        """Find every signal without a writer and every read that comes before its write, and name them all at once."""
        order = {call.name: i for i, call in enumerate(self._calls)}
        problems = []
        for i, call in enumerate(self._calls):
            for item in call.inputs:
                name = item.name if isinstance(item, Previous) else item
                writer = self._writer(name)
                if name in self._constants:
                    continue
                if writer is None:
                    problems.append(
                        f"Signal '{name}' is read by block '{call.name}' but no block writes it; add its writer or "
                        "declare it with loop.constant."
                    )
                elif not isinstance(item, Previous) and order[writer.name] >= i:
                    problems.append(
                        f"Block '{call.name}' reads signal '{name}' before block '{writer.name}' writes it in the tick"
                        f"{self._cycle(call, writer)}; add the writer first or declare last tick's value with "
                        f"previous('{name}')."
                    )
                elif isinstance(item, Previous) and order[writer.name] < i:
                    problems.append(
                        f"Block '{call.name}' declares previous('{name}') but block '{writer.name}' writes it earlier "
                        "in the tick; drop previous() or put a Delay between them."
                    )
        if not self._calls:
            problems.append("Loop must have at least one block; add one with loop.add.")
        if problems:
            raise ConfigError.from_problems("Loop", problems)

    def run(
        self,
        duration: float,
        paced: bool = False,
        *,
        pacing: Pacing | None = None,
        folder: RunFolder | str | Path | None = None,
        status: Callable[[Status], None] | None = None,
    ) -> Record:
        """Check the loop, then run it from its initial state for `duration` seconds.

        `paced=False` runs as fast as the machine can; `paced=True` runs against the clock as `pacing` says, where
        SIGINT and SIGTERM ask for a stop and `status` is called about ten times a second. With `folder` every recorded
        signal goes to disk while the loop runs. A loop with a monitor takes the command to rest after `duration`.
        Returns the record. Raises `Tripped` with the record so far when the monitor trips, a block faults, a signal is
        not finite (both without a monitor) or the clock cannot be kept.
        """
        ticks = round(positive(duration, "duration", "Loop.run") * self.rate)
        if ticks < 1:
            tick = f"{1 / self.rate:g} s"
            raise ConfigError(f"duration of Loop.run must be at least one tick of {tick}, got {duration:g}.")
        self.check()
        pacing = pacing or Pacing()
        kept = folder if isinstance(folder, RunFolder) or folder is None else RunFolder(Path(folder))
        core, names = self._build(0 if kept else ticks)
        try:
            core.start()
            if paced and not pacing.not_real_time:
                self._refuse_what_is_not_real_time()  # a plug-in says only now whether it is
            if kept:
                kept.open([self._signals[name] for name in self._recorded_names()], self.rate, self._record_every)
        except RuntimeError as error:
            core.stop()
            raise ConfigError(str(error)) from None
        except ConfigError:
            core.stop()
            raise
        core.reset()
        stream, timing = None, None
        try:
            if kept:
                indices = [names.index(name) for name in self._recorded_names()]
                stream = Stream(kept, indices, self._record_every, self.rate)
                core.stream(stream.ring)
            if paced:
                latest = stream.latest if stream else lambda: (0, ())
                stop, timing = run_paced(core, ticks, pacing, status=status, latest=latest)
            else:
                stop = core.run(ticks)
        finally:
            core.stop()
            kept_frames = stream.finish() if stream else {}
        record = replace(self._record_of(core, self._why(core, stop, ticks), kept), timing=timing)
        if kept:
            monitor = self._monitor()
            events = monitor.events(self.rate) if monitor else []
            facts = {"timing": timing.as_dict() if timing else None, "events": events, "record": kept_frames}
            lost = {k: str(v) for k, v in kept_frames.items() if k.startswith(("frames_dropped", "frames_ref")) and v}
            record = replace(record, notes=record.notes | lost)
            kept.close(record, facts)
        if stop in (_core.Stop.not_finite, _core.Stop.fault, _core.Stop.overrun, _core.Stop.tripped):
            raise Tripped(record.ended, record, core.tick - 1)
        return record

    def _refuse_what_is_not_real_time(self) -> None:
        slow = [call.name for call in self._calls if not call.block.real_time]
        if slow:
            raise ConfigError(
                f"Block '{slow[0]}' is not made for a clock (it may allocate or wait); replace it, run with "
                "paced=False, or insist with Pacing(not_real_time=True)."
            )

    def _monitor(self) -> Monitor | None:
        return next((call.block for call in self._calls if isinstance(call.block, Monitor)), None)

    def is_written(self, name: str) -> bool:
        """Tell whether a block added so far writes the signal, or it is a constant."""
        return name in self._constants or self._writer(name) is not None

    def is_constant(self, name: str) -> bool:
        """Tell whether a signal was declared as a constant."""
        return name in self._constants

    def external_outputs(self) -> dict[str, tuple[str, ...]]:
        """Name the blocks whose outputs come from outside (sensors, drives, the host) with their output signals."""
        return {call.name: call.outputs for call in self._calls if call.block.external and call.outputs}

    def rerun(self, ticks: int, stand_ins: Mapping[str, _core.Block]) -> Record:
        """Run exactly `ticks` ticks with other blocks in place of the named ones; `replay` uses it."""
        self.check()
        calls = self._calls
        self._calls = [
            replace(call, block=stand_ins[call.name], inputs=(), every=1) if call.name in stand_ins else call
            for call in calls
        ]
        try:
            core, _ = self._build(ticks)
        finally:
            self._calls = calls
        core.reset()
        stop = core.run_exactly(ticks)
        return self._record_of(core, self._why(core, stop))

    def build(self) -> tuple[_core.Loop, list[str]]:
        """Return the loop in the core, ready to be stepped by somebody else, and the names on its bus in order."""
        return self._build(0)

    def _writer(self, signal: str) -> _Call | None:
        return next((call for call in self._calls if signal in call.outputs), None)

    def _cycle(self, reader: _Call, writer: _Call) -> str:
        """Name the cycle reader -> ... -> writer -> reader if there is one over values of the same tick."""
        paths: list[list[_Call]] = [[reader]]
        seen = {reader.name}
        while paths:
            path = paths.pop()
            if path[-1] is writer:
                return f" (they form a cycle: {' -> '.join([c.name for c in path] + [reader.name])})"
            for call in self._calls:
                if call.name not in seen and set(path[-1].outputs) & {i for i in call.inputs if isinstance(i, str)}:
                    seen.add(call.name)
                    paths.append([*path, call])
        return ""

    def _build(self, ticks: int) -> tuple[_core.Loop, list[str]]:
        """Lay the bus out so that the outputs of each block stand side by side, and wire the blocks."""
        written = [name for call in self._calls for name in call.outputs]
        names = written + [name for name in self._signals if name not in set(written)]
        index = {name: i for i, name in enumerate(names)}
        core = _core.Loop(1.0 / self.rate, np.array([self._signals[name].initial for name in names]))
        for call in self._calls:
            inputs = [index[i.name if isinstance(i, Previous) else i] for i in call.inputs]
            core.add(call.block, inputs, index[call.outputs[0]] if call.outputs else 0, call.every)
        recorded = [index[name] for name in self._recorded_names()]
        most = ticks + core.way_to_rest if ticks else 0
        core.record(recorded, self._record_every, (most + self._record_every - 1) // self._record_every)
        return core, names

    def _recorded_names(self) -> tuple[str, ...]:
        return tuple(self._signals) if self._recorded is None else self._recorded

    def _record_of(self, core: _core.Loop, ended: str, kept: RunFolder | None = None) -> Record:
        signals = tuple(self._signals[name] for name in self._recorded_names())
        if kept:
            ticks, values = read_frames(Path(kept.path) / FRAMES, len(signals))
            return Record(ticks / self.rate, values, signals, self.rate, core.tick, ended)
        values = np.asarray(core.recorded)
        time = np.arange(len(values)) * self._record_every / self.rate
        return Record(time, values, signals, self.rate, core.tick, ended)

    def _why(self, core: _core.Loop, stop: _core.Stop, planned: int = 0) -> str:
        """Say why a run ended; `planned` is the tick at which it was to end by itself."""
        tick = core.tick - 1
        at = f"at tick {tick} ({tick / self.rate:.6g} s)"
        monitor = self._monitor()
        if stop == _core.Stop.finished:
            if monitor is None or not 0 <= monitor.tripped_at < planned:
                return "finished"
            stop = _core.Stop.asked  # on its way to rest before its time, and past its time at rest
        if stop == _core.Stop.tripped and monitor is not None and monitor.tripped_by >= 0:
            return monitor.sentence(self.rate, self._signals)
        if stop == _core.Stop.asked:
            ramped = monitor.sentence(self.rate, self._signals) if monitor is not None else ""
            return ramped or f"Stopped on request {at}."
        if monitor is not None:
            at = f"at tick {monitor.tripped_at} ({monitor.tripped_at / self.rate:.6g} s)"
        if stop == _core.Stop.overrun or core.broken < 0:
            return f"Tripped {at}: the loop missed too many wake-up times in a row; lower the rate or free the CPU."
        call = self._calls[core.stopped_by]
        if not core.not_finite:
            message = getattr(call.block, "message", f"fault code {call.block.fault}")
            return f"Tripped {at}: block '{call.name}' could not step: {message}."
        bad = call.outputs[core.broken_port]
        return (
            f"Tripped {at}: signal '{bad}' of block '{call.name}' is {core.broken_value}; the record holds all ticks "
            "up to this one, look there for what diverged."
        )

    def __str__(self) -> str:
        lines = [f"Loop at {self.rate:g} Hz, {len(self._signals)} signals, {len(self._calls)} blocks"]
        for call in self._calls:
            inputs = ", ".join(f"previous({i.name})" if isinstance(i, Previous) else i for i in call.inputs)
            rate = "" if call.every == 1 else f"  (every {call.every})"
            lines.append(f"  {call.name}: {inputs or '-'} -> {', '.join(call.outputs) or '-'}{rate}")
        return "\n".join(lines)
