"""The messages that OpenSees' genericClient element and OpenFresco's clients exchange with a site.

First eleven 32-bit integers: how many displacements, velocities, accelerations, forces and times the client sends, how
many of each it wants back, and the length of every later message. Then messages of that many doubles: an action, then
the numbers of the trial in the same order. An answer has the same length and starts with the numbers asked for;
matrices stand in it column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

import numpy as np

from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

N_SIZES = 11
MOST_DOF = 64
MOST_LENGTH = 65_536


class Action(IntEnum):
    """What a client may ask for."""

    SET_TRIAL = 3
    EXECUTE = 4
    COMMIT = 5
    GET_ALL = 6
    GET_DISPLACEMENT = 7
    GET_VELOCITY = 8
    GET_ACCELERATION = 9
    GET_FORCE = 10
    GET_TIME = 11
    GET_INITIAL_STIFFNESS = 12
    GET_TANGENT = 13
    GET_DAMPING = 14
    GET_MASS = 15
    SHUTDOWN = 98
    END = 99


@dataclass(frozen=True)
class Sizes:
    """What a client sends and wants: numbers of disp, vel, accel, force, time each way, length of a message."""

    sent: tuple[int, ...]
    wanted: tuple[int, ...]
    length: int

    def split(self, trial: Array) -> list[Array]:
        """Return displacement, velocity, acceleration, force and time of a trial."""
        ends = [sum(self.sent[:i]) for i in range(6)]
        return [trial[a:b] for a, b in pairwise(ends)]


def read_sizes(raw: bytes, dof: int) -> Sizes:
    """Return the sizes of a client, checked against the site's degrees of freedom before any memory is taken."""
    numbers = [int(v) for v in np.frombuffer(raw, "<i4")]
    sent, wanted, length = tuple(numbers[:5]), tuple(numbers[5:10]), numbers[10]
    if any(not 0 <= v <= MOST_DOF for v in (*sent, *wanted)):
        raise ConfigError(f"Sizes of a client must lie between 0 and {MOST_DOF}, got {numbers}; is it a genericClient?")
    if sent[0] != dof or any(v not in (0, dof) for v in (*sent[1:4], *wanted[:4])) or max(sent[4], wanted[4]) > 1:
        raise ConfigError(
            f"Client must send {dof} displacement{'s' if dof > 1 else ''} to this site, one per degree of freedom, got "
            f"the sizes {numbers[:10]}; give the element the nodes and degrees of freedom of the site."
        )
    least = max(1 + sum(sent), sum(wanted), dof * dof)
    if not least <= length <= MOST_LENGTH:
        raise ConfigError(
            f"Length of a client's messages must lie between {least} and {MOST_LENGTH} numbers, got {length}; set "
            "-dataSize of the element."
        )
    return Sizes(sent, wanted, length)
