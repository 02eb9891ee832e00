"""Golden vectors of a controller: a run of the core over inputs that reach its limits, for every host to repeat."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from export.c.golden import TOLERANCE
from export.c.text import CType
from export.golden import golden_excitation
from rt_runtime import Monitor, StartStop
from rt_runtime._core import Block
from rt_runtime.checks import Array
from rt_runtime.safety.monitor import HOST_INPUTS, Command

STEPS = 500
AT_ONCE = StartStop(arm=0.0, soft_start=0.0)


def core_run(controller: Block, limits: Sequence[Command], dt: float, u: Array) -> Array:
    """Return what the core puts out for rows `u` (n, n_in): the controller, then the monitor's limits."""
    controller.reset()
    y = np.array([controller.step(k * dt, row) for k, row in enumerate(u)])
    controller.reset()
    if limits:
        monitor = Monitor(limits, (), (), AT_ONCE, dt=dt)
        host = np.array([dt if name == "host.elapsed" else 0.0 for name in HOST_INPUTS])
        wanted = np.column_stack([y[:, : len(limits)], np.tile(host, (len(y), 1))])
        held = [monitor.step(k * dt, row)[: len(limits)] for k, row in enumerate(wanted)]
        y[:, : len(limits)] = held
    return y


def golden_run(controller: Block, limits: Sequence[Command], dt: float, size: Array, seed: int) -> tuple[Array, Array]:
    """Return inputs of `size` and the core's answers."""
    u = golden_excitation(-size, size, n=STEPS, seed=seed)
    return u, core_run(controller, limits, dt, u)


def controller_main(name: str, u: Array, y: Array, n_state: int) -> str:
    """Return a program that repeats the golden run; 0 when within the tolerance. `run` answers standard input."""
    t = CType("float64")
    scale = np.maximum(np.abs(y).max(axis=0), np.finfo(float).tiny)
    head = f"""\
/* Replays the golden vectors of controller {name}: cc -std=c99 -O2 {name}.c {name}_main.c -lm && ./a.out */
#include "{name}.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME "{name}"
#define CONTROLLER_RESET {name}_reset
#define CONTROLLER_STEP {name}_step
#define INPUTS {u.shape[1]}
#define OUTPUTS {y.shape[1]}
#define STATE {n_state}
#define STEPS {len(u)}
#define TOLERANCE {TOLERANCE!r}"""
    body = (files("export") / "control" / "templates" / "main.c").read_text()
    return "\n\n".join([head, t.array("golden_u", u), t.array("golden_y", y), t.array("scale_y", scale), body])
