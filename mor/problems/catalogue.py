"""Ready problems with known answers, for tests, tutorials and first steps.

Functions of parameters (`ReferenceFunction`: space, formula, closed-form moments and Sobol' indices where there are
any): ishigami, sobol_g, borehole, short_column, front_brake, rear_brake. Models over time (`DynamicProblem`:
substructure, inputs, space, known numbers): duffing, three_storey, front_brake_run, rear_brake_run.

>>> from mor.problems import catalogue
>>> catalogue.problem("ishigami").mean
3.5
>>> catalogue.problem("rear_brake").space.names
('F_br', 'w_rw')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from mor.compile.ode import ode
from mor.data.ports import Parameter
from mor.data.trajectory import Trajectory
from mor.marginals import Uniform
from mor.problems.functions import ReferenceFunction as ReferenceFunction
from mor.problems.functions import borehole as borehole
from mor.problems.functions import ishigami as ishigami
from mor.problems.functions import short_column as short_column
from mor.problems.functions import sobol_g as sobol_g
from mor.sampling.space import ParameterSpace
from mor.substructures.base import Substructure
from mor.substructures.differential import OdeSubstructure
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class DynamicProblem:
    """A substructure under given inputs, its uncertain parameters, and what is known about it.

    inputs: histories of its input ports, interpolated to the ticks of `dt` seconds. known: {what: number}. exact: the
    output over time in closed form, where there is one.
    """

    name: str
    substructure: Substructure
    inputs: Trajectory
    dt: float
    space: ParameterSpace | None = None
    known: Mapping[str, float] = field(default_factory=dict)
    exact: Callable[[Array], Array] | None = None

    def simulate(self, parameters: Mapping[str, float] | None = None) -> Trajectory:
        """Run the substructure under the inputs."""
        return self.substructure.simulate(self.inputs, dt=self.dt, parameters=parameters)


def front_brake() -> ReferenceFunction:
    """Settled torque of the full-order front brake over lever force and wheel speed."""
    return _static_brake("front")


def rear_brake() -> ReferenceFunction:
    """Settled torque of the full-order rear brake over pedal force and wheel speed."""
    return _static_brake("rear")


def _static_brake(side: str) -> ReferenceFunction:
    from mor.models.motorcycle import brake, brake_space, static_torque

    def torque(X: Array) -> Array:
        return static_torque(side, X[:, 0], X[:, 1])

    return ReferenceFunction(f"{side}_brake", brake_space(side), brake(side).outputs[0], torque)


def _duffing_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    dx[0] = x[1]
    dx[1] = u[0] - p[2] * x[1] - (p[0] + p[1] * x[0] * x[0]) * x[0]
    y[0] = x[0]


@cache
def duffing(stiffness: float = 1.0, cubic: float = 4.0, start: float = 1.0) -> DynamicProblem:
    """Free, undamped oscillation of x'' + c x' + (a + b x^2) x = f, a and b per unit mass, from x = start at rest.

    Without damping x = start cn(W t, m) with W^2 = a + b start^2 and m = b start^2 / (2 W^2), period 4 K(m) / W.
    """
    from scipy.special import ellipj, ellipk

    system = ode(
        states={"x": "m", "v": "m/s"},
        inputs={"f": "m/s2"},
        outputs={"x": "m"},
        parameters=(
            Parameter("a", stiffness, "1/s2", 0.0),
            Parameter("b", cubic, "1/(m2 s2)", 0.0),
            Parameter("c", 0.0, "1/s", 0.0),
        ),
        initial={"x": start},
        name="duffing",
    )(_duffing_rhs)
    frequency = np.sqrt(stiffness + cubic * start**2)
    modulus = cubic * start**2 / (2 * frequency**2)

    def exact(t: Array) -> Array:
        position: Array = start * ellipj(frequency * np.asarray(t), modulus)[1]
        return position

    space = ParameterSpace(
        {
            "a": Uniform(0.8 * stiffness, 1.2 * stiffness, unit="1/s2"),
            "b": Uniform(0.8 * cubic, 1.2 * cubic, unit="1/(m2 s2)"),
        }
    )
    inputs = Trajectory([0.0, 20.0], [0.0, 0.0], {"f": "m/s2"})
    known = {"period": 4 * float(ellipk(modulus)) / frequency}
    return DynamicProblem("duffing", OdeSubstructure(system, direct=()), inputs, 1e-3, space, known, exact)


@cache
def three_storey() -> DynamicProblem:
    """The three-storey benchmark frame under a synthetic ground motion; frequencies as printed, in Hz."""
    from mor.excitation import synthetic_ground_motion
    from mor.models.benchmark_frame import three_storey_part

    ground = synthetic_ground_motion(seed=1, duration=20.0, rate=512.0, peak=1.25)
    values = np.column_stack([ground.values, np.zeros(len(ground))])
    inputs = Trajectory(ground.time, values, {"ground": "m/s2", "force": "N"})
    known = {"frequency_1": 3.612, "frequency_2": 15.997, "frequency_3": 38.086}
    space = ParameterSpace(
        {
            "floor_mass": Uniform.from_mean_cv(1000.0, 0.05, unit="kg"),
            "damping_ratio": Uniform.from_mean_cv(0.05, 0.2),
        }
    )
    return DynamicProblem("three_storey", three_storey_part(), inputs, 1 / 4096, space, known)


def front_brake_run() -> DynamicProblem:
    """The full-order front brake: pressed to 50 N within 2 s, held and released at a falling wheel speed."""
    return _brake_run("front")


def rear_brake_run() -> DynamicProblem:
    """The full-order rear brake: pressed to 50 N within 2 s, held and released at a falling wheel speed."""
    return _brake_run("rear")


def _brake_run(side: str) -> DynamicProblem:
    from mor.models.motorcycle import brake, static_torque

    part = brake(side)
    force, speed = part.inputs
    columns = [[0.0, 400.0], [0.0, 390.0], [50.0, 300.0], [50.0, 100.0], [0.0, 50.0], [0.0, 50.0]]
    inputs = Trajectory([0.0, 0.5, 2.5, 6.0, 8.0, 9.0], columns, (force, speed))
    known = {"static_torque_50_N_300_rpm": float(static_torque(side, 50.0, 300.0))}
    return DynamicProblem(f"{side}_brake_run", part, inputs, 1e-4, None, known)


_PROBLEMS: dict[str, Callable[[], ReferenceFunction | DynamicProblem]] = {
    "ishigami": ishigami,
    "sobol_g": sobol_g,
    "borehole": borehole,
    "short_column": short_column,
    "front_brake": front_brake,
    "rear_brake": rear_brake,
    "duffing": duffing,
    "three_storey": three_storey,
    "front_brake_run": front_brake_run,
    "rear_brake_run": rear_brake_run,
}


def names() -> tuple[str, ...]:
    """Return the names of all problems."""
    return tuple(_PROBLEMS)


def problem(name: str) -> ReferenceFunction | DynamicProblem:
    """Return a problem by name."""
    if name not in _PROBLEMS:
        raise ConfigError(f"Problem '{name}' of the catalogue is unknown; there are {', '.join(_PROBLEMS)}.")
    return _PROBLEMS[name]()
