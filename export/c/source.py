"""A form as one C99 header and source: no heap, no library but math.h, the order of operations of the model itself."""

from __future__ import annotations

import numpy as np

from export.c.gate import c_gate, gate_comment
from export.c.gru import GRU, c_gru
from export.c.kernel import KERNEL, kernel_map
from export.c.operators import c_operators
from export.c.quantile import c_quantile
from export.c.text import CType, comment_text, int_array
from export.forms import Dense, Form, Gated, Gru, Kernel, Polynomial, Recursion, Step, Tree
from export.onnx.operators import TINY
from mor.data.ports import Port

DENSE = """\
/* h_0 = x, h_l = a(weights_l h_{l-1} + biases_l), y = weights_L h_{L-1} + biases_L + skip x (where there is a skip);
 * the scaling of inputs and outputs is inside the first and the last layer. */"""
POLYNOMIAL = """\
/* z_i = (x_i - location_i) / scale_i (of ln x_i where logarithm_i is 1), and of each input the orthonormal polynomials
 * psi_0 = 1, psi_{k+1} = (a_k z + b_k) psi_k - c_k psi_{k-1}, (a, b, c) = recurrence, side by side in one table.
 * y is a sum of products of psi, nested like Horner's rule: S = c + sum of psi_child S_child. Each row of walk says
 * to which depth to return, which psi leads one deeper (-1: none), and where the psi of the leaves begin and end. */"""


def c_header(form: Form, precision: str) -> str:
    """Return the header: sizes, the order of inputs and outputs with units, and the three functions."""
    t = CType(precision)
    name, upper = form.name, form.name.upper()
    n_state = 0 if form.recursion is None else form.recursion.initial.size
    dt = "" if form.dt is None else f"#define {upper}_DT {t.literal(form.dt)} /* s, one step */\n"
    lower, top = form.domain
    inputs = "\n".join(
        f" *   u[{i}]  {_port(p)}, fitted on [{a:.9g}, {b:.9g}]"
        for i, (p, a, b) in enumerate(zip(form.inputs, lower, top, strict=False))
    )
    outputs = "\n".join(f" *   y[{i}]  {_port(p)}" for i, p in enumerate(form.outputs)) + gate_comment(form)
    memory = (
        "Without memory: state is not used and may be a null pointer."
        if form.recursion is None
        else f"With memory: state holds {n_state} values, set by {name}_reset and moved on by each step:\n"
        + "\n".join(
            f" *   state[{i}]  {_port(p)}: {comment_text(text)}"
            for i, (p, text) in enumerate(zip(form.recursion.states, form.recursion.meaning, strict=True))
        )
    )
    return f"""\
/* Model {name} ({comment_text(form.kind)}), physical units in and out.
 *
{inputs}
{outputs}
 *
 * {memory}
 * Several models and several instances of one may run side by side: there is no other state.
 */
#ifndef HMOR_{upper}_H
#define HMOR_{upper}_H
{"#include <math.h>" if form.law else ""}
#ifdef __cplusplus
extern "C" {{
#endif

#define {upper}_N_INPUTS {len(form.inputs)}
#define {upper}_N_OUTPUTS {len(form.outputs)}
#define {upper}_N_STATE {n_state}
{dt}
/* Set state to where a run starts. */
void {name}_reset({t.name} *state);

/* One evaluation: y of u and state; state moves on by one step. u, state and y must not overlap. */
void {name}_step(const {t.name} *u, {t.name} *state, {t.name} *y);

/* 1 when an input is outside of the range the model was fitted on, or not a number; else 0. */
int {name}_outside(const {t.name} *u);
{c_quantile(form, t) if form.law else ""}
#ifdef __cplusplus
}}
#endif

#endif
"""


def c_source(form: Form, precision: str) -> str:
    """Return the source: constant tables, the map, and step, reset and outside."""
    t = CType(precision)
    equation, tables, body = _map(form.step, t)
    tables += [t.array("input_lower", form.domain[0][: len(form.inputs)])]
    tables += [t.array("input_upper", form.domain[1][: len(form.inputs)])]
    if form.recursion is not None:
        tables += [
            t.array("domain_lower", form.recursion.domain[0]),
            t.array("domain_upper", form.recursion.domain[1]),
            t.array("bounds_lower", form.recursion.bounds[0]),
            t.array("bounds_upper", form.recursion.bounds[1]),
            t.array("initial", form.recursion.initial),
        ]
        if form.recursion.slope is not None:
            tables.append(t.array("slope", form.recursion.slope))
        if form.recursion.front.table.size:
            body += "\n\n" + c_operators(form.recursion.front, t)
    parts = [f'{equation}\n#include "{form.name}.h"\n\n#include <math.h>', *tables, body, _functions(form, t)]
    return "\n\n".join(parts) + "\n"


def _map(step: Step, t: CType) -> tuple[str, list[str], str]:
    """Return the equation as a comment, the tables and the function `map`."""
    if isinstance(step, Gated):
        equation, tables, inner = _map(step.map, t)
        return equation, tables, c_gate(step, t, inner)
    if isinstance(step, Dense):
        return DENSE, *_dense(step, t)
    if isinstance(step, Gru):
        return GRU, *c_gru(step, t)
    if isinstance(step, Kernel):
        tables, trend = _polynomial(step.trend, t)
        more, kernel = kernel_map(step, t)
        return KERNEL, tables + more, trend.replace("static void map(", "static void trend(") + "\n\n" + kernel
    return POLYNOMIAL, *_polynomial(step, t)


def _port(port: Port) -> str:
    return comment_text(f"{port.name} [{port.unit or '1'}]")


def _activation(activation: str, t: CType) -> str:
    tanh, exp, log1p, fabs = (t.call(f) for f in ("tanh", "exp", "log1p", "fabs"))
    half, one, zero = t.literal(0.5), t.literal(1.0), t.literal(0.0)
    return {
        "tanh": f"{tanh}(a)",
        "sigmoid": f"{half} * ({one} + {tanh}({half} * a))",
        "relu": f"a < {zero} ? {zero} : a",
        "softplus": f"(a < {zero} ? {zero} : a) + {log1p}({exp}(-{fabs}(a)))",
    }[activation]


def _dense(form: Dense, t: CType) -> tuple[list[str], str]:
    tables, lines, source = [], [], "x"
    last = len(form.weights)
    declarations = []
    for layer, (W, b) in enumerate(zip(form.weights, form.biases, strict=True), 1):
        tables += [t.array(f"weights_{layer}", W), t.array(f"biases_{layer}", b)]
        target = "y" if layer == last else f"h{layer}"
        if layer < last:
            declarations.append(f"    {t.name} {target}[{b.size}];")
        lines += [
            f"    for (i = 0; i < {b.size}; ++i) {{",
            f"        {t.name} a = biases_{layer}[i];",
            f"        for (j = 0; j < {W.shape[1]}; ++j)",
            f"            a += weights_{layer}[i][j] * {source}[j];",
            f"        {target}[i] = {'a' if layer == last else _activation(form.activation, t)};",
            "    }",
        ]
        source = target
    if form.skip is not None:
        tables.append(t.array("skip", form.skip))
        lines += [
            f"    for (i = 0; i < {form.skip.shape[0]}; ++i)",
            f"        for (j = 0; j < {form.skip.shape[1]}; ++j)",
            "            y[i] += skip[i][j] * x[j];",
        ]
    head = f"static void map(const {t.name} *x, {t.name} *y)\n{{"
    return tables, "\n".join([head, *declarations, "    int i, j;", *lines, "}"])


def _polynomial(form: Polynomial, t: CType) -> tuple[list[str], str]:
    """Recurrences into one table of psi, then the nested sum; see `_walk` for the tables of the walk."""
    tree = form.tree
    n_in, n_out = form.location.size, form.coefficients.shape[1]
    recurrence = np.zeros((max(1, int(tree.offset[-1])), 3))
    for i in range(n_in):
        n = int(tree.offset[i + 1] - tree.offset[i]) - 1
        recurrence[tree.offset[i] : tree.offset[i] + n] = form.recurrence[i, :n]
    walk, numbers = _walk(tree)
    logarithm = bool(np.any(form.logarithm))
    tables = [
        t.array("location", form.location),
        t.array("scale", form.scale),
        int_array("first", tree.offset),
        t.array("recurrence", recurrence),
        t.array("constant", tree.coefficients[0]),
        int_array("walk", walk),
        t.array("coefficients", numbers),
    ]
    if logarithm:
        tables.insert(2, int_array("logarithm", form.logarithm))
    tiny = t.literal(TINY[t.dtype.name])
    log = (
        f"        {t.name} v = x[i];\n"
        f"        if (logarithm[i])\n            v = {t.call('log')}(v < {tiny} ? {tiny} : v);\n"
        f"        {t.name} z = (v - location[i]) / scale[i];"
        if logarithm
        else f"        {t.name} z = (x[i] - location[i]) / scale[i];"
    )
    depth = int(tree.depth.max(initial=0))
    return (
        tables,
        f"""\
static void map(const {t.name} *x, {t.name} *y)
{{
    {t.name} psi[{int(tree.offset[-1])}];
    {t.name} sum[{depth + 1}][{n_out}];
    int at[{depth + 1}];
    const {t.name} *c = coefficients;
    int i, k, o, top = 0;
    for (i = 0; i < {n_in}; ++i) {{
{log}
        {t.name} before = {t.literal(0.0)}, now = {t.literal(1.0)};
        psi[first[i]] = now;
        for (k = first[i]; k < first[i + 1] - 1; ++k) {{
            {t.name} next = (recurrence[k][0] * z + recurrence[k][1]) * now - recurrence[k][2] * before;
            before = now;
            now = next;
            psi[k + 1] = now;
        }}
    }}
    at[0] = 0;
    for (o = 0; o < {n_out}; ++o)
        sum[0][o] = constant[o];
    for (i = 0; i < {len(walk)}; ++i) {{
        for (; top > walk[i][0]; --top)
            for (o = 0; o < {n_out}; ++o)
                sum[top - 1][o] += psi[at[top]] * sum[top][o];
        if (walk[i][1] >= 0) {{
            at[++top] = walk[i][1];
            for (o = 0; o < {n_out}; ++o)
                sum[top][o] = *c++;
        }}
        for (k = walk[i][2]; k < walk[i][3]; ++k)
            for (o = 0; o < {n_out}; ++o)
                sum[top][o] += psi[k] * *c++;
    }}
    for (; top > 0; --top)
        for (o = 0; o < {n_out}; ++o)
            sum[top - 1][o] += psi[at[top]] * sum[top][o];
    for (o = 0; o < {n_out}; ++o)
        y[o] = sum[0][o];
}}""",
    )


def _walk(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the walk as rows (return to this depth, open psi or -1, first leaf, end of leaves) and its coefficients.

    Leaves of one parent whose psi lie side by side are summed in one inner loop.
    """
    rows: list[list[int]] = []
    numbers: list[np.ndarray] = []
    for n in range(1, tree.depth.size):
        depth, psi = int(tree.depth[n]), int(tree.row[n])
        leaf = n + 1 == tree.depth.size or tree.depth[n + 1] <= depth
        numbers.append(tree.coefficients[n])
        if not leaf:
            rows.append([depth - 1, psi, 0, 0])
            continue
        parent = depth - 1
        if rows:
            last = rows[-1]
            level = last[0] + (last[1] >= 0)
            if level == parent and last[2] == last[3]:
                last[2:] = [psi, psi + 1]
                continue
            if level == parent and last[3] == psi:
                last[3] = psi + 1
                continue
        rows.append([parent, -1, psi, psi + 1])
    if not rows:
        rows, numbers = [[0, -1, 0, 0]], [np.zeros(tree.coefficients.shape[1])]
    return np.array(rows), np.concatenate(numbers)


def _functions(form: Form, t: CType) -> str:
    name, n_in = form.name, len(form.inputs)
    outside = f"""\
int {name}_outside(const {t.name} *u)
{{
    int i;
    for (i = 0; i < {n_in}; ++i)
        if (!(u[i] >= input_lower[i] && u[i] <= input_upper[i]))
            return 1;
    return 0;
}}"""
    clip = f"""\
static {t.name} clip({t.name} value, {t.name} lower, {t.name} upper)
{{
    return value < lower ? lower : value > upper ? upper : value; /* not a number stays so */
}}

"""
    if form.recursion is None:
        return f"""\
void {name}_reset({t.name} *state)
{{
    (void)state;
}}

void {name}_step(const {t.name} *u, {t.name} *state, {t.name} *y)
{{
    (void)state;
    map(u, y);
}}

{outside}"""
    return f"{clip}{_recursion(form, form.recursion, t)}\n\n{outside}"


def _recursion(form: Form, r: Recursion, t: CType) -> str:
    """Return reset and step of a model with memory."""
    name, n_in, n_state, n_z, n_x = form.name, len(form.inputs), len(r.states), len(r.outputs), len(form.regressors)
    past_u, past_z = r.past
    n_phi = len(r.front.features)
    first_z = n_in + past_u + n_phi
    lines = [
        f"    {t.name} x[{n_x}], inside[{n_x}], z[{n_z}];",
        "    int i;",
        f"    for (i = 0; i < {n_in}; ++i) {{",
        "        x[i] = u[i];",
        "        inside[i] = clip(u[i], domain_lower[i], domain_upper[i]);",
        "    }",
    ]
    if past_u:
        lines += [f"    for (i = 0; i < {past_u}; ++i)", f"        x[{n_in} + i] = state[i];"]
    if r.front.table.size:
        lines.append(f"    operators(inside, state + {past_u + past_z}, x + {n_in + past_u});")
    if past_z:
        lines += [f"    for (i = 0; i < {past_z}; ++i)", f"        x[{first_z} + i] = state[{past_u} + i];"]
    if n_x > n_in:
        lines += [
            f"    for (i = {n_in}; i < {n_x}; ++i)",
            "        inside[i] = clip(x[i], domain_lower[i], domain_upper[i]);",
        ]
    lines.append("    map(inside, z);")
    if r.slope is not None:
        terms = " + ".join(f"slope[i][{j}] * (x[{j}] - inside[{j}])" for j in range(n_in))
        lines += [f"    for (i = 0; i < {n_z}; ++i)", f"        z[i] += {terms};"]
    lines += [f"    for (i = 0; i < {n_z}; ++i)", "        z[i] = clip(z[i], bounds_lower[i], bounds_upper[i]);"]
    if past_u:
        lines += _shift(0, past_u, n_in, "u")
    if past_z:
        lines += _shift(past_u, past_z, n_z, "z")
    lines += [f"    for (i = 0; i < {r.responses}; ++i)", "        y[i] = z[i];"]
    body = "\n".join(lines)
    return f"""\
void {name}_reset({t.name} *state)
{{
    int i;
    for (i = 0; i < {n_state}; ++i)
        state[i] = initial[i];
}}

void {name}_step(const {t.name} *u, {t.name} *state, {t.name} *y)
{{
{body}
}}"""


def _shift(first: int, count: int, width: int, values: str) -> list[str]:
    """Move `count` states from `first` on by `width` and put `values` in front."""
    return [
        f"    for (i = {first + count - 1}; i >= {first + width}; --i)",
        f"        state[i] = state[i - {width}];",
        f"    for (i = 0; i < {width}; ++i)",
        f"        state[{first} + i] = {values}[i];",
    ]
