"""Operator splitting (Nakashima; alpha-OS of Combescure and Pegon): one force reading a step and no iteration.

The restoring force is read at the predictor displacement x~, which a test rig can be commanded to, and corrected with
an assumed stiffness K: r_1 = r(x~) + K (x_1 - x~). Stable for every step while K is at least the tangent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.integrators.alpha import hht_coefficients
from mor.dynamics.integrators.motion import Load, Motion, Restoring, make_task
from mor.dynamics.structure import LinearStructure
from rt_runtime.checks import Array, finite_array, positive


class OperatorSplitting:
    """Step a structure against a force that is only known at the displacement it is asked for.

        x~ = x_0 + dt v_0 + dt^2 (1/2 - beta) a_0,   v~ = v_0 + dt (1 - gamma) a_0
        x_1 = x~ + beta dt^2 a_1,                    v_1 = v~ + gamma dt a_1
        M a_1 + (1 + alpha) [C v_1 + r_1] - alpha [C v_0 + r_0] = (1 + alpha) f_1 - alpha f_0

    `predict` gives x~ (the command), `correct` takes the force measured there. `structure.K` is the assumed stiffness;
    x, v, a are the current motion.
    """

    def __init__(
        self,
        structure: LinearStructure,
        *,
        dt: float,
        alpha: float = 0.0,
        initial: tuple[ArrayLike, ArrayLike] | None = None,
        force: ArrayLike | None = None,
        load: ArrayLike | None = None,
    ) -> None:
        """Start from `initial` (x, v) with the restoring `force` and the `load` there, all zero when not given."""
        self.structure, self.dt, n = structure, positive(dt, "dt", "OperatorSplitting"), structure.n
        self._c = hht_coefficients(alpha)

        def vector(value: ArrayLike | None, name: str) -> Array:
            return finite_array(np.zeros(n) if value is None else value, name, "OperatorSplitting", (n,))

        x, v = (None, None) if initial is None else initial
        self.x, self.v = vector(x, "initial"), vector(v, "initial")
        self._load = vector(load, "load")
        self._internal = structure.C @ self.v + vector(force, "force")
        self.a = np.linalg.solve(structure.M, self._load - self._internal)
        keep, c = 1 - self._c.af, self._c
        effective = structure.M + keep * (c.gamma * self.dt * structure.C + c.beta * self.dt**2 * structure.K)
        self._inverse = np.linalg.inv(effective)

    def predict(self) -> tuple[Array, Array]:
        """Return the displacement to go to and the velocity expected there, (n) each."""
        c, dt = self._c, self.dt
        return self.x + dt * self.v + dt**2 * (0.5 - c.beta) * self.a, self.v + dt * (1 - c.gamma) * self.a

    def correct(self, force: ArrayLike, load: ArrayLike) -> None:
        """Finish the step with the restoring `force` (n) at the predictor and the `load` (n) at the end of the step."""
        s, c, dt = self.structure, self._c, self.dt
        x, v = self.predict()
        measured, new_load = np.asarray(force, float), np.asarray(load, float)
        outer = (1 - c.af) * new_load + c.af * self._load
        self.a = self._inverse @ (outer - c.af * self._internal - (1 - c.af) * (s.C @ v + measured))
        self.x, self.v = x + c.beta * dt**2 * self.a, v + c.gamma * dt * self.a
        self._internal = s.C @ self.v + measured + s.K @ (self.x - x)
        self._load = new_load


def operator_splitting(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    alpha: float = 0.0,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
) -> Motion:
    """Step by `OperatorSplitting`; restoring: r(x, v) in N, called once a step; other arguments as `newmark`."""
    task = make_task("operator_splitting", structure, load, dt, steps, initial, restoring)
    stepper = OperatorSplitting(
        structure,
        dt=task.dt,
        alpha=alpha,
        initial=(task.x0, task.v0),
        force=task.force(task.x0, task.v0),
        load=task.loads[0],
    )
    x, v, a = (np.empty((task.steps + 1, structure.n)) for _ in range(3))
    x[0], v[0], a[0] = stepper.x, stepper.v, stepper.a
    for k in range(1, task.steps + 1):
        stepper.correct(task.force(*stepper.predict()), task.loads[k])
        x[k], v[k], a[k] = stepper.x, stepper.v, stepper.a
    return Motion(task.time, x, v, a)
