"""Beams and frames in space: closed forms, published frequencies of the curved bridge, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from mor.dynamics.krylov import Krylov
from mor.dynamics.projection import Balanced, CraigBampton, FreeInterface, Modes, lowest_modes
from mor.frames import Frame3d, Section, beam3d, draw_modes, frame3d, frame_part, read_frame
from mor.models.multi_axial.curved_bridge import INTERFACE, PIERS, curved_bridge, pier_stiffness, round_steel
from mor.sources.finite_elements import RayleighDamping
from rt_runtime.errors import ConfigError

STEEL = Section.round(0.05, E=200e9, density=7850.0)


def cantilever(n: int = 8, *, along: Iterable[float] = (1.0, 0.0, 0.0), mass: str = "consistent") -> Frame3d:
    direction = np.asarray(list(along)) / np.linalg.norm(list(along))
    nodes = {f"n{i}": 2.0 * i / n * direction for i in range(n + 1)}
    return frame3d(nodes, [(f"n{i}", f"n{i + 1}", STEEL) for i in range(n)], {"n0": "fixed"}, mass=mass)


def test_an_element_is_free_of_force_in_rigid_motions_and_carries_its_mass() -> None:
    p, q = np.array([0.3, -0.2, 0.5]), np.array([1.1, 0.9, -0.4])
    k, m = beam3d(p, q, STEEL)
    for axis in range(3):
        shift = np.tile(np.r_[np.eye(3)[axis], np.zeros(3)], 2)
        turn = np.concatenate([np.r_[np.cross(np.eye(3)[axis], at), np.eye(3)[axis]] for at in (p, q)])
        assert np.abs(k @ shift).max() < 1e-9 * np.abs(k).max() and np.abs(k @ turn).max() < 1e-9 * np.abs(k).max()
        assert shift @ m @ shift == pytest.approx(STEEL.density * STEEL.A * np.linalg.norm(q - p))
    assert np.abs(k - k.T).max() < 1e-12 * np.abs(k).max()


@pytest.mark.parametrize("along", [(1, 0, 0), (0, 1, 0), (0.3, -0.5, 0.8)])
def test_a_cantilever_in_any_direction_bends_as_the_textbook_says(along: tuple[float, float, float]) -> None:
    frame = cantilever(along=along)
    across = np.cross(along, (0.0, 0.0, 1.0) if abs(along[2]) < 0.1 else (1.0, 0.0, 0.0))
    across = across / np.linalg.norm(across)
    load = sum(c * frame.unit_vector(f"n8.{d}") for c, d in zip(across, ("ux", "uy", "uz"), strict=True))
    x = np.linalg.solve(frame.K.toarray(), load)
    assert x @ load == pytest.approx(2.0**3 / (3 * STEEL.E * STEEL.Iz), rel=1e-9)
    exact = 1.8751040687**2 / (2 * np.pi * 4) * np.sqrt(STEEL.E * STEEL.Iz / (STEEL.density * STEEL.A))
    assert frame.modes(2).frequencies == pytest.approx([exact, exact], rel=1e-5)


def test_lumped_masses_leave_freedoms_without_mass_and_modes_all_the_same() -> None:
    frame, exact = cantilever(mass="lumped", n=16), cantilever(n=16)
    assert np.linalg.matrix_rank(frame.M.toarray()) < frame.n
    assert frame.modes(3).frequencies == pytest.approx(exact.modes(3).frequencies, rel=0.01)
    shapes = frame.modes(3).shapes
    assert shapes.T @ frame.M @ shapes == pytest.approx(np.eye(3), abs=1e-9)
    with pytest.raises(ConfigError, match=r"count of Frame3d.modes must be at most 64, its freedoms with mass, got 90"):
        frame.modes(90)


@pytest.mark.parametrize("n", [12, 80])  # dense and sparse
def test_lumped_masses_are_reduced_like_consistent_ones(n: int) -> None:
    errors = {}
    for mass in ("lumped", "consistent"):
        frame = cantilever(n, mass=mass)
        kept = [frame.index(f"n{n}.{d}") for d in ("uy", "rz")]
        part = frame_part(
            frame,
            "beam",
            forces={"F": f"n{n}.uy", "moment": f"n{n}.rz"},
            motions={"tip": f"n{n}.uy", "turn": f"n{n}.rz"},
            damping=RayleighDamping.of_ratios(0.02, 10.0, 60.0),
        )
        methods = (Modes(6), FreeInterface(kept, 6), CraigBampton(kept, 6), Krylov([0.0, 40.0]), Balanced(10, modes=12))
        errors[mass] = [part.judged(method, band=(0.0, 100.0)).error for method in methods]
        assert part.reduced_to(1e-3, (0.0, 100.0)).error <= 1e-3
    assert np.log10(errors["lumped"]) == pytest.approx(np.log10(errors["consistent"]), abs=0.5)
    with pytest.raises(
        ConfigError, match=r"A structure with mass at 48 degrees of freedom has 48 modes, got a count of 60"
    ):
        lowest_modes(cantilever(12, mass="lumped").K, cantilever(12, mass="lumped").M, 60)


def test_sparse_modes_are_the_dense_ones() -> None:
    frame = cantilever(n=70)
    assert frame.n > 400
    assert frame.modes(4).frequencies == pytest.approx(cantilever(n=60).modes(4).frequencies, rel=1e-5)


def test_modal_damping_gives_every_mode_its_ratio() -> None:
    frame = cantilever()
    modes, C = frame.modes(frame.n), frame.modal_damping(0.03)
    ratios = np.diag(modes.shapes.T @ C @ modes.shapes) / (4 * np.pi * modes.frequencies)
    assert ratios == pytest.approx(np.full(frame.n, 0.03), rel=1e-6)
    with pytest.raises(ConfigError, match=r"ratio of Frame3d.modal_damping must be from 0 to below 1, got 1.5"):
        frame.modal_damping(1.5)
    with pytest.raises(ConfigError, match=r"count of Frame3d.modal_damping must be given for more than 400 freedoms"):
        cantilever(n=70).modal_damping(0.02)


def test_the_curved_bridge_has_the_published_frequencies() -> None:
    # consistent mass to four digits; SAP2000 within 1.8 % but for the ninth mode, 4.8 %
    found = curved_bridge().modes(9).frequencies
    rebuilt = [0.5270, 0.6560, 1.0999, 1.2716, 1.3343, 1.4908, 2.1996, 3.0201, 3.349]
    assert found == pytest.approx(rebuilt, rel=1e-4)
    sap = [0.5235, 0.6536, 1.1027, 1.2616, 1.3312, 1.4644, 2.1894, 3.0756]
    assert found[:8] == pytest.approx(sap, rel=0.019)
    assert curved_bridge().n == 94


def test_deck_and_pier_stiffnesses_add_up_to_the_bridge() -> None:
    whole, deck = curved_bridge(), curved_bridge((1, 2))
    K = deck.K.toarray()
    for number in (1, 2):
        node, diameter, height = PIERS[number]
        at = [deck.index(f"{node}.{d}") for d in INTERFACE]
        K[np.ix_(at, at)] += pier_stiffness(number)
        s, up = round_steel(diameter), deck.index(f"{node}.uy")
        K[up, up] += s.E * s.A / height
    order = [whole.index(freedom) for freedom in deck.freedoms]
    assert np.abs(K - whole.K.toarray()[np.ix_(order, order)]).max() < 1e-9 * np.abs(K).max()


def test_modes_are_drawn() -> None:
    figure = draw_modes(curved_bridge(), 4)
    assert [axes.get_title() for axes in figure.axes][:2] == ["mode 1: 0.527 Hz", "mode 2: 0.656 Hz"]


NODES = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (2, 0, 0), "d": (3, 0, 0)}


@pytest.mark.parametrize(
    ("elements", "supports", "message"),
    [
        ([("a", "b", STEEL), ("c", "d", STEEL)], {"a": "fixed", "c": "fixed"}, "hang together, got 2 parts; one of them: node a, b"),
        ([("a", "b", STEEL), ("b", "e", STEEL)], {"a": "fixed"}, "Node 'e' of an element must be one of the nodes"),
        ([("a", "b", STEEL), ("b", "c", STEEL), ("c", "d", STEEL)], {"a": "pinned"}, "can move without force .* in direction r|u"),
        ([("a", "b", STEEL), ("b", "c", STEEL), ("c", "d", STEEL)], {"a": "ux uq"}, "direction held at 'a' of frame3d must be one of"),
        ([], {}, "at least one beam, got none"),
        ([("a", "b", STEEL), ("b", "c", STEEL), ("c", "d", STEEL)], dict.fromkeys("abcd", "fixed"), "must leave at least one direction"),
    ],
)  # fmt: skip
def test_a_frame_that_cannot_stand_is_refused(elements: list, supports: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        frame3d(NODES, elements, supports)


def test_a_mechanism_is_named_by_node_and_direction() -> None:
    beams = [("a", "b", STEEL), ("b", "c", STEEL), ("c", "d", STEEL)]
    with pytest.raises(ConfigError, match=r"zero pivot\), most at node '[a-d]' in direction rx"):
        frame3d(NODES, beams, {"a": "pinned", "d": "uy uz"})


def test_freedoms_that_do_not_exist_are_refused() -> None:
    frame = cantilever()
    with pytest.raises(ConfigError, match="must name one of its nodes, got node 'n9'"):
        frame.index("n9.ux")
    with pytest.raises(ConfigError, match=r"Freedom 'n0.ux' of a frame is held by a support"):
        frame.index("n0.ux")
    with pytest.raises(ConfigError, match=r"direction of freedom 'n1.w' of a frame must be one of"):
        frame.index("n1.w")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"E": 200000.0}, "E and G of a Section must be in Pa, got 200000 and .* units are mixed"),
        ({"Iz": 3.07e5}, "must be in m2 and m4, .* units are mixed"),
        ({"A": -1.0}, "A of a Section must be a positive number in SI units, got -1.0"),
    ],
)
def test_sections_in_mixed_units_are_refused(change: dict[str, float], message: str) -> None:
    values = {"E": 2e11, "G": 8e10, "A": 2e-3, "Iy": 3e-7, "Iz": 3e-7, "J": 6e-7, "density": 7850.0}
    with pytest.raises(ConfigError, match=message):
        Section(**(values | change))


def tables(folder: Path, **change: str) -> Path:
    content = {
        "nodes": "node, x [mm], y [mm], z [mm]\nfoot, 0, 0, 0\nhead, 0, 2000, 0\n",
        "elements": "from,to,section\nfoot,head,column\n",
        "sections": "section,E [GPa],G [GPa],A [mm2],Iy [mm4],Iz [mm4],J [mm4],density [kg/m3]\n"
        "column,200,77,1963.5,306796,306796,613592,7850\n",
        "supports": "node,held\nfoot,fixed\n",
    }
    for name, text in (content | change).items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_a_frame_is_read_from_tables_with_units(tmp_path: Path) -> None:
    frame = read_frame(tables(tmp_path))
    load = frame.unit_vector("head.ux")
    assert np.linalg.solve(frame.K.toarray(), load) @ load == pytest.approx(8.0 / (3 * 200e9 * 3.06796e-7))
    assert np.allclose(frame.nodes["head"], [0, 2, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": "node, x [mm], y [m], z [mm]\nfoot, 0, 0, 0\n"}, "Units of the length columns of .* must be one, got m and mm"),
        ({"nodes": "node, x [furlong], y [m], z [m]\n"}, "Header of .* must be node, x \\[m\\]"),
        ({"nodes": "node, x [m], y [m], z [m]\nfoot, 0, zero, 0\n"}, "Column 'y' in line 2 of .* must be a number, got 'zero'"),
        ({"nodes": "node, x [m], y [m], z [m]\nfoot, 0, 0\n"}, "Line 2 of .* must have 4 columns, got 3"),
        ({"nodes": ""}, "got nothing"),
        ({"elements": "from,to,section\nfoot,head,beam\n"}, "must be one of column, got 'beam'"),
        ({"supports": "node,held\nfoot,fixed\nfoot,pinned\n"}, "Column 'node' of .* must name each one once"),
    ],
)  # fmt: skip
def test_tables_with_mistakes_are_refused(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_frame(tables(tmp_path, **change))


def test_a_missing_table_is_named_with_its_header(tmp_path: Path) -> None:
    tables(tmp_path)
    (tmp_path / "supports.csv").unlink()
    with pytest.raises(ConfigError, match=r"supports.csv' of a frame must exist; write it with the header node, held"):
        read_frame(tmp_path)
