"""`hmor check`: what this machine can hold, and whether a study can be run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmor.options import JsonOption, studies

if TYPE_CHECKING:
    from rich.console import Console

    from rt_runtime import Loop

FMU_STEPS = 10_000
TICKS = 2000
"""Adversarial ticks of each block of a study."""


def check(path: str | None, seconds: float, ticks: int = TICKS) -> dict[str, Any]:
    """Check the study (all problems at once) and measure the host; return what `--json` prints."""
    from rt_runtime.engine.host_check import RATES, check_host

    result: dict[str, Any] = {}
    rates, pacing = set(RATES), None
    if path is not None:
        from hmor.study.file import load_study
        from hmor.study.stages.execute import prepare_study
        from rt_runtime.engine.worst_case import worst_case
        from rt_runtime.safety.watches import unwatched

        study = load_study(path)
        result["study"] = study.study.name
        if study.run is None:
            result["not_built"] = "it has no section [run]"
        else:
            if study.run.parts and not (study.bundle() / "bundle.json").is_file():
                result["not_built"] = f"its bundle is not made yet; run: hmor sample, train and export {path}"
            else:
                prepared = prepare_study(study)
                result |= {"signals": len(prepared.loop.signals), "blocks": len(prepared.loop.blocks)}
                result |= {"rules": prepared.rules(), "unwatched": unwatched(prepared.loop)}
                result |= _fmu_steps(prepared.loop)
                result["worst_case"] = worst_case(prepared.loop, ticks=ticks).as_dict()
            result["rate_hz"] = study.run.rate
            rates.add(study.run.rate)
            pacing = study.run.pacing
    host = check_host(seconds=seconds, pacing=pacing, rates=sorted(rates))
    return result | host.as_dict()


def _fmu_steps(loop: Loop) -> dict[str, Any]:
    """Measure 10 000 steps of every FMU that is to run against the clock; what they take of a tick."""
    import numpy as np

    from rt_runtime.blocks.fmu import Fmu

    found = {}
    for name, block in loop.blocks.items():
        if isinstance(block, Fmu) and block.real_time:
            block.reset()
            us = 1e6 * np.sort(block.step_times(FMU_STEPS))
            found[name] = {"median": us[len(us) // 2], "p99": us[len(us) * 99 // 100], "most": us[-1]}
            found[name]["most_of_tick"] = us[-1] * loop.rate / 1e6
            block.reset()
    return {"fmu_us": found} if found else {}


def _origin(rule: dict[str, Any]) -> str:
    """Say where a rule comes from."""
    if rule["default"]:
        return "default"
    return f"study: {rule['reason']}" if "reason" in rule else "study"


def _print_worst_case(console: Console, found: dict[str, Any], slowest_us: float) -> None:
    """Print the worst tick block by block, beside the period, by itself and behind the slowest wake-up."""
    from rich.box import SIMPLE
    from rich.table import Column, Table

    from hmor.views.tables import print_whole

    title = f"worst tick of {found['ticks']} adversarial ones, in us"
    columns = ("flops", "bound", "seen", "fallback", "worst", "mean", "once", "CPU")
    heads = [Column("block", overflow="fold"), *(Column(name, justify="right", no_wrap=True) for name in columns)]
    table = Table(*heads, title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    for block in found["blocks"]:
        flops = "-" if block["flops"] is None else f"{block['flops']:.0f}"
        names = ("iterations_seen", "fallbacks")
        seen = ["-"] * 2 if block["iterations_seen"] is None else [str(block[name]) for name in names]
        keys = ("worst_us", "mean_us", "once_us", "cpu_us")
        times = ["-" if block[key] is None else f"{block[key]:.2f}" for key in keys]
        table.add_row(block["name"], flops, str(block["iterations"] or "-"), *seen, *times)
    print_whole(table)
    console.print(
        "flops, bound: most operations and iterations that a step can take, - where they are not counted or there are "
        "none; seen: most iterations of these ticks; fallback: ticks that ended with a feasible move or none, not the "
        "optimum; worst, mean: without what others do to this host; once, CPU: slowest single repeat by the clock and "
        "by CPU time, host included."
    )
    period = found["period_us"]
    share = f"{100 * found['part_of_period']:.2g} % of the period of {period:.6g} us"
    console.print(f"All worst steps in one tick: {found['worst_us']:.1f} us, {share}.")
    late = found["worst_us"] + slowest_us
    console.print(
        f"With the slowest wake-up below, {slowest_us:.1f} us: {late:.1f} us, "
        + (
            f"{100 * late / period:.2g} % of the period."
            if late <= period
            else "more than the period: a tick is missed."
        )
    )
    outside = [block["name"] for block in found["blocks"] if block["worst_us"] is None]
    if outside:
        console.print(
            f"Not in these sums, as they wait for the outside or enter the interpreter: {', '.join(outside)}; "
            "hmor run measures whole ticks."
        )


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("check")
    def command(
        study: Annotated[
            str | None,
            typer.Argument(
                metavar="STUDY",
                help="A study file (TOML) or a built-in study to check as well.",
                autocompletion=studies,
            ),
        ] = None,
        seconds: Annotated[
            float, typer.Option(min=0.1, max=600.0, metavar="SECONDS", help="How long to measure, in s.")
        ] = 3.0,
        ticks: Annotated[
            int, typer.Option(min=1, metavar="N", help="Adversarial ticks of each block of the study.")
        ] = TICKS,
        as_json: JsonOption = False,
    ) -> None:
        """Say which rates this machine holds; check a study.

        The wake-up latency of a paced loop is measured for some seconds. A study is built as hmor run would build it
        (its rig need not be there); all its problems are listed at once, then the rules in force,
        what no rule watches, and the worst tick of every block beside the period. For example:

        \b
            hmor check
            hmor check test.toml --seconds 30
        """
        result = check(study, seconds, ticks)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        console = Console()
        if "study" in result:
            size = f", {result['blocks']} blocks, {result['signals']} signals" if "blocks" in result else ""
            console.print(f"Study '{result['study']}' is in order{size}.")
        if "not_built" in result:
            why = escape(result["not_built"])
            console.print(f"Neither rules nor the worst tick were checked, as its loop cannot be built: {why}.")
        if "rules" in result:
            rules = Table("rule", "watches", "limits", "action", "from", title="rules in force", title_justify="left")
            for rule in result["rules"]:
                limits = f"{rule.get('lower', '')} .. {rule.get('upper', '')}"
                watches = f"{rule['quantity']} of {rule['signal']}" + (f" - {rule['other']}" if "other" in rule else "")
                rules.add_row(rule["name"], watches, limits, rule["action"], _origin(rule))
            console.print(rules)
            for name, us in result.get("fmu_us", {}).items():
                longest = f"longest {us['most']:.1f} us, {100 * us['most_of_tick']:.0f} % of a tick"
                console.print(f"FMU '{name}': {FMU_STEPS} steps, median {us['median']:.1f} us, {longest}.")
            for words in result["unwatched"]:
                console.print(f"Not watched: {words}")
        if "worst_case" in result:
            _print_worst_case(console, result["worst_case"], result["wake_us"]["max"])
        table = Table(title="wake-up latency of this machine", title_justify="left", show_header=False)
        for key, value in result["wake_us"].items():
            table.add_row(key, f"{value:.1f} us")
        for key, words in (result["host"] | result["facts"]).items():
            table.add_row(key, words)
        console.print(table)
        rates = Table("rate", "verdict", title="rates", title_justify="left")
        for rate, verdict in result["rates"].items():
            marked = " (this study)" if "rate_hz" in result and float(rate) == result["rate_hz"] else ""
            rates.add_row(f"{rate} Hz{marked}", verdict)
        console.print(rates)
