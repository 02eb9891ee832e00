"""Correlation functions of a stationary Gaussian process, products over the inputs.

With h_i = |z_i - z'_i| and length l_i, the one-variable correlations k_i are functions of a_i = c h_i / l_i:

    linear       c = 1        max(0, 1 - a)
    exponential  c = 1        exp(-a)
    matern32     c = sqrt(3)  (1 + a) exp(-a)
    matern52     c = sqrt(5)  (1 + a + a^2/3) exp(-a)
    gaussian     c = 1        exp(-a^2/2)

l is the usual length: a = sqrt(2 nu) h / l for Matern, which tends to the Gaussian for nu -> infinity. The correlation
of two points is the interaction-weighted product

    k = prod_i (1 - w_i + w_i k_i),   0 < w_i <= 1,

the plain product for w = 1. With small w the process is close to a sum of functions of one input; the share of
interactions is learned with the lengths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rt_runtime.checks import Array

KERNELS = ("linear", "exponential", "matern32", "matern52", "gaussian")
FACTOR = dict(zip(KERNELS, (1.0, 1.0, np.sqrt(3.0), np.sqrt(5.0), 1.0), strict=True))


def correlation(kernel: str, a: Array) -> Array:
    """Return k_i at scaled distances a >= 0 of any shape."""
    k: Array
    if kernel == "linear":
        k = np.maximum(0.0, 1.0 - a)
    elif kernel == "gaussian":
        k = np.exp(-0.5 * a * a)
    else:
        k = np.exp(-a)
        if kernel == "matern32":
            k *= 1.0 + a
        elif kernel == "matern52":
            k *= 1.0 + a * (1.0 + a / 3.0)
    return k


def log_slope(kernel: str, a: Array) -> Array:
    """Return d ln k_i / d ln l_i at scaled distances a (0 where a linear correlation has vanished)."""
    s: Array
    if kernel == "linear":
        s = np.where(a < 1.0, a / np.where(a < 1.0, 1.0 - a, 1.0), 0.0)
    elif kernel == "exponential":
        s = a
    elif kernel == "matern32":
        s = a * a / (1.0 + a)
    elif kernel == "matern52":
        s = a * a * (1.0 + a) / (3.0 + a * (3.0 + a))
    else:
        s = a * a
    return s


def slope(kernel: str, a: Array) -> Array:
    """Return d k_i / d a at scaled distances a >= 0."""
    d: Array
    if kernel == "linear":
        d = -(a < 1.0).astype(np.float64)
    elif kernel == "exponential":
        d = -np.exp(-a)
    elif kernel == "matern32":
        d = -a * np.exp(-a)
    elif kernel == "matern52":
        d = -a * (1.0 + a) / 3.0 * np.exp(-a)
    else:
        d = -a * np.exp(-0.5 * a * a)
    return d


def product(kernel: str, a: Array, weight: Array | None) -> Array:
    """Return the product over the first axis of a (inputs, ...); weight (inputs,) or None for the plain product."""
    k: Array
    if weight is not None:
        k = correlation(kernel, a[0])
        k = 1.0 - weight[0] + weight[0] * k
        for w, one in zip(weight[1:], a[1:], strict=True):
            k *= 1.0 - w + w * correlation(kernel, one)
    elif kernel == "gaussian":
        k = np.exp(-0.5 * np.einsum("i...,i...->...", a, a))
    elif kernel == "linear":
        k = np.prod(np.maximum(0.0, 1.0 - a), axis=0)
    else:  # one exponential function for all inputs
        k = np.exp(-a.sum(axis=0))
        if kernel == "matern32":
            for one in a:
                k *= 1.0 + one
        elif kernel == "matern52":
            for one in a:
                k *= 1.0 + one * (1.0 + one / 3.0)
    return k


def cross(kernel: str, Z: Array, points: Array, length: Array, weight: Array | None) -> Array:
    """Return the correlations (n, N) between rows Z (n, inputs) and points (N, inputs)."""
    scale = FACTOR[kernel] / length
    a = np.abs((Z * scale).T[:, :, None] - (points * scale).T[:, None, :])
    return product(kernel, a, weight)


class Pairs(NamedTuple):
    """Distances between all pairs of N points, each pair once: h (inputs, N (N - 1) / 2) and their places."""

    h: Array
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, Z: Array) -> Pairs:
        """Measure the distances between rows Z (N, inputs)."""
        row, column = np.tril_indices(len(Z), -1)
        return cls(np.abs(Z[row] - Z[column]).T.copy(), row, column, len(Z))

    def matrix(self, r: Array) -> Array:
        """Return the correlation matrix with the lower triangle filled from pairs r and ones on the diagonal."""
        R = np.eye(self.size)
        R[self.row, self.column] = r
        return R


class Correlations:
    """Correlations of all pairs of points and their slopes, with the work space of a search over the lengths."""

    def __init__(self, kernel: str, pairs: Pairs) -> None:
        self.kernel, self.pairs = kernel, pairs
        self._a, self._k = np.empty_like(pairs.h), np.empty_like(pairs.h)

    def __call__(self, length: Array, weight: Array | None) -> Array:
        """Return r (pairs,) and keep what `slope` needs."""
        np.multiply(self.pairs.h, (FACTOR[self.kernel] / length)[:, None], out=self._a)
        self._weight = weight
        if weight is None:
            return product(self.kernel, self._a, None)
        r = np.ones(self._a.shape[1])
        for w, a, k in zip(weight, self._a, self._k, strict=True):
            k[:] = correlation(self.kernel, a)
            r *= 1.0 - w + w * k
        return r

    def slope(self, t: Array) -> Array:
        """Return sum_pairs t d ln r / d p for p = (ln l, then ln w/(1-w) where weighted)."""
        if self._weight is None:
            return np.array([log_slope(self.kernel, a) @ t for a in self._a])
        by_length, by_weight = np.empty(len(self._a)), np.empty(len(self._a))
        for i, (w, a, k) in enumerate(zip(self._weight, self._a, self._k, strict=True)):
            share = t / np.maximum(1.0 - w + w * k, 1e-300)
            by_weight[i] = w * (1.0 - w) * float((k - 1.0) @ share)
            share *= k
            by_length[i] = w * float(log_slope(self.kernel, a) @ share)
        return np.concatenate([by_length, by_weight])
