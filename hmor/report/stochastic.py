"""What a report tells of stochastic emulators: residuals, Q-Q plots, densities at repeated points, indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hmor.report.figures import COLOURS, GREY, label, legend, panels, titled
from hmor.report.page import Cell, Page
from hmor.study.file import Model, Study
from mor.data.dataset import Dataset
from mor.reduced.lambda_model.emulator import StochasticEmulator

Results = Mapping[str, Any]


def stochastic_models(page: Page, study: Study, results: Results) -> bool:
    """Tell of the stochastic emulators; return whether there were any."""
    from hmor.study.stages.fit import known_data, load_model, model_data, part_rows

    shown = [(m, results[f"validate/{m.key}"]) for m in study.models() if "law" in results.get(f"validate/{m.key}", {})]
    if not shown:
        return False
    page.heading("Stochastic responses")
    for model, result in shown:
        fitted, law = load_model(study, model), result["law"]
        assert isinstance(fitted, StochasticEmulator)
        data = model_data(study, model)[0]
        page.heading(f"{label(model.part, study.report.labels)}, {label(model.name, study.report.labels)}", 3)
        _tests(page, study, law)
        for output, reading in study.parts[model.source].detrend.items():
            raw = part_rows(study, model.source)
            page.figure(
                drift(raw, known_data(study, model.source, raw), output, reading, study.report.labels),
                "The campaign run by run: the reading that shows its drift, and the response as measured and as the "
                "emulator learns it, the drift removed by regression on that reading.",
            )
        for o, port in enumerate(fitted.outputs):
            words = titled(port.name, port.unit, study.report.labels)
            page.figure(
                diagnostics(fitted, data, o, words),
                "Residuals of the mean over the prediction (even scatter: the noise does not depend on it), residuals "
                "over their standard deviation against normal quantiles, and the probabilities F(y | x) of the rows "
                "against uniform ones (a straight line: the law fits).",
            )
            if law.get("repeated"):
                page.figure(densities(fitted, law["repeated"], o, words), _caption(law["repeated"], port.name))
        if "indices" in law:
            _indices(page, study, model, law)
    return True


def _tests(page: Page, study: Study, law: Mapping[str, Any]) -> None:
    for sentence in law["sentences"]:
        page.text(sentence, note=True)
    rows: list[list[Cell]] = []
    for name, test in law["tests"].items():
        terms = law.get("terms", {}).get(name)
        repeated = "-" if test["repetition_p"] is None else f"{test['repetition_p']:.3g}"
        rows.append([
            label(name, study.report.labels), "-" if terms is None else ", ".join(map(str, terms.values())),
            f"{test['likelihood_p']:.3g}", repeated, str(test["outside"]),
            ("yes" if test["fits"] else "no", bool(test["fits"])),
        ])  # fmt: skip
    head = ["output", "terms of l1, ln l2, l3, l4", "likelihood test p", "repetition test p", "rows outside", "fits"]
    page.table(head, rows)


def _indices(page: Page, study: Study, model: Model, law: Mapping[str, Any]) -> None:
    first = law["indices"]["first"]
    inputs = list(next(iter(first.values())))
    words = [label(name, study.report.labels) for name in inputs]
    rows = [
        [label(output, study.report.labels), *(f"{row[name][0]:.3f}" for name in inputs)]
        for output, row in first.items()
    ]
    classical = {name: row for name, row in law["classical"].items() if name != "notes"}
    rows += [
        [f"{label(name, study.report.labels)}, classical", *(f"{row[i][0]:.3f}" for i in inputs)]
        for name, row in classical.items()
    ]
    page.table(["first-order index of", *words], rows)
    page.figure(
        index_bars(law["indices"], study.report.labels),
        "Sobol' indices of quantiles of the response, first order (bars) and total (dots), with 95 % intervals by "
        f"bootstrap over the rows. {' '.join(law['classical']['notes']).capitalize()}.",
    )


def _caption(repeated: list[dict[str, Any]], name: str) -> str:
    each = "; ".join(f"{one['runs']} runs, p = {one['p'][name]:.2g}" for one in repeated)
    return f"Density of the emulator at the repeated points, and the runs there (Kolmogorov-Smirnov test: {each})."


def drift(raw: Dataset, mended: Dataset, output: str, reading: str, labels: Mapping[str, str]) -> Figure:
    """Draw a reading and the output before and behind the removal of drift, over the runs of a campaign."""
    units = {p.name: p.unit for p in (*raw.inputs, *raw.outputs)}
    runs = np.arange(1, len(raw) + 1)
    figure, axes = panels(1, 2, 4.4, 3.0)
    axes[0, 0].plot(runs, raw[reading], ".", color=COLOURS[0], markersize=4)
    axes[0, 0].set_ylabel(titled(reading, units[reading], labels), fontsize=9)
    axes[0, 1].plot(runs, raw[output], ".", color=GREY, markersize=4, label="measured")
    axes[0, 1].plot(runs, mended[output], ".", color=COLOURS[0], markersize=4, label="drift removed")
    axes[0, 1].set_ylabel(titled(output, units[output], labels), fontsize=9)
    for ax in axes[0]:
        ax.set_xlabel("run", fontsize=9)
    legend(figure, axes[0, 1])
    return figure


def diagnostics(fitted: StochasticEmulator, data: Dataset, o: int, words: str) -> Figure:
    """Draw residuals over predictions, their normal Q-Q plot, and the Q-Q plot of the probabilities."""
    from scipy.special import ndtri

    mean, spread = fitted.mean(data.X)[:, o], fitted.std(data.X)[:, o]
    residual = data.Y[:, o] - mean
    grid = (np.arange(len(data)) + 0.5) / len(data)
    figure, axes = panels(1, 3, 3.7, 3.3)
    axes[0, 0].scatter(mean, residual, s=10, color=COLOURS[0], alpha=0.6, linewidths=0)
    axes[0, 0].axhline(0.0, color=GREY, linewidth=0.8)
    axes[0, 0].set_xlabel(f"predicted mean of {words}", fontsize=9)
    axes[0, 0].set_ylabel("residual", fontsize=9)
    pairs = ((ndtri(grid), np.sort(residual / spread), "normal quantile", "residual over std"),
             (grid, np.sort(fitted.cdf(data.X, data.Y)[:, o]), "uniform quantile", "F(y | x)"))  # fmt: skip
    for ax, (x, y, below, beside) in zip(axes[0, 1:], pairs, strict=True):
        ax.plot([x[0], x[-1]], [x[0], x[-1]], color=GREY, linewidth=0.8)
        ax.scatter(x, y, s=8, color=COLOURS[0], alpha=0.7, linewidths=0)
        ax.set_xlabel(below, fontsize=9)
        ax.set_ylabel(beside, fontsize=9)
    return figure


def densities(fitted: StochasticEmulator, repeated: list[dict[str, Any]], o: int, words: str) -> Figure:
    """Draw the density of the emulator at each repeated point, with the runs as a histogram and as ticks."""
    figure, axes = panels(1, len(repeated), 4.4, 3.0)
    name = fitted.outputs[o].name
    for ax, one in zip(axes[0], repeated, strict=True):
        x, runs = np.array([list(one["inputs"].values())]), np.array(one["responses"][name])
        ends = fitted.quantile(x, [1e-3, 1.0 - 1e-3])[0, o]
        y = np.linspace(min(ends[0], runs.min()), max(ends[1], runs.max()), 300)
        density = fitted._log_density(np.repeat(x, len(y), axis=0), np.tile(y[:, None], (1, len(fitted.outputs))))
        ax.hist(runs, bins=max(4, len(runs) // 3), density=True, color=GREY, alpha=0.3, label="repeated runs")
        ax.plot(y, np.exp(density[:, o]), color=COLOURS[0], label="emulator")
        ax.plot(runs, np.zeros(len(runs)), "|", color=COLOURS[1], markersize=14, label="each run")
        ax.set_title(", ".join(f"{key} {value:.4g}" for key, value in one["inputs"].items()), fontsize=8)
        ax.set_xlabel(words, fontsize=9)
    axes[0, 0].set_ylabel("density", fontsize=9)
    legend(figure, axes[0, 0])
    return figure


def index_bars(indices: Mapping[str, Any], labels: Mapping[str, str]) -> Figure:
    """Draw first-order indices as bars and totals as dots, one group an input, one colour a quantile."""
    first, total = indices["first"], indices["total"]
    inputs = list(next(iter(first.values())))
    figure, axes = panels(1, 1, 7.4, 3.2)
    ax, width = axes[0, 0], 0.8 / len(first)
    for k, (output, row) in enumerate(first.items()):
        at = np.arange(len(inputs)) + (k - 0.5 * (len(first) - 1)) * width
        values = np.array([row[name] for name in inputs])
        spread = np.abs(values[:, 1:] - values[:, :1]).T
        ax.bar(at, values[:, 0], width, yerr=spread, color=COLOURS[k % len(COLOURS)], alpha=0.7, label=label(output,
        labels),
               error_kw={"linewidth": 0.8})  # fmt: skip
        ax.plot(at, [total[output][name][0] for name in inputs], ".", color="black", markersize=4)
    ax.set_xticks(np.arange(len(inputs)), [label(name, labels) for name in inputs], fontsize=9)
    ax.set_ylabel("Sobol' index", fontsize=9)
    legend(figure, ax)
    return figure
