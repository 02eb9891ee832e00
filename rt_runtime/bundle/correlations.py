"""Recognise the correlations of a Kriging model in an ONNX graph: the pattern of docs/bundle_format.md.

a = |point - points| rate                      Mul(Abs(Sub(point, points)), rate)
k = exp(-a) (1 + a (a/3 + 1)), ...             one of five families
f = k weight + (1 - weight)                    where there are weights
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rt_runtime import _core
from rt_runtime.checks import Array

Template = tuple[Any, ...] | str

_DECAY = ("Exp", ("Neg", "a"))
FAMILIES: dict[str, Template] = {
    "matern52": ("Mul", _DECAY, ("Add", ("Mul", "a", ("Add", ("Mul", "a", "=third"), "=one")), "=one")),
    "matern32": ("Mul", _DECAY, ("Add", "a", "=one")),
    "exponential": _DECAY,
    "gaussian": ("Exp", ("Mul", ("Mul", "a", "a"), "=minus_half")),
    "linear": ("Max", ("Sub", "=one", "a"), "=zero"),
}
_NUMBERS = {"=one": 1.0, "=zero": 0.0, "=third": 1.0 / 3.0, "=minus_half": -0.5}
_DISTANCE: Template = ("Mul", ("Abs", ("Sub", "point", "#points")), "#rate")
_WEIGHTED: Template = ("Add", ("Mul", "k", "#weight"), "#rest")


@dataclass(frozen=True)
class Found:
    """The name of the point (1, 1, d) in the graph, points (rows, d), rate and weight (d,), and the family."""

    point: str
    points: Array
    rate: Array
    weight: Array
    family: str


def _matches(
    nodes: Mapping[str, Any], constants: Mapping[str, Any], name: str, want: Template, names: dict[str, str]
) -> bool:
    """Whether tensor `name` is computed as `want` says; names of its letters go into `names`, each with one meaning."""
    if isinstance(want, str):
        if want in _NUMBERS:
            value = constants.get(name)
            return value is not None and bool(np.all(np.abs(value - _NUMBERS[want]) <= 1e-7))
        if want.startswith("#") and name not in constants:
            return False
        return names.setdefault(want, name) == name
    node = nodes.get(name)
    if node is None or node.op_type != want[0] or len(node.input) != len(want) - 1:
        return False
    return all(_matches(nodes, constants, part, w, names) for part, w in zip(node.input, want[1:], strict=True))


def correlations_of(nodes: Mapping[str, Any], constants: Mapping[str, Any], name: str) -> Found | None:
    """Return what tensor `name` (1, rows, d) is made of when it is a correlation before its product, else None."""
    outer: dict[str, str] = {}
    weighted = _matches(nodes, constants, name, _WEIGHTED, outer)
    k = outer["k"] if weighted else name
    for family, template in FAMILIES.items():
        inner: dict[str, str] = {}
        if not _matches(nodes, constants, k, template, inner):
            continue
        last: dict[str, str] = {}
        if not _matches(nodes, constants, inner["a"], _DISTANCE, last):
            return None
        points, rate = (np.asarray(constants[last[key]], dtype=np.float64) for key in ("#points", "#rate"))
        if points.ndim != 2 or rate.shape != points.shape[1:]:
            return None
        weight = np.ones_like(rate)
        if weighted:
            weight, rest = (np.asarray(constants[outer[key]], dtype=np.float64) for key in ("#weight", "#rest"))
            if weight.shape != rate.shape or rest.shape != rate.shape or np.abs(1.0 - weight - rest).max() > 1e-15:
                return None
        return Found(last["point"], points, rate, weight, family)
    return None


def compile_correlations(compiler: Any, node: Any, axis: int) -> NDArray[np.int64] | None:
    """Append the product of one-variable correlations of a point with many rows as one step to a plan, or None."""
    found = correlations_of(compiler.nodes, compiler.constants, node.input[0])
    if found is None:
        return None
    z = compiler.places(found.point)
    rows, d = found.points.shape
    if axis not in (2, -1) or z.shape != (1, 1, d):
        return None
    out: NDArray[np.int64] = compiler.room((1, rows))
    points = np.ascontiguousarray(found.points.T, dtype=np.float64)
    family = getattr(_core.Correlation, found.family)
    rate, weight = found.rate.tolist(), found.weight.tolist()
    compiler.step("correlations", z.ravel().tolist(), points, rate, weight, family, int(out.flat[0]))
    return out
