"""Hysteresis operators as C: one small program table, and the few cases of its codes that occur."""

from __future__ import annotations

import numpy as np

from export.c.text import CType, int_array
from export.onnx.operators import TINY
from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.operators import (
    BOUC_WEN,
    HIGHEST,
    LOWEST,
    PLAY,
    POWER,
    PRODUCT,
    RELAXATION,
    REVERSALS,
    SIZE,
    STEEL,
    STOP,
    TRAIL,
)
from mor.reduced.hysteresis.steel import CURVED, LEAST_W, MOST_LOG, R0, R1


def c_operators(front: Front, t: CType) -> str:
    """Return the tables and `operators(u, s, phi)`: moves the states s on and writes the features phi."""
    used = {int(code) for code in front.table[:, 0]}
    exp, log, fabs = (t.call(f) for f in ("exp", "log", "fabs"))
    tiny, one, zero = t.literal(TINY[t.dtype.name]), t.literal(1.0), t.literal(0.0)
    size = f"{fabs}(v) < {tiny} ? {tiny} : {fabs}(v)"
    play = "clip(s[at], v - number, v + number)"
    cases = {
        PLAY: f"phi[first] = s[at] = {play};",
        STOP: f"s[at] = {play};\n            phi[first] = v - s[at];",
        HIGHEST: "phi[first] = s[at] = s[at] < v ? v : s[at];",
        LOWEST: "phi[first] = s[at] = v < s[at] ? v : s[at];",
        REVERSALS: f"""{{
            const {t.name} before = s[at], direction = s[at + 1], now = {play};
            if (direction * (now - before) < {zero}) {{
                for (k = operator_table[i][5] - 1; k > 0; --k)
                    s[at + 2 + k] = s[at + 1 + k];
                s[at + 2] = before + direction * number;
            }}
            s[at + 1] = now > before ? {one} : now < before ? -{one} : direction;
            s[at] = now;
            for (k = 0; k < operator_table[i][5]; ++k)
                phi[first + k] = s[at + 2 + k];
        }}""",
        POWER: f"phi[first] = v * {exp}((number - {one}) * {log}({size}));",
        SIZE: f"phi[first] = {exp}(number * {log}({size}));",
        PRODUCT: "phi[first] = v * u[operator_table[i][2]];",
        BOUC_WEN: f"""{{
            const {t.name} n = operator_numbers[i][1], beta = operator_numbers[i][2], z = s[at + 1];
            const {t.name} w = clip((v - s[at]) / number, -{t.literal(2.0)}, {t.literal(2.0)});
            {t.name} total = {zero}, point = z;
            for (k = 0; k < 4; ++k) {{
                const {t.name} size = {fabs}(point) < {tiny} ? {tiny} : {fabs}(point);
                const {t.name} factor = point * w > {zero} ? {one} : {one} - {t.literal(2.0)} * beta;
                const {t.name} rate = ({one} - {exp}({log}(size) * n) * factor) * w;
                total += k == 0 || k == 3 ? rate : {t.literal(2.0)} * rate;
                point = z + (k == 2 ? rate : {t.literal(0.5)} * rate);
            }}
            s[at] = v;
            phi[first] = s[at + 1] = clip(z + total / {t.literal(6.0)}, -{one}, {one});
        }}""",
        RELAXATION: f"phi[first] = s[at] = number * s[at] + ({one} - number) * v;",
        TRAIL: f"""{{
            const {t.name} before = s[at], half = {t.literal(0.5)};
            const {t.name} mean = operator_numbers[i][1] > {zero} ? half * ({fabs}(v) + {fabs}(before))
                : half * (v + before);
            s[at] = v;
            phi[first] = s[at + 1] = mean + (s[at + 1] - mean) * {exp}(-{fabs}(v - before) / number);
        }}""",
    }
    tiny_w, most = t.literal(LEAST_W), t.literal(MOST_LOG)
    cases[STEEL] = f"""{{
            const {t.name} plus = number, minus = operator_numbers[i][1], radius = operator_numbers[i][2];
            const {t.name} before = s[at], now = clip(before, v - radius, v + radius);
            const {t.name} last = (before > {zero} ? plus : minus) * before, e = (now > {zero} ? plus : minus) * now;
            {t.name} w, far, xi, root, way, power;
            if (s[at + 1] * (e - last) < {zero}) {{
                s[at + 2] = last;
                s[at + 3] = s[at + 4];
                s[at + 5] = s[at + 5] < last ? last : s[at + 5];
                s[at + 6] = last < s[at + 6] ? last : s[at + 6];
            }}
            if (e != last)
                s[at + 1] = e > last ? {one} : -{one};
            w = s[at + 1] - s[at + 3];
            if (s[at + 1] < {zero}) {{
                w = w > -{tiny_w} ? -{tiny_w} : w;
                far = s[at + 6] > -{one} ? -{one} : s[at + 6];
            }} else {{
                w = w < {tiny_w} ? {tiny_w} : w;
                far = s[at + 5] < {one} ? {one} : s[at + 5];
            }}
            xi = {fabs}(far - s[at + 2] - w);
            root = {t.literal(R0)} - {t.literal(R1)} * (xi / ({t.literal(CURVED)} + xi));
            way = e - s[at + 2];
            power = way / w < {tiny} ? {tiny} : way / w;
            power = {log}(power) * root;
            power = {exp}(power > {most} ? {most} : power);
            s[at] = now;
            phi[first] = s[at + 4] = clip(s[at + 3] + way * {exp}(-({log}({one} + power) / root)), -{one}, {one});
        }}"""
    body = "\n".join(f"        case {code}:\n            {cases[code]}\n            break;" for code in sorted(used))
    states = "" if used - {POWER, SIZE, PRODUCT} else "    (void)s;\n    (void)at;\n"
    index = ", k" if used & {REVERSALS, BOUC_WEN} else ""
    needs_number = bool(used - {HIGHEST, LOWEST, PRODUCT})
    number = ", number = operator_numbers[i][0]" if needs_number else ""
    numbers = [t.array("operator_numbers", front.numbers)] if needs_number else []
    tables = "\n\n".join([int_array("operator_table", np.asarray(front.table)), *numbers])
    clip = ""
    if used & {PLAY, STOP, REVERSALS, BOUC_WEN, STEEL}:
        clip = f"static {t.name} clip({t.name} value, {t.name} lower, {t.name} upper);\n\n"
    return f"""\
{tables}

{clip}/* Rows of operator_table: kind, signal, other signal, first state, first feature, number of features. */
static void operators(const {t.name} *u, {t.name} *s, {t.name} *phi)
{{
    int i{index};
    for (i = 0; i < {len(front.table)}; ++i) {{
        const int at = operator_table[i][3], first = operator_table[i][4];
        const {t.name} v = u[operator_table[i][1]]{number};
        switch (operator_table[i][0]) {{
{body}
        }}
{states}    }}
}}"""
