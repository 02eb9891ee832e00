"""A target that leaves the stroke: the monitor trips, and the command goes to rest on a smooth way."""

import matplotlib.pyplot as plt
import numpy as np

from rt_runtime import Command, Drive, Loop, Rule, Sensor, SimulatedActuator, StartStop, Table, Tripped, protect

loop = Loop(1000.0)
for name, unit in (("position", "m"), ("rig.age", ""), ("rig.status", ""), ("rig.sent", ""), ("wanted", "m")):
    loop.signal(name, unit=unit)
actuator = SimulatedActuator([1.0], [0.003, 1.0], dt=1e-3)
loop.add("rig.read", Sensor(actuator), outputs=["position", "rig.age", "rig.status"])
t = np.linspace(0.0, 2.0, 2001)
loop.add("target", Table(t, 0.02 * np.sin(2 * np.pi * t) * np.minimum(t, 1)), outputs=["wanted"])
protect(
    loop,
    [Command("wanted", "command", lower=-0.05, upper=0.05, rate=0.5)],
    [Rule.within("stroke", "position", 0.015), Rule.stale("stale", "rig.age", 20)],
    manners=StartStop(soft_start=0.2, soft_stop=0.5, trip=0.2),
)
loop.add("rig.write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
try:
    record = loop.run(2.0)
except Tripped as trip:
    print(trip)
    record = trip.record

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(record.time, 1e3 * record["wanted"], "--", label="wanted")
ax.plot(record.time, 1e3 * record["command"], label="command")
ax.plot(record.time, 1e3 * record["position"], ":", label="measured")
ax.axhline(15, color="C3", lw=0.8)
ax.set(xlabel="time [s]", ylabel="mm")
ax.legend()
fig.savefig("12_safety.png", dpi=120)
