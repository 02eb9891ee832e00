"""Yielding steel does not forget: a network behind play operators follows a brace that lags and filters cannot."""

import matplotlib.pyplot as plt
import numpy as np

from mor import Dataset, MemorySpec, Play, Port, nrmse
from training import FfnnConfig, MemoryConfig, fit_ffnn_memory

x, force = Port("x", "m"), Port("F", "N")
radii, stiffness = np.linspace(0.02, 0.5, 20), 5e5


def walk(seed, n=400):
    """A displacement history between random turning points."""
    turns = np.random.default_rng(seed).uniform(-1, 1, n // 20 + 1)
    return np.interp(np.arange(n), np.arange(len(turns)) * 20, turns)


def brace(u):
    """Twenty springs that slip at different displacements, in parallel: the full-order model of this example."""
    slip, forces = np.zeros(20), []
    for value in u:
        slip = np.clip(slip, value - radii, value + radii)
        forces.append(stiffness * np.mean(value - slip))
    return np.array(forces)


def runs(seeds):
    """Walks with the forces they meet."""
    U = [walk(seed) for seed in seeds]
    X, Y = np.concatenate(U)[:, None], np.concatenate([brace(u) for u in U])
    return Dataset(X, Y, [x], [force], run=np.repeat(np.arange(len(U)), 400))


memory = MemorySpec([x], [force], operators=[Play("x", count=10, spacing="even")])
config = MemoryConfig(FfnnConfig(hidden=(8,), restarts=1, iterations=60), rows=2000)
model = fit_ffnn_memory(runs(range(8)), memory, valid=runs([10]), config=config)
unseen = walk(20)
answer, truth = model.rollout(unseen[:, None])[:, 0], brace(unseen)
print(f"free run over an unseen walk: NRMSE {100 * nrmse(answer, truth):.2f} %")

fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(unseen, 1e-3 * truth, "k", lw=1, label="full order")
ax.plot(unseen, 1e-3 * answer, "C1--", lw=1, label="play operators and a network")
ax.set(xlabel="displacement [m]", ylabel="force [kN]")
ax.legend(loc="upper left")
fig.savefig("08_hysteresis.png", dpi=120)
