"""What a report tells of the reduced models: accuracy, parity, free runs, hysteresis loops, learning curves."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hmor.report import figures
from hmor.report.figures import label, speed_words
from hmor.report.page import Cell, Page
from hmor.study.file import Model, Study
from mor.data.dataset import Dataset
from mor.data.trajectory import Trajectory
from mor.reduced.base import ReducedModel
from mor.reduced.history import split_runs

Results = Mapping[str, Any]
LENGTHS, FORCES = {"m", "mm", "cm", "rad"}, {"N", "kN", "MN", "Nm", "N m", "kNm", "kN m"}
"""Units that make a displacement and a force, for hysteresis loops."""

SHOWN_RUN = 200_000
"""Steps of a run that are drawn at most."""


def of_group(results: Results, group: str) -> dict[str, Any]:
    """Return {item: result} of a group of steps."""
    return {name.partition("/")[2]: result for name, result in results.items() if name.startswith(f"{group}/")}


def reduced_models(page: Page, study: Study, results: Results) -> bool:
    """Tell of the reduced models; return whether there were any."""
    judged, trained = of_group(results, "validate"), of_group(results, "train")
    if not trained:
        return False
    labels = study.report.labels
    page.heading("Reduced models")
    rows: list[list[Cell]] = []
    for model in study.models():
        row, fit = judged.get(model.key, {}), trained.get(model.key)
        if fit is None:
            continue
        scenario = row.get("scenario", {})
        error = f"{100 * row['worst_nrmse']:.4g}" if "worst_nrmse" in row else "-"
        cells: list[Cell] = [f"{label(model.part, labels)}, {label(model.name, labels)}"]
        limited = row.get("max_nrmse") is not None
        cells.append((error, bool(row["passed"])) if limited else error)
        cells += [f"{100 * scenario[k]:.3g}" if k in scenario else "-" for k in ("nrmse", "peak_error")]
        speed = row.get("cost", {}).get("speed_up")
        cells += ["-" if speed is None else speed_words(speed), str(fit["multiply_adds"]), f"{fit['seconds']:.1f}"]
        rows.append(cells)
    page.text(
        "Test samples were kept from all fits; the scenario is that of the full-order hybrid model and was never used "
        "in training. NRMSE of the worst output."
    )
    head = [
        "model",
        "test NRMSE [%]",
        "scenario NRMSE [%]",
        "scenario peak [%]",
        "in numpy",
        "multiply-adds",
        "fit [s]",
    ]
    page.table(head, rows)
    for part in study.parts:
        shown = {key for key, row in judged.items() if row.get("rows") or "scenario" in row}
        models = [model for model in study.models() if model.part == part and model.key in shown]
        if models:
            page.heading(label(part, labels), 3)
            _fits(page, study, models)
    _learning(page, study, trained)
    return True


def _fits(page: Page, study: Study, models: list[Model]) -> None:
    """Show the models of one part on data they have not seen: parity of static ones, free runs of those with memory."""
    from hmor.study.stages.fit import held_out, load_model

    labels, part = study.report.labels, label(models[0].part, study.report.labels)
    fitted = {model: load_model(study, model) for model in models}
    points: dict[str, dict[str, tuple[Any, Any]]] = {}
    for model, reduced in fitted.items():
        data = None if reduced.states else held_out(study, model)
        if data is not None:
            Y = reduced.predict(data.X)
            for i, port in enumerate(data.outputs):
                what = figures.titled(port.name, port.unit, labels)
                points.setdefault(what, {})[model.name] = (data.Y[:, i], Y[:, i])
    for what, kinds in points.items():
        page.figure(figures.parity(kinds, what), f"{part}: {what} of the static models on the test samples.")
    remembering = {model: reduced for model, reduced in fitted.items() if reduced.states}
    shown = _free_runs(study, remembering) or _scenario_runs(study, models)
    if shown is None:
        return
    where, inputs, truth, answers = shown
    page.figure(figures.runs(truth, answers, labels), f"{part}: free runs {where}, with the difference to full order.")
    _loops(page, part, inputs, truth, answers, labels)


Shown = tuple[str, Trajectory, Trajectory, dict[str, Trajectory]]


def _free_runs(study: Study, models: Mapping[Model, ReducedModel]) -> Shown | None:
    """Return inputs, truth and free runs on the first run of the test share; None when there is none."""
    from hmor.study.stages.fit import held_out, model_data

    found: Shown | None = None
    for model, fitted in models.items():
        data = held_out(study, model)
        if data is None:
            continue
        run: Dataset = split_runs(data)[0]
        run = run.take(np.arange(len(run)) < SHOWN_RUN)
        hidden = 0 if model.section.memory is None else len(model.section.memory.states)
        keep = len(run.outputs) - hidden
        time = (fitted.dt or model_data(study, model)[1] or 1.0) * np.arange(len(run))
        answer = Trajectory(time, fitted.rollout(run.X)[:, :keep], run.outputs[:keep])
        if found is None:
            truth = Trajectory(time, run.Y[:, :keep], run.outputs[:keep])
            found = ("on a test run", Trajectory(time, run.X, run.inputs), truth, {})
        if len(found[2]) == len(answer):
            found[3][model.name] = answer
    return found


def _scenario_runs(study: Study, models: list[Model]) -> Shown | None:
    """Return the same in the scenario of the full-order hybrid model; None when no variant has the models."""
    from hmor.study.stages.scenario import kept_run

    found: Shown | None = None
    for model in models:
        both = kept_run(study, model)
        if both is None:
            continue
        inputs, truth, answer = both
        if found is None:
            found = ("in the scenario", inputs, truth, {})
        found[3][model.name] = answer
    return found


def _loops(
    page: Page, part: str, inputs: Trajectory, truth: Trajectory, answers: Mapping[str, Trajectory],
    labels: Mapping[str, str],
) -> None:  # fmt: skip
    """Show force over displacement where the ports have such units."""
    along = next((p for p in inputs.ports if p.unit in LENGTHS), None)
    across = next((p for p in truth.ports if p.unit in FORCES), None)
    if along is None or across is None:
        return
    loops = {"full": (inputs[along.name], truth[across.name])}
    loops |= {name: (inputs[along.name], answer[across.name]) for name, answer in answers.items()}
    axes = [figures.titled(port.name, port.unit, labels) for port in (along, across)]
    page.figure(figures.hysteresis(loops, axes[0], axes[1], labels), f"{part}: hysteresis loops of these runs.")


def _learning(page: Page, study: Study, trained: Mapping[str, Any]) -> None:
    """Show the errors over the iterations of each fit that left a log, of its last restart."""
    curves = {}
    for model in study.models():
        logs = sorted((study.folder / "fit" / model.key).rglob("metrics.csv"))
        table = _read_log(logs[-1]) if logs and model.key in trained else {}
        wanted = {key: values for key, values in table.items() if key == "iteration" or key.endswith("mse")}
        if len(wanted) > 1 and len(wanted["iteration"]) > 1:
            curves[f"{label(model.part, study.report.labels)}, {label(model.name, study.report.labels)}"] = wanted
    if curves:
        page.heading("Learning curves", 3)
    for i in range(0, len(curves), 3):
        shown = dict(list(curves.items())[i : i + 3])
        page.figure(figures.learning(shown), f"Errors over the iterations: {'; '.join(shown)}.")


def _read_log(path: Path) -> dict[str, Any]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in (rows[0] if rows else ()) if all(row[name] not in ("", None) for row in rows)]
    return {name: np.array([float(row[name]) for row in rows]) for name in names}
