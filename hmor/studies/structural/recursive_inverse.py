"""A published peer: decentralised adaptive compensation by recursive least squares on an inverse filter.

After Quiroz, Galmez and Fermandois (robust decentralised adaptive compensation of the multi-axial benchmark). Each
actuator has a filter of four coefficients that turns targets into commands, learnt as the inverse of the actuator:

    command_k = theta . [target_k .. target_{k-3}],   learnt so that filtered command = theta . filtered measured

It needs no model of the plant, only a run without control to start from.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import butter

from rt_runtime.checks import Array

TAPS = 4


def calibrate(commands: Array, measured: Array) -> tuple[Array, Array]:
    """Return start values theta (m, 4) and inverse correlations (m, 4, 4) from a run without control, in m.

    Noise in the regressors takes the lead away; the run should have quieter sensors than the test.
    """
    theta, inverse = [], []
    for command, y in zip(commands.T, measured.T, strict=True):
        rows = np.lib.stride_tricks.sliding_window_view(y, TAPS)[:, ::-1]
        p = np.linalg.inv(rows.T @ rows)
        theta.append(p @ rows.T @ command[TAPS - 1 :])
        inverse.append(p)
    return np.array(theta), np.array(inverse)


class RecursiveInverse:
    """The compensator of all channels as a function of a PythonBlock: inputs targets, measured; outputs commands.

    Parameters
    ----------
    theta, inverse
        Start values, as `calibrate` gives them.
    rate
        Ticks per second.
    corner
        Of the fourth-order low-pass in front of the learning, in Hz.
    """

    def __init__(self, theta: Array, inverse: Array, *, rate: float, corner: float = 20.0) -> None:
        self.theta, self.inverse = theta.copy(), inverse.copy()
        m = len(theta)
        self._b, self._a = butter(4, corner / (rate / 2))
        self._targets = np.zeros((m, TAPS))
        self._filtered = np.zeros((m, TAPS))
        self._states = np.zeros((2, m, 4))
        self._command = np.zeros(m)

    def step(self, t: float, u: Array) -> list[float]:
        """Learn from the last command and the present measurement, then give the commands."""
        m = len(self.theta)
        answer = self._low_pass(0, self._command)
        self._filtered = np.column_stack([self._low_pass(1, u[m:]), self._filtered[:, :-1]])
        for i in range(m):
            phi, p = self._filtered[i], self.inverse[i]
            gain = p @ phi / (1.0 + phi @ p @ phi)
            self.theta[i] += gain * (answer[i] - self.theta[i] @ phi)
            self.inverse[i] = p - np.outer(gain, phi @ p)
        self._targets = np.column_stack([u[:m], self._targets[:, :-1]])
        self._command = np.einsum("ij,ij->i", self.theta, self._targets)
        return [float(value) for value in self._command]

    def _low_pass(self, which: int, values: Array) -> Array:
        """Direct form II transposed, one step of all channels."""
        state = self._states[which]
        y: Array = self._b[0] * values + state[:, 0]
        for k in range(3):
            state[:, k] = state[:, k + 1] + self._b[k + 1] * values - self._a[k + 1] * y
        state[:, 3] = self._b[4] * values - self._a[4] * y
        return y
