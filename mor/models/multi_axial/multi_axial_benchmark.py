"""The multi-axial hybrid-test benchmark (Condori Uribe et al. 2023): two actuators, one translation and one rotation.

A three-storey frame of 29 degrees of freedom (numbered from 1 as published); its first storey of one bay is the
specimen, moved at one joint through a stiff coupler. Constants as published with the benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mor.dynamics.newmark import newmark_matrices
from mor.dynamics.structure import modal_damping, rayleigh_damping
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from rt_runtime import StateSpace
from rt_runtime.checks import Array

RATE = 1024.0
NOISE = 1.24e-5
"""Standard deviation of each measured stroke per sample, in m."""

LENGTH = float(np.hypot(0.2667, 0.127))
ANGLES = (-float(np.arctan2(0.127, 0.2667)), float(np.arctan2(0.127, 0.2667)))
"""Distance in m and angles in rad of the joints of the coupler, seen from the joint of the specimen."""

OUTPUTS = (27, 21, 26, 22, 13, 3)
"""Degrees of freedom given out: x and rotation of the interface, of floor 2 and of floor 3."""

UNCERTAIN = {
    "zero_1a": 0.055, "zero_1b": 0.055, "pole_1a": 0.06, "pole_1b": 0.06, "frame": 0.05,
    "zero_12": 0.03, "zero_22": 0.03, "pole_2a": 0.03, "pole_2b": 0.03,
}  # fmt: skip
"""Relative standard deviations of zeros and poles of the plant; static gains are kept."""

_MASS = {
    1: 1921.05, 4: 1913.48, 6: 3826.95, 8: 1913.48, 9: 3819.38, 12: 1921.05, 13: 11465.7, 15: 3819.38, 16: 1921.05,
    20: 1919.40, 23: 1921.05, 25: 3826.95, 26: 11496.0, 27: 7680.90, 28: 1919.40,
}  # fmt: skip
_STIFFNESS = """
1,1:1.91425e+09 1,2:-228511 1,12:-9.56823e+08 1,28:-599767 1,29:-228511 2,2:1.46378e+07 2,11:1.65085e+06
2,26:-1.40333e+07 2,28:228511 2,29:56931.7 3,3:7.37751e+06 3,4:228511 3,9:-228511 3,10:56931.7
3,13:-1.40333e+07 3,22:1.65085e+06 3,26:1.40333e+07 4,4:9.57423e+08 4,9:-599767 4,10:228511 4,23:-9.56823e+08
5,5:1.4755e+07 5,11:56931.7 5,12:-228511 5,13:-1.40333e+07 5,14:1.65085e+06 5,24:56931.7 5,25:228511
5,27:1.40333e+07 5,29:1.65085e+06 6,6:1.91485e+09 6,11:228511 6,12:-599767 6,15:-9.56823e+08 6,24:-228511
6,25:-599767 6,28:-9.56823e+08 7,7:7.37751e+06 7,8:-228511 7,11:1.65085e+06 7,13:-1.40333e+07 7,14:56931.7
7,15:228511 7,26:1.40333e+07 8,8:9.57423e+08 8,12:-9.56823e+08 8,14:-228511 8,15:-599767 9,9:9.58023e+08
9,14:228511 9,15:-599767 9,25:-9.56823e+08 10,10:7.49471e+06 10,13:-1.40333e+07 10,14:56931.7 10,15:-228511
10,24:1.65085e+06 10,26:1.40333e+07 11,11:1.46378e+07 11,12:-228511 11,13:-1.40333e+07 11,27:1.40333e+07
12,12:1.91425e+09 13,13:1.76798e+08 13,14:-1.40333e+07 13,22:-1.40333e+07 13,24:-1.40333e+07 13,26:-1.76798e+08
14,14:7.49471e+06 14,26:1.40333e+07 15,15:9.58023e+08 16,16:1.91425e+09 16,17:228511 16,20:-599767 16,21:228511
16,23:-9.56823e+08 17,17:1.46378e+07 17,20:-228511 17,21:56931.7 17,22:1.65085e+06 17,26:-1.40333e+07
18,18:1.11738e+06 18,21:462063 18,27:-2.4873e+06 19,19:964584 19,27:-1.59061e+06 19,29:45451.6
20,20:1.29704e+09 20,21:682413 20,25:-9.56823e+08 20,28:-2.39088e+06 20,29:910924 21,21:8.9629e+06
21,24:1.65085e+06 21,26:-1.40333e+07 21,27:1.1546e+07 21,28:-910924 21,29:226111 22,22:1.46378e+07 22,23:228511
22,24:56931.7 22,25:-228511 22,27:1.40333e+07 23,23:1.91425e+09 23,24:228511 23,25:-599767 24,24:1.4755e+07
24,27:1.40333e+07 25,25:1.91485e+09 26,26:3.53596e+08 26,27:-1.76798e+08 26,29:-1.40333e+07 27,27:2.75654e+08
27,29:1.39584e+07 28,28:1.29704e+09 28,29:-682413 29,29:7.84767e+06
"""
_MODULUS = 200e9


def reference() -> tuple[Array, Array, Array]:
    """Return M, C, K (29, 29) of the whole frame; most rotations have no mass, Rayleigh damping 5 %."""
    M, K = np.zeros((29, 29)), np.zeros((29, 29))
    for dof, mass in _MASS.items():
        M[dof - 1, dof - 1] = mass
    for entry in _STIFFNESS.split():
        place, _, value = entry.partition(":")
        i, j = (int(n) - 1 for n in place.split(","))
        K[i, j] = K[j, i] = float(value)
    frequencies = (13.493 / (2 * np.pi), 165.125 / (2 * np.pi))
    return M, rayleigh_damping(M, K, ratios=(0.05, 0.05), frequencies=frequencies), K


def numerical() -> tuple[Array, Array, Array]:
    """Return M, C, K of the numerical part: the frame minus the specimen as its designers saw it.

    The published specimen has a density a hundred times that of steel and a beam whose rotations are coupled with the
    other sign; both are kept, so that results compare. They leave an error that no controller removes.
    """
    M, C, K = reference()
    length, beam, column = 0.635, _MODULUS * 0.6132 * 0.0254**4 / 0.762, _MODULUS * 2.520 * 0.0254**4
    turn, sway = 3 * column / length + 4 * beam, -3 * column / length**2
    k = np.array([[6 * column / length**3, sway, sway], [sway, turn, -2 * beam], [sway, -2 * beam, turn]])
    mass_beam, mass_column = (785e3 * area * 0.0254**2 * span for area, span in ((0.947, 0.762), (1.670, length)))
    spin = mass_beam / 2 * 0.762**2 / 12 + mass_column / 2 * length**2 / 12
    m = np.diag([mass_beam + mass_column, spin, spin])
    w = np.sqrt(np.linalg.eigvals(np.linalg.solve(m, k)).real)
    c = rayleigh_damping(m, k, ratios=(0.05, 0.05), frequencies=(w.min() / (2 * np.pi), w.max() / (2 * np.pi)))
    at = np.ix_([26, 28, 20], [26, 28, 20])
    M, C, K = M.copy(), C.copy(), K.copy()
    M[26, 26] -= m[0, 0]
    C[at] -= c
    K[at] -= k
    return M, C, K


def stepped(M: Array, C: Array, K: Array) -> StateSpaceMatrices:
    """Return Newmark steps at 1024 Hz: inputs [ground, F at 27, M at 21, M at 29 of the specimen], outputs `OUTPUTS`.

    Rotations of the frame count clockwise.
    """
    iota = np.zeros(29)
    iota[[12, 25, 26]] = 1.0
    loads = np.column_stack([-M @ iota, *(-np.eye(29)[i] for i in (26, 20, 28))])
    model = newmark_matrices(M, C, K, loads, 1 / RATE)
    rows = [dof - 1 for dof in OUTPUTS]
    return StateSpaceMatrices(model.A, model.B, model.C[rows], model.D[rows], model.dt)


def specimen() -> StateSpace:
    """Return the specimen as a block: inputs x and rotation of joint 1, outputs F, M_1, M_2, counter-clockwise.

    M a + C v + K u with backward differences; u = [x, two joint, two base rotations], the last three follow statically.
    """
    beam, column, length = _MODULUS * 4.21372e-7 / 0.762, _MODULUS * 0.7 * 2.520 * 0.0254**4, 0.64135
    sway, near, far = 6 * column / length**2, 4 * column / length, 2 * column / length
    K = np.array(
        [
            [24 * column / length**3, sway, sway, sway, sway],
            [sway, near + 4 * beam, 2 * beam, 0.0, far],
            [sway, 2 * beam, near + 4 * beam, far, 0.0],
            [sway, 0.0, far, near, 0.0],
            [sway, far, 0.0, 0.0, near],
        ]
    )
    mass_beam, mass_column = 7.85e3 * 7.56e-4 * 0.762, 7.85e3 * 1.670 * 0.0254**2 * length
    joint = (mass_beam / 2 * 0.762**2 + mass_column / 2 * length**2) / 3
    base = mass_column / 2 * length**2 / 3
    M = 1.1 * np.diag([(mass_beam + 2 * mass_column) / 2, joint, joint, base, base])
    C = modal_damping(M, K, 0.05)
    follow = np.vstack([np.eye(2), -np.linalg.solve(K[2:, 2:], K[2:, :2])])
    stiffness, damping, mass = ((part @ follow)[:3] for part in (K, C * RATE, M * RATE**2))
    one, zero = np.eye(2), np.zeros((2, 2))
    shift = np.block([[zero, zero], [one, zero]])  # the state is (w_{k-1}, w_{k-2})
    past = np.hstack([-damping - 2 * mass, mass])
    return StateSpace(shift, np.vstack([one, zero]), past, stiffness + damping + mass, dt=1 / RATE, method="discrete")


def plant(factors: Mapping[str, float] | None = None) -> list[list[TransferFunction]]:
    """Return H (2, 2), stroke i over command j; `factors` (of `UNCERTAIN`) scale zeros and poles, not static gains."""
    f = {name: 1.0 for name in UNCERTAIN} | dict(factors or {})

    def entry(
        zeros: list[float], poles: list[float], gain: float, nominal: TransferFunction | None
    ) -> TransferFunction:
        frame = f["frame"] if nominal is not None else 1.0
        roots = [*poles, *(frame * np.array([50 + 63j, 50 - 63j]))]
        numerator, denominator = (np.real(np.poly(-2 * np.pi * np.array(r))) for r in (zeros, roots))
        found = TransferFunction(gain * numerator, denominator)
        return found if nominal is None else found * (nominal.dc_gain / found.dc_gain)

    columns = (
        (
            [[120.0, 90.0]] * 2,
            [2.65, 40.0],
            (2165.2, 349.95),
            ([f["zero_1a"], f["zero_1b"]],) * 2,
            ("pole_1a", "pole_1b"),
        ),
        ([[3.0], [5.0]], [3.5, 18.5], (4.5394e6, 1.9238e7), ([f["zero_12"]], [f["zero_22"]]), ("pole_2a", "pole_2b")),
    )
    H: list[list[TransferFunction]] = [[], []]
    for zeros, poles, gains, moved, names in columns:
        scaled = [pole * f[name] for pole, name in zip(poles, names, strict=True)]
        for i in range(2):
            nominal = entry(zeros[i], poles, gains[i], None)
            shifted = [z * m for z, m in zip(zeros[i], moved[i], strict=True)]
            H[i].append(entry(shifted, scaled, gains[i], nominal))
    return H


def plant_matrices(H: list[list[TransferFunction]]) -> StateSpaceMatrices:
    """Return a plant with two inputs and two outputs as one state space; entries of a column share their poles."""
    parts = []
    for j in range(2):
        first = H[0][j].state_space()
        same = np.allclose(H[0][j].denominator, H[1][j].denominator, rtol=1e-12)
        assert same, "entries of a column must share their poles"
        parts.append((first, np.vstack([first.C, H[1][j].state_space().C])))
    n = [len(first.A) for first, _ in parts]
    A, B = np.zeros((sum(n), sum(n))), np.zeros((sum(n), 2))
    A[: n[0], : n[0]], A[n[0] :, n[0] :] = parts[0][0].A, parts[1][0].A
    B[: n[0], :1], B[n[0] :, 1:] = parts[0][0].B, parts[1][0].B
    return StateSpaceMatrices(A, B, np.hstack([parts[0][1], parts[1][1]]), np.zeros((2, 2)))
