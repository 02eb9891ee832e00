"""Step an OpenSees model under inputs that become known tick by tick; lives in the model's own process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mor.sources.opensees_ports import (
    ElementForce,
    GroundAcceleration,
    ImposedDisplacement,
    NodalForce,
    NodeMotion,
    OpenSeesInput,
    OpenSeesOutput,
)
from rt_runtime.checks import Array, one_of, positive, whole
from rt_runtime.errors import ConfigError

Build = Callable[[Any, Mapping[str, float]], None]

_LIVE = 900_001  # tag of the load pattern and time series that hold the inputs


class NotConverged(RuntimeError):
    """No solver of the list found an equilibrium, however small the step."""


@dataclass(frozen=True)
class OpenSeesSolver:
    """How steps are solved.

    Parameters
    ----------
    analysis : "static" (rate-independent parts, pseudo time) or "transient" (Newmark's average acceleration).
    tolerance : largest displacement increment of the last iteration, in the model's units.
    iterations : most iterations of one attempt.
    system : OpenSees name of the equation solver.
    halvings : how often a step may be halved before the run is given up.

    Notes
    -----
    An attempt is Newton's method, then Newton with a line search; when both fail the step is halved and the inputs run
    linearly over its parts. Only at the smallest step Krylov-Newton with a ten times looser test is tried.
    """

    analysis: str = "static"
    tolerance: float = 1e-6
    iterations: int = 8
    system: str = "UmfPack"
    halvings: int = 8

    def __post_init__(self) -> None:
        one_of(self.analysis, "analysis", "OpenSeesSolver", ("static", "transient"))
        positive(self.tolerance, "tolerance", "OpenSeesSolver")
        whole(self.iterations, "iterations", "OpenSeesSolver", 1)
        whole(self.halvings, "halvings", "OpenSeesSolver", 0)


@dataclass
class Counts:
    """What the solver had to do beside plain Newton steps."""

    steps: int = 0
    halvings: int = 0
    fallbacks: int = 0

    def numbers(self) -> dict[str, float]:
        """Return the counts as numbers by name."""
        return {"steps": float(self.steps), "halvings": float(self.halvings), "fallbacks": float(self.fallbacks)}


class Engine:
    """A built model with its inputs, its outputs and the state that OpenSees holds for it."""

    def __init__(
        self,
        ops: Any,
        build: Build,
        parameters: Mapping[str, float],
        inputs: Mapping[str, OpenSeesInput],
        outputs: Mapping[str, OpenSeesOutput],
        solver: OpenSeesSolver,
        of: str,
    ) -> None:
        self._ops, self._solver, self._of = ops, solver, of
        self._inputs, self._outputs = tuple(inputs.values()), tuple(outputs.values())
        ops.wipe()
        build(ops, dict(parameters))
        _check_tags(ops, {**inputs, **outputs}, of)
        self._masses = {
            port.dof: [(node, ops.nodeMass(node, port.dof)) for node in ops.getNodeTags() if _has_mass(ops, node, port)]
            for port in self._inputs
            if isinstance(port, GroundAcceleration)
        }
        self._u: Array = np.zeros(len(self._inputs))
        self._loaded = False
        self.counts = Counts()
        self._set_up()

    def numbers(self) -> dict[str, float]:
        """Return the counts so far."""
        return self.counts.numbers()

    def _set_up(self) -> None:
        ops, solver = self._ops, self._solver
        ops.wipeAnalysis()
        ops.constraints("Transformation")
        ops.numberer("RCM")
        ops.system(solver.system)
        self._algorithm("Newton")
        if solver.analysis == "static":
            ops.integrator("LoadControl", 1.0)
            ops.analysis("Static", "-noWarnings")
        else:
            ops.integrator("Newmark", 0.5, 0.25)
            ops.analysis("Transient", "-noWarnings")
        ops.timeSeries("Constant", _LIVE)

    def _algorithm(self, *name: str, looser: float = 1.0) -> None:
        self._ops.test("NormDispIncr", self._solver.tolerance * looser, self._solver.iterations)
        self._ops.algorithm(*name)

    def start(self, u: Array) -> Array:
        """Take the inputs at time zero and return the outputs; a static model goes there in steps."""
        if self._solver.analysis == "static" and u.any():
            return self.advance(u, 0.0)
        self._u = np.array(u)
        return self.read()

    def advance(self, u: Array, dt: float) -> Array:
        """Go on by `dt` seconds to the inputs `u`, commit, and return the outputs."""
        done, part = 0.0, 1.0 / self._pieces(u)
        smallest = part * 0.5**self._solver.halvings
        while done < 1.0 - 1e-12:
            part = min(part, 1.0 - done)
            if self._solve(self._u + (done + part) * (u - self._u), part * dt, last=part <= smallest):
                done += part
            elif part <= smallest:
                raise NotConverged(
                    f"OpenSees found no equilibrium in a step of {self._of} that was halved {self._solver.halvings} "
                    "times; look at its messages, at the model, or allow more halvings in OpenSeesSolver."
                )
            else:
                part *= 0.5
                self.counts.halvings += 1
        self._u = np.array(u)
        self.counts.steps += 1
        return self.read()

    def _pieces(self, u: Array) -> int:
        ways = [
            abs(new - old) / port.largest
            for port, new, old in zip(self._inputs, u, self._u, strict=True)
            if isinstance(port, ImposedDisplacement) and port.largest is not None
        ]
        return max(1, math.ceil(max(ways, default=0.0)))

    def _solve(self, u: Array, dt: float, *, last: bool) -> bool:
        """Try to reach equilibrium under the inputs `u`; OpenSees goes back to the last commit where it fails."""
        self._load(u)
        step = (1,) if self._solver.analysis == "static" else (1, dt)
        if self._ops.analyze(*step) == 0:
            return True
        others: list[tuple[tuple[str, ...], float]] = [(("NewtonLineSearch", "-type", "Bisection"), 1.0)]
        others += [(("KrylovNewton",), 10.0)] if last else []
        for name, looser in others:
            self._algorithm(*name, looser=looser)
            solved = self._ops.analyze(*step) == 0
            self._algorithm("Newton")
            if solved:
                self.counts.fallbacks += 1
                return True
        return False

    def _load(self, u: Array) -> None:
        ops = self._ops
        if self._loaded:
            ops.remove("loadPattern", _LIVE)
        ops.pattern("Plain", _LIVE, _LIVE)
        self._loaded = True
        for port, value in zip(self._inputs, u.tolist(), strict=True):
            if isinstance(port, ImposedDisplacement):
                ops.sp(port.node, port.dof, value)
            elif isinstance(port, NodalForce):
                ops.load(port.node, *self._along(port.node, port.dof, value))
            else:
                for node, mass in self._masses[port.dof]:
                    ops.load(node, *self._along(node, port.dof, -mass * value))

    def _along(self, node: int, dof: int, value: float) -> list[float]:
        forces = [0.0] * int(self._ops.getNDF(node)[0])
        forces[dof - 1] = value
        return forces

    def read(self) -> Array:
        """Return the outputs of the committed state."""
        ops = self._ops
        if self._solver.analysis == "static":
            ops.reactions()
        else:
            ops.reactions("-dynamic", "-rayleigh")
        return np.array([self._value(port) for port in self._outputs])

    def _value(self, port: OpenSeesOutput) -> float:
        ops = self._ops
        if isinstance(port, ElementForce):
            return float(ops.eleForce(port.element)[port.component])
        if isinstance(port, NodeMotion):
            read = {"displacement": ops.nodeDisp, "velocity": ops.nodeVel, "acceleration": ops.nodeAccel}
            return float(read[port.quantity](port.node, port.dof))
        return sum(float(ops.nodeReaction(node, port.dof)) for node in (port.node, *port.tied))


def _has_mass(ops: Any, node: int, port: GroundAcceleration) -> bool:
    return int(ops.getNDF(node)[0]) >= port.dof and ops.nodeMass(node, port.dof) > 0.0


def _check_tags(ops: Any, ports: Mapping[str, OpenSeesInput | OpenSeesOutput], of: str) -> None:
    """Refuse ports at nodes, directions or elements that the built model does not have."""
    nodes, elements = set(ops.getNodeTags()), set(ops.getEleTags())
    problems = []
    for name, port in ports.items():
        if isinstance(port, ElementForce):
            if port.element not in elements:
                problems.append(f"Port '{name}' of {of} reads element {port.element}, which the model does not have.")
        elif isinstance(port, GroundAcceleration):
            if not any(_has_mass(ops, node, port) for node in nodes):
                problems.append(f"Port '{name}' of {of} needs a nodal mass in direction {port.dof}, there is none.")
        elif missing := [node for node in (port.node, *getattr(port, "tied", ())) if node not in nodes]:
            problems.append(f"Port '{name}' of {of} is at node {missing[0]}, which the model does not have.")
        elif not 1 <= port.dof <= int(ops.getNDF(port.node)[0]):
            problems.append(f"Port '{name}' of {of} is in direction {port.dof}, which node {port.node} does not have.")
    if problems:
        raise ConfigError.from_problems(f"Ports of {of}", problems)
