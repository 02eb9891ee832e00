"""What stands behind a server: a linear specimen, a reduced model, or a rig that follows targets."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime.blocks.target_path import TargetPath
from rt_runtime.bundle.rom import Rom
from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.errors import ConfigError


class SiteError(RuntimeError):
    """The site cannot answer; the connection is closed."""


class Site(ABC):
    """A specimen with n degrees of freedom. Trials may be repeated; only `commit` moves its state on.

    The force of a trial must not contain what `damping` and `mass` answer: the client multiplies these by velocity and
    acceleration itself. A real specimen answers zero to both and measures the whole force.
    """

    dof: int

    @abstractmethod
    def reset(self) -> None:
        """Begin anew for a new client."""

    @abstractmethod
    def trial(self, displacement: Array, velocity: Array, acceleration: Array, at: float) -> None:
        """Take a trial response (velocity and acceleration may be empty)."""

    @abstractmethod
    def force(self) -> Array:
        """Return the force (n) of the last trial."""

    @abstractmethod
    def stiffness(self) -> Array:
        """Return the stiffness at rest (n, n)."""

    def displacement(self) -> Array:
        """Return the displacement of the last trial, measured where there is something to measure."""
        return np.zeros(self.dof)

    def damping(self) -> Array:
        """Return the damping (n, n) that the force does not contain."""
        return np.zeros((self.dof, self.dof))

    def mass(self) -> Array:
        """Return the mass (n, n) that the force does not contain."""
        return np.zeros((self.dof, self.dof))

    def commit(self) -> None:
        """Make the last trial the state; nothing to do without memory."""
        return


class LinearSite(Site):
    """force = K d, with damping C and mass M answered apart.

    Parameters
    ----------
    stiffness, damping, mass : matrices (n, n); damping and mass may be left out.
    """

    def __init__(self, stiffness: ArrayLike, damping: ArrayLike | None = None, mass: ArrayLike | None = None) -> None:
        k = finite_array(np.atleast_2d(np.asarray(stiffness, float)), "stiffness", "LinearSite", (None, None))
        self.dof = len(k)
        square = (self.dof, self.dof)
        self._k = finite_array(k, "stiffness", "LinearSite", square)
        zero = np.zeros(square)
        self._c = zero if damping is None else finite_array(np.atleast_2d(damping), "damping", "LinearSite", square)
        self._m = zero if mass is None else finite_array(np.atleast_2d(mass), "mass", "LinearSite", square)
        self._d = np.zeros(self.dof)

    def reset(self) -> None:
        """Back to rest."""
        self._d = np.zeros(self.dof)

    def trial(self, displacement: Array, velocity: Array, acceleration: Array, at: float) -> None:
        """Take a trial displacement."""
        self._d = np.array(displacement)

    def force(self) -> Array:
        """Return K d."""
        return np.asarray(self._k @ self._d)

    def displacement(self) -> Array:
        """Return d."""
        return self._d

    def stiffness(self) -> Array:
        """Return K."""
        return self._k

    def damping(self) -> Array:
        """Return C."""
        return self._c

    def mass(self) -> Array:
        """Return M."""
        return self._m


class ModelSite(Site):
    """A reduced model of a bundle: inputs are displacements, or displacements then velocities; outputs are forces.

    The stiffness is the model's derivative at rest, and so is the damping where velocities are inputs; its share
    C v is then taken out of the force. A model with memory moves on by one step with every commit.

    Parameters
    ----------
    rom : the model; n outputs, n or 2 n inputs.
    """

    def __init__(self, rom: Rom) -> None:
        self._rom, self.dof = rom, rom.n_out
        inputs = [p.name for p in rom.model.inputs]
        if rom.n_in not in (self.dof, 2 * self.dof):
            raise ConfigError(
                f"Model '{rom.model.name}' of a site must have {self.dof} or {2 * self.dof} inputs for its {self.dof} "
                f"outputs (displacements, then velocities), got {', '.join(inputs)}."
            )
        self._u = np.zeros(rom.n_in)
        self._time = 0.0
        self.reset()
        slopes = self._slopes()
        self._k, self._c = slopes[:, : self.dof], np.zeros((self.dof, self.dof))
        if rom.n_in > self.dof:
            self._c = slopes[:, self.dof :]

    def reset(self) -> None:
        """Back to the initial state."""
        self._rom.reset()
        self._state = self._rom.state
        self._u[:] = 0.0
        self._time = 0.0

    def _slopes(self) -> Array:
        """Return dF/du at rest by central differences over a thousandth of the range of each input."""
        columns = []
        for i, port in enumerate(self._rom.model.inputs):
            h = 1e-3 * (port.upper - port.lower)
            ends = np.zeros((2, self._rom.n_in))
            ends[:, i] = (h, -h)
            y = self._answers(ends)
            columns.append((y[0] - y[1]) / (2 * h))
        return np.column_stack(columns)

    def _answers(self, u: Array) -> Array:
        return self._rom.predict(np.column_stack([u, np.repeat(self._state[None, :], len(u), axis=0)]))

    def trial(self, displacement: Array, velocity: Array, acceleration: Array, at: float) -> None:
        """Take displacement and, where the model wants it, velocity."""
        u = displacement if self._rom.n_in == self.dof else np.concatenate([displacement, velocity])
        if u.shape != self._u.shape:
            raise SiteError("the model of this site needs velocities, and the client sends none")
        self._u = np.array(u)
        self._trial_time = at

    def force(self) -> Array:
        """Return the force without the share of the damping matrix."""
        whole: Array = self._answers(self._u[None, :])[0]
        if self._rom.n_in > self.dof:
            whole = whole - self._c @ self._u[self.dof :]
        return whole

    def displacement(self) -> Array:
        """Return the displacement of the trial."""
        return self._u[: self.dof]

    def stiffness(self) -> Array:
        """Return the derivative by the displacement at rest."""
        return self._k

    def damping(self) -> Array:
        """Return the derivative by the velocity at rest."""
        return self._c

    def commit(self) -> None:
        """Move the memory of the model on by one step."""
        dt, at = self._rom.model.dt, getattr(self, "_trial_time", 0.0)
        if self._rom.n_state and dt is not None and at > 0.0:
            if abs(at - self._time - dt) > 1e-6 * dt:
                raise SiteError(
                    f"the model with memory needs steps of {dt:g} s, and the client made one of {at - self._time:g} s"
                )
            self._rom.step(at, self._u)
            self._state = self._rom.state
        self._time = at


class RigSite(Site):
    """A rig whose loop follows the targets of the client.

    A target is sent when the client asks for its force, so that corrections nobody asks about do not move the rig.

    Parameters
    ----------
    path : the block in the running loop.
    stiffness : initial stiffness (n, n) of the specimen, which the client's integrator needs.
    patience : s to wait for a target to be reached.
    stopped : tells whether the test is being stopped; from then on nothing is answered.
    """

    def __init__(
        self,
        path: TargetPath,
        stiffness: ArrayLike,
        *,
        patience: float = 60.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._path, self.dof = path, path.channels
        k = np.atleast_2d(np.asarray(stiffness, dtype=float))
        self._k = finite_array(k, "stiffness", "RigSite", (self.dof, self.dof))
        self._patience, self._stopped = positive(patience, "patience", "RigSite"), stopped
        self._target = self._position = np.zeros(self.dof)
        self._force: Array | None = None
        self.ended = ""  # why the loop has ended, when it has

    def reset(self) -> None:
        """Nothing: the specimen stays as it is."""
        return

    def trial(self, displacement: Array, velocity: Array, acceleration: Array, at: float) -> None:
        """Take a target."""
        if self._force is None or not np.array_equal(displacement, self._target):
            self._target, self._force = np.array(displacement), None

    def force(self) -> Array:
        """Send the target, wait until the rig is there and return what it measured."""
        if self._force is None:
            wanted = self._path.targets.read()[0] + 1
            self._path.targets.post(self._target)
            self._force = self._answer_to(wanted)
        return self._force

    def _answer_to(self, number: int) -> Array:
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            _, answer = self._path.answers.read()
            if self.ended or self._stopped():
                raise SiteError(f"the test has ended: {self.ended or 'the monitor has stopped it'}")
            if int(answer[0]) == number:
                self._position = answer[1 : 1 + self.dof]
                return np.array(answer[1 + self.dof :])
            time.sleep(2e-4)
        raise SiteError(f"the rig did not reach the target within {self._patience:g} s")

    def displacement(self) -> Array:
        """Return the measured position at the last target."""
        return self._position

    def stiffness(self) -> Array:
        """Return the initial stiffness that was given."""
        return self._k
