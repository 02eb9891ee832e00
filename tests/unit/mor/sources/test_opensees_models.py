"""Ready models of OpenSees in their elastic range against matrices, and that they yield beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from mor.sources import Reaction, base_isolated_building, opensees_installed, steel_frame
from mor.sources.opensees_models.steel import BEAM, COLUMN
from rt_runtime.errors import ConfigError

pytestmark = pytest.mark.skipif(
    not opensees_installed(), reason="openseespy is not installed; install the 'opensees' extra"
)


def fibres(depth: float, width: float, flange: float, web: float) -> tuple[float, float]:
    """Return area and second moment of the fibres of a wide flange: 5 in each flange, 20 in the web."""
    inner = depth / 2 - flange
    y = np.concatenate([inner + flange * (np.arange(5) + 0.5) / 5, inner * ((np.arange(20) + 0.5) / 10 - 1)])
    area = np.concatenate([np.full(5, width * flange / 5), np.full(20, web * inner / 10)])
    return float(2 * area[:5].sum() + area[5:].sum()), float(2 * area[:5] @ y[:5] ** 2 + area[5:] @ y[5:] ** 2)


def frame_stiffness(storey: float = 3.5, bay: float = 6.0, E: float = 210e9) -> np.ndarray:
    """Stiffness (3, 3) at the floors of the elastic frame: floors rigid, joints free to rise and turn."""
    K = np.zeros((21, 21))  # three floors, then rise and turn of nine joints

    def places(i: int, j: int) -> list[int | None]:
        return [None] * 3 if i == 0 else [i - 1, 3 + 2 * (3 * (i - 1) + j), 4 + 2 * (3 * (i - 1) + j)]

    def add(a: list[int | None], b: list[int | None], section: tuple[float, float], L: float, upright: bool) -> None:
        A, moment = section
        k = np.zeros((6, 6))  # along, across, turn at both ends
        k[np.ix_([0, 3], [0, 3])] = E * A / L * np.array([[1, -1], [-1, 1]])
        bend = [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L * L, -6 * L, 2 * L * L]]
        bend += [[-12, -6 * L, 12, -6 * L], [6 * L, 2 * L * L, -6 * L, 4 * L * L]]
        k[np.ix_([1, 2, 4, 5], [1, 2, 4, 5])] = E * moment / L**3 * np.array(bend)
        turn = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) if upright else np.eye(3)
        T = np.kron(np.eye(2), turn)
        at = [*a, *b]
        here = [i for i in range(6) if at[i] is not None]
        rows = [at[i] for i in here]
        np.add.at(K, np.ix_(rows, rows), (T.T @ k @ T)[np.ix_(here, here)])  # a floor is at both ends of a beam

    for i in (1, 2, 3):
        for j in range(3):
            add(places(i - 1, j), places(i, j), fibres(*COLUMN), storey, True)
        for j in range(2):
            add(places(i, j), places(i, j + 1), fibres(*BEAM), bay, False)
    return K[:3, :3] - K[:3, 3:] @ np.linalg.solve(K[3:, 3:], K[3:, :3])


def test_a_steel_frame_has_the_stiffness_of_its_members() -> None:
    x = 1e-4 * np.array([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 2.0, 3.0]])
    run = steel_frame().simulate(x, dt=0.01, parameters={"weight": 0.0})
    F = np.column_stack([run[f"F{i}"] for i in (1, 2, 3)])
    np.testing.assert_allclose(F, x @ frame_stiffness(), rtol=1e-5, atol=0.1)


def test_a_steel_frame_yields_and_dissipates() -> None:
    cycle = np.interp(np.arange(81), [0, 20, 60, 80], [0.0, 1.0, -1.0, 0.0])
    x = 0.3 * cycle[:, None] * np.array([[1 / 3, 2 / 3, 1.0]])
    run = steel_frame().simulate(x, dt=0.01)
    F = np.column_stack([run[f"F{i}"] for i in (1, 2, 3)])
    elastic = np.abs(x @ frame_stiffness()).max(axis=0)
    assert np.abs(F[:, 2]).max() < 0.7 * elastic[2]
    assert sum(np.trapezoid(F[:, i], x[:, i]) for i in range(3)) > 0.0


def test_an_isolated_building_swings_elastically_as_a_chain_of_springs() -> None:
    """Small motion against Newmark's rule on mass, stiffness and Rayleigh damping written down here."""
    n, m, dt = 5, 200e3, 0.005
    after = n * m * (2 * np.pi / 2.5) ** 2
    first = 0.05 * n * m * 9.81 / 0.01 + after
    storey = m * (np.pi / 0.45 / np.sin(np.pi / 18)) ** 2
    springs = np.array([first, *[storey] * (n - 1)])
    K = np.diag(springs + np.append(springs[1:], 0.0)) - np.diag(springs[1:], 1) - np.diag(springs[1:], -1)
    w1, w2 = np.sqrt(np.linalg.eigvalsh(K / m)[:2])
    C = 2 * 0.02 / (w1 + w2) * (w1 * w2 * m * np.eye(n) + K)
    ag = 0.02 * np.sin(2 * np.pi * 1.5 * dt * np.arange(300))
    push = 2e3 * np.cos(2 * np.pi * 0.7 * dt * np.arange(300))
    push[0] = 0.0
    x, v, a, out = np.zeros(n), np.zeros(n), np.zeros(n), [np.zeros(3)]
    for k in range(1, 300):
        p = -m * ag[k] * np.ones(n) + push[k] * np.eye(n)[0]
        p = p + m * (4 / dt**2 * x + 4 / dt * v + a) + C @ (2 / dt * x + v)
        new = np.linalg.solve(K + 4 / dt**2 * m * np.eye(n) + 2 / dt * C, p)
        faster = 2 / dt * (new - x) - v
        a = 2 / dt * (faster - v) - a
        x, v = new, faster
        out.append(np.array([x[0], x[-1], a[-1]]))
    run = base_isolated_building().simulate({"ag": ag, "F": push}, dt=dt)
    found = np.column_stack([run["x_base"], run["x_top"], run["a_top"]])
    np.testing.assert_allclose(found, out, rtol=1e-5, atol=1e-6 * np.abs(out).max(axis=0).min())


def test_an_isolated_building_slides_in_an_earthquake() -> None:
    """Bearings that yield at a twentieth of the weight shake the top less than those that yield at three tenths."""
    ag = 3.0 * np.sin(2 * np.pi * 1.6 * 0.005 * np.arange(600))
    weak, strong = (
        base_isolated_building().simulate({"ag": ag, "F": 0.0}, dt=0.005, parameters={"yield_ratio": ratio})
        for ratio in (0.05, 0.3)
    )
    assert np.abs(weak["x_base"]).max() > 0.02  # twice the yield displacement
    assert np.abs(weak["a_top"]).max() < 0.6 * np.abs(strong["a_top"]).max()


@pytest.mark.parametrize("tied", [(3,), (4, 4)])
def test_no_node_of_a_reaction_counts_twice(tied: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"tied of Reaction must be other nodes than 3, each once, got"):
        Reaction(3, 1, tied=tied)
