"""One fitted model as ONNX and plain C, the same numbers from every engine."""

import matplotlib.pyplot as plt
import numpy as np

from export import verify, write
from mor import fit_pce, ishigami
from rt_runtime import load_bundle

problem = ishigami()
model = fit_pce(problem.dataset(300, seed=1))
bundle = write(model, "ishigami.bundle", name="ishigami", targets=("onnx", "c"), overwrite=True)
rows = verify(bundle, {"ishigami": model})
for row in rows:
    print(f"{row.engine:12s} {'same' if row.ok else 'DIFFERS'}")
print(load_bundle("ishigami.bundle"))

x = np.linspace(-np.pi, np.pi, 200)
line = np.column_stack([x, x, np.ones_like(x)])
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(x, problem(line), "k", label="function")
ax.plot(x, model.predict(line)[:, 0], "--", label="expansion")
ax.set(xlabel="x1 = x2", ylabel="y")
ax.legend()
fig.savefig("09_export.png", dpi=120)
