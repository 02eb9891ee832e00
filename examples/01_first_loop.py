"""A loop of three blocks: a target, a proportional controller and a mass on a spring."""

import matplotlib.pyplot as plt

from rt_runtime import Gain, Loop, StateSpace, Sum, Table, previous

loop = Loop(1000.0)
for name, unit in {"target": "m", "error": "m", "force": "N", "position": "m"}.items():
    loop.signal(name, unit=unit)
loop.add("path", Table([0.0, 0.2, 0.5, 2.0], [0.0, 0.0, 0.01, 0.01]), outputs=["target"])
loop.add("difference", Sum("+-"), inputs=["target", previous("position")], outputs=["error"])
loop.add("controller", Gain(2000.0), inputs=["error"], outputs=["force"])
m, c, k = 2.0, 60.0, 100.0  # m x'' + c x' + k x = force
plant = StateSpace([[0, 1], [-k / m, -c / m]], [[0], [1 / m]], [[1, 0]], dt=1e-3)
loop.add("plant", plant, inputs=["force"], outputs=["position"])
record = loop.run(2.0)
print(f"position at the end: {1e3 * record['position'][-1]:.2f} mm of 10 mm")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(record.time, 1e3 * record["target"], "--", label="target")
ax.plot(record.time, 1e3 * record["position"], label="position")
ax.set(xlabel="time [s]", ylabel="mm")
ax.legend()
fig.savefig("01_first_loop.png", dpi=120)
