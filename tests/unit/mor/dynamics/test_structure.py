"""Structures and frames: printed matrices, modes, damping, condensation, energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from mor.dynamics.structure import LinearStructure, condense, modal_damping, rayleigh_damping
from mor.models.benchmark_frame import CASES, BenchmarkFrame, benchmark_frame, benchmark_structure
from mor.models.frame import plane_frame, shear_frame
from rt_runtime.errors import ConfigError

PRINTED_K = 1e7 * np.array([[2.605, -2.313, 0.594], [-2.313, 3.256, -1.442], [0.594, -1.442, 0.927]])
PRINTED_C = 1e4 * np.array([[1.408, -0.787, 0.044], [-0.787, 1.494, -0.635], [0.044, -0.635, 0.722]])
PUBLISHED_FREQUENCIES = {
    1: [3.612, 15.997, 38.086],
    2: [3.444, 15.252, 36.314],
    3: [3.168, 14.030, 33.404],
    4: [3.612, 15.997, 38.086],
}
PUBLISHED_C11 = {1: 14084.2757453, 2: 11817.42262042, 3: 9635.01436336, 4: 8450.56544718}
ONE_STOREY = dict(
    storeys=1, bays=1, floor_mass=10.0, column_length=2.0, beam_length=3.0, column_inertia=1e-6, modulus=2e11
)


def test_frame_generator_gives_the_printed_matrices() -> None:
    frame = benchmark_structure()
    assert np.abs(frame.K - PRINTED_K).max() < 5e3
    assert np.abs(frame.C - PRINTED_C).max() < 6.0
    np.testing.assert_allclose(frame.modes().frequencies, [3.612, 15.997, 38.086], atol=5e-4)
    np.testing.assert_allclose(frame.modes().ratios, 0.05, rtol=1e-10)


@pytest.mark.parametrize("case", sorted(CASES))
def test_benchmark_cases(case: int) -> None:
    frame = benchmark_frame(case)
    np.testing.assert_allclose(frame.reference.modes().frequencies, PUBLISHED_FREQUENCIES[case], atol=1e-3)
    np.testing.assert_allclose(frame.reference.C[0, 0], PUBLISHED_C11[case], rtol=1e-4)
    part = frame.specimen
    assert part.damping == pytest.approx(114.2, abs=0.05)
    rest = frame.reference.M - frame.numerical.M
    np.testing.assert_allclose(rest, np.diag([29.13, 0, 0]), atol=1e-9)
    np.testing.assert_allclose(frame.numerical.ground_mass, CASES[case][0])


def test_perturbed_benchmark_changes_the_physical_side_only() -> None:
    frame = benchmark_frame(4)
    other = frame.perturbed(seed=3)
    assert isinstance(other, BenchmarkFrame)
    assert other.specimen.stiffness != frame.specimen.stiffness and other.hydraulic.b2 != frame.hydraulic.b2
    np.testing.assert_array_equal(other.numerical.K, frame.numerical.K)
    assert frame.perturbed(seed=3).specimen == other.specimen
    draws = [frame.perturbed(seed=i).specimen.stiffness for i in range(200)]
    assert np.std(draws) == pytest.approx(5e4, rel=0.15)


@pytest.mark.parametrize(("base", "factor"), [("fixed", 24.0), ("pinned", 6.0)])
def test_stiff_beams_give_the_portal_formula(base: str, factor: float) -> None:
    """One storey with two columns under a rigid beam: 2 * 12 EI / h^3 fixed, 2 * 3 EI / h^3 pinned at the base."""
    frame = plane_frame(**ONE_STOREY, beam_inertia=1e3, base=base)
    assert frame.K[0, 0] == pytest.approx(factor * 2e11 * 1e-6 / 8.0, rel=1e-6)


def test_weak_beams_leave_cantilevers() -> None:
    frame = plane_frame(**ONE_STOREY, beam_inertia=1e-20, base="fixed")
    assert frame.K[0, 0] == pytest.approx(2 * 3 * 2e11 * 1e-6 / 8.0, rel=1e-6)


def test_plane_frame_becomes_a_shear_frame_under_rigid_beams() -> None:
    inertia, height = np.array([3e-6, 2e-6, 1e-6]), np.array([3.0, 2.5, 2.0])
    stiff = plane_frame(
        storeys=3, bays=3, floor_mass=[3.0, 2.0, 1.0], column_length=height, beam_length=4.0,
        column_inertia=inertia, beam_inertia=1e4, modulus=2e11, base="fixed",
    )  # fmt: skip
    shear = shear_frame([3.0, 2.0, 1.0], 4 * 12 * 2e11 * inertia / height**3)
    np.testing.assert_allclose(stiff.K, shear.K, rtol=1e-5, atol=1.0)


def test_shear_frame_frequencies_in_closed_form() -> None:
    """n equal storeys: w_j = 2 sqrt(k/m) sin((2j - 1) pi / (2 (2n + 1)))."""
    n, k, m = 7, 3.0e6, 500.0
    expected = 2 * np.sqrt(k / m) * np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (2 * (2 * n + 1)))
    frame = shear_frame([m] * n, [k] * n, damping_ratio=0.02)
    np.testing.assert_allclose(2 * np.pi * frame.modes().frequencies, expected, rtol=1e-9)
    np.testing.assert_allclose(frame.modes().ratios, 0.02, rtol=1e-9)


def test_rayleigh_damping_hits_both_ratios() -> None:
    frame = shear_frame([2.0, 1.0], [30.0, 20.0])
    f = frame.modes().frequencies
    C = rayleigh_damping(frame.M, frame.K, ratios=(0.03, 0.07), frequencies=(f[0], f[1]))
    np.testing.assert_allclose(LinearStructure(frame.M, C, frame.K).modes().ratios, [0.03, 0.07], rtol=1e-12)


def test_condense_keeps_static_answers() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    K = root @ root.T + np.eye(6)
    f = np.zeros(6)
    f[[1, 4]] = rng.standard_normal(2)
    np.testing.assert_allclose(np.linalg.solve(condense(K, [1, 4]), f[[1, 4]]), np.linalg.solve(K, f)[[1, 4]])


def test_state_space_has_the_static_answer_and_the_ground_load() -> None:
    frame = benchmark_frame(2).numerical
    m = frame.state_space([0])
    y = (m.D - m.C @ np.linalg.solve(m.A, m.B))[:3]  # the answer to constant inputs
    np.testing.assert_allclose(y[:, 1], np.linalg.solve(frame.K, [1.0, 0, 0]), rtol=1e-8)
    np.testing.assert_allclose(y[:, 0], np.linalg.solve(frame.K, -frame.ground_mass), rtol=1e-8)
    np.testing.assert_allclose(m.D[6:, 0], np.linalg.solve(frame.M, -frame.ground_mass))


def test_undamped_frame_keeps_its_energy() -> None:
    frame = benchmark_structure(damping_ratio=0.0)
    z0 = np.array([1e-3, -2e-3, 3e-3, 0.01, 0.0, -0.02])
    step = linalg.expm(frame.state_matrix() / 4096)
    z = [z0]
    for _ in range(4096):
        z.append(step @ z[-1])
    z = np.array(z)
    energy = frame.energy(z[:, :3], z[:, 3:])
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


GOOD = dict(storeys=2, bays=1, floor_mass=1.0, column_length=1.0, beam_length=1.0, column_inertia=1.0,
            beam_inertia=1.0, modulus=1.0)  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearStructure(-np.eye(2), np.eye(2), np.eye(2)), "each mass must be positive"),
        (
            lambda: LinearStructure(np.eye(2), np.eye(3), np.eye(2)),
            r"C of a structure must be a finite \(2, 2\) matrix",
        ),
        (lambda: LinearStructure(np.eye(2), np.eye(2), np.eye(2), [1.0]), "ground_mass of a structure must be 2"),
        (
            lambda: LinearStructure(np.eye(2), np.eye(2), np.eye(2)).minus(2, mass=0, damping=0, stiffness=0),
            "0 to 1, got 2",
        ),
        (lambda: shear_frame([1.0], [1.0, 2.0]), "one number per storey"),
        (lambda: shear_frame([0.0], [1.0]), r"masses of a frame must be positive, got \[0.0\]"),
        (lambda: plane_frame(**(GOOD | {"storeys": 0})), "storeys and bays of a plane frame must be at least 1"),
        (lambda: plane_frame(**(GOOD | {"base": "loose"})), "base of a plane frame must be 'pinned' or 'fixed'"),
        (lambda: plane_frame(**(GOOD | {"floor_mass": [1.0, 2.0, 3.0]})), "floor_mass of a plane frame must be one"),
        (lambda: plane_frame(**(GOOD | {"modulus": -1.0})), "modulus of a frame must be positive"),
        (lambda: benchmark_frame(5), "case of the benchmark frame must be 1, 2, 3 or 4, got 5"),
        (lambda: modal_damping(np.eye(1), -np.eye(1), 0.1), "must have no negative eigenvalue"),
        (lambda: modal_damping(np.eye(1), np.eye(1), -0.1), "Damping ratios must not be negative"),
        (lambda: rayleigh_damping(np.eye(1), np.eye(1), ratios=(0.1, 0.1), frequencies=(1, 1)), "two different"),
    ],
)
def test_bad_input_is_named(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
