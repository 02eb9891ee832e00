"""The motorcycle as a hybrid model: five substructures, the driving scenario and the uncertain parameters."""

from __future__ import annotations

from functools import cache

from mor.data.trajectory import Trajectory
from mor.hybrid.model import HybridModel
from mor.marginals import Uniform
from mor.models.motorcycle.crank import PARAMETERS as ENGINE
from mor.models.motorcycle.crank import engine
from mor.models.motorcycle.hydraulic_brake import PARAMETERS as BRAKE
from mor.models.motorcycle.hydraulic_brake import brake
from mor.models.motorcycle.transmission import ecvt
from mor.models.motorcycle.vehicle_body import PARAMETERS as BODY
from mor.models.motorcycle.vehicle_body import body
from mor.sampling.space import ParameterSpace

DT = 1e-4
DURATION = 45.0
COEFFICIENTS_OF_VARIATION = {
    "K_rt": 0.2, "Z_rt": 0.3, "K_ft": 0.2, "Z_ft": 0.3, "K_rs": 0.2, "Z_rs": 0.3, "K_fs": 0.2, "Z_fs": 0.3, "M": 0.02,
    "J": 0.2, "mu": 0.05,
}  # fmt: skip


@cache
def scenario() -> Trajectory:
    """Return throttle `thr` and lever force `F_br` in N over 45 s, by their corner points.

    Throttle: 0 until 5 s, to 0.5 at 9 s, held until 13 s, to 0 at 17 s. Both brakes: 0 until 20 s, to 50 N at 25 s,
    held until 32 s, to 0 at 37 s. The road belongs to the body.
    """
    time = [0.0, 5.0, 9.0, 13.0, 17.0, 20.0, 25.0, 32.0, 37.0, DURATION]
    throttle = [0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    force = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0, 50.0, 0.0, 0.0]
    return Trajectory(time, list(zip(throttle, force, strict=True)), {"thr": "", "F_br": "N"})


@cache
def short_ride() -> Trajectory:
    """Return throttle `thr` and lever force `F_br` in N over 10 s: a start and a stop, for a test that must be short.

    Throttle: 0 until 1 s, to 0.5 at 2 s, held until 4 s, to 0 at 5 s. Both brakes: 0 until 5.5 s, to 50 N at 7 s, held
    until 8.5 s, to 0 at 9.5 s.
    """
    time = [0.0, 1.0, 2.0, 4.0, 5.0, 5.5, 7.0, 8.5, 9.5, 10.0]
    throttle = [0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    force = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0, 50.0, 0.0, 0.0]
    return Trajectory(time, list(zip(throttle, force, strict=True)), {"thr": "", "F_br": "N"})


def hybrid(*, dt: float = DT, every: int = 10) -> HybridModel:
    """Return the full-order motorcycle in its driving scenario; ports of equal name are coupled.

    Substructures engine, ecvt, body, rear_brake and front_brake; runs keep each `every`-th tick of `dt` seconds.
    """
    parts = [engine(), ecvt(), body(), brake("rear"), brake("front")]
    return HybridModel("motorcycle", parts, dt=dt, excitations=scenario(), duration=DURATION, every=every)


@cache
def parameter_space() -> ParameterSpace:
    """Return the eleven uncertain parameters: uniform, mean and standard deviation as published."""
    return _uniform({p.name: p.value for p in (*BODY, *ENGINE)}, COEFFICIENTS_OF_VARIATION)


@cache
def sensitivity_space() -> ParameterSpace:
    """Return the parameters of the published sensitivity study: M and mu vary more, and so does the brakes' B_mu."""
    nominal = {p.name: p.value for p in (*BODY, *ENGINE, *BRAKE)} | {"mu": 0.0012}
    return _uniform(nominal, COEFFICIENTS_OF_VARIATION | {"M": 0.05, "mu": 0.15, "B_mu": 0.15})


def _uniform(nominal: dict[str, float], variation: dict[str, float]) -> ParameterSpace:
    units = {p.name: p.unit for p in (*BODY, *ENGINE, *BRAKE)}
    return ParameterSpace(
        {name: Uniform.from_mean_cv(nominal[name], cv, unit=units[name]) for name, cv in variation.items()}
    )
