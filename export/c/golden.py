"""A small C program that replays the golden vectors through a generated source."""

from __future__ import annotations

import numpy as np

from export.c.text import CType
from export.forms import Form
from rt_runtime.bundle.checks import largest_tolerance
from rt_runtime.bundle.read import Golden

TOLERANCE = 1e-12


def tolerance_of(kind: str) -> float:
    """Return how closely C in double precision must repeat a model of a kind, relative to its outputs."""
    return largest_tolerance(kind, "float64") if kind == "kriging" else TOLERANCE


def c_main(form: Form, golden: Golden, precision: str, tolerance: float) -> str:
    """Return the program: prints the largest relative difference, returns 0 when it is within `tolerance`, else 1.

    With rows of numbers on standard input instead (argument "rows" or "run"), it answers them: rows are (u, state) of
    one step each, or u of consecutive steps; both are read and written as raw values of the model's type.
    """
    t, double = CType(precision), CType("float64")
    name, n_in, n_out = form.name, len(form.inputs), len(form.outputs)
    n_state = 0 if form.recursion is None else form.recursion.initial.size
    X = golden.X.astype(t.dtype)
    tables = [t.array("golden_x", X), double.array("golden_y", golden.Y)]
    tables.append(double.array("scale_y", _scale(golden.Y)))
    free = ""
    if golden.u is not None and golden.y is not None:
        tables += [t.array("golden_u", golden.u.astype(t.dtype)), double.array("golden_run", golden.y)]
        tables.append(double.array("scale_run", _scale(golden.y)))
        free = f"""\
    {name}_reset(state);
    for (k = 0; k < {len(golden.u)}; ++k) {{
        {name}_step(golden_u[k], state, y);
        worst = larger(worst, difference(y, golden_run[k], scale_run));
    }}
"""
    copy = f"""\
        for (i = 0; i < {n_state}; ++i)
            state[i] = golden_x[k][{n_in} + i];
"""
    take = f"""\
        for (i = 0; one_step && i < {n_state}; ++i)
            state[i] = x[{n_in} + i];
"""
    width = f"one_step ? {n_in + n_state} : {n_in}" if n_state else str(n_in)
    index = "    int i;\n" if n_state else "    (void)one_step;\n"
    return f"""\
/* Replays the golden vectors of model {name}: cc -std=c99 -O2 {name}.c {name}_main.c -lm && ./a.out */
#include "{name}.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

{(chr(10) * 2).join(tables)}

static double larger(double a, double b)
{{
    return a >= b ? a : b; /* also when a is not a number */
}}

static double difference(const {t.name} *got, const double *expected, const double *scale)
{{
    double worst = 0.0;
    int i;
    for (i = 0; i < {n_out}; ++i) {{
        double d = fabs((double)got[i] - expected[i]) / scale[i];
        worst = larger(worst, d == d ? d : HUGE_VAL);
    }}
    return worst;
}}

static int answer(int one_step)
{{
    {t.name} x[{n_in + n_state}], y[{n_out}], state[{max(1, n_state)}];
    const size_t width = {width};
{index}    {name}_reset(state);
    while (fread(x, sizeof x[0], width, stdin) == width) {{
{take if n_state else ""}        {name}_step(x, state, y);
        if (fwrite(y, sizeof y[0], {n_out}, stdout) != {n_out})
            return 2;
    }}
    return 0;
}}

int main(int argc, char **argv)
{{
    {t.name} y[{n_out}], state[{max(1, n_state)}];
    double worst = 0.0;
    int k{", i" if n_state else ""};
    if (argc > 1)
        return answer(strcmp(argv[1], "rows") == 0);
    {name}_reset(state);
    for (k = 0; k < {len(X)}; ++k) {{
{copy if n_state else ""}        {name}_step(golden_x[k], state, y);
        worst = larger(worst, difference(y, golden_y[k], scale_y));
    }}
{free}    printf("%s: largest relative difference %.3g (tolerance %.3g)\\n", "{name}", worst, {tolerance!r});
    return worst <= {tolerance!r} ? 0 : 1;
}}
"""


def _scale(expected: np.ndarray) -> np.ndarray:
    scale: np.ndarray = np.maximum(np.max(np.abs(expected), axis=0), np.finfo(np.float64).tiny)
    return scale
