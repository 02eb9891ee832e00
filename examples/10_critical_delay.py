"""How much delay of the actuator a hybrid test bears: the exact limit, and runs on both sides of it."""

import matplotlib.pyplot as plt
import numpy as np

from mor import LinearStructure, LinearSubstructure, critical_delay
from rt_runtime import Delay, Gain, Loop, Table, previous

mass, stiffness = 1000.0, 1000.0 * (2 * np.pi * 2.0) ** 2
damping, specimen = 2 * 0.03 * np.sqrt(stiffness * mass), 0.5 * stiffness
computed = LinearStructure([[mass]], [[damping]], [[stiffness - specimen]])
limit = critical_delay(computed, dof=0, mass=0.0, damping=0.0, stiffness=specimen)
print(f"critical delay {1e3 * limit:.2f} ms")
frame = LinearSubstructure.from_structure(
    "frame", computed,
    inputs={"ground": ("m/s2", [-mass]), "force": ("N", [-1.0])}, outputs={"target": ("m", "x", [1.0])},
)  # fmt: skip

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for share, style in ((1.3, "C3"), (0.7, "C0"), (0.0, "k--")):
    loop, rate = Loop(10_000.0), 10_000.0
    for name, unit in {"ground": "m/s2", "force": "N", "target": "m", "moved": "m"}.items():
        loop.signal(name, unit=unit)
    loop.add("ground", Table([0.0, 0.1, 0.2, 0.3], [0.0, 2.0, 0.0, 0.0]), outputs=["ground"])
    block = frame.block(dt=1 / rate, update="start")
    loop.add("frame", block, inputs=["ground", previous("force")], outputs=["target"])
    loop.add("actuator", Delay(share * limit * rate), inputs=["target"], outputs=["moved"])
    loop.add("specimen", Gain(specimen), inputs=["moved"], outputs=["force"])
    record = loop.run(12.0)
    ax.plot(record.time, 1e3 * record["target"], style, lw=0.8, label=f"delay {1e3 * share * limit:.1f} ms")
ax.set(xlabel="time [s]", ylabel="frame [mm]")
ax.legend()
fig.savefig("10_critical_delay.png", dpi=120)
