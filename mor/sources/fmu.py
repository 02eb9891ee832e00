"""Models of other tools as substructures: Functional Mock-up Units of FMI 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mor.data.ports import Parameter, Port, check_name
from mor.sources.fmu_file import FmuFile, read_fmu
from mor.substructures.base import InputTiming, Substructure
from rt_runtime._core import Block, FmuTiming
from rt_runtime.blocks.fmu import Fmu
from rt_runtime.checks import one_of, whole
from rt_runtime.errors import ConfigError

Selection = Mapping[str, str] | Sequence[str] | None


class FmuSubstructure(Substructure):
    """A Functional Mock-up Unit: co-simulation of FMI 2 and 3, model exchange of FMI 2.

    Parameters
    ----------
    path : the .fmu file. It is native code: use only files you trust.
    inputs, outputs : variables to use, as names or {our name: name in the FMU}; None: all inputs, all outputs.
    parameters : likewise; None: all parameters that are real numbers. Their defaults and ranges come from the FMU.
    name : of the substructure; default: the model name in the FMU.
    read : "before": the output of a tick is the FMU's at the time of the tick, then it steps with the inputs held (what
        a simulation means); "after": it steps first, the output is that at the end of the step (what a controller or a
        reduced model means). None: "after" for FMUs that `export` wrote, else "before".
    real_time : your word that its steps are short and bounded; only then a paced loop takes it. `hmor check` measures.
    substeps : of the Runge-Kutta method, model exchange only.
    tool : accept an FMU that needs the tool that made it at run time; the tool must be installed here.

    Notes
    -----
    Every run starts from a new instance. Parameters can be sampled in a campaign like those of any substructure.
    """

    kind = "fmu"

    def __init__(
        self,
        path: str | Path,
        *,
        inputs: Selection = None,
        outputs: Selection = None,
        parameters: Selection = None,
        name: str | None = None,
        read: str | None = None,
        real_time: bool = False,
        substeps: int = 1,
        tool: bool = False,
    ) -> None:
        self.fmu = fmu = read_fmu(path, tool=tool)
        variables = {variable.name: variable for variable in fmu.description.modelVariables}
        by_cause = {
            cause: [v.name for v in variables.values() if v.causality == cause]
            for cause in ("input", "output", "parameter")
        }
        by_cause["parameter"] = [n for n in by_cause["parameter"] if _is_real(variables[n]) and _is_name(n)]
        chosen = {
            cause: _chosen(selection, by_cause[cause], variables, cause, fmu)
            for cause, selection in (("input", inputs), ("output", outputs), ("parameter", parameters))
        }
        if not chosen["output"]:
            raise ConfigError(f"{fmu.of} must have at least one output that is used, got none.")
        self._references = {cause: [v.valueReference for v in each.values()] for cause, each in chosen.items()}
        self.read = one_of(read or ("after" if fmu.ours else "before"), "read", fmu.of, ("before", "after"))
        self.substeps = whole(substeps, "substeps", fmu.of, 1)
        feeds_through = self.read == "after" or fmu.exchange
        self._declare(
            name or _as_name(str(fmu.description.modelName)),
            [Port(key, v.unit or "") for key, v in chosen["input"].items()],
            [Port(key, v.unit or "") for key, v in chosen["output"].items()],
            [_parameter(key, v) for key, v in chosen["parameter"].items()],
            None if feeds_through else (),
        )
        self.real_time = bool(real_time)

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        fmu = self.fmu
        self._check_step(dt)
        place = fmu.unpack()
        resources = place / "resources"
        start = reading.update == "start"
        return Fmu(
            library=str(place / fmu.inner_binary),
            token=str(fmu.description.guid or fmu.description.instantiationToken),
            resources=resources.as_uri() if fmu.version == 2 else f"{resources}/",
            version=fmu.version,
            exchange=fmu.exchange,
            once=bool(fmu.interface.canBeInstantiatedOnlyOncePerProcess),
            real_time=self.real_time,
            inputs=self._references["input"],
            outputs=self._references["output"],
            parameters=self._references["parameter"],
            values=np.array([values[p.name] for p in self.parameters], dtype=float),
            n_states=int(fmu.description.numberOfContinuousStates) if fmu.exchange else 0,
            timing=FmuTiming.start if start else getattr(FmuTiming, self.read),
            substeps=self.substeps,
            period=dt,
        )

    def _check_step(self, dt: float) -> None:
        interface, experiment = self.fmu.interface, self.fmu.description.defaultExperiment
        if self.fmu.exchange:
            return
        fixed = interface.fixedInternalStepSize
        if fixed is None and not interface.canHandleVariableCommunicationStepSize and experiment is not None:
            fixed = experiment.stepSize
        if fixed is None or not float(fixed) > 0:
            return
        ratio = dt / float(fixed)
        if abs(ratio - round(ratio)) > 1e-6 * ratio or round(ratio) < 1:
            raise ConfigError(
                f"dt of {self.of} must be a whole multiple of {float(fixed):g} s, the fixed step of {self.fmu.of}, got "
                f"{dt:g} s; choose another rate."
            )

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        return {"fmu": self.fmu.sha256, "references": self._references, "read": self.read, "substeps": self.substeps}


def _is_real(variable: Any) -> bool:
    return variable.type in ("Real", "Float64") and not variable.dimensions


def _is_name(name: str) -> bool:
    try:
        check_name(name, "a port")
    except ConfigError:
        return False
    return True


def _as_name(text: str) -> str:
    plain = "".join(c if c.isalnum() else "_" for c in text).strip("_")
    return plain if plain and not plain[0].isdigit() else f"fmu_{plain}"


def _chosen(
    selection: Selection, default: list[str], variables: Mapping[str, Any], cause: str, fmu: FmuFile
) -> dict[str, Any]:
    """Return {our name: variable}; refuse what is unknown, of another causality, or no real number."""
    names = default if selection is None else selection
    wanted = dict(names) if isinstance(names, Mapping) else {name: name for name in names}
    problems = []
    for ours, theirs in wanted.items():
        found = variables.get(theirs)
        if found is None or found.causality != cause:
            known = ", ".join(default[:20]) or "none"
            problems.append(f"Variable '{theirs}' of {fmu.of} must be one of its {cause}s ({known}).")
        elif not _is_real(found):
            problems.append(
                f"Variable '{theirs}' of {fmu.of} must be a real number, got {found.type}"
                f"{' with dimensions' if found.dimensions else ''}; choose the {cause}s to use by name."
            )
        elif not _is_name(ours):
            problems.append(
                f"Variable '{ours}' of {fmu.of} cannot be the name of a port; give {cause}s = {{'a_name': '{theirs}'}}."
            )
    if problems:
        raise ConfigError.from_problems(f"Variables of {fmu.of}", problems)
    return {ours: variables[theirs] for ours, theirs in wanted.items()}


def _parameter(name: str, variable: Any) -> Parameter:
    lower = -np.inf if variable.min is None else float(variable.min)
    upper = np.inf if variable.max is None else float(variable.max)
    return Parameter(name, float(variable.start or 0.0), variable.unit or "", lower, upper)
