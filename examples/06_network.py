"""Ten tanh fitted by Levenberg-Marquardt with Bayesian regularisation, judged on points they have not seen."""

import matplotlib.pyplot as plt

from mor import brake_map, validate
from training import FfnnConfig, fit_ffnn

problem = brake_map()
train, valid, test = problem.dataset(300, seed=1).split(0.6, 0.2, 0.2, seed=0)
network = fit_ffnn(train, valid=valid, config=FfnnConfig(hidden=(10,), restarts=3, seed=0))
print(f"NRMSE: {100 * validate(network, test, training=train).worst():.2f} %")

fig, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot(test.Y[:, 0], network.predict(test.X)[:, 0], ".")
ax.axline((0, 0), slope=1, color="0.6", lw=0.8)
ax.set(xlabel="full-order torque [N m]", ylabel="network [N m]")
fig.savefig("06_network.png", dpi=120)
