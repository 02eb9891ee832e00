"""A sum of kernels (Kriging) as C99: the map that follows the trend."""

from __future__ import annotations

import numpy as np

from export.c.text import CType
from export.forms import Correlated, Kernel
from export.onnx.operators import TINY

KERNEL = """\
/* Kriging: y = trend(x) + sum_j dual_j prod_i (1 - w_i + w_i k(a_i)), a_i = |z_i - points_ji| rate_i,
 * z_i = (x_i - location_i) / scale_i (of ln x_i where logarithm_i is 1). The trend is a sum of products of orthonormal
 * polynomials psi, nested like Horner's rule; see walk. */"""


def _correlation(family: str, t: CType) -> str:
    """Return k(a) as an expression of `a`."""
    exp, one, third = t.call("exp"), t.literal(1.0), t.literal(1.0 / 3.0)
    return {
        "linear": f"a < {one} ? {one} - a : {t.literal(0.0)}",
        "exponential": f"{exp}(-a)",
        "matern32": f"({one} + a) * {exp}(-a)",
        "matern52": f"({one} + a * ({one} + a * {third})) * {exp}(-a)",
        "gaussian": f"{exp}({t.literal(-0.5)} * a * a)",
    }[family]


def _plain_product(family: str, t: CType) -> tuple[str, str]:
    """Return what one input adds to `r` and `s`, and the product of all: one exponential function in all."""
    one, exp = t.literal(1.0), t.call("exp")
    return {
        "linear": (f"r *= a < {one} ? {one} - a : {t.literal(0.0)};", "r"),
        "exponential": ("s -= a;", f"r * {exp}(s)"),
        "matern32": (f"s -= a; r *= {one} + a;", f"r * {exp}(s)"),
        "matern52": (f"s -= a; r *= {one} + a * ({one} + a * {t.literal(1.0 / 3.0)});", f"r * {exp}(s)"),
        "gaussian": (f"s -= {t.literal(0.5)} * a * a;", f"r * {exp}(s)"),
    }[family]


def _sum(o: int, one: Correlated, n: int, rows: int, t: CType) -> str:
    """Return the loop over the rows for output o."""
    distance = f"const {t.name} a = {t.call('fabs')}(z[i] - points[j][i]) * rate[{o}][i];"
    if one.plain:
        inner, product = _plain_product(one.family, t)
        zero = f"            {t.name} s = {t.literal(0.0)};\n" if "(s)" in product else ""
    else:
        inner = f"r *= rest[{o}][i] + weight[{o}][i] * ({_correlation(one.family, t)});"
        product, zero = "r", ""
    return f"""\
    for (j = 0; j < {rows}; ++j) {{
        {t.name} r = dual[{o}][j];
{zero.replace("            ", "        ", 1)}        for (i = 0; i < {n}; ++i) {{
            {distance}
            {inner}
        }}
        y[{o}] += {product};
    }}"""


def kernel_map(form: Kernel, t: CType) -> tuple[list[str], str]:
    """Return the tables and the function `map`; `trend`, location, scale and logarithm come from the polynomial."""
    rows, n = form.points.shape
    weights = np.stack([one.weight for one in form.outputs])
    tables = [
        t.array("points", form.points),
        t.array("rate", np.stack([one.rate for one in form.outputs])),
        t.array("dual", np.stack([one.dual for one in form.outputs])),
    ]
    if not all(one.plain for one in form.outputs):
        tables += [t.array("weight", weights), t.array("rest", 1.0 - weights)]
    tiny = t.literal(TINY[t.dtype.name])
    value = f"logarithm[i] ? {t.call('log')}(x[i] < {tiny} ? {tiny} : x[i]) : x[i]"
    plain = value if np.any(form.trend.logarithm) else "x[i]"
    sums = "\n".join(_sum(o, one, n, rows, t) for o, one in enumerate(form.outputs))
    return (
        tables,
        f"""\
static void map(const {t.name} *x, {t.name} *y)
{{
    {t.name} z[{n}];
    int i, j;
    trend(x, y);
    for (i = 0; i < {n}; ++i)
        z[i] = (({plain}) - location[i]) / scale[i];
{sums}
}}""",
    )
