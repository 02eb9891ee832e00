"""A gated recurrent unit as C."""

from __future__ import annotations

from export.c.text import CType
from export.forms import Gru

GRU = """\
/* x = (inputs, h): r, z = sigmoid(W_rz x + U_rz h + b_rz), n = tanh(W_n x + b_n + r (U_n h + c)), h' = n + z (h - n),
 * y = (V h' + D x + d, h'); the scaling of inputs and outputs is inside. */"""


def c_gru(form: Gru, t: CType) -> tuple[list[str], str]:
    """Return the tables and the function `map`."""
    m, n_x, n_y = form.c.size, form.W.shape[1], form.d.size
    half, one, zero = t.literal(0.5), t.literal(1.0), t.literal(0.0)
    names = {"weights": form.W, "past": form.U, "bias": form.b, "past_bias": form.c}
    names |= {"readout": form.V, "direct": form.D, "offset": form.d}
    tables = [t.array(name, values) for name, values in names.items()]
    tanh = t.call("tanh")
    return (
        tables,
        f"""\
static void map(const {t.name} *x, {t.name} *y)
{{
    {t.name} r[{m}], z[{m}], n;
    const {t.name} *h = x + {n_x};
    int i, j;
    for (i = 0; i < {3 * m}; ++i) {{
        {t.name} a = bias[i], q = {zero};
        for (j = 0; j < {n_x}; ++j)
            a += weights[i][j] * x[j];
        for (j = 0; j < {m}; ++j)
            q += past[i][j] * h[j];
        if (i < {m}) {{
            r[i] = {half} * ({one} + {tanh}({half} * (a + q)));
        }} else if (i < {2 * m}) {{
            z[i - {m}] = {half} * ({one} + {tanh}({half} * (a + q)));
        }} else {{
            n = {tanh}(a + r[i - {2 * m}] * (q + past_bias[i - {2 * m}]));
            y[{n_y} + i - {2 * m}] = n + z[i - {2 * m}] * (h[i - {2 * m}] - n);
        }}
    }}
    for (i = 0; i < {n_y}; ++i) {{
        {t.name} a = offset[i];
        for (j = 0; j < {m}; ++j)
            a += readout[i][j] * y[{n_y} + j];
        for (j = 0; j < {n_x}; ++j)
            a += direct[i][j] * x[j];
        y[i] = a;
    }}
}}""",
    )
