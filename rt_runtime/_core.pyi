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

class Loop:
    """A bus and an ordered list of blocks; built by rt_runtime.Loop."""

    def __init__(self, dt: float, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def add(self, block: Block, inputs: Sequence[int], first_output: int, every: int) -> None: ...

    def record(self, signals: Sequence[int], every: int, frames: int) -> None: ...

    def reset(self) -> None: ...

    def run(self, ticks: int) -> Stop: ...

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
    def __init__(self, address: int, n_in: int, n_out: int, initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: float, substeps: int, hold: Hold, update: Update) -> None: ...

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
    def __init__(self, poles: int, zeros: int, per_parameter: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], forgetting: float, covariance: float, covariance_cap: float, parameter_noise: float, excitation: float, pole_radius: float, prediction: int, control: int, output_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_input: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preview: bool, max_iterations: int, process_variance: float, disturbance_gain: float, noise_variance: float, period: float) -> None: ...

    @property
    def gain(self) -> NDArray[numpy.float64]:
        """Kalman gain M of the last step."""

class PiLead(Block):
    def __init__(self, kp: float, ki: float, b0: float, b1: float, a1: float, lower: float, upper: float, period: float) -> None: ...

class ModelBased(Block):
    def __init__(self, inverse: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rate: float, largest: float, margin: float, b0: float, b1: float, a1: float, period: float) -> None: ...

class AdaptiveCompensation(Block):
    def __init__(self, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], low_pass: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], period: float) -> None: ...
