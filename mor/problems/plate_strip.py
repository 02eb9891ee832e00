"""The plate strip as a sampling problem: how pulse and springs decide its largest rotation and moment.

Abbiati et al. (2019) sample 200 prototypes of this strip in the laboratory; `REFERENCE` are indices of the nonlinear
virtual strip from 2^11 base points of Jansen's and Saltelli's estimators.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mor.campaign.model import FunctionModel
from mor.excitation.ground import near_fault_pulse
from mor.marginals import Uniform
from mor.models.plate_strip import plate_strip_part
from mor.sampling.space import ParameterSpace
from mor.substructures import OdeSubstructure

OUTPUTS = {"rotation_peak": "rad", "moment_peak": "Nm"}

REFERENCE = {
    "rotation_peak": {
        "first": (0.078, 0.758, 0.071, 0.005),
        "total": (0.119, 0.849, 0.110, 0.021),
        "mean": 0.0117,
        "cv": 0.886,
    },
    "moment_peak": {
        "first": (0.067, 0.650, 0.117, 0.013),
        "total": (0.133, 0.795, 0.201, 0.040),
        "mean": 0.683,
        "cv": 1.02,
    },
}
"""Sobol' indices in the order of `plate_space`, means and coefficients of variation."""


def plate_space() -> ParameterSpace:
    """Return the four uniform inputs: peak velocity and period of the pulse, springs at both ends."""
    return ParameterSpace(
        {
            "peak_velocity": Uniform(1.0, 3.0, unit="m/s"),
            "period": Uniform(0.5, 2.0, unit="s"),
            "k_1": Uniform(20.0, 120.0, unit="Nm/rad"),
            "k_2": Uniform(20.0, 120.0, unit="Nm/rad"),
        }
    )


def plate_peaks(peak_velocity: float, period: float, k_1: float, k_2: float) -> dict[str, float]:
    """Shake the nonlinear strip at 1 ms; return the largest rotation (rad) and moment (Nm) of its first end."""
    ground = near_fault_pulse(peak_velocity=peak_velocity, period=period)
    run = _strip().simulate({"ground_acceleration": ground.values}, dt=ground.dt, parameters={"k_1": k_1, "k_2": k_2})
    return {
        "rotation_peak": float(np.abs(run["rotation_1"]).max()),
        "moment_peak": float(np.abs(run["moment_1"]).max()),
    }


def plate_model() -> FunctionModel:
    """Return the strip as a model for `run_design`."""
    return FunctionModel(plate_peaks, OUTPUTS, name="plate_strip")


def plate_on_rig(rotation_noise: float, moment_noise: float, seed: int) -> FunctionModel:
    """Return the strip as a rig would measure it: independent normal noise on both peaks.

    Parameters
    ----------
    rotation_noise, moment_noise : float
        Standard deviations in rad and Nm.
    seed : int
        Seed of the noise. The noise of a test is drawn from it and the test's parameters, so that campaigns resume.
    """

    def tested(peak_velocity: float, period: float, k_1: float, k_2: float) -> dict[str, float]:
        found = plate_peaks(peak_velocity, period, k_1, k_2)
        point = np.array([peak_velocity, period, k_1, k_2]).view(np.uint32)
        e = np.random.default_rng([seed, *point.tolist()]).standard_normal(2)
        return {
            "rotation_peak": found["rotation_peak"] + rotation_noise * float(e[0]),
            "moment_peak": found["moment_peak"] + moment_noise * float(e[1]),
        }

    return FunctionModel(
        tested, OUTPUTS, name="plate_strip_on_a_rig", version=f"noise {rotation_noise} {moment_noise} seed {seed}"
    )


@cache
def _strip() -> OdeSubstructure:
    return plate_strip_part()
