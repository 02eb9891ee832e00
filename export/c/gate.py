"""A gate around a map as C."""

from __future__ import annotations

import numpy as np

from export.c.text import CType, comment_text
from export.forms import Form, Gated


def gate_comment(form: Form) -> str:
    """Return the lines of the header that tell which outputs vanish, and when; none without a gate."""
    said = form.facts.get("gate")
    if said is None:
        return ""
    who = comment_text(", ".join(said["outputs"])) if "outputs" in said else "The outputs"
    end = f" at {said['closed']:.9g}" if "closed" in said else ""
    return (
        f"\n *\n * {who} vanish with {comment_text(said['input'])}: below {said['span']:.9g} they fade linearly to "
        f"zero{end}, and stay there."
    )


def c_gate(form: Gated, t: CType, inner: str) -> str:
    """Return the function `map` around the one of the model, whose text is `inner`."""
    j, zero, one = form.column, t.literal(0.0), t.literal(1.0)
    beyond = f"(x[{j}] - {t.literal(form.closed)})" if form.closed else f"x[{j}]"
    raised = np.isfinite(form.floor)
    floor = t.literal(form.floor) if raised else ""
    lines = [
        f"static void map(const {t.name} *x, {t.name} *y)",
        "{",
        f"    const {t.name} share = {beyond} / {t.literal(form.width)};",
        f"    const {t.name} c = share < {zero} ? {zero} : share > {one} ? {one} : share; /* not a number stays so */",
    ]
    if raised:
        lines += [
            f"    {t.name} raised[{form.n_in}];",
            "    int i;",
            f"    for (i = 0; i < {form.n_in}; ++i)",
            "        raised[i] = x[i];",
            f"    if (x[{j}] < {floor})",
            f"        raised[{j}] = {floor};",
        ]
    lines.append(f"    open_map({'raised' if raised else 'x'}, y);")
    for i, (low, high) in enumerate(zip(*(form.bounds or ()), strict=True)):
        a, b = t.literal(low), t.literal(high)
        lines.append(f"    y[{i}] = y[{i}] < {a} ? {a} : y[{i}] > {b} ? {b} : y[{i}];")
    lines += [f"    y[{i}] *= c;" for i in np.flatnonzero(form.vanishing)]
    return inner.replace("static void map(", "static void open_map(") + "\n\n" + "\n".join([*lines, "}"])
