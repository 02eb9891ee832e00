"""A Duffing oscillator written in Python, compiled, and run 100 000 ticks in C++."""

import matplotlib.pyplot as plt

from mor import HybridModel, OdeSubstructure, Trajectory, ode


@ode(
    states={"x": "m", "v": "m/s"},
    inputs={"force": "N"},
    outputs={"x": "m", "v": "m/s"},
    parameters={"m": (2.0, "kg"), "c": (0.4, "Ns/m"), "k": (80.0, "N/m"), "k3": (900.0, "N/m3")},
)
def duffing(t, x, u, p, dx, y):
    """m v' + c v + k x + k3 x^3 = force."""
    dx.x = x.v
    dx.v = (u.force - p.c * x.v - p.k * x.x - p.k3 * x.x**3) / p.m
    y.x = x.x
    y.v = x.v


push = Trajectory([0, 1, 2, 10], [0, 25, 0, 0], {"force": "N"})
model = HybridModel("push", [OdeSubstructure(duffing)], dt=1e-4, excitations=push, duration=10.0)
run = model.run()
print(f"largest displacement {1e3 * abs(run['x']).max():.1f} mm")

fig, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot(1e3 * run["x"], run["v"], lw=0.8)
ax.set(xlabel="displacement [mm]", ylabel="velocity [m/s]", title="phase plane")
fig.savefig("02_model_in_python.png", dpi=120)
