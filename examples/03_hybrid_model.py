"""A linear floor and a nonlinear damper coupled by the names of their ports; the damper is exchanged for a dashpot."""

import matplotlib.pyplot as plt

from mor import HybridModel, LinearStructure, LinearSubstructure, OdeSubstructure, StaticSubstructure, ode
from mor.excitation import synthetic_ground_motion


@ode(
    states={"q": "N"},
    inputs={"x": "m", "v": "m/s"},
    outputs={"f": "N"},
    parameters={"k": (3e5, "N/m"), "tau": (0.1, "s")},
)
def maxwell(t, x, u, p, dx, y):
    """A dashpot in series with a spring: q' = k v - q / tau."""
    dx.q = p.k * u.v - x.q / p.tau
    y.f = 2e4 * u.x + x.q


def dashpot(u, p, y):
    """What the Maxwell element is for slow motion: c = k tau."""
    y.f = 2e4 * u.x + 3e4 * u.v


mass, damping, stiffness = 2000.0, 3000.0, 3e6
floor = LinearSubstructure.from_structure(
    "floor",
    LinearStructure([[mass]], [[damping]], [[stiffness]]),
    inputs={"ground": ("m/s2", [-mass]), "f": ("N", [-1.0])},
    outputs={"x": ("m", "x", [1.0]), "v": ("m/s", "v", [1.0])},
)
damper = OdeSubstructure(maxwell, name="damper", direct=["x"])
ground = synthetic_ground_motion(seed=3, duration=8.0, peak=3.0)
model = HybridModel("building", [floor, damper], dt=1e-3, excitations={"ground": ground}, duration=8.0)
print(model.describe())
simple = StaticSubstructure("dashpot", dashpot, inputs=damper.inputs, outputs=damper.outputs)

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, run in (("Maxwell damper", model.run()), ("dashpot", model.swap("damper", simple).run())):
    ax.plot(run.time, 1e3 * run["x"], label=name, lw=1)
ax.set(xlabel="time [s]", ylabel="floor [mm]")
ax.legend()
fig.savefig("03_hybrid_model.png", dpi=120)
