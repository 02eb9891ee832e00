"""Quantiles of a lambda distribution as C99: the closed form behind the expansion of its parameters."""

from __future__ import annotations

from export.c.text import CType
from export.forms import Form


def c_quantile(form: Form, t: CType) -> str:
    """Return the quantile function of a lambda distribution, for the header."""
    return f"""
/* Quantile of probability 0 < p < 1 of response i: y holds l1, ln l2, l3, l4 of each response, one after the other.
 * Q = l1 + (a(p) - b(p)) / l2,  a = (p^l3 - 1) / l3,  b = ((1 - p)^l4 - 1) / l4,  logarithms where a shape is 0. */
static inline {t.name} {form.name}_quantile(const {t.name} *y, int i, {t.name} p) {{
  const {t.name} *l = y + 4 * i;
  const {t.name} left = ({t.name})log(p), right = ({t.name})log1p(-p);
  const {t.name} a = l[2] == 0 ? left : ({t.name})expm1(l[2] * left) / l[2];
  const {t.name} b = l[3] == 0 ? right : ({t.name})expm1(l[3] * right) / l[3];
  return l[0] + ({t.name})exp(-l[1]) * (a - b);
}}
"""
