"""Kriging of a noisy function of one variable: the nugget is found, and the model says how sure it is."""

import matplotlib.pyplot as plt
import numpy as np

from mor import Dataset, ParameterSpace, Uniform, fit_kriging

rng = np.random.default_rng(3)
space = ParameterSpace({"x": Uniform(0.0, 10.0)})
X = rng.uniform(0, 10, (30, 1))
y = np.sin(X[:, 0]) + 0.3 * X[:, 0] + 0.1 * rng.normal(size=30)
model = fit_kriging(Dataset(X, y, space.ports, {"y": ""}, space=space))

grid = np.linspace(0, 10, 300)[:, None]
mean, std = model.predict(grid)[:, 0], model.std(grid)[:, 0]
truth = np.sin(grid[:, 0]) + 0.3 * grid[:, 0]
print(f"largest error {abs(mean - truth).max():.2f}, 30 points with noise 0.1")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(X[:, 0], y, "k.", label="data")
ax.plot(grid[:, 0], truth, "k--", lw=0.8, label="truth")
ax.plot(grid[:, 0], mean, label="Kriging")
ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.2)
ax.legend()
fig.savefig("13_kriging.png", dpi=120)
