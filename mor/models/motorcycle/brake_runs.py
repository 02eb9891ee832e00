"""Runs of a full-order brake to learn its memory from, and what such a memory is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from mor.compile.ode import ode
from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.excitation import Channel, operating_range
from mor.models.motorcycle.brake_map import TOP_FORCE, TOP_SPEED
from mor.models.motorcycle.hydraulic_brake import brake, brake_rhs
from mor.reduced.gate import Gate
from mor.reduced.history import LowPassMemory, MemorySpec, State
from mor.substructures.differential import OdeSubstructure
from rt_runtime.checks import Array, one_of

HYDRAULIC_LAGS = (0.02, 0.08)
"""Time constants in s of the memory of the lever force: of the line, and of the caliper behind its restrictor."""

CREEP = 10.0
"""How far in rpm the wheel may turn backwards: a motorcycle at rest on an uneven road does so a little."""


def brake_channels(side: str) -> tuple[Channel, Channel]:
    """Return how lever force and wheel speed may move: each over its sampled range, the lever a tenth beyond so that
    a force held at its top lies inside, in 30 ms to 8 s, the wheel in 1.5 s to 12 s with the ripple of an uneven road
    on top; both often near rest, where pads close their gap and friction sets in."""
    one_of(side, "side", "brake_channels", ("front", "rear"))
    force, speed = brake(side).inputs
    return (
        Channel(force.name, 0.0, 1.1 * TOP_FORCE, force.unit, fastest=0.03, at_rest=0.15, near_rest=0.3),
        Channel(speed.name, -CREEP, TOP_SPEED[side], speed.unit, fastest=1.5, slowest=12.0, near_rest=0.3, ripple=15.0),
    )


def brake_domain(side: str) -> tuple[Array, Array]:
    """Return lower and upper bounds of lever force and wheel speed in these runs, for a fit."""
    channels = brake_channels(side)
    return np.array([c.lower for c in channels]), np.array([c.upper for c in channels])


def sample_runs(
    side: str, seeds: Sequence[int], *, duration: float = 60.0, dt: float = 1e-4, every: int = 1, volume: bool = False
) -> Dataset:
    """Simulate the full-order brake over its operating range, one run of `duration` seconds a seed, from rest.

    It is stepped every `dt` seconds, and each `every`-th step is a row; inputs (F_br, w), output the torque, with
    `volume` also the fluid volume that has gone into the caliper, in cm3. `run` counts the seeds.
    """
    part = _observed(side) if volume else brake(side)
    names = [port.name for port in part.inputs]
    shown = [port.name for port in part.outputs]
    X, Y = [], []
    for seed in seeds:
        drive = operating_range(brake_channels(side), duration=duration, rate=1.0 / dt, seed=seed)
        rows = np.column_stack([drive[name].values for name in names])
        X.append(rows[::every])
        Y.append(part.simulate(rows, dt=dt, every=every).select(shown).values)
    run = np.repeat(np.arange(len(X)), [len(rows) for rows in X])
    return Dataset(np.concatenate(X), np.concatenate(Y), part.inputs, part.outputs, run=run, dt=every * dt)


def brake_history(side: str, *, dt: float = 1e-4, volume: bool = False) -> MemorySpec:
    """Return the memory of a brake: filters of the lever force, and the friction power in the disc.

    With `volume` the fluid volume in the caliper takes the place of the filters, as a state of the reduced model:
    behind its restrictor the caliper fills at a pace that depends on how full it is (the pads first close their gap),
    which no fixed filter follows. R C is its time constant once the pads touch. Behind a gate on that volume there is
    no torque before the pads touch, see `touching_volume`. The disc forgets its heat with C_d / cooling.
    """
    part = _observed(side)
    values = part.parameter_values()
    power = f"{part.outputs[0].name}*{part.inputs[1].name}"
    heat = LowPassMemory(power, values["C_d"] / values["cooling"])
    torque, filled = part.outputs
    if volume:
        state = State(filled.name, values["R"] * values["C"])
        never, touch = touching_volume(side)
        gate = Gate(filled.name, touch, closed=never)
        return MemorySpec(part.inputs, (torque,), dt, filters=(state, heat), hidden=(filled,), gate=gate)
    lags = [LowPassMemory(part.inputs[0].name, lag) for lag in HYDRAULIC_LAGS]
    return MemorySpec(part.inputs, (torque,), dt, filters=(*lags, heat))


def touching_volume(side: str) -> tuple[float, float]:
    """Return the fluid volumes in the caliper, in cm3, below which the pads cannot touch their disc, and at which they
    do when the piston moves slowly.

    V = A_c x_c + C p_c with x_c = gap: without any pressure, and with p_c = k_s gap / A_c that pulls the seal that far.
    """
    p = brake(side).parameter_values()
    never = p["A_c"] * p["gap"]
    return 1e6 * never, 1e6 * (never + p["C"] * p["k_s"] * p["gap"] / p["A_c"])


@cache
def _observed(side: str) -> OdeSubstructure:
    """Return the brake with the volume C p_c + A_c x_c of fluid in its caliper as a second output."""
    from numba import njit

    plain = brake(side)
    rhs = njit(brake_rhs)

    def observed_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
        rhs(t, x, u, p, dx, y)
        y[1] = 1e6 * (p[10] * x[4] + p[11] * x[5])

    system = ode(
        states=plain.system.states,
        inputs=plain.inputs,
        outputs=(*plain.outputs, Port(f"V_{plain.outputs[0].name.removeprefix('tau_')}", "cm3")),
        parameters=plain.parameters,
        initial=dict(zip([s.name for s in plain.system.states], plain.system.initial, strict=True)),
        held=plain.system.held,
        name=plain.name,
    )(observed_rhs)
    return OdeSubstructure(system, substeps=plain.substeps, points=plain.points)
