"""Frames of beams in space: nodes, elements and supports as sparse matrices with named freedoms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from mor.dynamics.projection import Sparse, lowest_modes
from mor.frames.beam import DIRECTIONS, Section, beam3d
from rt_runtime.checks import Array, finite_array, one_of, whole
from rt_runtime.errors import ConfigError

Element = tuple[str, str, Section]


@dataclass(frozen=True, eq=False)
class FrameModes:
    """Natural frequencies in Hz (m) and mass-normalised shapes (n, m) of a frame."""

    frequencies: Array
    shapes: Array


@dataclass(frozen=True, eq=False)
class Frame3d:
    """A frame of beams: M x'' + K x = f with a freedom for each direction of each node that is not held.

    Parameters
    ----------
    nodes
        {name: (x, y, z)} in m.
    elements
        (node, node, section) of each beam.
    freedoms
        Names "node.direction" of the rows, directions ux, uy, uz (m), rx, ry, rz (rad).
    M, K
        Sparse matrices (n, n) in SI units; M may be singular where mass is lumped.
    """

    nodes: Mapping[str, Array]
    elements: tuple[Element, ...]
    freedoms: tuple[str, ...]
    M: Sparse
    K: Sparse

    @property
    def n(self) -> int:
        """Number of freedoms."""
        return len(self.freedoms)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.freedoms)}

    def index(self, freedom: str) -> int:
        """Return the row of a freedom "node.direction"."""
        if freedom not in self._index:
            node, _, direction = freedom.rpartition(".")
            if node not in self.nodes:
                raise ConfigError(f"Freedom '{freedom}' of a frame must name one of its nodes, got node '{node}'.")
            one_of(direction, f"direction of freedom '{freedom}'", "a frame", DIRECTIONS)
            raise ConfigError(f"Freedom '{freedom}' of a frame is held by a support; choose one that can move.")
        return self._index[freedom]

    def unit_vector(self, freedom: str) -> Array:
        """Return the row (n) that reads a freedom, or the load vector of a unit force or moment there."""
        row = np.zeros(self.n)
        row[self.index(freedom)] = 1.0
        return row

    def influence(self, direction: str) -> Array:
        """Return the rigid motion (n) of the whole frame when the ground moves by 1 m along ux, uy or uz."""
        one_of(direction, "direction", "Frame3d.influence", DIRECTIONS[:3])
        return np.array([float(name.endswith("." + direction)) for name in self.freedoms])

    def ground_load(self, direction: str) -> Array:
        """Return the load vector -M r of a ground acceleration along ux, uy or uz."""
        return np.asarray(-(self.M @ self.influence(direction)))

    def modes(self, count: int) -> FrameModes:
        """Return the `count` lowest modes of K phi = w^2 M phi; freedoms without mass follow statically.

        Parameters
        ----------
        count
            At most the number of freedoms with mass.
        """
        whole(count, "count", "Frame3d.modes", 1)
        massive = int(np.linalg.matrix_rank(self.M.toarray())) if self.n <= 400 else self.n
        if count > massive:
            raise ConfigError(f"count of Frame3d.modes must be at most {massive}, its freedoms with mass, got {count}.")
        shapes = lowest_modes(self.K, self.M, count)
        w = np.sqrt(np.einsum("ij,ij->j", shapes, self.K @ shapes))
        return FrameModes(w / (2 * np.pi), shapes)

    def modal_damping(self, ratio: float, count: int | None = None) -> Sparse:
        """Return C = M Phi diag(2 zeta w) Phi' M with one damping ratio in the `count` lowest modes (default: all).

        Parameters
        ----------
        ratio
            Damping ratio zeta.
        count
            How many modes are damped; a frame of more than 400 freedoms needs it.
        """
        if count is None and self.n > 400:
            raise ConfigError("count of Frame3d.modal_damping must be given for more than 400 freedoms, such as 50.")
        if not 0 <= ratio < 1:
            raise ConfigError(f"ratio of Frame3d.modal_damping must be from 0 to below 1, got {ratio!r}.")
        rank = int(np.linalg.matrix_rank(self.M.toarray())) if count is None else count
        modes = self.modes(rank)
        half = self.M @ modes.shapes
        return scipy.sparse.csr_array((half * (4 * np.pi * ratio * modes.frequencies)) @ half.T)


def frame3d(
    nodes: Mapping[str, ArrayLike],
    elements: Iterable[Element],
    supports: Mapping[str, Sequence[str] | str],
    *,
    mass: str = "consistent",
    masses: Mapping[str, float] | None = None,
) -> Frame3d:
    """Assemble a frame of beams; what hangs loose or can move without force is named.

    Parameters
    ----------
    nodes
        {name: (x, y, z)} in m.
    elements
        (node, node, section) of each beam.
    supports
        {node: directions that are held}, such as {"base": "fixed", "end": ("uy", "rx")}; "fixed" holds all six,
        "pinned" the translations.
    mass
        "consistent" or "lumped" mass of the beams.
    masses
        {node: kg} added to the translations of nodes.

    Returns
    -------
    Frame3d
        Sparse M and K with named freedoms.
    """
    points = {str(name): finite_array(xyz, f"node '{name}'", "frame3d", (3,)) for name, xyz in nodes.items()}
    beams = tuple((str(a), str(b), section) for a, b, section in elements)
    held = {str(node): _directions(node, directions) for node, directions in supports.items()}
    _check(points, beams, held, masses or {})
    place = {name: i for i, name in enumerate(points)}
    rows, columns, stiffness, inertia = [], [], [], []
    for a, b, section in beams:
        k, m = beam3d(points[a], points[b], section, mass=mass)
        at = np.concatenate([6 * place[a] + np.arange(6), 6 * place[b] + np.arange(6)])
        rows.append(np.repeat(at, 12))
        columns.append(np.tile(at, 12))
        stiffness.append(k.ravel())
        inertia.append(m.ravel())
    added = np.zeros(6 * len(points))
    for node, kilograms in (masses or {}).items():
        added[6 * place[str(node)] : 6 * place[str(node)] + 3] += kilograms
    where = (np.concatenate(rows), np.concatenate(columns))
    shape = (6 * len(points), 6 * len(points))
    K = scipy.sparse.coo_array((np.concatenate(stiffness), where), shape).tocsr()
    M = scipy.sparse.coo_array((np.concatenate(inertia), where), shape).tocsr() + scipy.sparse.diags_array(added)
    names = [f"{node}.{direction}" for node in points for direction in DIRECTIONS]
    free = [i for i, name in enumerate(names) if name.split(".")[-1] not in held.get(name.rpartition(".")[0], ())]
    if not free:
        raise ConfigError("supports of frame3d must leave at least one direction of a node free, got all of them held.")
    frame = Frame3d(
        points, beams, tuple(names[i] for i in free), scipy.sparse.csr_array(M)[free][:, free], K[free][:, free]
    )
    _refuse_mechanism(frame)
    return frame


def _directions(node: str, directions: Sequence[str] | str) -> tuple[str, ...]:
    known = {"fixed": DIRECTIONS, "pinned": DIRECTIONS[:3]}
    if isinstance(directions, str):
        directions = known.get(directions) or tuple(directions.replace(",", " ").split())
    for direction in directions:
        one_of(direction, f"direction held at '{node}'", "frame3d", DIRECTIONS)
    return tuple(directions)


def _check(
    points: Mapping[str, Array], beams: tuple[Element, ...], held: Mapping[str, object], masses: Mapping[str, float]
) -> None:
    """Refuse unknown nodes, an empty frame and parts that nothing connects."""
    problems = [
        f"Node '{name}' of {what} must be one of the nodes."
        for what, names in (
            ("an element", [n for a, b, _ in beams for n in (a, b)]), ("supports", held), ("masses", masses),
        )
        for name in names
        if name not in points
    ]  # fmt: skip
    problems += [f"masses of node '{n}' must not be negative, got {m!r}." for n, m in masses.items() if not m >= 0]
    if not beams:
        problems.append("elements of frame3d must have at least one beam, got none.")
    if not problems:
        place = {name: i for i, name in enumerate(points)}
        pairs = np.array([[place[a], place[b]] for a, b, _ in beams])
        n = len(points)
        graph = scipy.sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n, n))
        parts, part = connected_components(graph, directed=False)
        if parts > 1:
            small = min(range(parts), key=lambda i: int((part == i).sum()))
            lone = [name for name, i in place.items() if part[i] == small]
            shown = ", ".join(lone[:5]) + (", ..." if len(lone) > 5 else "")
            problems.append(f"The frame must hang together, got {parts} parts; one of them: node {shown}.")
    if problems:
        raise ConfigError.from_problems("A frame", problems)


def _refuse_mechanism(frame: Frame3d) -> None:
    """Refuse a stiffness that is singular: scaled to a unit diagonal, its smallest eigenvalue is zero to rounding."""
    diagonal = frame.K.diagonal()
    scale = scipy.sparse.diags_array(1 / np.sqrt(diagonal))
    scaled = (scale @ frame.K @ scale).tocsc()
    if frame.n <= 400:
        values, vectors = scipy.linalg.eigh(scaled.toarray(), subset_by_index=[0, 0])
    else:
        shift = 1e-15  # of the order of rounding: splu of a singular matrix goes through
        factor = splu((scaled + shift * scipy.sparse.eye_array(frame.n)).tocsc())
        inverse = LinearOperator(scaled.shape, matvec=factor.solve, dtype=float)
        start = np.random.default_rng(0).standard_normal(frame.n)
        values, vectors = eigsh(scaled, 1, sigma=-shift, OPinv=inverse, v0=start)
    if values[0] < 1e-14:
        motion = np.abs(vectors[:, 0])
        loose = frame.freedoms[int(np.argmax(motion))]
        node, _, direction = loose.rpartition(".")
        raise ConfigError(
            f"The frame must carry every load, but it can move without force (zero pivot), most at node '{node}' in "
            f"direction {direction}; add a support or a beam there."
        )
