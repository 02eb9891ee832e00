"""A servo-hydraulic actuator lags by 14 ms; a predictive controller that knows it leaves nothing of the lag."""

import matplotlib.pyplot as plt
import numpy as np

from mor import TransferFunction, prediction_model, tracking
from rt_runtime import Extrapolator, Gain, Horizon, Loop, Mpc, StateSpace, Table, horizon_leads, previous

rate, every, steps = 2000.0, 2, 10  # control at 1 kHz, ten steps ahead
a0, a1 = 5657.0, 78.62  # x'' + a1 x' + a0 x = a0 command
t = np.arange(0, 6, 1 / rate)
wave = 6e-3 * np.sin(2 * np.pi * t) + 3e-3 * np.sin(2 * np.pi * 3.3 * t) + 5e-4 * np.sin(2 * np.pi * 8 * t)


def run(controlled: bool):
    """One run of the actuator behind the controller, or behind nothing."""
    loop, ahead = Loop(rate), [f"ahead{i}" for i in range(steps)]
    for name in ("target", "command", "measured", *ahead):
        loop.signal(name, unit="m")
    loop.signal("iterations")
    loop.signal("status")
    loop.add("target", Table(t, wave), outputs=["target"])
    plant = StateSpace([[0, 1], [-a0, -a1]], [[0], [a0]], [[1, 0]], dt=1 / rate)
    if controlled:
        leads = horizon_leads(steps, every)
        loop.add("ahead", Extrapolator(order=3, spacing=10, leads=leads), inputs=["target"], outputs=ahead)
        horizon = Horizon(steps, output_weight=64.0, move_weight=0.002, bounds=(-0.1, 0.1), preview=True)
        mpc = Mpc(prediction_model(TransferFunction([a0], [1.0, a1, a0]), every / rate), horizon)
        inputs = [*ahead, previous("measured")]
        loop.add("mpc", mpc, inputs=inputs, outputs=["command", "iterations", "status"], every=every)
    else:
        loop.add("direct", Gain(1.0), inputs=["target"], outputs=["command"])
    loop.add("actuator", plant, inputs=["command"], outputs=["measured"])
    record = loop.run(6.0)
    return record, tracking(record["measured"], record["target"], rate)


fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, controlled in (("without control", False), ("MPC", True)):
    record, j = run(controlled)
    print(f"{name:16s} J1 {j.J1:5.1f} ms  J2 {j.J2:5.2f} %")
    part = slice(4000, 5000)
    ax.plot(record.time[part], 1e3 * record["measured"][part], label=f"{name}: J2 = {j.J2:.1f} %")
ax.plot(record.time[part], 1e3 * record["target"][part], "k--", lw=0.8, label="target")
ax.set(xlabel="time [s]", ylabel="mm")
ax.legend()
fig.savefig("11_predictive_control.png", dpi=120)
