"""Fit a stochastic polynomial chaos expansion by expectation and maximisation, its noise by cross-validation.

For a given sigma the shares r_iq ~ w_q exp(-(y_i - f(x_i, z_q))^2 / 2 sigma^2) of the nodes in each row, and then
least squares of y with these weights, raise the likelihood in turn. sigma is led down from large values, where the
likelihood is smooth, and stops where rows left out are predicted best. The first guess of z comes from a lambda model:
z_i = F^-1_Z(F(y_i | x_i)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.fit_data import fit_domain, space_of
from mor.reduced.lambda_model.checks import check_emulator
from mor.reduced.lambda_model.fit import check_rows, fit_glam
from mor.reduced.lambda_model.latent_expansion import LATENT, LATENT_NAME, Spce, latent_rule
from mor.reduced.pce.basis import Ints, index_set, matrix, recurrence_table, standard_maps, standardise, values
from mor.reduced.pce.model import Pce
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError

_LADDER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.13, 0.09)  # sigma over the spread around the mean
_TURNS = 20
_FOLDS = 3
_RIDGE = 1e-8


def fit_spce(
    data: Dataset,
    space: ParameterSpace | None = None,
    *,
    degree: int | Sequence[int] | None = None,
    latent: str | None = None,
    seed: int = 0,
) -> Spce:
    """Fit the law of each output at every point by an expansion with one latent variable.

    Parameters
    ----------
    data : Dataset
        Rows of a stochastic model, repeated points or not.
    space : ParameterSpace, optional
        Laws of the inputs; by default those that the data record.
    degree : int or sequence of int
        Total degree in inputs and latent variable, several to choose from by cross-validation; None for 3 and 5.
    latent : str
        Law of the latent variable, "uniform" or "normal"; None for the one that predicts better.
    seed : int
        Seed of the folds.

    Returns
    -------
    Spce
        Finished; `fit` tells noise, degree and tests of each output.
    """
    space = space_of(data, space, "fit_spce")
    degrees = (3, 5) if degree is None else (degree,) if isinstance(degree, int) else tuple(degree)
    degrees = tuple(whole(d, "degree", "fit_spce", 1) for d in degrees)
    if latent is not None:
        one_of(latent, "latent", "fit_spce", tuple(LATENT))
    check_rows(data, space, "fit_spce")
    names = tuple(LATENT) if latent is None else (latent,)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        start = fit_glam(data, space, check=False).cdf(data.X, data.Y)
        tried = []
        for name in names:
            for d in degrees:
                basis = _Basis.of(data, space, d, name)
                ranks = [np.asarray(LATENT[name].ppf(np.clip(u, 1e-3, 1.0 - 1e-3))) for u in start.T]
                outputs = [_best(basis, y, z, seed) for y, z in zip(data.Y.T, ranks, strict=True)]
                tried.append((sum(one.out for one in outputs), basis, outputs, name, d))
    best = max(tried, key=lambda one: one[0])
    return _model(data, space, *best[1:])


def refit_spce(model: Spce, data: Dataset) -> Spce:
    """Fit the coefficients of a model to other rows, its terms and noise kept: for the bootstrap.

    Parameters
    ----------
    model : Spce
        Whose terms and noise are kept, and whose coefficients are the start.
    data : Dataset
        Rows with the inputs and outputs of the model.
    """
    e = model.expansion
    basis = _Basis.at(data.X, e.indices, (e.location, e.scale, e.logarithm), e.recurrence, model.latent)
    found = []
    for c, y, sigma in zip(e.coefficients.T, data.Y.T, model.noise.tolist(), strict=True):
        for _ in range(_TURNS):
            c = basis.solve(y, basis.levels(c, y, sigma)[1])
        found.append(c)
    return replace(model, expansion=replace(e, coefficients=np.column_stack(found)))


@dataclass(frozen=True)
class _Basis:
    """Terms of the inputs at the rows, of the latent variable at its nodes, and which of them go together."""

    psi: Array
    indices: Ints
    at_nodes: Array
    table: Array
    maps: tuple[Array, Array, Ints]
    weights: Array

    @staticmethod
    def of(data: Dataset, space: ParameterSpace, degree: int, latent: str) -> _Basis:
        laws = (*space.marginals, LATENT[latent])
        for q in (1.0, 0.75, 0.5):
            indices = index_set(len(laws), degree, q=q)
            if 3 * len(indices) <= len(data):
                break
        else:
            raise ConfigError(
                f"Data of fit_spce must have three rows for each of the {len(indices)} terms of degree {degree}, got "
                f"{len(data)}; run more, or give a lower degree."
            )
        return _Basis.at(data.X, indices, standard_maps(laws), recurrence_table(laws, degree), latent)

    @staticmethod
    def at(X: Array, indices: Ints, maps: tuple[Array, Array, Ints], table: Array, latent: str) -> _Basis:
        z, w = latent_rule(latent)
        rows = np.column_stack([X, np.zeros(len(X))])
        psi = matrix(values(standardise(rows, *maps), table)[:-1], indices[:, :-1])
        nodes = values(standardise(z[:, None], maps[0][-1:], maps[1][-1:], maps[2][-1:]), table[-1:])[0]
        return _Basis(psi, indices, nodes, table, maps, w)

    def take(self, rows: Array) -> _Basis:
        return _Basis(self.psi[rows], self.indices, self.at_nodes, self.table, self.maps, self.weights)

    def branches(self, c: Array) -> Array:
        return np.asarray((self.psi * c) @ self.at_nodes[self.indices[:, -1]])

    def solve(self, y: Array, share: Array) -> Array:
        """Least squares of y over rows and nodes with weights `share` (n, q)."""
        order = self.indices[:, -1]
        moments = share @ np.einsum("bq,cq->qbc", self.at_nodes, self.at_nodes).reshape(share.shape[1], -1)
        moments = moments.reshape(len(y), len(self.at_nodes), -1)
        G = np.empty((len(order), len(order)))
        groups = [np.flatnonzero(order == b) for b in range(order.max() + 1)]
        for b, rows in enumerate(groups):
            for c, columns in enumerate(groups):
                G[np.ix_(rows, columns)] = self.psi[:, rows].T @ (self.psi[:, columns] * moments[:, b, c, None])
        h = np.einsum("it,it->t", self.psi, (share @ self.at_nodes.T)[:, order] * y[:, None])
        return np.asarray(np.linalg.solve(G + _RIDGE * len(y) * np.eye(len(G)), h))

    def levels(self, c: Array, y: Array, sigma: float) -> tuple[Array, Array]:
        """Return ln f (n,) and the shares of the nodes (n, q)."""
        terms = -0.5 * ((y[:, None] - self.branches(c)) / sigma) ** 2 + np.log(self.weights)
        top = terms.max(axis=1, keepdims=True)
        share = np.exp(terms - top)
        total = share.sum(axis=1, keepdims=True)
        level = (top + np.log(total))[:, 0] - np.log(sigma * np.sqrt(2.0 * np.pi))
        return level, share / total


@dataclass(frozen=True)
class _Chosen:
    coefficients: Array
    sigma: float
    out: float


def _path(basis: _Basis, y: Array, z: Array, spread: float) -> list[Array]:
    """Return the coefficients for each sigma of the ladder, each started at the one before."""
    laws = values(standardise(z[:, None], *(m[-1:] for m in basis.maps)), basis.table[-1:])[0]  # type: ignore[arg-type]
    A = basis.psi * laws[basis.indices[:, -1]].T
    c = np.linalg.lstsq(A, y, rcond=1e-8)[0]
    found = []
    for factor in _LADDER:
        for _ in range(_TURNS):
            c = basis.solve(y, basis.levels(c, y, factor * spread)[1])
        found.append(c)
    return found


def _best(basis: _Basis, y: Array, z: Array, seed: int) -> _Chosen:
    """Choose sigma by the likelihood of rows left out."""
    alone = basis.indices[:, -1] == 0
    trend = basis.psi[:, alone]
    spread = float(np.std(y - trend @ np.linalg.lstsq(trend, y, rcond=None)[0]))
    fold = np.random.default_rng(seed).permutation(len(y)) % _FOLDS
    out = np.zeros(len(_LADDER))
    for f in range(_FOLDS):
        inside, left = fold != f, fold == f
        path = _path(basis.take(inside), y[inside], z[inside], spread)
        rest = basis.take(left)
        out += [rest.levels(c, y[left], factor * spread)[0].sum() for c, factor in zip(path, _LADDER, strict=True)]
    k = int(np.argmax(out))
    return _Chosen(_path(basis, y, z, spread)[k], _LADDER[k] * spread, float(out[k]))


def _model(
    data: Dataset, space: ParameterSpace, basis: _Basis, outputs: Sequence[_Chosen], latent: str, degree: int
) -> Spce:
    from mor.data.ports import Port

    lower, upper = fit_domain(data, space)
    ends = LATENT[latent].ppf([1e-4, 1.0 - 1e-4])
    domain = np.append(lower, ends[0]), np.append(upper, ends[1])
    C = np.column_stack([one.coefficients for one in outputs])
    expansion = Pce(
        (*data.inputs, Port(LATENT_NAME)), data.outputs, domain, *basis.maps, basis.table, basis.indices, C,
        np.zeros(len(outputs)), {"rows": len(data)},
    )  # fmt: skip
    facts = [{"name": p.name, "noise": one.sigma, "held_out_log_likelihood": one.out, "degree": degree}
             for p, one in zip(data.outputs, outputs, strict=True)]  # fmt: skip
    noise = np.array([one.sigma for one in outputs])
    model = Spce(data.outputs, expansion, noise, latent, {"rows": len(data), "outputs": facts})
    tests = check_emulator(model, data).plain()
    told = [{**one, **test} for one, test in zip(facts, tests, strict=True)]
    return Spce(data.outputs, expansion, noise, latent, {"rows": len(data), "outputs": told})
