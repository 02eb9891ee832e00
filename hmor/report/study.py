"""The report of a study: one HTML page with what the study has and what was made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from hmor.report import figures
from hmor.report.figures import label, speed_words
from hmor.report.models import of_group, reduced_models
from hmor.report.page import Cell, Page
from hmor.report.stochastic import stochastic_models
from hmor.studies.base import VirtualTest
from hmor.study.file import Study
from hmor.study.stages.steps import program_version
from mor.data.trajectory import Trajectory
from rt_runtime import Record
from rt_runtime.engine.records.run_folder import host_facts
from rt_runtime.files import write_file
from rt_runtime.versions import versions

Results = Mapping[str, Any]


def report(study: Study, results: Results, missing: Mapping[str, tuple[str, float] | None]) -> dict[str, Any]:
    """Write report/report.html from the results of the steps that are made; say which are not.

    missing: steps without a result that the study file would give, with the time and seconds of one of other settings.
    """
    place = study.folder / "report"
    place.mkdir(parents=True, exist_ok=True)
    title = study.report.title or f"Study {study.study.name}"
    page = Page(
        title,
        f"{_sentence(study.study.description) or 'Study'}. Study {study.study.name}, seed {study.study.seed}, made "
        f"{datetime.now():%d %B %Y, %H:%M} with hybrid-mor {program_version()}.",
    )
    _summary(page, study, results)
    for words in _missing(study, missing):
        page.text(words)
    sections = 0
    for section in (
        _set_up,
        _hybrid_model,
        _samples,
        _sensitivity,
        reduced_models,
        stochastic_models,
        _hybrids,
        _control,
        _times,
        _parity,
        _real_time,
        _sobol,
    ):
        sections += bool(section(page, study, results))
    page.heading("Host and versions")
    page.table(["", ""], [[key, value] for key, value in (host_facts() | versions()).items()], words=True)
    write_file(place / "report.html", str(page))
    return {"page": str(place / "report.html"), "sections": sections, "not_made": list(missing)}


def _missing(study: Study, missing: Mapping[str, tuple[str, float] | None]) -> Iterator[str]:
    """Say which steps are not made, or not from what the study file says, and what makes them."""
    never = [name for name, made in missing.items() if made is None]
    if never:
        yield f"Not made yet: {', '.join(never)}. `hmor {never[0].partition('/')[0]} {study.called}` goes on."
    other = {name: made[0] for name, made in missing.items() if made is not None}
    if other:
        words = ", ".join(f"{name} ({when})" for name, when in other.items())
        yield (
            f"Made, but from other settings than the study file has now: {words}; not shown here. "
            f"`hmor {next(iter(other)).partition('/')[0]} {study.called}` makes it from those of the file; what came "
            "from options (such as --record or --set) is shown once it stands in the file."
        )


def _summary(page: Page, study: Study, results: Results) -> None:
    if "simulate/hybrid" in results:
        for name in _shown_variants(results["simulate/hybrid"]):
            page.facts(cards(name, results["simulate/hybrid"], study.report.labels))
    if "verdict" in results.get("run", {}):
        page.text(f"Real time: {results['run']['verdict']}", note=True)
    if study.report.lead:
        page.text(" ".join(study.report.lead.split()))


def _shown_variants(hybrid: Mapping[str, Any]) -> list[str]:
    """Return the variants that get a row of cards: the fastest and the most accurate."""
    errors, times = hybrid["nrmse_percent"], hybrid["run_time"]
    if not errors:
        return []
    fastest = min(errors, key=lambda name: times[name]["wall_s"])
    return list(dict.fromkeys([fastest, min(errors, key=lambda name: max(errors[name].values()))]))


def cards(name: str, hybrid: Mapping[str, Any], labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return speed and accuracy of one reduced hybrid model as large numbers."""
    errors, times, words = hybrid["nrmse_percent"][name], hybrid["run_time"][name], label(name, labels)
    worst = max(errors, key=lambda signal: errors[signal])
    mean = sum(errors.values()) / len(errors)
    return [
        (speed_words(times["speedup_over_full"]), f"{words}: beside the full-order hybrid model"),
        (f"{times['real_time_factor']:,.0f} x", f"{words}: faster than real time"),
        (f"{errors[worst]:.2g} %", f"{words}: NRMSE of {label(worst, labels)}, the worst response"),
        (f"{mean:.2g} %", f"{words}: mean NRMSE of all responses"),
    ]


def _set_up(page: Page, study: Study, results: Results) -> bool:
    test = _test(study)
    if test is None or test.drawing is None:
        return False
    page.heading("The set-up")
    page.figure(test.drawing(), f"Set-up of the virtual test {test.name}.")
    return True


def _test(study: Study) -> VirtualTest | None:
    from hmor.study.simulate import named_test

    return None if study.control is None else named_test(study, study.control)


def _hybrid_model(page: Page, study: Study, results: Results) -> bool:
    if study.hybrid is None:
        return False
    from hmor.study.simulate import full_hybrid
    from mor.hybrid.picture import hybrid_figure

    page.heading("The hybrid model")
    swapped = sorted({place for parts in study.hybrid.variants.values() for place in parts})
    replaced = f"; {' and '.join(swapped)} replaced by reduced models" if swapped else ""
    page.figure(hybrid_figure(full_hybrid(study, study.hybrid)), f"Substructures and their couplings{replaced}.")
    return True


def _samples(page: Page, study: Study, results: Results) -> bool:
    made = of_group(results, "sample")
    if not made:
        return False
    from mor.campaign import Store

    page.heading("Samples")
    for name, result in made.items():
        words = label(name, study.report.labels)
        page.heading(words, 3)
        if result.get("kind") == "laboratory":
            page.text(f"{result['finished']} tests entered by hand in {result['table']}, {result['open']} open.")
            continue
        design = ", ".join(f"{key} {value}" for key, value in result["design"].items() if value is not None)
        page.text(
            f"{result['finished']} samples finished, {len(result['failed'])} failed; design: {design}; "
            f"{result['model_seconds']:.3g} s in the model."
        )
        heads = ("mean", "std", "min", "max")
        rows = [
            [label(key, study.report.labels), row["unit"], *(f"{row[head]:.4g}" for head in heads)]
            for key, row in result["outputs"].items()
        ]
        if rows:
            page.table(["output", "unit", *heads], rows)
        store = Store(study.store(name))
        ports = store.design.space.ports
        units = {port.name: port.unit for port in ports}
        columns = dict(zip(store.design.space.names, store.design.points.T, strict=True))
        if rows:
            data = store.dataset()
            units = {port.name: port.unit for port in (*data.inputs, *data.outputs)}
            columns = {key: data[key] for key in (*store.design.space.names, *(port.name for port in data.outputs))}
        page.figure(figures.samples(columns, units, study.report.labels), f"Design and outputs of {words}.")
    return True


def _sensitivity(page: Page, study: Study, results: Results) -> bool:
    made = of_group(results, "sensitivity")
    if made:
        from hmor.sensitivity.page import sensitivity

        page.heading("Sensitivity")
    for name, result in made.items():
        sensitivity(page, study.report.labels, name, result)
    return bool(made)


def _hybrids(page: Page, study: Study, results: Results) -> bool:
    if "simulate/hybrid" not in results:
        return False
    result, labels = results["simulate/hybrid"], study.report.labels
    errors, published = result["nrmse_percent"], result["published_percent"]
    if not errors:
        return False
    page.heading("Hybrid models with reduced parts")
    marks = (
        "; published values stand beside, of another full-order model: marks to beat, not to hit" if published else ""
    )
    page.text(
        f"NRMSE in percent of the mean history over {result['prototypes']} prototypes against the full-order hybrid "
        f"model{marks}. The reduced parts in these runs are the exported ONNX files, executed by the engine."
    )
    head = ["response"]
    for name in errors:
        head += [label(name, labels), *(["published"] if name in published else [])]
    rows: list[list[Cell]] = []
    for signal in next(iter(errors.values())):
        row: list[Cell] = [label(signal, labels)]
        for name in errors:
            value, mark = errors[name][signal], published.get(name, {}).get(signal)
            row.append(f"{value:.3f}" if mark is None else (f"{value:.3f}", value < mark))
            if name in published:
                row.append("-" if mark is None else f"{mark:g}")
        rows.append(row)
    page.table(head, rows)
    means = {name: Trajectory.load(study.folder / "simulate" / f"{name}.nc") for name in ("full", *errors)}
    page.figure(figures.histories(means, labels), "Mean responses over the prototypes.")
    page.figure(figures.histories(means, labels, difference=True), "Differences to the full-order hybrid model.")
    return True


def _control(page: Page, study: Study, results: Results) -> bool:
    if "simulate/control" not in results:
        return False
    result = results["simulate/control"]
    published = {key: values for key, values in result["published"].items() if values}
    page.heading("Virtual test with actuator and controller")
    settings = ", ".join(f"{key} = {value}" for key, value in result["settings"].items()) or "its own settings"
    names = list(next((n for n in result["nominal"].values() if n), {}))
    indices = "J1 is the delay in ms, J2 and J3 are root mean square and peak error of tracking in percent. "
    page.text(
        f"Test {result['test']} with {settings}. "
        + (indices if any(re.search(r"(^|_)J\d", name) for name in names) else "")
        + _spread_words(result)
    )
    columns: dict[str, Mapping[str, Any]] = {}
    for kind, nominal in result["nominal"].items():
        words = "full-order parts" if kind == "full" else "reduced parts"
        columns[f"nominal, {words}"] = nominal or {}
        if kind in result["stochastic"]:
            spread = result["stochastic"][kind]
            columns[f"prototypes, {words}"] = {
                key: f"{_number(row['mean'])} ± {_number(row['std'])}" for key, row in spread.items()
            }
            columns[f"median, {words}"] = {key: row["median"] for key, row in spread.items()}
    marks = {f"published, {key}": values for key, values in published.items() if set(values) & set(names)}
    rows = [
        [name.replace("_", " "), *(_number(values.get(name)) for values in (columns | marks).values())]
        for name in names
    ]
    page.table(["index", *columns, *marks], rows)
    if errors := result["nrmse_percent"]:
        page.text(
            "NRMSE in percent of the mean histories: reduced against full-order parts under control, and what actuator "
            "and controller change of the responses of the hybrid model."
        )
        signals = list(dict.fromkeys(signal for row in errors.values() for signal in row))
        body = [[label(s, study.report.labels), *(_number(row.get(s)) for row in errors.values())] for s in signals]
        page.table(["response", *(key.replace("_", " ") for key in errors)], body)
    for kind, path in result["records"].items():
        found = figures.tracked_signals(Record.load(path)) if Path(path).is_file() else None
        if found is not None:
            words = "full-order" if kind == "full" else "reduced"
            page.figure(figures.tracking(*found), f"Tracking of the nominal test with {words} parts.")
    for kind, table in result["histograms"].items():
        if table:
            words = "full-order" if kind == "full" else "reduced"
            page.figure(figures.index_histograms(table), f"Indices over the prototypes with {words} parts.")
    test = _test(study)
    if test is not None and test.pictures is not None:
        path = Path(result["records"].get("full", ""))
        for figure, caption in test.pictures(result, Record.load(path) if path.is_file() else None):
            page.figure(figure, caption)
    return True


def _spread_words(result: Mapping[str, Any]) -> str:
    unstable = " and ".join(f"{count} with {kind} parts" for kind, count in result["unstable"].items())
    many = f"{result['prototypes']} prototypes as mean ± standard deviation. " if result["prototypes"] > 1 else ""
    return f"{many}Runs that diverged: {unstable}."


def _sentence(text: str) -> str:
    """Return a text with a capital at its beginning; names inside keep theirs."""
    return text[:1].upper() + text[1:]


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _times_real(factor: float) -> str:
    """Return a real-time factor: whole where it is large, 0.094 where a model is too slow."""
    return f"{factor:,.0f}" if factor >= 10.0 else f"{factor:.2g}"


def _times(page: Page, study: Study, results: Results) -> bool:
    if "simulate/hybrid" not in results:
        return False
    result, labels = results["simulate/hybrid"], study.report.labels
    times = result["run_time"]
    page.heading("Run time")
    page.text(
        "One scenario, one thread; full-order and reduced models are compiled and measured in turns in one run. A "
        "full-order response that is stored counts with the processor time that it took when it was made."
    )
    notes = [
        f"{row['wall_s']:.3g} s, {_times_real(row['real_time_factor'])} x real time"
        + ("" if name == "full" else f", {speed_words(row['speedup_over_full'])}")
        for name, row in times.items()
    ]
    seconds = {name: row["wall_s"] for name, row in times.items()}
    page.figure(figures.bars(seconds, notes, "wall time of one scenario [s]", labels), "Wall time of one scenario.")
    for part, row in result["step_ns"].items():
        cells = [[label(name, labels), f"{ns:.0f}", speed_words(row["full"] / ns)] for name, ns in row.items()]
        page.table([f"{label(part, labels)}: one step", "time [ns]", "beside full order"], cells)
    return True


def _parity(page: Page, study: Study, results: Results) -> bool:
    if not results.get("export", {}).get("parity"):
        return False
    page.heading("The same numbers everywhere")
    page.text(
        "Largest relative difference of every engine from the golden vectors of the bundle: single evaluations, and "
        "one free run where the model has memory."
    )
    rows: list[list[Cell]] = []
    for entry in results["export"]["parity"]:
        texts = ["-" if entry[key] is None else f"{entry[key]:.1e}" for key in ("rows", "run")]
        state: Cell = ("ok" if entry["ok"] else "differs", bool(entry["ok"])) if not entry["note"] else entry["note"]
        rows.append([f"{entry['model']}, {entry['engine']}", *texts, f"{entry['tolerance']:.0e}", state])
    page.table(["model and engine", "evaluations", "free run", "tolerance", ""], rows)
    return True


def _real_time(page: Page, study: Study, results: Results) -> bool:
    if "run" not in results:
        return False
    run = results["run"]
    page.heading("Against the clock" if run["paced"] else "The test, without a clock")
    parts = f" with {', '.join(run['parts'].values())}" if run["parts"] else ""
    page.text(
        f"The loop at {run['rate_hz']:g} Hz for {run['ticks'] / run['rate_hz']:.4g} s{parts}. "
        + _sentence(run["ended"].rstrip("."))
        + "."
    )
    if "verdict" in run:
        page.text(f"{run['verdict']} Missed deadlines: {run['missed']} of {run['ticks']} ticks.", note=True)
    if run.get("frames_lost"):
        page.text(f"{run['frames_lost']} frames of the record are missing.", note=True)
    if run.get("tracking"):
        head = ["J1, delay [ms]", "J2, NRMSE [%]", "J3, peak error [%]"]
        page.table(["tracking", *head], [["measured", *(f"{value:.3g}" for value in run["tracking"].values())]])
    rows = [[label(name, study.report.labels), f"{low:.4g}", f"{high:.4g}", unit or "-"]
            for name, (low, high, unit) in run["ranges"].items()]  # fmt: skip
    page.table(["signal", "least", "largest", "unit"], rows)
    times = {words: run[key] for key, words in (("own_us", "own time"), ("wake_us", "wake-up latency")) if key in run}
    trips = run.get("round_trip_us", {})
    times |= {"round trip to the rig": trips} if "max" in trips else {f"round trip to {n}": t for n, t in trips.items()}
    if times:
        keys = list(next(iter(times.values())))
        page.table(["per tick", *(f"{key} [us]" for key in keys)],
                   [[name, *(_number(row.get(key)) for key in keys)] for name, row in times.items()])  # fmt: skip
        page.text("; ".join(f"{key}: {words}" for key, words in run["host"].items()) + ".")
        page.figure(figures.ticks(run["histograms"], 1e6 / run["rate_hz"]), "Own time and wake-up latency per tick.")
    kept = Path(run["folder"]) / "tracking.nc"
    if kept.is_file():
        record = Trajectory.load(kept)
        what = f"target and measured [{record.units[0]}]"
        if np.any(record["target"]):
            figure = figures.tracking(record.time, record["target"], record["measured"], what)
            page.figure(figure, "What the numerical side wants and what is measured.")
    return True


def _sobol(page: Page, study: Study, results: Results) -> bool:
    table = {}
    for model in study.models():
        for output, inputs in results.get(f"validate/{model.key}", {}).get("sobol", {}).items():
            words = [label(name, study.report.labels) for name in (model.part, model.name, output)]
            table[f"{words[0]}, {words[1]}: {words[2]}"] = inputs
    if not table:
        return False
    page.heading("Sensitivity of the reduced models")
    page.text(
        "Sobol' indices over the sampled range: of a polynomial from its coefficients, of Kriging by 4096 points."
    )
    for i in range(0, len(table), 3):
        shown = dict(list(table.items())[i : i + 3])
        page.figure(figures.sobol(shown, study.report.labels), f"First-order and total indices: {'; '.join(shown)}.")
    return True
