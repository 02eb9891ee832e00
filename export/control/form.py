"""What a controller is to a writer: constants, tables and the C templates that use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from export.c.text import CType
from rt_runtime import (
    AdaptiveCompensation,
    AdaptiveMpc,
    Extrapolator,
    KalmanFilter,
    ModelBasedCompensator,
    Mpc,
    PiLead,
    Polynomial,
    TrackingMpc,
)
from rt_runtime._core import Block
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.safety.monitor import Command


@dataclass(frozen=True)
class ControllerForm:
    """Constants by name, tables by name (columns of a matrix are its rows in C), templates in order.

    n_state counts the doubles of the memory; inputs and outputs are their names in order.
    """

    kind: str
    constants: Mapping[str, float]
    tables: Mapping[str, Array]
    templates: tuple[str, ...]
    n_state: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def form_of_controller(controller: Block) -> ControllerForm:
    """Return the form of one of the controllers of `rt_runtime`."""
    for kind, make in _MAKERS.items():
        if isinstance(controller, kind):
            return make(controller)
    known = ", ".join(kind.__name__ for kind in _MAKERS)
    raise ConfigError(
        f"controller of write_controller must be one of {known}, got {type(controller).__name__}; write other blocks "
        "in the language of the host."
    )


def limit_tables(limits: Sequence[Command], period: float) -> tuple[dict[str, float], dict[str, Array]]:
    """Return constants and tables of the command limits."""
    columns = {f"command_{side}": np.array([getattr(c, side) for c in limits]) for side in ("lower", "upper", "rate")}
    return {"LIMITED": len(limits), "LIMITED_PERIOD": period}, columns | {
        "command_rest": np.array([c.rest for c in limits])
    }


def define(name: str, value: float) -> str:
    """Return one #define: whole numbers as such, others with every bit."""
    text = str(value) if isinstance(value, int | np.integer) else f"({CType('float64').literal(value)})"
    return f"#define {name} {text}"


def _numbered(name: str, n: int) -> tuple[str, ...]:
    return (name,) if n == 1 else tuple(f"{name}_{i}" for i in range(1, n + 1))


def _references(n: int, steps: int) -> tuple[str, ...]:
    if steps == 1:
        return _numbered("reference", n)
    return tuple(f"{one}_ahead_{k}" for k in range(1, steps + 1) for one in _numbered("reference", n))


def _qp_state(n: int) -> int:
    return n * n + 2 * n + 2


def _bounds(rows: Array) -> dict[str, Array]:
    return dict(zip(("input_lower", "input_upper", "least_move", "most_move"), rows[1:], strict=True))


def _mpc(controller: Mpc) -> ControllerForm:
    model = controller.model
    ahead = controller.horizon.prediction if controller.horizon.preview else 1
    constants, tables, n_state = _predictive(controller, model.n_out * ahead)
    return ControllerForm(
        "mpc", constants, tables, (*_PREDICTIVE, "mpc/given_references"), n_state,
        (*_references(model.n_out, ahead), *_numbered("measured", model.n_out)),
        (*_numbered("command", model.n_in), *_QP),
    )  # fmt: skip


def _tracking_mpc(controller: TrackingMpc) -> ControllerForm:
    model, preview = controller.model, controller.preview
    p, order, spacing, numerical = model.n_out, 0, 1, 0
    if isinstance(preview, Polynomial):
        order, spacing = preview.order, preview.spacing
    else:
        numerical = preview.change.shape[2]
    length = order * spacing + 1
    constants, tables, n_state = _predictive(controller, (order + 1) * p + numerical)
    constants |= {"POINTS": order + 1, "SPACING": spacing, "LENGTH": length}
    return ControllerForm(
        "tracking_mpc", constants, tables, (*_PREDICTIVE, "mpc/own_preview"), 2 + length * p + n_state,
        (*_numbered("target", p), *_numbered("measured", p), *_numbered("numerical_state", numerical)),
        (*_numbered("command", model.n_in), *_QP),
    )  # fmt: skip


def _predictive(controller: Mpc | TrackingMpc, references: int) -> tuple[dict[str, float], dict[str, Array], int]:
    """Return constants, tables and the size of the memory of a controller that takes so many references."""
    model = controller.model
    m, outputs, states = model.n_in, model.n_out, len(model.A)
    _, control, _, rows, _, cap = controller.horizon.checked("write_controller", m, outputs, model.dt)
    n, gram = m * control, np.asarray(controller.gram)
    constants: dict[str, float] = {"CHANNELS": m, "OUTPUTS": outputs, "STATES": states, "REFERENCES": references}
    constants |= {"N": n, "QP_CAP": cap or 4 * n, "MOST_ROWS": max(n, states, outputs)}
    tables = _estimator(controller) | _bounds(rows)
    tables |= {
        "gains": np.asarray(controller.gains).T,
        "gram": gram.T,
        "full_hessian": _factored(controller.hessian),
        "scale": 1.0 / np.sqrt(np.diag(gram)),
    }
    return constants, tables, states + m + _qp_state(n)


_QP = ("iterations", "status")
_SOLVER = ("mpc/move_qp", "mpc/move_qp_start", "mpc/move_qp_solve")
_PREDICTIVE = ("dense", *_SOLVER, "mpc/estimator", "mpc/mpc")


def _factored(hessian: Array) -> Array:
    """Return L L' of the Cholesky factor L, each sum in the order of the core, so that every bit is the core's."""
    n = len(hessian)
    factor, full = np.zeros((n, n)), np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            rest = float(hessian[i, j])
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(rest) if i == j else rest / factor[j, j]
    for j in range(n):
        for i in range(j, n):
            total = 0.0
            for k in range(j + 1):
                total += factor[i, k] * factor[j, k]
            full[i, j] = full[j, i] = total
    return full


def _estimator(controller: Mpc | TrackingMpc | KalmanFilter) -> dict[str, Array]:
    model = controller.model
    return {
        "advance_matrix": np.hstack([model.A, model.B]).T,
        "output_matrix": model.C.T,
        "estimator_gain": model.gain.T,
    }


def _kalman(controller: KalmanFilter) -> ControllerForm:
    model = controller.model
    states = len(model.A)
    constants = {"CHANNELS": model.n_in, "OUTPUTS": model.n_out, "STATES": states}
    constants |= {"MOST_ROWS": max(states, model.n_out)}
    inputs = (*_numbered("input", model.n_in), *_numbered("measured", model.n_out))
    templates = ("dense", "mpc/estimator", "mpc/kalman")
    return ControllerForm(
        "kalman", constants, _estimator(controller), templates, states, inputs, _numbered("state", states)
    )


def _adaptive_mpc(controller: AdaptiveMpc) -> ControllerForm:
    rules = controller.identification.checked()
    poles, zeros, per_parameter = rules[:3]
    horizon = controller.horizon.checked("AdaptiveMpc", 1, 1, controller.period)
    steps, n, output_weight, rows, preview, cap = horizon
    states, theta = max(poles, zeros), poles + zeros
    process, disturbance, noise, age = controller.estimation
    constants: dict[str, float] = {"CHANNELS": 1, "POLES": poles, "ZEROS": zeros, "STATES": states, "N": n}
    constants |= {"STEPS": steps, "REFERENCES": steps if preview else 1, "QP_CAP": cap or 4 * n, "MOST_ROWS": theta}
    names = ("FORGETTING", "COVARIANCE", "COVARIANCE_CAP", "PARAMETER_NOISE", "EXCITATION", "POLE_RADIUS")
    constants |= dict(zip(names, rules[3:], strict=True))
    constants |= {"PROCESS_VARIANCE": process, "DISTURBANCE_GAIN": disturbance, "NOISE_VARIANCE": noise}
    constants |= {"LARGEST_AGE": age, "OUTPUT_WEIGHT": output_weight[0], "MOVE_WEIGHT": rows[0][0]}
    constants["GAIN_SIGN"] = -1.0 if float(np.sum(per_parameter[0][poles:])) < 0.0 else 1.0
    tables = dict(zip(("theta_start", "theta_lower", "theta_upper", "theta_drift"), per_parameter, strict=True))
    tables |= _bounds(rows) | {"settled": np.asarray(controller.settled).T}
    estimated = (states + 1) + (states + 1) ** 2
    optimised = steps + n * n + 4 * n * n + 2 * n
    return ControllerForm(
        "adaptive_mpc", constants, tables, ("dense", "cholesky", *_SOLVER, "mpc/adaptive_mpc"),
        3 * theta + theta**2 + estimated + optimised + 4 + _qp_state(n),
        (*_references(1, steps if preview else 1), "measured", *(("age",) if age >= 0 else ())),
        ("command", *_QP, *_numbered("a", poles), *_numbered("b", zeros), "trace"),
    )  # fmt: skip


def _extrapolator(controller: Extrapolator) -> ControllerForm:
    order, spacing, leads, channels = controller.given
    length = order * spacing + 1
    weights = np.array([controller.weights(order, lead / spacing) for lead in leads])
    constants = {"POINTS": order + 1, "SPACING": spacing, "LEADS": len(leads), "CHANNELS": channels, "LENGTH": length}
    ahead = [f"{name}_lead_{k}" for k in range(1, len(leads) + 1) for name in _numbered("predicted", channels)]
    return ControllerForm(
        "extrapolator", constants, {"weights": weights}, ("extrapolator",), 2 + length * channels,
        _numbered("signal", channels), tuple(ahead),
    )  # fmt: skip


def _pi_lead(controller: PiLead) -> ControllerForm:
    kp, ki, b0, b1, a1, lower, upper = controller.given
    constants = {"KP": kp, "HALF": 0.5 * ki * controller.period, "B0": b0, "B1": b1, "A1": a1}
    constants |= {"LOWER": lower, "UPPER": upper}
    return ControllerForm("pi_lead", constants, {}, ("pi_lead",), 4, ("reference", "measured"), ("command",))


def _model_based(controller: ModelBasedCompensator) -> ControllerForm:
    a, b, c, d = controller.feedback
    rate, largest, margin, b0, b1, a1 = controller.adaptation
    n, sections = len(a), len(controller.sections)
    constants: dict[str, float] = {"SECTIONS": sections, "STATES": n, "FEEDTHROUGH": d, "PERIOD": controller.period}
    constants |= {"ADAPTS": int(rate != 0.0), "RATE": rate, "LARGEST": largest, "MARGIN": margin}
    constants |= {"B0": b0, "B1": b1, "A1": a1, "MOST_ROWS": max(n, 1)}
    tables = {"sections": controller.sections}
    if n:
        tables |= {"feedback_matrix": a.T, "feedback_input": b[:, 0], "feedback_output": c[0]}
    return ControllerForm(
        "model_based", constants, tables, (*(("dense",) if n else ()), "sections", "model_based"),
        2 * sections + max(n, 1) + 3, ("reference", "measured"), ("command", "theta"),
    )  # fmt: skip


def _adaptive_compensation(controller: AdaptiveCompensation) -> ControllerForm:
    sections = len(controller.sections)
    constants = {"SECTIONS": sections, "PERIOD": controller.period}
    tables = {"coefficient": controller.coefficients}
    tables["sections"] = controller.sections if sections else np.zeros((1, 5))
    return ControllerForm(
        "adaptive_compensation", constants, tables, ("sections", "adaptive_compensation"),
        5 + 2 * max(2 * sections, 1), ("target", "measured"), ("command", "a0", "a1"),
    )  # fmt: skip


_MAKERS: dict[type[Block], Callable[[Any], ControllerForm]] = {
    Mpc: _mpc,
    TrackingMpc: _tracking_mpc,
    AdaptiveMpc: _adaptive_mpc,
    KalmanFilter: _kalman,
    Extrapolator: _extrapolator,
    PiLead: _pi_lead,
    ModelBasedCompensator: _model_based,
    AdaptiveCompensation: _adaptive_compensation,
}
