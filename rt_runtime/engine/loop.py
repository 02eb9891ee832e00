"""Describe a loop in words and names, check it as a whole, then build and run it in the core."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from rt_runtime import _core
from rt_runtime.checks import positive, whole
from rt_runtime.engine.calls import UNTIMED, Call, in_every_tick, wiring_problems
from rt_runtime.engine.desk import Desk
from rt_runtime.engine.pacing import Pacing, Status, run_paced
from rt_runtime.engine.records.ended import blame, why_it_ended, with_losses
from rt_runtime.engine.records.record import Record, Signal
from rt_runtime.engine.records.run_folder import FRAMES, RunFolder, Stream, lost_frames, read_frames
from rt_runtime.engine.safe_start import check_drives, check_positions
from rt_runtime.engine.signal_names import Previous as Previous
from rt_runtime.engine.signal_names import expand, expand_all, expand_inputs
from rt_runtime.engine.signal_names import previous as previous
from rt_runtime.engine.stop_signals import StopSignals
from rt_runtime.errors import ConfigError, RecordWarning, Tripped
from rt_runtime.rig.actuators import Sensor
from rt_runtime.safety.monitor import Monitor

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


class Loop:
    """A bus of named signals and an ordered list of blocks, stepped `rate` times per second.

    A tick calls each block once, in the order of `add`; tick k is at t = k / rate, counted from the start of the test
    when a monitor arms it first. A block with `every=n` runs in
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
        self._calls: list[Call] = []
        self._requirements: dict[str, Callable[[], Sequence[str]]] = {}
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

    def signal(self, name: str, *, unit: str | Sequence[str] = "", initial: float = 0.0) -> None:
        """Declare a signal that a block will write; `initial` is its value before the first tick.

        "pose[6]" declares pose_1 to pose_6, with one unit or one each; it stands for all of them in `add`, `record`.
        """
        parts = expand(name)
        units = [unit] * len(parts) if isinstance(unit, str) else list(unit)
        if len(units) != len(parts):
            raise ConfigError(f"unit of signal '{name}' must be one text or {len(parts)}, got {len(units)}.")
        for part, its_unit in zip(parts, units, strict=True):
            self._signal(part, its_unit, initial)

    def _signal(self, name: str, unit: str, initial: float) -> None:
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
        timed: bool = True,
    ) -> None:
        """Append a block. `inputs` and `outputs` name declared signals, one per port of the block, in its order.

        `timed`: the block belongs to the test; with a monitor it is stepped, and its time counts, from the start of the
        test on. Sensors, drives, host and monitor are stepped in every tick anyway.
        """
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
        inputs, outputs = expand_inputs(inputs), expand_all(outputs)
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
        timed = timed and not isinstance(block, UNTIMED)
        self._calls.append(Call(name, block, tuple(inputs), tuple(outputs), every, timed))

    def record(self, signals: Sequence[str] | None = None, *, every: int = 1) -> None:
        """Choose the signals to record (default all) and a decimation."""
        if isinstance(signals, str):
            raise ConfigError(f"signals of record must be a list of signal names, got the text {signals!r}.")
        signals = None if signals is None else expand_all(signals)
        unknown = [name for name in signals or () if name not in self._signals]
        if unknown:
            raise ConfigError(f"Signal '{unknown[0]}' to record is unknown; the loop has {', '.join(self._signals)}.")
        self._recorded = None if signals is None else tuple(dict.fromkeys(signals))
        self._record_every = whole(every, "every", "record", 1)

    def require(self, name: str, problems: Callable[[], Sequence[str]]) -> None:
        """Let no tick begin while `problems` returns sentences; `check` names them all.

        It is called once. `preflight`, `design_report` and fitted models have such sentences in their `problems`.

        Parameters
        ----------
        name
            What is required, of its own in the loop; it stands in front of the sentences.
        problems
            Returns one sentence for each reason why the test must not run.
        """
        if name in self._requirements:
            raise ConfigError(f"Requirement '{name}' of the loop must have a name of its own, but it is taken.")
        self._requirements[name] = cache(lambda: tuple(problems()))

    def check(self) -> None:
        """Name every signal without a writer, every read before its write and every requirement that is not met."""
        problems = wiring_problems(self._calls, self._constants)
        if not self._calls:
            problems.append("Loop must have at least one block; add one with loop.add.")
        for requirement, found in self._requirements.items():
            problems += [f"{requirement}: {sentence}" for sentence in found()]
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
        desk: Desk | None = None,
    ) -> Record:
        """Check the loop, then run it from its initial state for `duration` seconds.

        `paced=False` runs as fast as the machine can; `paced=True` runs against the clock as `pacing` says, where
        SIGINT, SIGTERM, SIGHUP and SIGQUIT ask for a stop and `status` is called about ten times a second; an actuator
        that is not simulated needs the clock. With `folder` every recorded signal goes to disk while the loop runs. A
        loop with a monitor starts the command where the actuator stands and takes it to rest after `duration`.
        `desk` lets an operator watch the run and give orders. Returns the record. Raises `Tripped` with the record so
        far when the monitor trips, a block faults, a signal is not finite (both without a monitor) or the clock fails.
        """
        ticks = round(positive(duration, "duration", "Loop.run") * self.rate)
        if ticks < 1:
            tick = f"{1 / self.rate:g} s"
            raise ConfigError(f"duration of Loop.run must be at least one tick of {tick}, got {duration:g}.")
        self.check()
        monitor, pacing = self._monitor(), pacing or Pacing()
        self.check_drives(paced=paced)
        kept = folder if isinstance(folder, RunFolder) or folder is None else RunFolder(Path(folder))
        core, names = self._build(0 if kept else ticks)
        with StopSignals() if paced else nullcontext() as signals:
            stream = self._open(kept, names, waits=not paced) if kept else None  # before anything moves
            try:
                self._start(core, real_time=paced and not pacing.not_real_time)
            except BaseException:
                core.stop()
                if kept and stream:
                    stream.finish()
                    kept.discard()
                raise
            timing = None
            try:
                if stream:
                    core.stream(stream.ring)
                if desk:
                    indices = [names.index(name) for name in self._recorded_names()]
                    desk.open(core, indices, self.rate, self._record_every, monitor)
                if signals:
                    latest = stream.latest if stream else lambda: (0, ())
                    stop, timing = run_paced(core, ticks, pacing, signals, status=status, latest=latest, desk=desk)
                else:
                    stop = core.run(ticks)
            finally:
                core.stop()
                if desk:
                    desk.close()
                kept_frames = stream.finish() if stream else {}
            record = replace(self._record_of(core, self._why(core, stop, ticks), kept), timing=timing)
            if kept:
                if words := lost_frames(kept_frames):
                    record = with_losses(record, words, kept_frames)
                    warnings.warn(words, RecordWarning, stacklevel=2)
                events = monitor.events(self.rate) if monitor else []
                rules = monitor.described() if monitor else []
                facts = {"timing": timing.as_dict() if timing else None, "events": events, "record": kept_frames}
                facts |= {"rules": rules} | (desk.facts() | {"operator": desk.orders} if desk else {})
                kept.close(record, facts)
        if stop in (_core.Stop.not_finite, _core.Stop.fault, _core.Stop.overrun, _core.Stop.tripped):
            raise Tripped(record.ended, record, core.tick - 1)
        return record

    def check_drives(self, *, paced: bool = True) -> None:
        """Refuse a drive of a real actuator without a clock, or whose command cannot know where the actuator stands."""
        real = [call for call in self._calls if isinstance(call.block, _core.Drive) and call.block.external]
        sent = {call.name: [i.name if isinstance(i, Previous) else i for i in call.inputs] for call in real}
        clocked = [call.name for call in real if getattr(call.block, "needs_clock", True)]
        check_drives(sent, self._monitor(), clocked=() if paced else clocked)

    def _open(self, kept: RunFolder, names: list[str], *, waits: bool) -> Stream:
        """Make the folder of the run and the file of its frames."""
        kept.open([self._signals[name] for name in self._recorded_names()], self.rate, self._record_every)
        indices = [names.index(name) for name in self._recorded_names()]
        try:
            return Stream(kept, indices, self._record_every, self.rate, waits=waits)
        except RuntimeError as error:
            kept.discard()
            raise ConfigError(str(error)) from None

    def _start(self, core: _core.Loop, *, real_time: bool) -> None:
        """Start every block and refuse, in words, what cannot be run or cannot start from where it stands."""
        try:
            core.start()
        except RuntimeError as error:
            raise ConfigError(str(error)) from None
        if real_time:
            self._refuse_what_is_not_real_time()  # a plug-in says only now whether it is
        core.reset()
        sensors = {name: (actuator, outputs[:-2]) for name, (actuator, outputs) in self.sensors().items()}
        check_positions(sensors, self._monitor())
        core.reset()

    def _refuse_what_is_not_real_time(self) -> None:
        slow = [call.name for call in self._calls if not call.block.real_time]
        if slow:
            raise ConfigError(
                f"Block '{slow[0]}' is not made for a clock (it may allocate or wait); replace it, run with "
                "paced=False, or insist with Pacing(not_real_time=True)."
            )

    def _monitor(self) -> Monitor | None:
        return next((call.block for call in self._calls if isinstance(call.block, Monitor)), None)

    def sensors(self) -> dict[str, tuple[_core.Actuator, tuple[str, ...]]]:
        """Return the actuator and the outputs of every sensor by its name."""
        return {c.name: (c.block.actuator, c.outputs) for c in self._calls if isinstance(c.block, Sensor)}

    def reduced_models(self) -> dict[str, tuple[_core.Rom, tuple[str, ...]]]:
        """Return every reduced model in the core and its input signals by the name of its block."""
        models = [(call, call.block) for call in self._calls if isinstance(call.block, _core.Rom)]
        return {c.name: (rom, tuple(s if isinstance(s, str) else s.name for s in c.inputs)) for c, rom in models}

    def written_by(self, kind: type[_core.Block]) -> dict[str, tuple[str, ...]]:
        """Return the output signals of every block of a kind by its name."""
        return {call.name: call.outputs for call in self._calls if isinstance(call.block, kind)}

    def is_written(self, name: str) -> bool:
        """Tell whether a block added so far writes the signal, or it is a constant."""
        return name in self._constants or self._writer(name) is not None

    def step_always(self, names: Collection[str] = (), *, behind: str = "") -> None:
        """Step the writers of these `names`, what they read in a tick, and all blocks `behind` one in every tick."""
        self._calls = in_every_tick(self._calls, names, behind)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The blocks as they are wired, in the order of a tick."""
        return tuple(self._calls)

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

    def _writer(self, signal: str) -> Call | None:
        return next((call for call in self._calls if signal in call.outputs), None)

    def _build(self, ticks: int) -> tuple[_core.Loop, list[str]]:
        """Lay the bus out so that the outputs of each block stand side by side, and wire the blocks."""
        written = [name for call in self._calls for name in call.outputs]
        names = written + [name for name in self._signals if name not in set(written)]
        index = {name: i for i, name in enumerate(names)}
        core = _core.Loop(1.0 / self.rate, np.array([self._signals[name].initial for name in names]))
        for call in self._calls:
            inputs = [index[i.name if isinstance(i, Previous) else i] for i in call.inputs]
            core.add(call.block, inputs, index[call.outputs[0]] if call.outputs else 0, call.every, call.timed)
        recorded = [index[name] for name in self._recorded_names()]
        monitor = self._monitor()
        before = monitor.manners.arm + 2 * monitor.manners.hold_limit if monitor else 0.0
        most = ticks + core.way_to_rest + round(before * self.rate) if ticks else 0
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
        return Record(time, values, signals, self.rate, core.tick, ended, frames_lost=core.left_out)

    def _why(self, core: _core.Loop, stop: _core.Stop, planned: int = 0) -> str:
        """Say why a run ended; `planned` is the tick at which it was to end by itself."""
        monitor = self._monitor()
        told = monitor.sentence(self.rate, self._signals) if monitor else ""
        at = monitor.tripped_at if monitor else None
        ended = why_it_ended(core, stop, rate=self.rate, by_monitor=told, monitored_at=at, planned=planned)
        if ended:
            return ended
        call = self._calls[core.stopped_by]
        return blame(core, core.tick - 1 if at is None else at, self.rate, call.name, call.block, call.outputs)

    def __str__(self) -> str:
        lines = [f"Loop at {self.rate:g} Hz, {len(self._signals)} signals, {len(self._calls)} blocks"]
        for call in self._calls:
            inputs = ", ".join(f"previous({i.name})" if isinstance(i, Previous) else i for i in call.inputs)
            rate = "" if call.every == 1 else f"  (every {call.every})"
            lines.append(f"  {call.name}: {inputs or '-'} -> {', '.join(call.outputs) or '-'}{rate}")
        return "\n".join(lines)
