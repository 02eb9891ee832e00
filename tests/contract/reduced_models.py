"""One small finished model of every kind. A new kind joins the contract suite by one line in `MODELS`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.marginals import LogNormal, Normal, Uniform
from mor.reduced.base import ReducedModel, as_domain
from mor.reduced.ffnn import Ffnn
from mor.reduced.gate import Gate
from mor.reduced.gru import GruStep
from mor.reduced.hysteresis.cells import BoucWen, Power, Product, Relaxation, Trail
from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.operators import Operator, Peaks, Play, Reversals, Stop
from mor.reduced.hysteresis.steel import MenegottoPinto
from mor.reduced.kriging.fit import fit_kriging
from mor.reduced.kriging.model import Kriging
from mor.reduced.lambda_model.fit import fit_glam
from mor.reduced.lambda_model.fit_latent import fit_spce
from mor.reduced.lambda_model.latent_expansion import Spce
from mor.reduced.lambda_model.model import Glam
from mor.reduced.memory import MemoryModel, regressor_ports
from mor.reduced.pce.fit import fit_pce
from mor.reduced.pce.model import Pce
from mor.sampling.designs import lhs
from mor.sampling.space import ParameterSpace
from tests.reference.linear_model import Linear

FORCE, SPEED, TORQUE = Port("F_br", "N"), Port("w_rw", "rad/s"), Port("tau_rw", "N m")


def linear() -> Linear:
    inputs = (FORCE, SPEED)
    return Linear(
        inputs, (TORQUE, Port("p", "Pa")), as_domain([0, 0], [50, 49], inputs), np.array([1.0, -2.0]),
        np.array([[2.5, 0.1], [0.3, -0.7]]),
    )  # fmt: skip


def memory_of_linear() -> MemoryModel:
    """First-order lag y_k = 0.9 y_{k-1} + 0.2 F_k + 0.05 F_{k-1}."""
    inputs = (FORCE, Port("F_br_lag1", "N"), Port("tau_rw_lag1", "N m"))
    step = Linear(
        inputs, (TORQUE,), as_domain([0, 0, -5], [50, 50, 150], inputs), np.zeros(1), np.array([[0.2, 0.05, 0.9]])
    )
    return MemoryModel.around(step, (FORCE,), dt=1e-3, input_lags=1, output_lags=1, bounds=(0.0, 130.0))


def ffnn() -> Ffnn:
    rng = np.random.default_rng(4)
    return Ffnn(
        (rng.normal(size=(5, 2)), rng.normal(size=(2, 5))), (rng.normal(size=5), rng.normal(size=2)), (FORCE, SPEED),
        (TORQUE, Port("p", "Pa")), ([0, 0], [50, 49]), ([0.0, -1.0], [150.0, 2.0]), origin={"seed": 4},
    )  # fmt: skip


def memory_of_ffnn() -> MemoryModel:
    """One input, one lag of it, two lags of the output; the direct path carries a slow pole."""
    rng = np.random.default_rng(5)
    inputs = (FORCE, Port("F_br_lag1", "N"), Port("tau_rw_lag1", "N m"), Port("tau_rw_lag2", "N m"))
    step = Ffnn(
        (rng.normal(size=(6, 4)), 0.05 * rng.normal(size=(1, 6))), (rng.normal(size=6), rng.normal(size=1)), inputs,
        (TORQUE,), ([0, 0, -5, -5], [50, 50, 150, 150]), ([-5.0], [150.0]), skip=[[0.05, 0.02, 0.9, 0.0]],
    )  # fmt: skip
    return MemoryModel.around(step, (FORCE,), dt=1e-3, input_lags=1, output_lags=2, bounds=(0.0, 130.0))


def pce() -> Pce:
    """Uniform, normal and lognormal inputs, two outputs."""
    space = ParameterSpace({"a": Uniform(-1.0, 3.0, unit="m"), "b": Normal(2.0, 0.5), "c": LogNormal(0.1, 0.3)})
    X = lhs(space, 90, seed=1).points
    Y = np.column_stack([np.sin(X[:, 0]) * X[:, 1] + np.log(X[:, 2]), X[:, 0] ** 2 - X[:, 1] * X[:, 2]])
    return fit_pce(Dataset(X, Y, space.ports, {"p": "N", "q": "m"}), space)


def memory_of_pce() -> MemoryModel:
    """A saturating first-order lag y_k = 0.8 y_{k-1} + 0.2 tanh(F_k / 20) w_k."""
    names = ("F_br", "w_rw", "tau_rw_lag1")
    laws = (Uniform(0.0, 50.0, unit="N"), Uniform(0.0, 49.0, unit="rad/s"), Uniform(0.0, 60.0, unit="N m"))
    space = ParameterSpace(dict(zip(names, laws, strict=True)))
    X = lhs(space, 80, seed=2).points
    y = 0.8 * X[:, 2] + 0.2 * np.tanh(X[:, 0] / 20.0) * X[:, 1]
    step = fit_pce(Dataset(X, y, space.ports, [TORQUE]), space)
    return MemoryModel.around(step, (FORCE, SPEED), dt=1e-3, input_lags=0, output_lags=1, bounds=(0.0, 60.0))


X, V = Port("x", "m"), Port("v", "m/s")
OPERATORS: tuple[Operator, ...] = (
    Play("x", radii=(0.05, 0.2)), Stop("x", radii=(0.1, 0.4)), Peaks("x"), Reversals("x", 3, 0.02), Power("v", 0.4),
    Power("v", 1.5, signed=False), Product("x*v"), Trail("x", lengths=(0.3, 2.0)),
    Trail("x", lengths=(0.7,), size=True), BoucWen("x", lengths=(0.1, 0.3), sharpness=(1.0, 2.0), beta=(0.5, 0.7)),
    MenegottoPinto("x", (1.0, -0.5, 0.4), length=0.2, threshold=0.01),
)  # fmt: skip


def gru() -> GruStep:
    """Three units, two inputs and the output that comes back."""
    rng = np.random.default_rng(8)
    hidden = tuple(Port(f"h{i}") for i in (1, 2, 3))
    inputs = regressor_ports((X, V), (Port("F", "N"), *hidden), 0, 1)
    return GruStep(
        rng.normal(size=(9, 3)), rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=3), rng.normal(size=(1, 3)),
        rng.normal(size=(1, 3)), rng.normal(size=1), inputs, (Port("F", "N"), *hidden),
        ([-1, -2, -5, -1, -1, -1], [1, 2, 5, 1, 1, 1]), ([-4.0], [4.0]), {"seed": 8},
    )  # fmt: skip


def hysteresis(
    outside_rule: str = "clip", *, lags: int = 0, operators: tuple[Operator, ...] = OPERATORS
) -> MemoryModel:
    """A network behind operators, default all of them; with lags of signals and outputs and a state behind the output as well."""
    rng = np.random.default_rng(6)
    operators = (*operators, Relaxation("v", (0.05, 0.3))) if lags else operators
    front, force = (
        Front(operators, (X, V), 1e-2 if lags else None),
        (Port("F", "N"), Port("hidden"))[: 1 + min(lags, 1)],
    )
    inputs = regressor_ports((X, V), force, lags, lags, front.features)
    n, n_z = len(inputs), len(force)
    weights = rng.normal(size=(9, n)) / np.sqrt(n)
    step = Ffnn(
        (weights, 0.4 * rng.normal(size=(n_z, 9))), (rng.normal(size=9), rng.normal(size=n_z)), inputs, force,
        (-np.ones(n), np.ones(n)), (-3.0 * np.ones(n_z), 3.0 * np.ones(n_z)),
    )  # fmt: skip
    slope = np.full((n_z, 2), 0.7) if outside_rule == "tangent" else None
    return MemoryModel.around(
        step, (X, V), dt=1e-2 if lags else None, input_lags=lags, output_lags=lags, bounds=(-4.0, 4.0), responses=1,
        operators=operators, outside_rule=outside_rule, slope=slope,
    )  # fmt: skip


def kriging() -> Kriging:
    """The data of `pce` with a rough kernel: its matrix is well conditioned, so evaluations agree to rounding."""
    space = ParameterSpace({"a": Uniform(-1.0, 3.0, unit="m"), "b": Normal(2.0, 0.5), "c": LogNormal(0.1, 0.3)})
    X = lhs(space, 50, seed=1).points
    Y = np.column_stack([np.sin(X[:, 0]) * X[:, 1] + np.log(X[:, 2]), X[:, 0] ** 2 - X[:, 1] * X[:, 2]])
    data = Dataset(X, Y, space.ports, {"p": "N", "q": "m"})
    return fit_kriging(data, space, kernel="exponential", interactions=True, trend="linear", noise="none")


def noisy_rows() -> tuple[Dataset, ParameterSpace]:
    """Two outputs of two inputs with noise that depends on one of them."""
    space = ParameterSpace({"a": Uniform(-1.0, 3.0, unit="m"), "b": LogNormal(0.1, 0.3)})
    X = lhs(space, 150, seed=1).points
    noise = np.random.default_rng(1).standard_normal((150, 2))
    Y = np.column_stack([np.sin(X[:, 0]) + 0.1 * np.exp(0.3 * X[:, 0]) * noise[:, 0], X[:, 1] + 0.2 * noise[:, 1]])
    return Dataset(X, Y, space.ports, {"p": "N", "q": "m"}), space


def glam() -> Glam:
    return fit_glam(*noisy_rows(), degrees=(3, 1, 0, 1))


def spce() -> Spce:
    return fit_spce(*noisy_rows(), degree=2, latent="normal")


def smooth_kriging() -> Kriging:
    """Plain Gaussian kernel, constant trend, one output; the noise keeps its matrix well conditioned."""
    space = ParameterSpace({"F_br": Uniform(0.0, 50.0, unit="N"), "w_rw": Uniform(1.0, 49.0, unit="rad/s")})
    X = lhs(space, 30, seed=4).points
    y = X[:, 0] * np.tanh(X[:, 1] / 10.0) + 5.0 * np.random.default_rng(1).standard_normal(30)
    data = Dataset(X, y, space.ports, [TORQUE])
    return fit_kriging(data, space, kernel="gaussian", interactions=False, noise="learned", rounding=1e-13)


MODELS: dict[str, Callable[[], ReducedModel]] = {
    "linear": linear,
    "pce": pce,
    "kriging": kriging,
    "smooth kriging": smooth_kriging,
    "kriging behind a gate": lambda: Gate("a", 1.0).around(kriging()),
    "memory of pce": memory_of_pce,
    "memory of linear": memory_of_linear,
    "ffnn": ffnn,
    "memory of ffnn": memory_of_ffnn,
    "ffnn behind a gate": lambda: Gate("F_br", 20.0).around(ffnn()),
    "pce behind a gate": lambda: Gate("a", 1.0).around(pce()),
    "ffnn behind a gate that is closed for long": lambda: Gate("F_br", 20.0, closed=7.0).around(ffnn()),
    "memory behind a gate on its output": lambda: Gate("tau_rw_lag1", 60.0, closed=1.0, outputs=("tau_rw",)).around(
        memory_of_ffnn()
    ),
    "gru": gru,
    "lambda model": glam,
    "stochastic polynomial chaos": spce,
    "memory of gru": lambda: MemoryModel.around(
        gru(), (X, V), dt=1e-2, output_lags=1, bounds=([-5, -1, -1, -1], [5, 1, 1, 1]), responses=1
    ),
    "hysteresis operators": hysteresis,
    "hysteresis operators with lags and a tangent outside": lambda: hysteresis("tangent", lags=2),
    "hysteresis operators that trip outside": lambda: hysteresis("trip"),
    "memory behind a gate on a signal": lambda: Gate("F_br", 30.0, outputs=("tau_rw",)).around(memory_of_pce()),
}
