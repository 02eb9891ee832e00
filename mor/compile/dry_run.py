"""Call a function with bounds checks at many points before it runs without them in the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mor.compile.kept import note_trial, was_tried
from mor.data.ports import Parameter, Port
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

POINTS = 32
Numbers = Callable[[Sequence[float]], Array]


def dry_run(
    checked: Callable[..., None],
    of: str,
    ports: tuple[Sequence[Port], Sequence[Port], Sequence[Port]],
    initial: Array,
    parameters: Sequence[Parameter],
    numbers: Numbers,
    computed_at: str = "",
    key: str | None = None,
) -> None:
    """Refuse a function that leaves its arrays, or leaves a derivative or output unwritten, at one of the points.

    Parameters
    ----------
    checked
        The function f(t, x, u, p, dx, y), compiled with bounds checks.
    of
        How error sentences call it.
    ports
        States, inputs and outputs.
    initial, parameters
        The first point is the initial state without inputs and with the default parameters; the others are random,
        each number of a size between 1e-3 and 1e3 around it, parameters inside their range.
    numbers
        Makes p from the values of the parameters.
    computed_at
        Where indices are computed, as words.
    key
        Fingerprint of the function, if it has one: what passed at these points before passes.
    """
    states, inputs, outputs = ports
    points = list(_points(initial, len(inputs), parameters, numbers))
    digest = b"".join(np.concatenate([[t], x, u, p]).tobytes() for t, x, u, p in points)
    if was_tried(key, digest):
        return
    for t, x, u, p in points:
        where = f"t = {t:.4g} s, x = {_text(x)}, u = {_text(u)}"
        found = []
        for fill in (1.0, 2.0):  # what stands in dx and y before the call must not matter
            dx, y = np.full(len(states), fill), np.full(len(outputs), fill)
            try:
                checked(t, x.copy(), u.copy(), p.copy(), dx, y)
            except IndexError:
                raise ConfigError(
                    f"Function of {of} must stay inside its arrays ({len(states)} states, {len(inputs)} inputs, "
                    f"{len(p)} parameters, {len(outputs)} outputs), but an index is out of bounds at {where}; clamp "
                    f"it, as in min(max(i, 0), n - 1){computed_at}."
                ) from None
            found.append((dx, y))
        _check_written([a for a, _ in found], "Derivative", "dx", states, of, where)
        _check_written([b for _, b in found], "Output", "y", outputs, of, where)
    note_trial(key, digest)


def _check_written(found: list[Array], what: str, array: str, ports: Sequence[Port], of: str, where: str) -> None:
    one, two = found
    for i, port in enumerate(ports):
        if one[i].tobytes() == two[i].tobytes():
            continue
        called = f"{what} '{port.name}' of {of} ({array}[{i}])"
        if (one[i], two[i]) == (1.0, 2.0):
            raise ConfigError(
                f"{called} must be written at every call, but it is not at {where}; write it in every branch."
            )
        raise ConfigError(f"{called} must not depend on what stood in {array} before the call, but it does at {where}.")


def _points(
    initial: Array, n_inputs: int, parameters: Sequence[Parameter], numbers: Numbers
) -> Iterator[tuple[float, Array, Array, Array]]:
    random = np.random.default_rng(1)
    usual = numbers([p.value for p in parameters])
    yield 0.0, initial, np.zeros(n_inputs), usual

    def some(n: int) -> Array:
        return np.asarray(random.choice([-1.0, 1.0], n) * 10.0 ** random.uniform(-3.0, 3.0, n))

    for k in range(POINTS):
        p = usual
        if k % 2:
            share = random.uniform(size=len(parameters))
            ranges = [(q.lower, q.upper) if np.isfinite(q.upper - q.lower) else (q.value,) * 2 for q in parameters]
            try:
                p = numbers([a + s * (b - a) for s, (a, b) in zip(share, ranges, strict=True)])
            except (ConfigError, ArithmeticError, ValueError):  # not every combination must make sense
                p = usual
        size = np.where(initial != 0.0, np.abs(initial), 1.0)
        yield float(random.uniform(0.0, 10.0)), initial + size * some(len(initial)), some(n_inputs), p


def _text(values: Array) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:6])
    return f"[{shown}, ...]" if len(values) > 6 else f"[{shown}]"
