"""What goes into an OpenSees model and what is read from it: nodes, degrees of freedom, element forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rt_runtime.checks import positive
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class ImposedDisplacement:
    """The displacement of a node in direction `dof` (counted from 1) is the input.

    `largest` is the largest change in one solver step; a longer way is made in several.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    node: int
    dof: int
    unit: str = "m"
    largest: float | None = None

    def __post_init__(self) -> None:
        if self.largest is not None:
            positive(self.largest, "largest", "ImposedDisplacement")


@dataclass(frozen=True)
class NodalForce:
    """The force on a node in direction `dof` is the input.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    node: int
    dof: int
    unit: str = "N"


@dataclass(frozen=True)
class GroundAcceleration:
    """The acceleration of the ground in direction `dof` is the input: the force -m a on every nodal mass m.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    dof: int
    unit: str = "m/s2"


@dataclass(frozen=True)
class NodeMotion:
    """Displacement, velocity or acceleration of a node, relative to the ground.

    Parameters
    ----------
    dof, quantity
        Direction, counted from 1, and what of it.
    unit
        Unit of the values.
    """

    node: int
    dof: int
    quantity: Literal["displacement", "velocity", "acceleration"] = "displacement"
    unit: str = "m"


@dataclass(frozen=True)
class Reaction:
    """The force that holds a node: at an imposed displacement, what an actuator would have to give.

    In a transient analysis it contains inertia and damping.

    Parameters
    ----------
    dof
        Direction, counted from 1.
    unit
        Unit of the values.
    tied
        Nodes that move with it (equalDOF, a rigid floor): OpenSees leaves with each of them the force of its own
        elements, and what moves them all is the sum.
    """

    node: int
    dof: int
    unit: str = "N"
    tied: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len({self.node, *self.tied}) != 1 + len(self.tied):
            raise ConfigError(f"tied of Reaction must be other nodes than {self.node}, each once, got {self.tied}.")


@dataclass(frozen=True)
class ElementForce:
    """One component (from 0) of the end forces of an element in global directions, without damping and inertia.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    element: int
    component: int
    unit: str = "N"


OpenSeesInput = ImposedDisplacement | NodalForce | GroundAcceleration
OpenSeesOutput = NodeMotion | Reaction | ElementForce
