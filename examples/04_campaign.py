"""Sample a model over uncertain parameters; killed and started again, the campaign goes on where it was."""

import matplotlib.pyplot as plt
import numpy as np

from mor import FunctionModel, LogNormal, ParameterSpace, Uniform, lhs, run_design


def wheel_hop(K: float, Z: float) -> dict[str, float]:
    """Natural frequency and damping ratio of 25 kg on a tyre."""
    w = np.sqrt(K / 25.0)
    return {"f": w / (2 * np.pi), "zeta": Z / (2 * 25.0 * w)}


space = ParameterSpace({"K": Uniform(4e4, 8e4, unit="N/m"), "Z": LogNormal.from_mean_cv(400.0, 0.3, unit="Ns/m")})
design = lhs(space, 60, seed=1, criterion="maximin")
model = FunctionModel(wheel_hop, outputs={"f": "Hz", "zeta": ""})
data = run_design(model, design, store="wheel.store", executor="serial", progress=False)
print(data)

fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
left.scatter(data.X[:, 0], data.X[:, 1], s=12)
left.set(xlabel="K [N/m]", ylabel="Z [Ns/m]", title="design")
right.scatter(data.Y[:, 0], data.Y[:, 1], s=12, color="C1")
right.set(xlabel="f [Hz]", ylabel="zeta", title="responses")
fig.savefig("04_campaign.png", dpi=120)
