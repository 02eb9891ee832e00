"""A sparse polynomial chaos expansion of the borehole function, its error on new points and its Sobol' indices."""

import matplotlib.pyplot as plt
import numpy as np

from mor import borehole, fit_pce, validate

problem = borehole()
train, unseen = problem.dataset(100, seed=1), problem.dataset(1000, seed=2)
pce = fit_pce(train)
result = validate(pce, unseen, training=train)
print(f"NRMSE on 1000 new points: {100 * result.worst():.3f} %")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
names, at = [port.name for port in problem.space.ports], np.arange(len(problem.space.ports))
ax.bar(at - 0.2, pce.sobol_first()[0], 0.4, label="first order")
ax.bar(at + 0.2, pce.sobol_total()[0], 0.4, label="total")
ax.set_xticks(at, names)
ax.legend()
fig.savefig("05_polynomial_chaos.png", dpi=120)
