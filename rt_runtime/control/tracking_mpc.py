"""Predictive tracking control that makes the preview of its reference itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rt_runtime import _core
from rt_runtime.checks import Array, finite_array, whole
from rt_runtime.control.mpc import NOT_FINITE, Horizon, PredictionModel
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Polynomial:
    """Preview by the polynomial through `order` + 1 past targets that stand `spacing` control intervals apart.

    Parameters
    ----------
    order
        1 to 4; 3 follows an earthquake response, 1 is safer where the interface has modes above 20 Hz.
    spacing
        Control intervals between two of the targets.
    lead
        Added to every step of the horizon, in control intervals: 0.5 for the held force plus the ticks it is late.
    """

    order: int = 3
    spacing: int = 12
    lead: float = 0.5

    def __post_init__(self) -> None:
        if whole(self.order, "order", "Polynomial", 1) > 4:
            raise ConfigError(f"order of Polynomial must be 1 to 4, got {self.order}; higher orders amplify noise.")
        whole(self.spacing, "spacing", "Polynomial", 1)
        _check_lead(self.lead, "Polynomial")


@dataclass(frozen=True, eq=False)
class FromState:
    """Preview from the state of the numerical part: r(k+i) = target(k) + change_i x(k).

    mor.model_preview makes `change` from the numerical part and the initial stiffness of the specimen.

    Parameters
    ----------
    change
        (P, p, n): change of the p targets from now to step i of the horizon for the numerical state x (n).
    """

    change: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "change", finite_array(self.change, "change", "FromState", (None, None, None)))


class TrackingMpc(_core.TrackingMpc):
    """Model predictive tracking controller with its preview inside, for one channel or several.

    Inputs: target[p], measured[p], and the numerical state x[n] with `FromState`. Outputs: command[m], iterations and
    status of the quadratic programme (0 optimal, 1 iteration cap or rounding: a feasible move near the optimum, 2
    infeasible: the command is held, 3 target, measurement or estimate are not finite: the command is held and the loop
    stops). Add it to a loop with `every` such that every / rate = model.dt.

    Parameters
    ----------
    model
        What the controller knows of its plant; up to 48 states besides one disturbance per output.
    horizon
        Weights, limits and length; it must last about as long as the actuator is late (30 ms for 20-35 ms).
    preview
        Polynomial() or FromState(change).
    """

    message = NOT_FINITE

    def __init__(
        self, model: PredictionModel, horizon: Horizon, *, preview: Polynomial | FromState | None = None
    ) -> None:
        of = "TrackingMpc"
        self.model, self.horizon = model, replace(horizon, preview=True)
        self.preview = Polynomial() if preview is None else preview
        checked = self.horizon.checked(of, model.n_in, model.n_out, model.dt)
        arguments = (model.A, model.B, model.C, model.gain, *checked, model.dt)
        steps, p = horizon.prediction, model.n_out
        if isinstance(self.preview, Polynomial):
            leads = np.arange(1.0, steps + 1.0) + float(self.preview.lead)
            super().__init__(*arguments, self.preview.order, self.preview.spacing, leads)
        elif isinstance(self.preview, FromState):
            change = self.preview.change
            if change.shape[:2] != (steps, p):
                raise ConfigError(
                    f"change of the preview of {of} must have shape ({steps}, {p}, n) for {steps} steps and {p} "
                    f"outputs, got {change.shape}."
                )
            super().__init__(*arguments, np.ascontiguousarray(change.reshape(steps * p, -1)))
        else:
            raise ConfigError(f"preview of {of} must be a Polynomial or FromState, got {preview!r}.")


def _check_lead(lead: float, of: str) -> None:
    if not isinstance(lead, int | float) or not 0.0 <= lead <= 100.0:
        raise ConfigError(f"lead of {of} must lie between 0 and 100 control intervals, got {lead!r}.")
