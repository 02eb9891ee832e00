"""Poles of a frequency response by partial fractions with moving poles (vector fitting, Gustavsen and Semlyen 1999)."""

from __future__ import annotations

import numpy as np

from mor.identification.response import Complex
from rt_runtime.checks import Array

PASSES = 15


def vector_fit_poles(s: Complex, H: Complex, weight: Array, n: int) -> Complex:
    """Return n stable poles, in the unit of s, started with light damping over the band.

    sigma(s) H(s) = sum c_i phi_i + d + e s, sigma = 1 + sum r_i phi_i; the zeros of sigma are the next poles.
    """
    lower, upper = np.abs(s[0]), np.abs(s[-1])
    imaginary = np.geomspace(lower, upper, max(n // 2, 1))
    poles = np.concatenate([(-0.01 + 1j) * imaginary, (-0.01 - 1j) * imaginary])[: 2 * (n // 2)]
    if n % 2:
        poles = np.append(poles, -(lower + upper) / 2)
    for _ in range(PASSES):
        poles = _moved(s, H, weight, np.asarray(poles, complex))
    return np.asarray(poles)


def _moved(s: Complex, H: Complex, weight: Array, poles: Complex) -> Complex:
    pairs = [p for p in poles if p.imag > 1e-12 * abs(p)]
    real = [p.real for p in poles if abs(p.imag) <= 1e-12 * abs(p)]
    columns = []
    for p in pairs:
        one, two = 1 / (s - p), 1 / (s - np.conj(p))
        columns += [one + two, 1j * (one - two)]
    columns += [1 / (s - a) for a in real]
    basis = np.array(columns).T
    n = len(poles)
    rows = np.hstack([basis, np.ones((len(s), 1)), s[:, None], -H[:, None] * basis]) * weight[:, None]
    A = np.vstack([rows.real, rows.imag])
    size = np.linalg.norm(A, axis=0)
    right = np.concatenate([(weight * H).real, (weight * H).imag])
    r = (np.linalg.lstsq(A / size, right, rcond=None)[0] / size)[-n:]
    # zeros of 1 + sum r phi: eigenvalues of A - b r'
    matrix, b = np.zeros((n, n)), np.zeros(n)
    for i, p in enumerate(pairs):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[p.real, p.imag], [-p.imag, p.real]]
        b[2 * i] = 2.0
    for i, a in enumerate(real, 2 * len(pairs)):
        matrix[i, i], b[i] = a, 1.0
    moved = np.linalg.eigvals(matrix - np.outer(b, r)).astype(complex)
    return np.where(moved.real > 0, -np.conj(moved), moved)
