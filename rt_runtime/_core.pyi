"""
The C++ core of rt_runtime: a loop and its blocks. Arguments are checked in words by the Python layer.
"""

from collections.abc import Sequence
import enum
from typing import Annotated

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

    def add(self, block: Block, inputs: Sequence[int], first_output: int, every: int) -> None: ...

    def record(self, signals: Sequence[int], every: int, frames: int) -> None: ...

    def reset(self) -> None: ...

    def run(self, ticks: int) -> Stop: ...

    def run_exactly(self, ticks: int) -> Stop: ...

    def stream(self, ring: Ring | None) -> None: ...

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
    def __init__(self, address: int, outputs: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]: ...

class AdamsBashforth(Block):
    def __init__(self, address: int, outputs: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update, fresh: Sequence[int]) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]: ...

class Rosenbrock(Block):
    def __init__(self, address: int, outputs: int, jacobian: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update) -> None: ...

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

class QpStatus(enum.IntEnum):
    """What a solve gave; anything but optimal returns the hold fallback."""

    optimal = 0

    iteration_limit = 1

    infeasible = 2

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

class AdaptiveMpc(Block):
    def __init__(self, poles: int, zeros: int, per_parameter: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], forgetting: float, covariance: float, covariance_cap: float, parameter_noise: float, excitation: float, pole_radius: float, prediction: int, control: int, output_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_input: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preview: bool, max_iterations: int, process_variance: float, disturbance_gain: float, noise_variance: float, largest_age: float, period: float) -> None: ...

    @property
    def gain(self) -> NDArray[numpy.float64]:
        """Kalman gain M of the last step."""

class PiLead(Block):
    def __init__(self, kp: float, ki: float, b0: float, b1: float, a1: float, lower: float, upper: float, period: float) -> None: ...

class ModelBased(Block):
    def __init__(self, inverse: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], d: float, rate: float, largest: float, margin: float, b0: float, b1: float, a1: float, period: float) -> None: ...

class AdaptiveCompensation(Block):
    def __init__(self, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], low_pass: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], period: float) -> None: ...

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
    def missed(self) -> int: ...

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
    """Wait-free ring of frames from the loop to its writer."""

    def __init__(self, signals: Sequence[int], every: int, frames: int) -> None: ...

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

class Rule:
    def __init__(self, quantity: Quantity, signal: int, other: int, lower: float, upper: float, action: Action, ticks: int, grace: int) -> None: ...

class CommandLimit:
    def __init__(self, lower: float, upper: float, rate: float, rest: float) -> None: ...

class Monitor(Block):
    def __init__(self, commands: Sequence[CommandLimit], watched: int, rules: Sequence[Rule], dt: float, arm_ticks: int, soft_start: int, soft_stop: int, trip_ticks: int, hold_limit: int, release: int, settle: int, trip_holds: bool) -> None: ...

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

class Host(Block):
    def __init__(self) -> None: ...

class StabilityWarning(Block):
    def __init__(self, damping: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], interface: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], margin: float) -> None: ...

class EnergyError(Block):
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

    def read(self, t: float) -> tuple[NDArray[numpy.float64], float, int]:
        """Return (measured, age in ticks, status)."""

    def write(self, t: float, command: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """Return the status."""

class SimulatedActuator(Actuator):
    def __init__(self, channels: int, a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], delay_ticks: float, lower: float, upper: float, rate: float, noise: float, quantum: float, seed: int, period: float) -> None: ...

class UdpRig(Actuator):
    def __init__(self, n_command: int, n_measured: int, host: str, port: int, key: bytes, timeout: float) -> None: ...

    @property
    def traffic(self) -> dict[str, int]: ...

    @property
    def round_trip(self) -> Histogram: ...

class PluginActuator(Actuator):
    def __init__(self, path: str, config: str, n_command: int, n_measured: int, period: float) -> None: ...

class Sensor(Block):
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

    def __init__(self, loop: Loop, commands: Sequence[int], measured: Sequence[int], host: str, port: int, key: bytes, faults: RigFaults) -> None: ...

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
    def silent_for(self) -> float: ...

def crc32(data: bytes) -> int: ...

def sha256(data: bytes) -> bytes: ...

def hmac_sha256(key: bytes, data: bytes) -> bytes: ...

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

def tanh(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

def sigmoid(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

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

    def unary(self, function: Unary, x: Sequence[int], out: int) -> None: ...

    def binary(self, function: Binary, a: Sequence[int], b: Sequence[int], out: int) -> None: ...

    def product(self, x: Sequence[int], count: int, out: int) -> None: ...

    @property
    def steps(self) -> int: ...

    @property
    def multiply_adds(self) -> int: ...

class Rom(Block):
    def __init__(self, plan: Plan, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], watch: bool, period: float) -> None: ...

    def evaluate(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """
        Outputs (n, n_out) at rows (u, state); the state of the block stays as it is.
        """

    def run(self, u: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Step over rows u from the initial state; outputs (n, n_out)."""

    @property
    def plan(self) -> Plan: ...
