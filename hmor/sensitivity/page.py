"""What terminal and report show of a sensitivity analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from hmor.report.figures import COLOURS, GREY, few_decades, label, legend, panels, titled
from hmor.report.page import Cell, Page
from mor.sampling.space import text_table

Result = Mapping[str, Any]
Labels = Mapping[str, str]
_SHOWN = 6  # inputs that get a curve of their own, the most influential ones


def text(name: str, result: Result, labels: Labels) -> str:
    """Return the analysis of a part as text: errors and indices of each output, published rankings beside."""
    kinds = list(result["curves"][result["outputs"][0]])
    lines = [f"{name}: {result['rows']} samples", *_asides(result, labels)]
    for o, output in enumerate(result["outputs"]):
        rows = [(label(k, labels), *(f"{v:.3g}" for v in _last(result, output, k))) for k in kinds]
        title = titled(output, result["units"][output], labels)
        lines += [f"\n{title}", text_table(("surrogate", "LOO", "mean", "std", "noise", "fit [s]"), rows)]
        columns = _columns(result, o)
        head = ("input", *(f"{what}, {label(k, labels)}" for k in columns for what in ("first", "total")))
        ranked = np.argsort([-next(iter(columns.values()))[1][i] for i in range(len(result["inputs"]))], kind="stable")
        body = [(label(result["inputs"][i], labels), *(f"{v[i]:.3f}" for pair in columns.values() for v in pair))
                for i in ranked]  # fmt: skip
        lines.append(text_table(head, body))
        lines += _interactions(result, o, labels)
        if output in result["published"]:
            lines.append(ranking_words(result["published"][output], labels))
    if result["comparison"]:
        errors = result["comparison"]["errors"]
        rows = [(label(kind, labels), *(f"{v:.2e}" for v in row.values())) for kind, row in errors.items()]
        lines += ["\ncross-validation", text_table(("surrogate", *next(iter(errors.values()))), rows)]
    return "\n".join(lines)


def ranking_words(row: Mapping[str, Any], labels: Labels) -> str:
    """Say whether the order of the inputs is the published one."""
    ours, published = ([label(name, labels) for name in row[key]] for key in ("ours", "published"))
    if row["agrees"]:
        return f"The order is the published one: {' > '.join(ours)}."
    return f"The order differs from the published one: ours {' > '.join(ours)}, published {' > '.join(published)}."


def _asides(result: Result, labels: Labels) -> list[str]:
    """Say what is not shown, and what the indices of dependent inputs are."""
    said = []
    if result.get("failed"):
        said.append(
            f"{result['failed']} of {result['failed'] + result['rows']} samples failed and are left out: where they "
            "lie the surrogates know nothing, and moments and indices are guesses there."
        )
    if result.get("constant"):
        said.append(f"Left out, because it does not vary: {', '.join(label(o, labels) for o in result['constant'])}.")
    if result.get("dependent"):
        said.append(
            "The inputs depend on each other: indices are Kucherenko's, of Kriging. First: what knowing the input "
            "would explain, with what it tells of the others; total: what is left when all others are known."
        )
    return said


def _interactions(result: Result, o: int, labels: Labels) -> list[str]:
    """Name the pairs of inputs with the largest second-order indices of output o, by the first surrogate."""
    second = next(iter(result["indices"].values())).get("second")
    if second is None or len(result["inputs"]) < 2:
        return []
    share = np.array(second["value"][o])
    pairs = sorted(((share[i, j], i, j) for i in range(len(share)) for j in range(i)), reverse=True)[:3]
    names = [label(name, labels) for name in result["inputs"]]
    words = [f"{names[j]} with {names[i]} {value:.3f}" for value, i, j in pairs if value >= 0.005]
    return [f"Largest interactions of two: {', '.join(words)}." if words else "No two inputs interact (below 0.005)."]


def _last(result: Result, output: str, kind: str) -> list[float]:
    curve = result["curves"][output][kind]
    return [*(curve[key][-1] for key in ("loo", "mean", "std")), result["noise"][output][kind],
            result["fit_seconds"][kind]]  # fmt: skip


def _columns(result: Result, o: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return {surrogate or "direct": (first, total)} of output o."""
    found = result["indices"] | ({"direct": result["truth"]} if result["truth"] else {})
    return {kind: (one["first"]["value"][o], one["total"]["value"][o]) for kind, one in found.items()}


def sensitivity(page: Page, labels: Labels, name: str, result: Result) -> None:
    """Tell of the analysis of one part in a report."""
    page.heading(label(name, labels), 3)
    kinds = list(result["curves"][result["outputs"][0]])
    words = ", ".join(label(kind, labels) for kind in kinds)
    page.text(
        f"Surrogates of the first n of {result['rows']} samples: {words}. LOO is the leave-one-out error relative to "
        "the variance, often too small with few samples: believe it where it has settled. Noise is the standard "
        "deviation that a surrogate found in the samples."
        + (
            ""
            if result.get("dependent")
            else " Indices of an expansion from its coefficients, with intervals by bootstrap; of Kriging by "
            "projection on polynomials."
        )
        + (" Direct: the model without noise, by scrambled Sobol' points." if result["truth"] else "")
    )
    for sentence in _asides(result, labels):
        page.text(sentence)
    rows: list[list[Cell]] = [
        [
            f"{titled(output, result['units'][output], labels)}, {label(kind, labels)}",
            *(f"{v:.3g}" for v in _last(result, output, kind)),
        ]
        for output in result["outputs"]
        for kind in kinds
    ]
    page.table(["output and surrogate", "LOO", "mean", "std", "noise", "fit [s]"], rows)
    for o, output in enumerate(result["outputs"]):
        page.figure(bars(result, o, labels), f"{label(output, labels)}: first-order (full) and total (pale) indices.")
        page.table(*_index_table(result, o, labels))
        for sentence in _interactions(result, o, labels):
            page.text(sentence)
        if output in result["published"]:
            page.text(ranking_words(result["published"][output], labels), note=True)
    page.figure(convergence(result, labels), "Leave-one-out error, mean and standard deviation over the samples.")
    page.figure(settling(result, labels), f"Total indices over the samples, {words}.")
    page.figure(densities(result, labels), "Densities: the samples, and new points predicted by the surrogates.")
    if result["effects"]:
        page.figure(
            effects(result, labels),
            "Effects E[y | x] - E[y] over the range of each input, from its 0.5 to its 99.5 % quantile.",
        )
    if result["comparison"]:
        errors = result["comparison"]["errors"]
        page.text(f"Cross-validation: {label(result['comparison']['best'], labels)} predicts rows left out best.")
        head = ["surrogate", *(label(key, labels) for key in next(iter(errors.values())))]
        page.table(head, [[label(kind, labels), *(f"{v:.2e}" for v in row.values())] for kind, row in errors.items()])


def _index_table(result: Result, o: int, labels: Labels) -> tuple[list[str], list[list[Cell]]]:
    """Return head and rows of the indices of output o: "first / total" of each surrogate."""
    columns = _columns(result, o)
    rows: list[list[Cell]] = [
        [label(name, labels), *(f"{first[i]:.3f} / {total[i]:.3f}" for first, total in columns.values())]
        for i, name in enumerate(result["inputs"])
    ]
    return ["first / total", *(label(kind, labels) for kind in columns)], rows


def bars(result: Result, o: int, labels: Labels) -> Figure:
    """Draw the indices of output o: one group an input, one colour a surrogate, intervals where there are some."""
    found = result["indices"] | ({"direct": result["truth"]} if result["truth"] else {})
    figure, axes = panels(1, 1, max(6.0, 1.6 + 0.28 * len(result["inputs"]) * len(found)), 3.2)
    ax, width, at = axes[0, 0], 0.84 / len(found), np.arange(len(result["inputs"]))
    for k, (kind, one) in enumerate(found.items()):
        place = at + (k - 0.5 * (len(found) - 1)) * width
        colour = GREY if kind == "direct" else COLOURS[k % len(COLOURS)]
        for which, alpha in (("total", 0.35), ("first", 0.95)):
            value = np.array(one[which]["value"][o])
            ends = [np.array(one[which][side][o]) for side in ("lower", "upper") if side in one[which]]
            half = np.maximum([value - ends[0], ends[1] - value], 0.0) if ends else None
            ax.bar(place, value, 0.92 * width, yerr=half, capsize=1.5, error_kw={"lw": 0.8}, color=colour, alpha=alpha,
                   label=label(kind, labels) if which == "first" else None)  # fmt: skip
    ax.set_xticks(at, [label(name, labels) for name in result["inputs"]], rotation=45 if len(at) > 6 else 0)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("share of the variance [-]")
    legend(figure, ax)
    return figure


def convergence(result: Result, labels: Labels) -> Figure:
    """Draw error, mean and standard deviation of each output over the samples."""
    figure, axes = panels(len(result["outputs"]), 3, 3.4, 2.4)
    for row, output in zip(axes, result["outputs"], strict=True):
        unit = result["units"][output]
        for ax, key in zip(row, ("loo", "mean", "std"), strict=True):
            for k, (kind, curve) in enumerate(result["curves"][output].items()):
                ax.plot(result["sizes"], curve[key], "o-", ms=3, color=COLOURS[k], label=label(kind, labels))
            ax.set_title(
                f"{label(output, labels)}: {key.upper() if key == 'loo' else titled(key, unit, {})}", fontsize=9
            )
        row[0].set_yscale("log")
        few_decades(row[0].yaxis)
    for ax in axes[-1]:
        ax.set_xlabel("samples")
    legend(figure, axes[0, 0])
    return figure


def _colour(i: int, result: Result) -> Any:
    """Return the colour of input i, its own among up to twenty."""
    return f"C{i}" if len(result["inputs"]) <= 10 else colormaps["tab20"](i % 20)


def settling(result: Result, labels: Labels) -> Figure:
    """Draw the total indices of the most influential inputs over the samples, one panel an output and surrogate."""
    kinds = list(result["curves"][result["outputs"][0]])
    figure, axes = panels(len(result["outputs"]), len(kinds), 3.4, 2.4, sharey=True)
    shown: set[int] = set()
    for row, output in zip(axes, result["outputs"], strict=True):
        for ax, kind in zip(row, kinds, strict=True):
            table = np.array(result["curves"][output][kind]["total"])
            for i in np.argsort(-table[-1], kind="stable")[:_SHOWN]:
                if i not in shown:
                    axes[0, 0].plot(
                        [], [], "o-", ms=3, color=_colour(i, result), label=label(result["inputs"][i], labels)
                    )
                shown.add(int(i))
                ax.plot(result["sizes"], table[:, i], "o-", ms=3, color=_colour(i, result))
            ax.set_title(f"{label(output, labels)}, {label(kind, labels)}", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("samples")
    axes[0, 0].set_ylim(-0.02, 1.05)
    legend(figure, axes[0, 0])
    return figure


def densities(result: Result, labels: Labels) -> Figure:
    """Draw the histogram of the samples and the densities that the surrogates predict."""
    figure, axes = panels(1, len(result["outputs"]), 4.6, 2.8)
    for ax, output in zip(axes[0], result["outputs"], strict=True):
        table = result["density"][output]
        edges = np.array(table["edges"])
        ax.stairs(table["samples"], edges, fill=True, color=GREY, alpha=0.35, label="samples")
        for k, kind in enumerate(kind for kind in table if kind not in ("edges", "samples")):
            ax.stairs(table[kind], edges, color=COLOURS[k], label=label(kind, labels))
        ax.set_xlabel(titled(output, result["units"][output], labels))
    axes[0, 0].set_ylabel("density")
    legend(figure, axes[0, 0])
    return figure


def effects(result: Result, labels: Labels) -> Figure:
    """Draw the univariate effects of the most influential inputs over their range, scaled to 0..1."""
    figure, axes = panels(1, len(result["outputs"]), 4.6, 2.8)
    for o, (ax, output) in enumerate(zip(axes[0], result["outputs"], strict=True)):
        first = np.array(next(iter(result["indices"].values()))["first"]["value"][o])
        for i in np.argsort(-first, kind="stable")[:_SHOWN]:
            curve = result["effects"][output][result["inputs"][i]]
            ax.plot(np.linspace(0.0, 1.0, len(curve["x"])), curve["y"], color=_colour(i, result),
                    label=label(result["inputs"][i], labels))  # fmt: skip
        ax.set_title(titled(output, result["units"][output], labels), fontsize=10)
        ax.set_xlabel("input, from low to high")
        ax.legend(fontsize=7, frameon=False)
    axes[0, 0].set_ylabel("effect")
    return figure
