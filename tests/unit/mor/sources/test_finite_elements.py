"""Linear finite elements from sparse matrices: full order against closed form, reductions against full order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from mor import HybridModel, LinearSubstructure
from mor.dynamics.projection import Balanced, CraigBampton, Modes, lowest_modes
from mor.excitation import Excitation
from mor.sources import FiniteElementSubstructure, RayleighDamping
from rt_runtime.errors import ConfigError

N, DT = 60, 1 / 1024
DAMPING = RayleighDamping.of_ratios(0.02, 2.0, 40.0)


def rod(n: int = N) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Linear elements of a clamped rod: wave speed 100 m/s, length 10 m, 1 kg/m."""
    h = 10.0 / n
    K = scipy.sparse.diags_array([-np.ones(n - 1), np.r_[2 * np.ones(n - 1), 1.0], -np.ones(n - 1)], offsets=[-1, 0, 1])
    M = scipy.sparse.diags_array([np.ones(n - 1), np.r_[4 * np.ones(n - 1), 2.0], np.ones(n - 1)], offsets=[-1, 0, 1])
    return h / 6 * M.tocsr(), 1e4 / h * K.tocsr()


def part(n: int = N, **change: object) -> FiniteElementSubstructure:
    M, K = rod(n)
    tip, middle = np.eye(n)[-1], np.eye(n)[n // 2]
    options: dict = {
        "inputs": {"ag": ("m/s2", -(M @ np.ones(n))), "F": ("N", tip)},
        "outputs": {"x": ("m", "x", tip), "v": ("m/s", "v", middle), "a": ("m/s2", "a", middle)},
        "damping": DAMPING,
    }
    return FiniteElementSubstructure("rod", M, K, **(options | change))


def inputs(n: int = 400) -> np.ndarray:
    t = np.arange(n) * DT
    return np.column_stack([np.sin(30 * t) ** 2, 5 * np.sin(17 * t) * np.sin(3 * t)])


def exact(full: FiniteElementSubstructure) -> LinearSubstructure:
    """All modes: the full order in state space, exact for inputs that run linearly."""
    return full.reduced(Modes(full.structure.n), method="foh")


def test_modes_are_those_of_a_clamped_rod() -> None:
    M, K = rod(500)
    shapes = lowest_modes(K, M, 4)
    w = np.sqrt(np.diag(shapes.T @ K @ shapes))
    np.testing.assert_allclose(w, (2 * np.arange(4) + 1) * np.pi / 2 * 100 / 10, rtol=5e-5)
    np.testing.assert_allclose(shapes.T @ (M @ shapes), np.eye(4), atol=1e-9)


def test_full_order_converges_to_the_exact_solution() -> None:
    full, u = part(), inputs(100)
    reference = exact(full).simulate(u, dt=DT, hold="foh")["x"]
    errors = []
    for refine in (2, 4):
        fine = np.column_stack([np.interp(np.arange(99 * refine + 1) / refine, np.arange(100), c) for c in u.T])
        x = full.simulate(fine, dt=DT / refine, every=refine)["x"]
        errors.append(np.abs(x - reference).max() / np.abs(reference).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1) and errors[1] < 2e-3


@pytest.mark.parametrize(
    ("reduction", "states", "error"),
    [
        (Modes(8), 20, 2e-4),
        (CraigBampton([N - 1], 10), 22, 2e-4),
        (Balanced(18, modes=30), 18, 2e-3),
    ],
)
def test_a_few_states_answer_as_the_whole(reduction: object, states: int, error: float) -> None:
    full = part(outputs={"x": ("m", "x", np.eye(N)[-1]), "v": ("m/s", "v", np.eye(N)[N // 2])})
    small = full.reduced(reduction, method="foh")
    assert len(small.matrices()[0]) == states
    assert small.direct == (frozenset({"ag", "F"}) if isinstance(reduction, Balanced) else frozenset())
    u = inputs()
    y, reference = (model.simulate(u, dt=DT, hold="foh") for model in (small, exact(full)))
    assert np.linalg.norm(y["x"] - reference["x"]) / np.linalg.norm(reference["x"]) < error


def test_residual_flexibility_makes_the_static_answer_exact() -> None:
    full = part(outputs={"x": ("m", "x", np.eye(N)[-1])})
    A, B, C, D = full.reduced(Modes(3)).matrices()
    static = D - C @ np.linalg.solve(A, B)
    assert static[0, 1] == pytest.approx(10.0 / 1e4)  # force on the tip: length over stiffness
    A, B, C, D = full.reduced(Modes(3, residual=False)).matrices()
    assert (D - C @ np.linalg.solve(A, B))[0, 1] < 0.96 * 10.0 / 1e4
    assert full.reduced(Modes(3)).direct == frozenset()


def test_the_reduced_part_takes_the_place_of_the_full_one_in_a_hybrid_model() -> None:
    full = part(40, outputs={"x": ("m", "x", np.eye(40)[-1])})
    A, B, C, D = [[-50.0]], [[1e3]], [[1.0]], [[0.0]]
    damper = LinearSubstructure("damper", (A, B, C, D), inputs={"x": "m"}, outputs={"F": "N"})
    ag = Excitation(np.sin(30 * np.arange(300) * DT), DT)
    hybrid = HybridModel("tower", [full, damper], dt=DT, excitations={"ag": ag}, duration=0.25)
    reference, small = hybrid.run(), hybrid.swap("rod", full.reduced(Modes(6))).run()
    np.testing.assert_allclose(small["x"], reference["x"], atol=0.02 * np.abs(reference["x"]).max())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"inputs": {"F": ("N", np.ones(3))}}, "load vector of input 'F'"),
        ({"outputs": {"x": ("m", "z", np.ones(N))}}, "quantity of output 'x'"),
        ({"damping": np.eye(3)}, "damping of substructure 'rod' must have shape"),
        ({"damping": np.triu(np.ones((N, N)))}, "must be symmetric"),
    ],
)
def test_matrices_and_ports_are_checked(change: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        part(**change)


@pytest.mark.parametrize(
    ("reduction", "sentence"),
    [
        (Modes(N + 1), f"has {N} modes"),
        (CraigBampton([N], 3), "boundary of CraigBampton must lie from 0 to 59"),
        (Balanced(90, modes=10), "states of Balanced must be at most"),
    ],
)
def test_reductions_larger_than_the_structure_are_refused(reduction: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        part().reduced(reduction)


def test_a_structure_that_floats_is_refused() -> None:
    M, K = rod(10)
    K = K - scipy.sparse.csr_array(([1e4 / 1.0], ([0], [0])), shape=(10, 10))
    free = FiniteElementSubstructure(
        "free", M, K, inputs={"F": ("N", np.eye(10)[0])}, outputs={"x": ("m", "x", np.eye(10)[0])}
    )
    with pytest.raises(ConfigError, match="hold its rigid motions"):
        free.reduced(Modes(3))


def test_a_scikit_fem_wall_becomes_twenty_states() -> None:
    fem = pytest.importorskip("skfem", reason="needs the 'fem' extra")
    from skfem.helpers import dot
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    mesh = fem.MeshHex.init_tensor(np.linspace(0, 4, 4), np.linspace(0, 0.3, 2), np.linspace(0, 6, 6))
    basis = fem.Basis(mesh, fem.ElementVector(fem.ElementHex1()))
    K = linear_elasticity(*lame_parameters(30e9, 0.2)).assemble(basis)
    M = fem.BilinearForm(lambda u, v, w: 2500.0 * dot(u, v)).assemble(basis)
    free = np.setdiff1d(np.arange(M.shape[0]), basis.get_dofs(lambda x: x[2] < 1e-9).all())
    corner = np.zeros(M.shape[0])
    corner[basis.nodal_dofs[1][np.argmin(np.abs(mesh.p - [[0.0], [0.0], [6.0]]).sum(axis=0))]] = 1.0
    wall = FiniteElementSubstructure(
        "wall",
        M[free][:, free],
        K[free][:, free],
        inputs={"F": ("N", corner[free])},
        outputs={"x": ("m", "x", corner[free])},
        damping=RayleighDamping.of_ratios(0.02, 10, 100),
    )
    u = 1e4 * np.sin(60 * np.arange(300) * DT) ** 3
    y, reference = (m.simulate(u, dt=DT, hold="foh")["x"] for m in (wall.reduced(Modes(9), method="foh"), exact(wall)))
    assert np.linalg.norm(y - reference) < 1e-4 * np.linalg.norm(reference)
