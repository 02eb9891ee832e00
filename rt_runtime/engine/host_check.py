"""Measure how well this machine keeps wake-up times, before a run, and say which rates it can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rt_runtime.blocks.basic import Table
from rt_runtime.checks import positive
from rt_runtime.engine.loop import Loop
from rt_runtime.engine.pacing import Pacing, Timing
from rt_runtime.engine.records.run_folder import host_facts

RATES = (256.0, 512.0, 1000.0, 1024.0, 2000.0, 2048.0, 4096.0, 5000.0, 10000.0)


@dataclass(frozen=True)
class HostCheck:
    """Wake-up latency of this machine with an all but empty loop, and a verdict for each rate.

    A rate "holds" when the latest of 1000 wake-ups and the tick's own time together take less than half its period and
    no wake-up was later than the period; "holds with rare misses" when only the worst one was later; else "does not".
    """

    rate: float
    timing: Timing
    own_us: float
    verdicts: dict[float, str]
    facts: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "measured_at_hz": self.rate,
            "ticks": self.timing.ticks,
            "missed": self.timing.missed,
            "wake_us": self.timing.wake.summary_us(),
            "own_us": self.own_us,
            "host": self.timing.host,
            "facts": self.facts,
            "rates": {f"{rate:g}": verdict for rate, verdict in self.verdicts.items()},
        }


def check_host(
    *,
    seconds: float = 3.0,
    rate: float = 4096.0,
    pacing: Pacing | None = None,
    own_us: float | None = None,
    rates: Sequence[float] = RATES,
) -> HostCheck:
    """Run an all but empty loop for `seconds` at `rate` against the clock and judge the `rates`.

    `own_us` is the time a tick of the real loop takes; without it the empty loop's own is taken.
    """
    positive(seconds, "seconds", "check_host")
    loop = Loop(rate)
    loop.signal("tick")
    loop.add("clock", Table([0.0, 1.0], [0.0, 1.0]), outputs=["tick"])
    loop.record([], every=1)
    timing = loop.run(seconds, paced=True, pacing=replace(pacing or Pacing(), overrun="skip")).timing
    assert timing is not None
    own = timing.own.percentile_ns(99.9) / 1e3 if own_us is None else own_us
    return HostCheck(rate, timing, float(np.round(own, 3)), judge_rates(timing, rates, own_us=own), host_facts())


def judge_rates(timing: Timing, rates: Sequence[float] = RATES, *, own_us: float | None = None) -> dict[float, str]:
    """Return which rates the timing of a run allows, by the rule of `HostCheck`.

    Parameters
    ----------
    timing
        Wake-up latency and own time of a paced run.
    rates
        Rates to judge, in Hz.
    own_us
        Time of a tick in us; by default the largest of 1000 in `timing`.
    """
    own = timing.own.percentile_ns(99.9) / 1e3 if own_us is None else own_us
    usual, worst = timing.wake.percentile_ns(99.9) / 1e3 + own, timing.wake.most_ns / 1e3 + own
    verdicts = {}
    for one in rates:
        period = 1e6 / one
        if usual >= 0.5 * period:
            verdicts[one] = "does not hold"
        else:
            verdicts[one] = "holds" if worst < period else "holds with rare misses"
    return verdicts


def timing_verdict(timing: Timing, rate: float) -> str:
    """Return one sentence: is this host fit for `rate` (Hz) by the rule of `hmor check`, and if not, for which."""
    verdicts = judge_rates(timing, [*RATES, rate])
    due = timing.ticks + timing.skipped
    late = f"{100.0 * timing.missed / max(due, 1):.2g} % of {due} periods late"
    if verdicts[rate] == "holds":
        return f"This host is fit for {rate:g} Hz: {late}."
    if verdicts[rate] == "holds with rare misses":
        return f"This host is fit for {rate:g} Hz with rare misses: {late}."
    slower = [one for one in RATES if one < rate and verdicts[one] != "does not hold"]
    rest = f"by the same rule fit for up to {max(slower):g} Hz" if slower else "fit for none of the usual rates"
    return f"This host is not fit for {rate:g} Hz: {late}; {rest}."
