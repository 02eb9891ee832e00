"""The report of the motorcycle study: one HTML page, and its figures as PNG."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmor.motorcycle import figures
from hmor.motorcycle.brakes import load_models, split_static
from hmor.motorcycle.controlled import LATE
from hmor.motorcycle.hybrids import PUBLISHED, RESPONSES
from hmor.motorcycle.page import Cell, Page
from hmor.motorcycle.settings import SIDES, STATIC, Settings
from hmor.pipeline import program_version
from mor import Trajectory
from rt_runtime.files import replacing, write_file
from rt_runtime.run_folder import host_facts, versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = Mapping[str, Mapping[str, Any]]


def report(settings: Settings, folder: Path, results: Results) -> dict[str, Any]:
    """Draw the figures and write report/report.html; return the headline numbers."""
    place = folder / "report"
    place.mkdir(parents=True, exist_ok=True)
    page = Page(
        "Reduced brakes in the hybrid model of a motorcycle",
        f"Study {settings.study.name}, made {datetime.now():%d %B %Y, %H:%M} with hybrid-mor {program_version()}, "
        f"seed {settings.study.seed}.",
    )
    means = {
        path.stem: Trajectory.load(path) for path in sorted((folder / "simulate").glob("*.nc"))
    }
    simulated, judged = results["simulate"], results["validate"]
    _summary(page, settings, results)
    _model(page, place, settings)
    _fits(page, place, settings, folder, judged, results["train"])
    _hybrids(page, place, means, simulated)
    if "controlled" in simulated:
        controlled_section(page, place, folder, simulated["controlled"])
    _times(page, place, simulated, results)
    _parity(page, results["export"])
    if "run" in results:
        _real_time(page, place, folder, results["run"])
    page.heading("Sensitivity of the brake torque")
    page.text("Sobol' indices over the sampled range, from the coefficients of the static polynomials.")
    _picture(page, place, "sensitivity", figures.sensitivity(judged["sensitivity"]), "First-order and total indices.")
    _host(page, settings)
    write_file(place / "report.html", str(page))
    return {"page": str(place / "report.html"), "figures": sorted(p.name for p in place.glob("*.png"))}


def _picture(page: Page, place: Path, name: str, figure: Figure, caption: str) -> None:
    with replacing(place / f"{name}.png") as path:
        figure.savefig(path, dpi=130, format="png")
    page.picture(place / f"{name}.png", caption)


def _summary(page: Page, settings: Settings, results: Results) -> None:
    simulated = results["simulate"]
    errors, times = simulated["nrmse_percent"], simulated["run_time"]
    memory = "ffnn_memory" if "ffnn_memory" in errors else "ffnn"
    worst = max(errors[memory]["tau_rw"], errors[memory]["tau_fw"])
    page.facts(
        [
            (f"{times['ffnn']['speedup_over_fom']:.1f} x", "faster than with full-order brakes (FFNN, static)"),
            (f"{times['ffnn']['real_time_factor']:.0f} x", "faster than real time (FFNN, static)"),
            (f"{worst:.2f} %", f"NRMSE of the brake torques ({figures.label(memory)})"),
            (f"{errors[memory]['v']:.3f} %", f"NRMSE of the speed ({figures.label(memory)})"),
        ]
    )
    page.text(
        f"Both hydraulic brakes were sampled ({settings.sample.points} Latin-hypercube points each for the static "
        "maps, which give no torque at all while the pads do not touch their disc, and "
        f"{settings.sample.trajectories} trajectories for the models with memory), fitted by feed-forward "
        "networks (FFNN) and polynomial chaos expansions (PCE), exported to one bundle, and put into the hybrid "
        f"model in place of the full-order brakes. Each hybrid model ran the same {simulated['prototypes']} "
        "prototypes through the driving scenario of 45 s at 0.1 ms. The reduced brakes in these runs are the "
        "exported ONNX files, executed by the engine."
    )


def _model(page: Page, place: Path, settings: Settings) -> None:
    from mor.models.motorcycle.model import hybrid

    page.heading("The hybrid model")
    hybrid(dt=settings.simulate.step).draw(place / "model.png")
    page.picture(place / "model.png", "Substructures and their couplings; both brakes are replaced by reduced models.")


def _fits(page: Page, place: Path, settings: Settings, folder: Path, judged: Mapping[str, Any], trained: Any) -> None:
    page.heading("Reduced brakes")
    page.text(
        "Test points were kept from all fits; the scenario is driven by the full-order motorcycle and was never used "
        "in training. A static map cannot follow the hydraulic lag and the heating of the disc; one with memory can."
    )
    rows = []
    for name, row in judged["models"].items():
        side, _, kind = name.partition("_")
        test = f"{100 * row['test_nrmse']:.4f}" if "test_nrmse" in row else "-"
        scenario, peak = f"{100 * row['scenario_nrmse']:.3f}", f"{100 * row['scenario_peak_error']:.2f}"
        cost = str(row["multiply_adds"])
        rows.append([f"{side}, {figures.label(kind)}", test, scenario, peak, cost, f"{trained[name]['wall_s']:.1f}"])
    head = ["brake", "test NRMSE [%]", "scenario NRMSE [%]", "scenario peak [%]", "multiply-adds", "fit [s]"]
    page.table(head, rows)
    models = load_models(folder)
    points: dict[str, dict[str, tuple[Any, Any]]] = {}
    for side in SIDES:
        _, _, test_set = split_static(settings, folder, side)
        truth = test_set.Y[:, 0]
        points[side] = {kind: (truth, models[f"{side}_{kind}"].predict(test_set.X)[:, 0]) for kind in STATIC}
    _picture(page, place, "parity", figures.parity(points), "Static models on the test points.")


def _hybrids(page: Page, place: Path, means: Mapping[str, Trajectory], simulated: Mapping[str, Any]) -> None:
    errors = simulated["nrmse_percent"]
    page.heading("Hybrid models with reduced brakes")
    page.text(
        "NRMSE in percent of the mean history over all prototypes against the full-order hybrid model, beside the "
        "values published for memoryless brakes on another full-order model (Tsokanas, 2021). The physics differs, so "
        "these are marks to beat, not values to hit. With closed throttle the transmission freewheels: engine and "
        "drive torque do not feel the brakes, and static brakes give none before the lever is pulled."
    )
    for kinds, published in ((("ffnn", "pce", "mixed"), True), (("ffnn_memory", "pce_memory", "mixed_memory"), False)):
        shown = [kind for kind in kinds if kind in errors]
        if not shown:
            continue
        head = ["response"]
        for kind in shown:
            head += [figures.label(kind), "published"] if published else [figures.label(kind)]
        rows: list[list[Cell]] = []
        for signal in RESPONSES:
            row: list[Cell] = [figures.TITLES[signal].split(" [")[0]]
            for kind in shown:
                value, mark = errors[kind][signal], PUBLISHED.get(kind, {}).get(signal)
                row.append(f"{value:.3f}" if mark is None else (f"{value:.3f}", value < mark))
                if published:
                    row.append("-" if mark is None else f"{mark:g}")
            rows.append(row)
        page.table(head, rows)
    static = {name: means[name] for name in ("fom", "ffnn", "pce", "mixed")}
    _picture(page, place, "histories", figures.histories(static, RESPONSES), "Mean over the prototypes, static models.")
    _picture(page, place, "differences", figures.differences(means, RESPONSES), "Difference to the full-order model.")
    _picture(page, place, "torques", figures.torques(means), "The brake torques while the lever is pulled.")


def controlled_section(page: Page, place: Path, folder: Path, result: Mapping[str, Any]) -> None:
    """Add the virtual test under adaptive MPC: tracking, differences of the responses, the torque over time."""
    brakes = result["brakes"]
    names = {"fom": "full-order brakes", brakes: f"reduced brakes ({figures.label(brakes)})", "published": "published"}
    page.heading("Virtual test under adaptive MPC")
    page.text(
        "As in a real test, the torque of the engine model is the target of a motor that drives the transmission. The "
        "dynamics of the motor are drawn anew every 0.25 s; a controller at 2.5 kHz identifies them while it runs. "
        f"Tracking of the nominal motorcycle, and mean \u00b1 standard deviation over {result['prototypes']} "
        "prototypes, each with an actuator of its own; published over 200 prototypes of another motorcycle."
    )
    rows: list[list[Cell]] = []
    for name, words in names.items():
        for key, which in (("nominal", "nominal"), ("mean", "prototypes")):
            row: list[Cell] = [f"{words}, {which}"]
            for index, digits in (("J1_ms", 2), ("J2_percent", 3), ("J3_percent", 2)):
                values = result[key][name]
                if not values:  # diverged
                    row.append("-")
                    continue
                text = f"{values[index]:.{digits}f}"
                text += f" \u00b1 {result['std'][name][index]:.{digits}f}" if key == "mean" else ""
                good = abs(values[index]) < result[key]["published"][index]
                row.append(text if name == "published" else (text, good))
            rows.append(row)
    page.table(["tracking of the engine torque", "J1, delay [ms]", "J2, NRMSE [%]", "J3, peak error [%]"], rows)
    unstable = ", ".join(f"{count} with {names[name]}" for name, count in result["unstable"].items())
    page.text(f"Runs that diverged: {unstable}.")
    if late := result["mean"][brakes].get(LATE):
        page.text(
            "At t = 0 the crank of a prototype idles at another speed than the transmission: a step of the target, "
            f"which J3 shows. Without the first second it is {late:.2f} \u00b1 {result['std'][brakes][LATE]:.2f} % "
            "with reduced brakes."
        )
    errors = result["nrmse_percent"]
    reduced, control = errors["reduced_against_full_order"], errors["controlled_against_uncontrolled"]
    if reduced and control:
        page.text(
            "NRMSE in percent of the mean histories: reduced against full-order brakes, both under control, and, with "
            "full-order brakes, what motor and controller change of the responses."
        )
        page.table(
            ["response", "reduced against full-order brakes", "with control against without"],
            [[figures.TITLES[s].split(" [")[0], f"{reduced[s]:.3f}", f"{control[s]:.3f}"] for s in RESPONSES],
        )
    if result["nominal"][brakes]:
        history = Trajectory.load(folder / "simulate" / "controlled" / f"{brakes}_nominal.nc")
        target, measured = history["target"], history["tau_en"]
        worst = float(history.time[abs(measured - target).argmax()])
        begin = min(max(worst - 0.25, 0.0), float(history.time[-1]) - 0.5)
        figure = figures.tracking(history.time, target, measured, zoom=(begin, begin + 0.5))
        caption = f"Engine torque of the nominal motorcycle, {names[brakes]}; right: around the largest difference."
        _picture(page, place, "controlled", figure, caption)


def _times(page: Page, place: Path, simulated: Mapping[str, Any], results: Results) -> None:
    page.heading("Run time")
    page.text(
        "One scenario, one thread, full-order and reduced models compiled and measured in turns in one run. The "
        "full-order brakes use the cheapest integrator that is accurate enough. About half of their time is exp and "
        "tanh of the wheel speed in each of its twelve evaluations; asked once a tick they would be faster by that."
    )
    _picture(page, place, "run_time", figures.run_times(simulated["run_time"]), "Wall time of one scenario of 45 s.")
    cost = simulated.get("brake_cost")
    if cost:
        rows = [[figures.label(name) if name != "fom" else "full order", f"{ns:.0f}"] for name, ns in cost.items()]
        page.table(["one brake", "time per step of 0.1 ms [ns]"], rows)


def _parity(page: Page, exported: Mapping[str, Any]) -> None:
    page.heading("The same numbers everywhere")
    page.text(
        "Largest relative difference of every engine from the golden vectors of the bundle: single evaluations, and "
        "one free run where the model has memory."
    )
    rows: list[list[Cell]] = []
    for entry in exported["parity"]:
        values = [entry["rows"], entry["run"]]
        texts = ["-" if value is None else f"{value:.1e}" for value in values]
        state: Cell = (
            (("ok" if entry["ok"] else "differs"), bool(entry["ok"])) if entry["note"] == "" else entry["note"]
        )
        rows.append([f"{entry['model']}, {entry['engine']}", *texts, f"{entry['tolerance']:.0e}", state])
    page.table(["model and engine", "evaluations", "free run", "tolerance", ""], rows)


def _real_time(page: Page, place: Path, folder: Path, run: Mapping[str, Any]) -> None:
    page.heading("Against the clock, beside a rig")
    page.text(
        f"The reduced hybrid model at {run['rate_hz']:g} Hz for {run['seconds']:g} s under adaptive MPC and a monitor; "
        "the motor and the transmission are a rig in another process behind UDP on this machine. The run "
        f"{'tripped: ' if run['tripped'] else ''}{run['ended']}."
    )
    metrics = run["tracking"] or dict.fromkeys(("J1", "J2", "J3"), float("nan"))
    page.table(
        ["tracking of the engine torque", "value", "published"],
        [
            ["J1, delay [ms]", f"{metrics['J1']:.2f}", "2.5"],
            ["J2, NRMSE [%]", f"{metrics['J2']:.3f}", "0.32"],
            ["J3, peak error [%]", f"{metrics['J3']:.3f}", "2.79"],
        ],
    )
    rows = [[name, *(f"{value:.1f}" for value in row.values())] for name, row in run["times_us"].items()]
    page.table(["per tick", *(f"{key} [us]" for key in next(iter(run["times_us"].values())))], rows)
    page.text(
        f"Missed deadlines: {run['missed']} of {run['ticks']} ticks; {run['stale_ticks']} ticks without a fresh answer "
        f"of the rig, whose round trip took {run['round_trip_us']['p50']:.0f} us in the median. "
        + "; ".join(f"{key}: {words}" for key, words in run["host"].items())
        + "."
    )
    histograms = figures.ticks(run["histograms"], 1e6 / run["rate_hz"])
    _picture(page, place, "ticks", histograms, "Own time and wake-up latency per tick.")
    record = Trajectory.load(folder / "run" / "tracking.nc")
    figure = figures.tracking(record.time, record["target"], record["measured"])
    _picture(page, place, "tracking", figure, "Engine torque: what the engine model wants and what the motor gives.")


def _host(page: Page, settings: Settings) -> None:
    page.heading("Host and versions")
    facts = host_facts() | versions()
    page.table(["", ""], [[key, value] for key, value in facts.items()])
    page.text(f"Made again with `hmor demo --full` (or step by step: `hmor sample {settings.study.name}`, ...).")


