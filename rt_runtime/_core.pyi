"""
The C++ core of rt_runtime: a loop and its blocks. Arguments are checked in words by the Python layer.
"""

from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Block:
    """The unit a loop steps."""

    @property
    def n_in(self) -> int: ...

    @property
    def n_out(self) -> int: ...

    @property
    def n_state(self) -> int: ...

    @property
    def period(self) -> float:
        """Time between two steps the block was built for, in s; 0 means any."""

    @property
    def real_time(self) -> bool:
        """Whether a paced loop may hold it."""

    @property
    def external(self) -> bool:
        """Whether its outputs come from outside; a replay puts the record there."""

    @property
    def fault(self) -> int: ...

    @property
    def work(self) -> tuple[float, int]:
        """
        The most that a step can cost: floating-point operations (nan: not counted) and iterations (0: none).
        """

    @property
    def iterations_at(self) -> int:
        """The output that says how many iterations a step took, -1 without one."""

    def time_steps(self, inputs: NDArray[numpy.float64], repeats: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Step over rows of inputs, `repeats` times: for each row the least time in ns, time and CPU time of the last repeat, and the outputs.
        """

    def reset(self) -> None:
        """Back to the state right after construction."""

    def step(self, t: float, u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """One step outside a loop: the outputs for the inputs u at time t."""

class PythonBlock(Block):
    def __init__(self, function: object, n_in: int, n_out: int) -> None: ...

    @property
    def message(self) -> str: ...

class Stop(enum.Enum):
    """Why a run ended; a later one is worse."""

    finished = 0

    asked = 1

    not_finite = 2

    fault = 3

    overrun = 4

    tripped = 5

    running = -1

class Loop:
    """A bus and an ordered list of blocks; built by rt_runtime.Loop."""

    def __init__(self, dt: float, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def add(self, block: Block, inputs: Sequence[int], first_output: int, every: int, timed: bool = True) -> None: ...

    def record(self, signals: Sequence[int], every: int, frames: int) -> None: ...

    def reset(self) -> None: ...

    def run(self, ticks: int) -> Stop: ...

    def run_exactly(self, ticks: int) -> Stop: ...

    def stream(self, ring: Ring | None) -> None: ...

    def show(self, ring: LiveRing | None) -> None: ...

    def order(self, sequence: int, code: int, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> None:
        """
        An order of the operator with its arguments; the next one only after this one is `taken` or withdrawn.
        """

    def withdraw(self) -> bool:
        """Take the posted order back; False when the loop has it already."""

    @property
    def taken(self) -> int:
        """The newest order the monitor has seen: sequence << 8 | refusal."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def way_to_rest(self) -> int: ...

    @property
    def broken(self) -> int: ...

    @property
    def broken_port(self) -> int: ...

    @property
    def broken_value(self) -> float: ...

    @property
    def not_finite(self) -> bool: ...

    def ask_to_stop(self) -> None: ...

    @property
    def tick(self) -> int: ...

    @property
    def left_out(self) -> int:
        """Frames the record in memory had no room for."""

    @property
    def stopped_by(self) -> int: ...

    @property
    def bus(self) -> NDArray[numpy.float64]: ...

    @property
    def recorded(self) -> NDArray[numpy.float64]: ...

class Update(enum.Enum):
    """When a block with state advances within its tick."""

    end = 0

    start = 1

class Hold(enum.Enum):
    """How an input runs between two ticks."""

    zero = 0

    first = 1

class StateSpace(Block):
    def __init__(self, a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], entry: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, update: Update) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]: ...

class Ode(Block):
    def __init__(self, address: int, outputs: int, held: int, n_held: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]: ...

class AdamsBashforth(Block):
    def __init__(self, address: int, outputs: int, held: int, n_held: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update, fresh: Sequence[int]) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]: ...

class Rosenbrock(Block):
    def __init__(self, address: int, outputs: int, held: int, n_held: int, jacobian: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]: ...

class Table(Block):
    def __init__(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class Delay(Block):
    def __init__(self, steps: float, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Gain(Block):
    def __init__(self, matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Filter(Block):
    def __init__(self, sections: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], channels: int) -> None: ...

class Noise(Block):
    def __init__(self, deviation: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int) -> None: ...

class Tunables(Block):
    def __init__(self, ranges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], dt: float) -> None: ...

class QpStatus(enum.IntEnum):
    """What a solve gave; anything but optimal returns the hold fallback."""

    optimal = 0

    iteration_limit = 1

    infeasible = 2

    not_finite = 3

class MoveQp:
    """
    min 1/2 x'Hx + f'x with bounds on the moves x and on their running sums.
    """

    def __init__(self, channels: int, moves: int, max_iterations: int = 0) -> None: ...

    def set_hessian(self, h: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> bool:
        """Take the Hessian (n, n); False when it is not positive definite."""

    def solve(self, f: NDArray[numpy.float64], lower: NDArray[numpy.float64], upper: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], QpStatus, int]:
        """Return (moves, status, iterations)."""

    def reset(self) -> None:
        """Forget the active set of the last solve."""

    @property
    def size(self) -> int: ...

    @property
    def max_iterations(self) -> int: ...

    @property
    def multipliers(self) -> NDArray[numpy.float64]: ...

    def time_solves(self, f: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """Solve for each row of f (k, n) in C++; the sum of the iterations."""

class Extrapolator(Block):
    def __init__(self, order: int, spacing: int, leads: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], channels: int) -> None: ...

    @staticmethod
    def weights(order: int, theta: float) -> NDArray[numpy.float64]:
        """
        Lagrange weights of the newest and the older points, theta spacings ahead.
        """

class KalmanFilter(Block):
    def __init__(self, a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], period: float) -> None: ...

class Mpc(Block):
    def __init__(self, a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], prediction: int, control: int, output_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_input: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preview: bool, max_iterations: int, period: float) -> None: ...

    @property
    def hessian(self) -> NDArray[numpy.float64]: ...

    @property
    def gains(self) -> NDArray[numpy.float64]:
        """K with the moves without constraints = K [x; reference; last command]."""

    @property
    def gram(self) -> NDArray[numpy.float64]:
        """
        Gram matrix of the normals of all bounds in the metric of the inverse Hessian.
        """

class TrackingMpc(Block):
    @overload
    def __init__(self, a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], prediction: int, control: int, output_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_input: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preview: bool, max_iterations: int, period: float, order: int, spacing: int, leads: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], prediction: int, control: int, output_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_input: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preview: bool, max_iterations: int, period: float, change: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def gains(self) -> NDArray[numpy.float64]:
        """
        K with the moves without constraints = K [x; q; last command], references = preview_map q.
        """

    @property
    def hessian(self) -> NDArray[numpy.float64]: ...

    @property
    def gram(self) -> NDArray[numpy.float64]:
        """
        Gram matrix of the normals of all bounds in the metric of the inverse Hessian.
        """

    @property
    def preview_map(self) -> NDArray[numpy.float64]:
        """
        R (P p, n_q): references of all steps from q, the targets kept and the numerical state.
        """

class AdaptiveMpc(Block):
    def __init__(self, poles: int, zeros: int, per_parameter: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], forgetting: float, covariance: float, covariance_cap: float, parameter_noise: float, excitation: float, pole_radius: float, prediction: int, control: int, output_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_input: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preview: bool, max_iterations: int, process_variance: float, disturbance_gain: float, noise_variance: float, largest_age: float, period: float) -> None: ...

    @property
    def gain(self) -> NDArray[numpy.float64]:
        """Kalman gain M of the last step."""

    @property
    def settled(self) -> NDArray[numpy.float64]:
        """Covariance of the state every run starts with."""

class PiLead(Block):
    def __init__(self, kp: float, ki: float, b0: float, b1: float, a1: float, lower: float, upper: float, period: float) -> None: ...

class ModelBasedCompensator(Block):
    def __init__(self, inverse: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], d: float, rate: float, largest: float, margin: float, b0: float, b1: float, a1: float, period: float) -> None: ...

class AdaptiveCompensation(Block):
    def __init__(self, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], low_pass: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], period: float) -> None: ...

class Platform:
    def __init__(self, fixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], moving: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], stroke: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def jacobian(self, pose: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        """d stroke / d pose (6, 6) at a pose."""

class InverseKinematics(Block):
    def __init__(self, platform: Platform) -> None: ...

class ForwardKinematics(Block):
    def __init__(self, platform: Platform, steps: int, reach: float, turn: float, least_pivot: float) -> None: ...

class ForceTransform(Block):
    def __init__(self, platform: Platform, inverse: bool) -> None: ...

class Fade(Block):
    def __init__(self, channels: int, ticks: int) -> None: ...

class Histogram:
    """Durations counted in fixed bins, 3 % wide."""

    def __init__(self) -> None: ...

    def add(self, ns: int) -> None: ...

    def describe(self) -> dict[str, object]:
        """
        The bins that are not empty (smallest duration, count), count, sum, least, most.
        """

class Overrun(enum.Enum):
    """What happens after a tick that ended too late."""

    skip = 0

    catch_up = 1

    trip = 2

class PacedRun:
    """A loop against the clock in a thread of its own."""

    def __init__(self, loop: Loop, ticks: int, overrun: Overrun, grace_ticks: int, overruns_to_trip: int, spin_ns: int, priority: int, cpu: int, lock_memory: bool) -> None: ...

    def start(self) -> None: ...

    def wait(self, seconds: float) -> bool:
        """True when it has ended."""

    @property
    def tick(self) -> int: ...

    @property
    def test_tick(self) -> int: ...

    @property
    def missed(self) -> int: ...

    def wake_ns(self, part: float) -> int:
        """
        The wake-up latency in ns that a part of the ticks so far did not exceed; while running.
        """

    @property
    def state(self) -> int: ...

    @property
    def stop(self) -> Stop: ...

    @property
    def skipped(self) -> int: ...

    @property
    def wake(self) -> dict[str, object]: ...

    @property
    def own(self) -> dict[str, object]: ...

    @property
    def obtained(self) -> dict[str, int]:
        """0 obtained, -1 not asked for, otherwise the errno of the refusal."""

class Ring:
    """
    Ring of frames from the loop to its writer; full, it drops the frame or lets the loop wait.
    """

    def __init__(self, signals: Sequence[int], every: int, frames: int, waits: bool = False) -> None: ...

    @property
    def lost(self) -> int:
        """Frames that did not reach the disk: dropped and refused."""

    @property
    def dropped(self) -> int:
        """The ring was full."""

    @property
    def refused(self) -> int:
        """The disk was."""

    @property
    def capacity(self) -> int: ...

class Writer:
    """Empties a ring into a file in a thread of its own."""

    def __init__(self, ring: Ring, path: str) -> None: ...

    def finish(self) -> None: ...

    def slow_down(self, seconds: float) -> None: ...

    @property
    def written(self) -> int: ...

    @property
    def error(self) -> int: ...

    @property
    def fullest(self) -> int: ...

    @property
    def latest(self) -> list[float]: ...

class LiveRing:
    """
    A file in shared memory with the newest frames, for live views in other processes.
    """

    def __init__(self, path: str, signals: Sequence[int], every: int, frames: int, rate: float) -> None: ...

    def finish(self) -> None:
        """No frame will follow."""

    @property
    def locked(self) -> bool: ...

class LiveReader:
    """Reads a live file of another process; the loop never notices."""

    def __init__(self, path: str) -> None: ...

    def buckets(self, size: int, most: int) -> tuple[int, NDArray[numpy.float32]]:
        """
        (tick of the first, float32 (n, signals, 2)): extremes of each complete bucket.
        """

    @property
    def latest(self) -> list[float]: ...

    @property
    def dropped(self) -> int:
        """Frames that were overwritten before they were read."""

    @property
    def status(self) -> dict[str, int]: ...

def now_ns() -> int:
    """The monotonic clock of the loop, in ns."""

class Action(enum.Enum):
    """What a broken rule leads to; a later one is worse."""

    none = 0

    warn = 1

    hold = 2

    ramp = 3

    trip = 4

class Quantity(enum.Enum):
    """What a rule looks at."""

    value = 0

    rate = 1

    difference = 2

    unchanged = 3

    acceleration = 4

class Rule:
    def __init__(self, quantity: Quantity, signal: int, other: int, lower: float, upper: float, action: Action, ticks: int, grace: int) -> None: ...

class CommandLimit:
    def __init__(self, lower: float, upper: float, rate: float, rest: float, measured: int = -1) -> None: ...

class Monitor(Block):
    def __init__(self, commands: Sequence[CommandLimit], watched: int, rules: Sequence[Rule], dt: float, arm_ticks: int, soft_start: int, soft_stop: int, trip_ticks: int, hold_limit: int, release: int, settle: int, trip_holds: bool, by_operator: bool = False, hold_stops_clock: bool = False, brake: int = 0) -> None: ...

    def shown(self) -> list[tuple[float, float, float, float, float, bool]]:
        """
        (value, least, most, lower, upper, acting) of every rule, while the loop runs.
        """

    @property
    def state(self) -> int: ...

    @property
    def tripped_by(self) -> int: ...

    @property
    def tripped_value(self) -> float: ...

    @property
    def tripped_at(self) -> int: ...

    @property
    def ended_with(self) -> Action: ...

    @property
    def logged(self) -> list[tuple[int, int, int, int, float]]:
        """(tick, rule, action, state, value) of every event."""

    @property
    def events_left_out(self) -> int: ...

class HostStatus(Block):
    def __init__(self) -> None: ...

class ResponseWatch(Block):
    def __init__(self, lags: Sequence[int], every: int, learn: int, tolerance: float, caution: float, nominal: float, window: int, experience: float, memory: int, oldest: int, together: bool, dt: float) -> None: ...

class EnergyWatch(Block):
    def __init__(self, fade: float, dt: float) -> None: ...

class StabilityWarning(Block):
    def __init__(self, damping: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], interface: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], margin: float) -> None: ...

class EnergyErrorIndicator(Block):
    def __init__(self, mass: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], damping: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stiffness: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_interface: int, e_most: float, dt: float) -> None: ...

class Actuator:
    """What moves the specimen and measures it."""

    @property
    def n_command(self) -> int: ...

    @property
    def n_measured(self) -> int: ...

    @property
    def real_time(self) -> bool: ...

    @property
    def external(self) -> bool: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def reset(self) -> None: ...

    def link(self) -> NDArray[numpy.float64]:
        """Return how the connection is; see rt_runtime.Link."""

    def read(self, t: float) -> tuple[NDArray[numpy.float64], float, int]:
        """Return (measured, age in ticks, status)."""

    def write(self, t: float, command: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """Return the status."""

class SimulatedActuator(Actuator):
    def __init__(self, plants: list[tuple[NDArray[numpy.float64], ...]], per_channel: NDArray[numpy.float64], coupling: NDArray[numpy.float64], delay_ticks: float, seed: int, period: float) -> None:
        """
        plants: (a, b, c) per channel; rows of per_channel: lower, upper, rate, noise, quantum.
        """

class InProcessRig(Actuator):
    def __init__(self, loop: Loop, commands: Sequence[int], measured: Sequence[int]) -> None: ...

class UdpRig(Actuator):
    def __init__(self, n_command: int, n_measured: int, host: str, port: int, key: bytes, timeout: float, goodbye: str, version: int) -> None: ...

    @property
    def protocol(self) -> int: ...

    @property
    def state(self) -> int: ...

    @property
    def goodbye_process(self) -> int: ...

    @property
    def traffic(self) -> dict[str, int]: ...

    @property
    def round_trip(self) -> Histogram: ...

class PluginActuator(Actuator):
    def __init__(self, path: str, config: str, n_command: int, n_measured: int, period: float, hold_after: int, lease: float, ramp: float) -> None: ...

    @property
    def watchdog(self) -> bool: ...

class Sensor(Block):
    def __init__(self, actuator: Actuator) -> None: ...

class Link(Block):
    def __init__(self, actuator: Actuator) -> None: ...

class Drive(Block):
    def __init__(self, actuator: Actuator) -> None: ...

class Playback(Block):
    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class RigFaults:
    """What a rig simulator does wrong on purpose."""

    def __init__(self) -> None: ...

    @property
    def loss(self) -> float: ...

    @loss.setter
    def loss(self, arg: float, /) -> None: ...

    @property
    def late(self) -> float: ...

    @late.setter
    def late(self, arg: float, /) -> None: ...

    @property
    def late_ns(self) -> int: ...

    @late_ns.setter
    def late_ns(self, arg: int, /) -> None: ...

    @property
    def repeat(self) -> float: ...

    @repeat.setter
    def repeat(self, arg: float, /) -> None: ...

    @property
    def reorder(self) -> float: ...

    @reorder.setter
    def reorder(self, arg: float, /) -> None: ...

    @property
    def forge(self) -> float: ...

    @forge.setter
    def forge(self, arg: float, /) -> None: ...

    @property
    def replay(self) -> float: ...

    @replay.setter
    def replay(self, arg: float, /) -> None: ...

    @property
    def twin(self) -> float: ...

    @twin.setter
    def twin(self, arg: float, /) -> None: ...

    @property
    def creep_ns(self) -> float: ...

    @creep_ns.setter
    def creep_ns(self, arg: float, /) -> None: ...

    @property
    def nan_at(self) -> int: ...

    @nan_at.setter
    def nan_at(self, arg: int, /) -> None: ...

    @property
    def stuck_at(self) -> int: ...

    @stuck_at.setter
    def stuck_at(self, arg: int, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

class Rig:
    """
    The physical side of a test: a loop stepped by commands that come over UDP.
    """

    def __init__(self, loop: Loop, commands: Sequence[int], measured: Sequence[int], host: str, port: int, key: bytes, hold: float, lease: float, ramp: float, reset: bool, faults: RigFaults, version: int) -> None: ...

    def serve(self, seconds: float) -> int: ...

    def ask_to_stop(self) -> None: ...

    @property
    def port(self) -> int: ...

    @property
    def traffic(self) -> dict[str, int]: ...

    @property
    def sessions(self) -> int: ...

    @property
    def byes(self) -> int: ...

    @property
    def asked_to_stop(self) -> bool: ...

    @property
    def state(self) -> int: ...

def crc32(data: bytes) -> int: ...

def sha256(data: bytes) -> bytes: ...

class HmacSha256:
    """Authenticator of version 1 of the rig protocol."""

    def __init__(self, key: bytes) -> None: ...

    def of(self, data: bytes) -> bytes: ...

class Blake2s:
    """Authenticator of the rig protocol."""

    def __init__(self, key: bytes, size: int) -> None: ...

    def of(self, data: bytes) -> bytes: ...

class Unary(enum.Enum):
    none = 0

    tanh = 1

    sigmoid = 2

    relu = 3

    exp = 4

    log = 5

    neg = 6

    abs = 7

    sqrt = 8

    softplus = 9

class Binary(enum.Enum):
    add = 0

    sub = 1

    mul = 2

    div = 3

    max = 4

    min = 5

    less = 6

    greater = 7

class Correlation(enum.Enum):
    linear = 0

    exponential = 1

    matern32 = 2

    matern52 = 3

    gaussian = 4

def correlations(z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], family: Correlation, any_host: bool = False) -> NDArray[numpy.float64]: ...

def tanh(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def sigmoid(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def exp(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def log(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def exp_of_any_host(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def log_of_any_host(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def tanh_of_any_host(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def sigmoid_of_any_host(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

class Plan:
    """A reduced model as a flat list of steps on one array of numbers."""

    def __init__(self, n_u: int, n_state: int, array: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], outputs: Sequence[int], next_state: Sequence[int]) -> None: ...

    def dense(self, x: Sequence[int], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Sequence[int], function: Unary, out: int) -> None: ...

    def factors(self, x: Sequence[int], gain: Sequence[Sequence[float]], shift: Sequence[Sequence[float]], out: int) -> None: ...

    def terms(self, places: Sequence[Sequence[int]], coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Sequence[float], out: int) -> None: ...

    def standard(self, x: Sequence[int], mean: Sequence[float], divisor: Sequence[float], out: int) -> None: ...

    def clip(self, x: Sequence[int], divisor: Sequence[float], lower: Sequence[float], upper: Sequence[float], out: int) -> None: ...

    def correlations(self, x: Sequence[int], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rate: Sequence[float], weight: Sequence[float], family: Correlation, out: int) -> None: ...

    def unary(self, function: Unary, x: Sequence[int], out: int) -> None: ...

    def binary(self, function: Binary, a: Sequence[int], b: Sequence[int], out: int) -> None: ...

    def product(self, x: Sequence[int], count: int, out: int) -> None: ...

    def play(self, x: Sequence[int], p: Sequence[int], radius: Sequence[float], out: int) -> None: ...

    def bars(self, places: Sequence[Sequence[int]], numbers: Sequence[Sequence[float]], least: float, c: float, R0: float, R1: float, tiny: float, limit: float, out: int) -> None: ...

    def select(self, condition: Sequence[int], a: Sequence[int], b: Sequence[int], out: int) -> None: ...

    @property
    def steps(self) -> int: ...

    @property
    def multiply_adds(self) -> int: ...

    @property
    def elements(self) -> int: ...

class Rom(Block):
    def __init__(self, plan: Plan, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], watch: bool, period: float) -> None: ...

    def evaluate(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """
        Outputs (n, n_out) at rows (u, state); the state of the block stays as it is.
        """

    def run(self, u: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Step over rows u from the initial state; outputs (n, n_out)."""

    @property
    def state(self) -> NDArray[numpy.float64]:
        """The state as it stands."""

    @property
    def plan(self) -> Plan: ...

class FmuTiming(enum.Enum):
    """How the steps of an FMU lie in the ticks."""

    before = 0

    after = 1

    start = 2

class Fmu(Block):
    def __init__(self, library: str, token: str, resources: str, version: int, exchange: bool, once: bool, real_time: bool, inputs: Sequence[int], outputs: Sequence[int], parameters: Sequence[int], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_states: int, timing: FmuTiming, substeps: int, period: float) -> None: ...

    @property
    def message(self) -> str:
        """What the FMU said of its last fault."""

    def step_times(self, steps: int) -> NDArray[numpy.float64]:
        """
        Make steps with inputs zero from where it stands; return how long each took in s.
        """

class Mailbox:
    """
    The newest message of n numbers from one writer to one reader; nobody waits.
    """

    def __init__(self, n: int) -> None: ...

    @property
    def size(self) -> int: ...

    def post(self, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Put a message in the place of the last one."""

    def read(self) -> tuple[int, NDArray[numpy.float64]]:
        """
        Return how many messages were posted and the last one; 0 when none could be read.
        """

class Received(Block):
    def __init__(self, box: Mailbox, period: float) -> None: ...

class Posted(Block):
    def __init__(self, box: Mailbox) -> None: ...

class TargetPath(Block):
    def __init__(self, targets: Mailbox, answers: Mailbox, ticks: int, predicted: float, tolerance: float, settle: int, period: float) -> None: ...

class SiteChannel:
    """Messages between a site and a client of OpenSees' genericClient kind."""

    def __init__(self, handle: int, datagrams: bool, host: str, port: int, idle: float, quick: bool) -> None: ...

    def receive(self, size: int) -> bytes: ...

    def set_length(self, length: int, trial: int) -> None: ...

    def set_answer(self, action: int, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Answer to an action from now on."""

    def next(self) -> int:
        """Wait for an action that has no fixed answer and return it."""

    def reply(self, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def trial(self) -> NDArray[numpy.float64]: ...

    @property
    def messages(self) -> int: ...

    @property
    def waiting(self) -> tuple[str, int]:
        """
        Address and port of the last other client that knocked meanwhile; port 0 when there was none.
        """

class OpenSeesActuator(Actuator):
    def __init__(self, host: str, port: int, timeout: float, steps: int) -> None: ...
