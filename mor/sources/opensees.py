"""Full-order substructures in OpenSees, each in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mor.compile.code_hash import code_hash
from mor.data.ports import Port
from mor.data.trajectory import Trajectory
from mor.sources.opensees_engine import Build, Engine, OpenSeesSolver
from mor.sources.opensees_library import need_opensees
from mor.sources.opensees_ports import OpenSeesInput, OpenSeesOutput
from mor.sources.opensees_process import OpenSeesProcess, SolverFailure
from mor.substructures.base import Inputs, InputTiming, ParameterSpec, Substructure, input_rows
from rt_runtime import PythonBlock
from rt_runtime._core import Block
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError
from rt_runtime.versions import version_of


@dataclass(frozen=True, eq=False)
class SourceRun:
    """A run of an external solver: the trajectory, and by name how often the solver had to do something special.

    Parameters
    ----------
    counts
        {event: number}.
    """

    trajectory: Trajectory
    counts: Mapping[str, float]


class OpenSeesSubstructure(Substructure):
    """A model built by OpenSees commands, driven at some degrees of freedom.

    Parameters
    ----------
    name : name of the substructure.
    build : function `build(ops, p)` that makes the model with the commands of `ops` (openseespy.opensees) and the
        parameters `p`, applies its constant loads and holds them (`ops.loadConst`). It must not create the analysis of
        the run. It is called in the model's own process.
    inputs : {port: ImposedDisplacement | NodalForce | GroundAcceleration}.
    outputs : {port: NodeMotion | Reaction | ElementForce}.
    parameters : what `build` gets in `p`, with ranges.
    solver : how steps are solved.
    timeout : seconds after which a single step counts as hung.

    Notes
    -----
    Between ticks inputs run linearly, as implicit integration takes them, whatever `hold` says. In a hybrid model the
    part steps in its process and is a full-order reference: it is not for paced loops.
    """

    kind = "opensees"
    real_time = False

    def __init__(
        self,
        name: str,
        build: Build,
        *,
        inputs: Mapping[str, OpenSeesInput],
        outputs: Mapping[str, OpenSeesOutput],
        parameters: ParameterSpec = (),
        solver: OpenSeesSolver | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._declare(name, _units(inputs), _units(outputs), parameters)
        if not callable(build):
            raise ConfigError(f"build of {self.of} must be a function of (ops, parameters), got {build!r}.")
        if not inputs or not outputs:
            raise ConfigError(f"{self.of.capitalize()} must have at least one input and one output.")
        self.solver = solver or OpenSeesSolver()
        self.timeout = positive(timeout, "timeout", self.of)
        self._build, self._in, self._out = build, tuple(inputs.values()), tuple(outputs.values())

    def process(self, parameters: Mapping[str, float] | None = None) -> OpenSeesProcess:
        """Start a process with the model built in it."""
        need_opensees(f"OpenSees {self.of}")
        make = partial(
            Engine,
            build=self._build,
            parameters=self.parameter_values(parameters),
            inputs=dict(zip((p.name for p in self.inputs), self._in, strict=True)),
            outputs=dict(zip((p.name for p in self.outputs), self._out, strict=True)),
            solver=self.solver,
            of=self.of,
        )
        return OpenSeesProcess(make, timeout=self.timeout, of=self.of)

    def run(self, u: Inputs, *, dt: float, parameters: Mapping[str, float] | None = None, every: int = 1) -> SourceRun:
        """Run a whole history, as `simulate`, and count halved steps and fallbacks of the solver."""
        step, every = positive(dt, "dt", self.of), whole(every, "every", self.of, 1)
        rows = input_rows(u, self.inputs, step, self.of)
        outputs, counts = self._whole(rows, step, self.parameter_values(parameters), every)
        ports = (*self.inputs, *self.outputs)
        return SourceRun(
            Trajectory(np.arange(len(outputs)) * (every * step), np.column_stack([rows[::every], outputs]), ports),
            counts,
        )

    def _whole(self, rows: Array, dt: float, values: dict[str, float], every: int) -> tuple[Array, dict[str, float]]:
        with self.process(values) as process:
            outputs, counts = process.ask("run", rows, dt, every)
        return outputs, counts

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        return self._whole(rows, dt, values, every)[0]

    def stepper(self, *, dt: float, parameters: Mapping[str, float] | None = None) -> OpenSeesStepper:
        """Start the model for a run tick by tick."""
        return OpenSeesStepper(self, positive(dt, "dt", self.of), self.parameter_values(parameters))

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        """Make a block of Python that asks the process in every tick and starts anew at time zero."""
        need_opensees(f"OpenSees {self.of}")
        running: list[OpenSeesStepper] = []

        def step(t: float, u: Array) -> list[float]:
            if t == 0.0 or not running:
                while running:
                    running.pop().close()
                running.append(OpenSeesStepper(self, dt, values))
            y: list[float] = running[0].advance(u).tolist()
            return y

        return PythonBlock(step, n_in=len(self.inputs), n_out=len(self.outputs))

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        ports = [{type(port).__name__: asdict(port)} for port in (*self._in, *self._out)]
        return {
            "build": code_hash(self._build),
            "ports": ports,
            "solver": asdict(self.solver),
            "opensees": version_of("openseespy"),
        }


class OpenSeesStepper:
    """An OpenSees model that goes on tick by tick.

    `advance(u)` makes a step for good. `step(u)` makes a trial step, from the same state however often it is repeated;
    `commit()` then makes the last trial step for good, `revert()` forgets it. The first call takes the inputs at time
    zero. The object is a context manager; leaving it ends the process.

    Parameters
    ----------
    part, dt, parameters
        The model, the tick in s, values of its parameters.
    """

    def __init__(self, part: OpenSeesSubstructure, dt: float, parameters: Mapping[str, float]) -> None:
        self._of, self._n, self._dt = part.of, len(part.inputs), dt
        self._process = part.process(parameters)
        self._started = False
        self._trial: Array | None = None
        self.time = 0.0

    def advance(self, u: ArrayLike) -> Array:
        """Go on by one tick to the inputs `u`; return the outputs."""
        self._trial = None
        row = self._row(u)
        if not self._started:
            self._started = True
            return np.asarray(self._process.ask("start", row))
        self.time += self._dt
        return np.asarray(self._process.ask("advance", row, self._dt))

    def step(self, u: ArrayLike) -> Array:
        """Return the outputs that a step to the inputs `u` would give; the state stays."""
        if not self._started:
            self.advance(np.zeros(self._n))
        self._trial = self._row(u)
        return np.asarray(self._process.ask("trial", self._trial, self._dt))

    def commit(self) -> Array:
        """Make the last trial step for good and return its outputs."""
        if self._trial is None:
            raise ConfigError(f"commit of {self._of} needs a step before it; call step(u) first.")
        return self.advance(self._trial)

    def revert(self) -> None:
        """Forget the last trial step."""
        self._trial = None

    @property
    def counts(self) -> dict[str, float]:
        """Committed steps, halved steps and fallbacks of the solver so far."""
        counts: dict[str, float] = self._process.ask("numbers")
        return counts

    def messages(self) -> str:
        """Return the end of what OpenSees has written."""
        return self._process.messages()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _row(self, u: ArrayLike) -> Array:
        return finite_array(np.atleast_1d(np.asarray(u, float)), "u", self._of, (self._n,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _units(ports: Mapping[str, OpenSeesInput] | Mapping[str, OpenSeesOutput]) -> tuple[Port, ...]:
    return tuple(Port(name, port.unit) for name, port in ports.items())


__all__ = ["OpenSeesStepper", "OpenSeesSubstructure", "SolverFailure", "SourceRun"]
