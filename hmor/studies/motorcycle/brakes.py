"""The brakes of the motorcycle as campaigns sample them: settled torques, and runs through the operating range."""

from __future__ import annotations

import numpy as np

from mor import Gate, Trajectory
from mor.models.motorcycle import static_torque, touching_force
from mor.models.motorcycle.brake_runs import sample_runs


def rear_torque(F_br: float, w_rw: float) -> dict[str, float]:
    """Return the torque of the rear brake once the hydraulics have settled, for lever force and wheel speed."""
    return {"tau_rw": float(static_torque("rear", F_br, w_rw))}


def front_torque(F_br: float, w_fw: float) -> dict[str, float]:
    """Return the torque of the front brake once the hydraulics have settled, for lever force and wheel speed."""
    return {"tau_fw": float(static_torque("front", F_br, w_fw))}


def operating_run(side: str, seed: float, duration: float = 30.0, dt: float = 1e-4, every: int = 1) -> Trajectory:
    """Return one run of a full-order brake through its operating range, from rest, with the fluid in its caliper.

    The whole part of `seed` draws the run: n levels over n integers have each of them once. Of its steps of `dt` each
    `every`-th is kept.
    """
    rows = sample_runs(side, [int(seed)], duration=duration, dt=dt, every=every, volume=True)
    return Trajectory(every * dt * np.arange(len(rows)), np.hstack([rows.X, rows.Y]), (*rows.inputs, *rows.outputs))


def pad_gate(side: str) -> Gate:
    """Return the gate of the static models: pads that do not touch their disc give no torque, whatever a fit says."""
    return Gate("F_br", touching_force(side))
