"""A valve that follows its lever with a lag: a static map is always early, a polynomial with fading memory is not."""

import matplotlib.pyplot as plt
import numpy as np

from mor import Dataset, LowPassMemory, MemorySpec, OdeSubstructure, fit_pce_memory, nrmse, ode
from mor.excitation import Channel, operating_range

dt = 5e-3


@ode(states={"p": "bar"}, inputs={"F": "N"}, outputs={"tau": "Nm"})
def hydraulics(t, x, u, p, dx, y):
    """The pressure follows the lever with 80 ms, quicker when it is high; the torque grows with it."""
    dx.p = (0.5 * u.F - x.p) * (1.0 + 0.02 * x.p) / 0.08
    y.tau = 2.0 * x.p + 0.05 * x.p**2


brake = OdeSubstructure(hydraulics, name="brake", direct=())


def driven(seeds):
    """Runs that move the lever over its whole range at every pace."""
    channel = Channel("F", 0.0, 50.0, "N", slowest=1.0, longest_hold=0.5)
    inputs = [operating_range([channel], duration=8.0, rate=1 / dt, seed=s)["F"].values for s in seeds]
    return Dataset.from_trajectories([brake.simulate({"F": u}, dt=dt) for u in inputs], ["F"], ["tau"])


filters = [LowPassMemory("F", tau) for tau in (0.03, 0.06, 0.12)]
memory = MemorySpec(brake.inputs, brake.outputs, dt=dt, filters=filters)
model = fit_pce_memory(driven(range(5)), memory, valid=driven([5]), rows=600, domain=([0], [50]))

t = np.arange(0, 5, dt)
lever = np.interp(t, [0.5, 0.7, 2.5, 2.6, 4.0, 4.3], [0, 45, 45, 20, 20, 0])  # never seen in training
truth = brake.simulate({"F": lever}, dt=dt)["tau"]
answer = model.rollout(lever[:, None])[:, 0]
static = 2.0 * 0.5 * lever + 0.05 * (0.5 * lever) ** 2
print(f"static {100 * nrmse(static, truth):.1f} %, with memory {100 * nrmse(answer, truth):.2f} %")

fig, (top, bottom) = plt.subplots(2, 1, figsize=(6, 4), sharex=True, layout="constrained")
top.plot(t, truth, "k", label="full order")
top.plot(t, static, ":", label="static map")
top.plot(t, answer, "--", label="with memory, free run")
top.set(ylabel="torque [Nm]")
top.legend()
bottom.plot(t, answer - truth)
bottom.set(xlabel="time [s]", ylabel="difference [Nm]")
fig.savefig("07_memory.png", dpi=120)
