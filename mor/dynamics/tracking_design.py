"""Judge tracking controllers before a test: poles, noise gain, delay margin, coupling, and the whole hybrid loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag, expm, solve_discrete_lyapunov

from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from rt_runtime import FromState, ModelBasedCompensator, Mpc, Polynomial, TrackingMpc
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError

NOISE_WARNING, NOISE_LIMIT = 50.0, 100.0
COUPLING_LIMIT_DB = -30.0
MOST_DELAY = 50

Controller = Mpc | TrackingMpc | ModelBasedCompensator


def model_preview(
    numerical: StateSpaceMatrices,
    *,
    stiffness: ArrayLike,
    force_inputs: Sequence[int],
    steps: int,
    dt: float,
    lead: float = 0.5,
    to_strokes: ArrayLike | None = None,
) -> FromState:
    """Make the preview of a target from the state of the numerical part, closed with the specimen's initial stiffness.

    With pose = C x and force = stiffness pose at the `force_inputs`: A_c = A + B_f stiffness C, and

        change_i = to_strokes C (exp(A_c (i + lead) dt) - 1),   i = 1 .. steps

    Other inputs (the ground) are taken as zero. A sampled numerical part needs this `dt`; parts of a step are then
    interpolated.

    Parameters
    ----------
    numerical
        The numerical part; its outputs C x are the target pose (no feedthrough), its inputs signed as in the loop.
    stiffness
        (forces, poses): force fed back per pose of the specimen.
    force_inputs
        Columns of B at which the forces act.
    steps, dt, lead
        Horizon, control interval in s, and what is added to every step, in intervals.
    to_strokes
        Jacobian (strokes, poses) at rest; None: the pose itself is tracked.
    """
    of = "model_preview"
    n, p = len(numerical.A), len(numerical.C)
    k = finite_array(stiffness, "stiffness", of, (len(force_inputs), p))
    j = np.eye(p) if to_strokes is None else finite_array(to_strokes, "to_strokes", of, (None, p))
    h = positive(dt, "dt", of)
    closed = numerical.A + numerical.B[:, list(force_inputs)] @ k @ numerical.C
    if numerical.dt and abs(numerical.dt - h) > 1e-9 * h:
        raise ConfigError(f"numerical of {of} must be continuous or sampled at dt = {h:g} s, got {numerical.dt:g} s.")
    one = closed if numerical.dt else expm(closed * h)
    if numerical.dt:
        whole_steps, share = int(np.floor(lead)), lead - np.floor(lead)
        power = np.linalg.matrix_power(one, whole_steps)
        power = (1 - share) * power + share * (power @ one)
    else:
        power = expm(closed * (lead * h))
    change = np.empty((whole(steps, "steps", of, 1), len(j), n))
    for i in range(steps):
        power = power @ one
        change[i] = j @ numerical.C @ (power - np.eye(n))
    return FromState(change)


def parallel(plants: Sequence[TransferFunction], coupling: ArrayLike | None = None) -> StateSpaceMatrices:
    """Return actuators side by side as one continuous plant, y = G [P_1 u_1, P_2 u_2, ...] with `coupling` G."""
    parts = [plant.state_space() for plant in plants]
    A, B, C = (block_diag(*(getattr(part, name) for part in parts)) for name in "ABC")
    G = np.eye(len(parts)) if coupling is None else finite_array(coupling, "coupling", "parallel", (len(parts),) * 2)
    return StateSpaceMatrices(A, B, G @ C, np.zeros((len(parts), len(parts))))


@dataclass(frozen=True, eq=False)
class DesignReport:
    """What is known of a tracking loop before it runs, from its matrices while no limit is active.

    radius: largest closed-loop pole. noise_gain: standard deviation of the command per standard deviation of the
    sensors. delay_margin: extra delay in s it tolerates, in whole control intervals. coupling_db: largest response of
    another channel over the own one in the band. advice: sentences, the worst first.
    """

    radius: float
    noise_gain: float
    delay_margin: float
    coupling_db: float
    poles: NDArray[np.complex128]
    advice: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the controller must not run: an unstable loop, or too much noise. `loop.require` takes them."""
        usable = self.radius < 1.0 and self.noise_gain <= NOISE_LIMIT
        return () if usable else (f"Controller must not run: {self.advice[0]}",)

    def check(self) -> DesignReport:
        """Return the report, or refuse a controller that must not run."""
        if self.problems:
            raise ConfigError(self.problems[0])
        return self


def design_report(
    controllers: Controller | Sequence[Controller],
    plant: StateSpaceMatrices,
    *,
    band: tuple[float, float] = (0.3, 30.0),
) -> DesignReport:
    """Judge one controller, or one per channel, on a plant that need not be the one it was designed for.

    Parameters
    ----------
    controllers
        One controller for all channels, or a list with one per channel; a compensator without its adaptation.
    plant
        Continuous, or sampled at the control interval; as many inputs and outputs as the controllers have.
    band
        Frequencies in Hz over which the coupling is judged.
    """
    every = [controllers] if isinstance(controllers, Mpc | TrackingMpc | ModelBasedCompensator) else list(controllers)
    dt = every[0].period
    sampled = plant if plant.dt else plant.discretise(dt)
    law = _laws(every)
    if law.D.shape != (sampled.B.shape[1], len(sampled.C)):
        raise ConfigError(
            f"plant of design_report must have {law.D.shape[0]} inputs and {law.D.shape[1]} outputs as the "
            f"controllers, got {sampled.B.shape[1]} and {len(sampled.C)}."
        )
    A, B, C, D = _closed(sampled, law)
    poles = np.linalg.eigvals(A).astype(complex)
    radius = float(np.abs(poles).max())
    noise = float("inf")
    if radius < 1.0:
        variance = C @ solve_discrete_lyapunov(A, B @ B.T) @ C.T + D @ D.T
        noise = float(np.sqrt(np.diag(variance).max()))
    margin = 0
    while radius < 1.0 and margin < MOST_DELAY and _radius_with_delay(sampled, law, margin + 1) < 1.0:
        margin += 1
    coupling = coupling_db(sampled, band)
    advice = []
    if radius >= 1.0:
        advice.append(
            f"the loop is unstable, its largest pole is {radius:.4f}; lengthen the horizon or mend the model."
        )
    elif noise > NOISE_LIMIT:
        advice.append(
            f"noise of the sensors is amplified {noise:.3g} times (limit {NOISE_LIMIT:g}); raise noise_variance or "
            "move_weight, or lower disturbance_gain."
        )
    elif noise > NOISE_WARNING:
        advice.append(f"noise of the sensors is amplified {noise:.3g} times, more than {NOISE_WARNING:g}.")
    if len(every) > 1 and coupling > COUPLING_LIMIT_DB:
        advice.append(
            f"channels are coupled with {coupling:.0f} dB, above {COUPLING_LIMIT_DB:g} dB: take one controller for all."
        )
    return DesignReport(radius, noise, margin * dt, coupling, poles, tuple(advice))


def coupling_db(plant: StateSpaceMatrices, band: tuple[float, float] = (0.3, 30.0)) -> float:
    """Return the largest |H_ij| / |H_jj| of a plant, i not j, over the band in Hz; -inf for one channel."""
    f = np.geomspace(*band, 40)
    worst = 0.0
    for s in np.exp(2j * np.pi * f * plant.dt) if plant.dt else 2j * np.pi * f:
        h = np.abs(plant.C @ np.linalg.solve(s * np.eye(len(plant.A)) - plant.A, plant.B) + plant.D)
        own = np.diag(h)
        worst = max(worst, float(((h - np.diag(own)) / own).max()))
    return float(20 * np.log10(worst)) if worst > 1e-12 else -float("inf")


def hybrid_radius(
    controllers: TrackingMpc | Sequence[TrackingMpc],
    plant: StateSpaceMatrices,
    numerical: StateSpaceMatrices,
    *,
    stiffness: ArrayLike,
    force_inputs: Sequence[int],
    to_strokes: ArrayLike,
) -> float:
    """Return the largest pole of the whole test: actuators, specimen, numerical part, preview and controllers.

    Kinematics linear at rest: stroke = J pose; pose of the specimen by the pseudo-inverse. Force before the numerical
    step. Below 1 the test is stable.

    Parameters
    ----------
    controllers, plant
        As of `design_report`; controllers are TrackingMpc.
    numerical
        Sampled at the control interval, outputs the target pose without feedthrough, inputs signed as in the loop.
    stiffness, force_inputs, to_strokes
        As of `model_preview`.
    """
    every = [controllers] if isinstance(controllers, TrackingMpc) else list(controllers)
    dt = every[0].model.dt
    sampled = plant if plant.dt else plant.discretise(dt)
    j = finite_array(to_strokes, "to_strokes", "hybrid_radius", (len(sampled.C), len(numerical.C)))
    force = numerical.B[:, list(force_inputs)] @ np.asarray(stiffness, float) @ np.linalg.pinv(j)
    law = _laws(every)
    # state: plant x, controllers z, numerical n, past targets (length - 1 of them, newest first)
    length = max(_kept(c)[-1] for c in every) + 1
    nx, nz, nn, p = len(sampled.A), len(law.A), len(numerical.A), len(j)
    size = nx + nz + nn + p * (length - 1)
    target = np.zeros((p, size))
    target[:, nx + nz : nx + nz + nn] = j @ numerical.C
    past = np.vstack([target, np.eye(p * (length - 1), size, nx + nz + nn)]).reshape(length, p, size)
    measured = np.hstack([sampled.C, np.zeros((p, size - nx))])
    state = np.zeros((nn, size))
    state[:, nx + nz : nx + nz + nn] = np.eye(nn)
    into = np.zeros((law.D.shape[0], size))  # what the references add to each command, from the state of the whole
    first = 0
    for controller in every:
        n, n_in, n_out = len(controller.model.A), controller.model.n_in, controller.model.n_out
        q = past[_kept(controller), first : first + n_out].reshape(-1, size)
        if isinstance(controller.preview, FromState):
            q = np.vstack([q, state])
        into[first : first + n_in] = np.asarray(controller.gains)[:n_in, n:-n_in] @ q
        first += n_out
    command = into + law.D @ measured
    command[:, nx : nx + nz] += law.C
    A = np.zeros((size, size))
    A[:nx, :nx] = sampled.A
    A[:nx] += sampled.B @ command
    A[nx : nx + nz] = _into_laws(every) @ into + law.B @ measured
    A[nx : nx + nz, nx : nx + nz] += law.A
    A[nx + nz : nx + nz + nn] = force @ measured
    A[nx + nz : nx + nz + nn, nx + nz : nx + nz + nn] += numerical.A
    A[nx + nz + nn :] = past[:-1].reshape(-1, size)
    return float(np.abs(np.linalg.eigvals(A)).max())


def hybrid_problems(
    controllers: TrackingMpc | Sequence[TrackingMpc],
    plants: Mapping[str, StateSpaceMatrices],
    numerical: StateSpaceMatrices,
    *,
    stiffness: ArrayLike,
    force_inputs: Sequence[int],
    to_strokes: ArrayLike,
) -> list[str]:
    """Say on which plants the whole test is unstable; `loop.require` takes the sentences.

    Parameters
    ----------
    controllers
        As of `hybrid_radius`.
    plants
        {name: plant}: the identified one and those it may be instead.
    numerical, stiffness, force_inputs, to_strokes
        As of `hybrid_radius`.
    """
    found = []
    for name, plant in plants.items():
        radius = hybrid_radius(
            controllers, plant, numerical, stiffness=stiffness, force_inputs=force_inputs, to_strokes=to_strokes
        )
        if not radius < 1.0:
            found.append(
                f"The whole test must be stable on {name}, got a largest pole of {radius:.4f}; more damping, another "
                "preview or a better model of the actuators is needed."
            )
    return found


def _kept(controller: TrackingMpc) -> list[int]:
    """Return the ages, in intervals, of the targets a controller makes its preview from."""
    preview = controller.preview
    return [a * preview.spacing for a in range(preview.order + 1)] if isinstance(preview, Polynomial) else [0]


def _laws(controllers: Sequence[Controller]) -> StateSpaceMatrices:
    """Return the controllers without references as one system: state [estimate; last command] each, from y to u."""
    parts = [_law(controller) for controller in controllers]
    A, B, C, D = (block_diag(*(part[i] for part in parts)) for i in range(4))
    return StateSpaceMatrices(A, B, C, D, controllers[0].period)


def _law(controller: Controller) -> tuple[Array, Array, Array, Array]:
    """Return z+ = A z + B y, u = C z + D y for z = [x(k|k-1); u(k-1)] and zero references.

    x(k|k) = x + M (y - C x),   u(k) = u(k-1) + K_x x(k|k) + K_u u(k-1),   x(k+1|k) = A x(k|k) + B u(k)

    A compensator has z = [feedback; sections of the inverse]:   mu = -K y,   u = F mu
    """
    if isinstance(controller, ModelBasedCompensator):
        return _compensator_law(controller)
    model = controller.model
    n, m = len(model.A), model.n_in
    gains = np.asarray(controller.gains)[:m]
    corrected = np.hstack([np.eye(n) - model.gain @ model.C, np.zeros((n, m))])
    C = gains[:, :n] @ corrected + np.hstack([np.zeros((m, n)), np.eye(m) + gains[:, -m:]])
    D = gains[:, :n] @ model.gain
    A = np.vstack([model.A @ corrected + model.B @ C, C])
    B = np.vstack([model.A @ model.gain + model.B @ D, D])
    return A, B, C, D


def _compensator_law(controller: ModelBasedCompensator) -> tuple[Array, Array, Array, Array]:
    a, b, c, d = controller.feedback
    A, B, C, D = np.asarray(a), -np.asarray(b), np.asarray(c), np.array([[-d]])
    for b0, b1, b2, a1, a2 in np.asarray(controller.sections):
        section = (
            np.array([[-a1, -a2], [1.0, 0.0]]),
            np.array([[1.0], [0.0]]),
            np.array([[b1 - a1 * b0, b2 - a2 * b0]]),
        )
        n = len(A)
        A = np.block([[A, np.zeros((n, 2))], [section[1] @ C, section[0]]])
        B = np.vstack([B, section[1] @ D])
        C, D = np.hstack([b0 * C, section[2]]), b0 * D
    return A, B, C, D


def _into_laws(controllers: Sequence[TrackingMpc]) -> Array:
    """How a change of the command enters the states of the controllers: [B; 1] each."""
    return np.asarray(block_diag(*(np.vstack([c.model.B, np.eye(c.model.n_in)]) for c in controllers)))


def _closed(plant: StateSpaceMatrices, law: StateSpaceMatrices) -> tuple[Array, Array, Array, Array]:
    """Close the loop; input: noise of the sensors, output: command."""
    A = np.block([[plant.A + plant.B @ law.D @ plant.C, plant.B @ law.C], [law.B @ plant.C, law.A]])
    return A, np.vstack([plant.B @ law.D, law.B]), np.hstack([law.D @ plant.C, law.C]), law.D


def _radius_with_delay(plant: StateSpaceMatrices, law: StateSpaceMatrices, ticks: int) -> float:
    """Largest pole when the command acts `ticks` control intervals later."""
    m, n = plant.B.shape[1], len(plant.A)
    shift = np.eye(m * ticks, k=-m)
    A = np.block([[plant.A, np.zeros((n, m * (ticks - 1))), plant.B], [np.zeros((m * ticks, n)), shift]])
    B = np.vstack([np.zeros((n, m)), np.eye(m * ticks, m)])
    C = np.hstack([plant.C, np.zeros((len(plant.C), m * ticks))])
    late = StateSpaceMatrices(A, B, C, plant.D, plant.dt)
    return float(np.abs(np.linalg.eigvals(_closed(late, law)[0])).max())
