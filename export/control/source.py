"""A controller as one C99 header and source: no heap, no library but math.h and string.h, the core's own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from export.c.text import CType, comment_text
from export.control.form import ControllerForm, define, limit_tables
from rt_runtime.safety.monitor import Command


def controller_header(name: str, form: ControllerForm, dt: float, n_limits: int) -> str:
    """Return the header: sizes, the order of inputs and outputs, and the three functions."""
    upper, t = name.upper(), CType("float64")
    inputs = "\n".join(f" *   u[{i}]  {comment_text(one)}" for i, one in enumerate(form.inputs))
    outputs = "\n".join(f" *   y[{i}]  {comment_text(one)}" for i, one in enumerate(form.outputs))
    limited = f"The first {n_limits} outputs are kept within their limits and rates.\n * " if n_limits else ""
    return f"""\
/* Controller {name} ({form.kind}); one step every {dt:.9g} s.
 *
{inputs}
{outputs}
 *
 * {limited}The whole memory is state, {form.n_state + n_limits} doubles that {name}_reset sets and each step moves on:
 * nothing is allocated, and several instances may run side by side. Compile with -ffp-contract=off to get the same bits
 * on every host.
 */
#ifndef HMOR_{upper}_H
#define HMOR_{upper}_H

#ifdef __cplusplus
extern "C" {{
#endif

#define {upper}_N_INPUTS {len(form.inputs)}
#define {upper}_N_OUTPUTS {len(form.outputs)}
#define {upper}_N_STATE {form.n_state + n_limits}
#define {upper}_DT {t.literal(dt)} /* s, one step */

/* Set state to where a run starts. */
void {name}_reset(double *state);

/* One control interval: y of u and state; state moves on. u, state and y must not overlap. */
void {name}_step(const double *u, double *state, double *y);

/* 1 when an input is not a finite number; else 0. */
int {name}_outside(const double *u);

#ifdef __cplusplus
}}
#endif

#endif
"""


def controller_source(name: str, form: ControllerForm, dt: float, limits: Sequence[Command]) -> str:
    """Return the source: constants, tables, the templates of the controller, and step, reset and outside."""
    t = CType("float64")
    folder = files("export") / "control" / "templates"
    constants, tables, templates = dict(form.constants), dict(form.tables), form.templates
    if limits:
        more, columns = limit_tables(limits, dt)
        constants, tables, templates = constants | more, tables | columns, (*templates, "limits")
    parts = [f'#include "{name}.h"\n\n#include <math.h>\n#include <string.h>']
    parts.append("\n".join(define(key, value) for key, value in constants.items()))
    parts += [t.array(key, value) for key, value in tables.items()]
    parts += [(folder / f"{template}.c").read_text().rstrip() for template in templates]
    parts.append(_functions(name, form.n_state, len(limits)))
    return "\n\n".join(parts) + "\n"


def _functions(name: str, n_state: int, n_limits: int) -> str:
    upper = name.upper()
    reset = f"\n    reset_limits(state + {n_state});" if n_limits else ""
    step = f"\n    step_limits(state + {n_state}, y);" if n_limits else ""
    return f"""\
typedef char memory_has_the_size_of_the_header[sizeof(Memory) == {n_state} * sizeof(double) ? 1 : -1];

void {name}_reset(double *state)
{{
    reset_memory((Memory *)state);{reset}
}}

void {name}_step(const double *u, double *state, double *y)
{{
    step_memory(u, (Memory *)state, y);{step}
}}

int {name}_outside(const double *u)
{{
    int i;
    for (i = 0; i < {upper}_N_INPUTS; ++i)
        if (!isfinite(u[i]))
            return 1;
    return 0;
}}"""
