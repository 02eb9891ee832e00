"""Small loops that several tests run."""

from __future__ import annotations

from rt_runtime import Delay, Gain, Loop, Sum, Table, previous


def chain() -> Loop:
    """Make excitation -> error -> plant -> delay line, with a feedback over one tick."""
    loop = Loop(100.0)
    for name, unit in {"u": "N", "e": "N", "y": "m", "late": "m"}.items():
        loop.signal(name, unit=unit)
    loop.add("excitation", Table([0.0, 1.0], [0.0, 1.0]), outputs=["u"])
    loop.add("error", Sum("+-"), inputs=["u", previous("y")], outputs=["e"])
    loop.add("plant", Gain(0.5), inputs=["e"], outputs=["y"])
    loop.add("line", Delay(3), inputs=["y"], outputs=["late"])
    return loop
