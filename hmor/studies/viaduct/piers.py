"""The piers of the viaduct: how each kind is sampled alone, and the campaign that comes with the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mor import Design, ParameterSpace, Port, Trajectory, lhs
from mor.campaign import HistoryModel
from mor.excitation import LoadingProtocols
from mor.marginals import Beta
from mor.reduced.history import MemorySpec
from mor.reduced.hysteresis.operators import Peaks, Stop
from mor.reduced.hysteresis.steel import MenegottoPinto
from mor.sources import rc_pier
from rt_runtime.errors import ConfigError

STORED = Path(__file__).parent / "data"
DRIFTS = (0.002, 0.035)
"""Smallest and largest peak drift of a protocol; small ones are more frequent, as in a bridge after strong shaking."""

SHARES = {"ramps": 0.05, "reversals": 0.13, "nested": 0.2, "response": 0.17, "modes": 0.25, "ring_down": 0.2}
"""Kinds of protocol: a bridge moves in several modes, which reverse its piers inside large excursions; it rings down"""

SETS = {"train": (180, 11), "valid": (16, 12), "test": (200, 20261)}
"""Size and seed of the Latin hypercubes of protocols that were run."""

TESTED = 7.0
"""Height of the pier whose test protocols were run too."""


def sets(height: float) -> tuple[str, ...]:
    """Return the names of the sets that were run of a kind of pier."""
    return tuple(SETS) if height == TESTED else ("train", "valid")


def protocols(height: float) -> LoadingProtocols:
    """Return the family of protocols of a pier: 6 s at 128 Hz, which a rate-independent part does not feel."""
    amplitude = Beta(1.0, 2.5, DRIFTS[0] * height, DRIFTS[1] * height, unit="m")
    return LoadingProtocols(amplitude, shares=SHARES, duration=6.0, rate=128.0)


def space(height: float) -> ParameterSpace:
    """Return kind, amplitude and seed of a protocol as parameters of a study."""
    return protocols(height).space


def design(height: float, which: str = "train") -> Design:
    """Return the protocols of a set."""
    n, seed = SETS[which]
    return lhs(space(height), n, seed=seed)


def pier_model(height: float, *, stored: bool = True) -> StoredCampaign | HistoryModel:
    """Return the pier under its protocols as a campaign runs it: from the stored forces, or by OpenSees anew."""
    model = HistoryModel(rc_pier(height, name=pier_name(height)), protocols(height))
    return StoredCampaign(model, STORED / f"{pier_name(height)}.npz") if stored else model


def pier_name(height: float) -> str:
    """Return how a kind of pier is called: pier_7."""
    return f"pier_{height:g}"


def memory_spec(height: float) -> MemorySpec:
    """Return what a reduced pier remembers: stresses of six bars, largest excursions, and stops for the concrete.

    The outermost bar yields at the curvature f_y / (E D), which a cantilever reaches at a displacement of h^2 / 3 times
    it; a strain of 1 at the place 1 + lift.
    """
    p = {parameter.name: parameter.value for parameter in rc_pier(height).parameters}
    bars = MenegottoPinto("x", length=1.4 * p["fy"] / (200e9 * p["diameter"]) * height**2 / 3)
    operators = (bars, Peaks("x"), Stop("x", count=8, spacing="geometric"))
    return MemorySpec((Port("x", "m"),), (Port("F", "N"),), operators=operators)


class StoredCampaign:
    """A campaign that was run: gives the stored forces of its samples, for machines without the solver.

    Only forces are stored (32 bit); histories are drawn again from their design variables and compared with the way
    travelled that stands beside the forces.
    """

    def __init__(self, model: HistoryModel, path: Path) -> None:
        self.model, self.path = model, path
        self.name = model.name
        self.outputs = model.outputs

    def identity(self) -> dict[str, Any]:
        """Return what the stored file says of its origin."""
        made = _file(self.path)
        return {"stored": self.path.name, "made": str(made["provenance"]), "samples": len(made["points"])}

    def check_parameters(self, names: Iterable[str]) -> None:
        """Let the model check the names."""
        self.model.check_parameters(names)

    def evaluate(self, parameters: Mapping[str, float]) -> dict[str, float | Trajectory]:
        """Return one stored sample."""
        made = _file(self.path)
        point = np.array([parameters[name] for name in self.model.histories.space.names])
        found = np.flatnonzero(np.all(np.isclose(made["points"], point, rtol=1e-9, atol=0.0), axis=1))
        if found.size != 1:
            raise ConfigError(
                f"Sample of {self.name} must be one of the {len(made['points'])} stored ones; install openseespy and "
                "take stored = false to run others."
            )
        index = int(found[0])
        history = self.model.histories.history(parameters)
        way = float(np.abs(np.diff(history["x"])).sum())
        if abs(way / float(made["way"][index]) - 1) > 1e-6:
            raise ConfigError(f"History of sample {index} of {self.name} differs from the one that was run; make anew.")
        values = np.column_stack([history.values, made["F"][index].astype(float)])
        run = Trajectory(history.time, values, (*history.ports, Port("F", "N")))
        numbers = {port.name: float(made[port.name][index]) for port in self.outputs}
        return {**numbers, "run": run}


@cache
def _file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ConfigError(f"Stored campaign must be in {path}, found none; run python -m hmor.studies.viaduct.make.")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
