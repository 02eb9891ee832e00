"""Sobol' indices: of any model by scrambled Sobol' points, of an expansion from its coefficients, of given data.

With independent inputs and columns i of a second sample B put into A (A_i), the estimators for centred y are

    S_Ti = E (y_A - y_Ai)^2 / 2V,
    S_i  = E y_B (y_Ai - y_A) / V  (Saltelli 2010)   where S_Ti < 1/2: its error vanishes with S_Ti
           1 - E (y_B - y_Ai)^2 / 2V  (Jansen 1999)  elsewhere: its error vanishes with 1 - S_i

and for a group u (columns u of B put into A) S_u = 1 - E (y_B - y_Au)^2 / 2V. A and B are the two halves of the columns
of a scrambled Sobol' sequence. Its error falls almost as 1/n, so a bootstrap, which assumes 1/sqrt(n), gives
intervals a thousand times too wide; here the sequence is scrambled several times independently and the interval is that
of the mean of the scramblings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.kriging.model import Kriging
from mor.reduced.kriging.projection import project
from mor.reduced.pce.model import Pce
from mor.sampling.space import ParameterSpace, open_unit
from mor.uncertainty.evaluation import Rows, as_rows
from mor.uncertainty.sensitivity.indices import Estimate, Indices, constant_outputs, output_names
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError


def sobol(
    model: object,
    space: ParameterSpace,
    *,
    n: int = 2**13,
    scrambles: int = 8,
    second: bool = False,
    closed: Sequence[Sequence[str]] = (),
    seed: int = 0,
) -> Indices:
    """Return the Sobol' indices of a model with independent inputs.

    Parameters
    ----------
    model : callable, ReducedModel or Evaluable
        f(X (n, inputs)) -> (n,) or (n, outputs); a reduced model; a model of a campaign.
    space : ParameterSpace
        The laws of the inputs, independent.
    n : int
        Base points, shared by the scramblings and rounded up to a power of two for each. The model is evaluated
        n (inputs + 2) times, n (2 inputs + 2) times with `second`, and n times more for each group of `closed`.
    scrambles : int
        Independent scramblings, at least 2: what the intervals come from.
    second : bool
        Whether second-order indices are wanted.
    closed : sequence of groups of input names
        Groups whose joint share of the variance is wanted.
    seed : int
        Seed of the scramblings.

    Returns
    -------
    Indices
        With 95 % intervals.
    """
    whole(n, "n", "sobol", 2)
    whole(scrambles, "scrambles", "sobol", 2)
    if not isinstance(space, ParameterSpace):
        raise ConfigError(f"space of sobol must be a ParameterSpace, got {space!r}.")
    independent(space, "sobol")
    groups = [_group(names, space.names) for names in closed]
    rows = as_rows(model, space, "sobol")
    power = max(1, int(np.ceil(np.log2(max(n / scrambles, 2)))))
    found = [_replicate(rows, space, power, second, groups, (seed, k)) for k in range(scrambles)]
    stacked = {key: np.stack([f[key] for f in found]) for key in found[0]}
    small = stacked["total"].mean(axis=0) < 0.5
    stacked["first"] = np.where(small, stacked.pop("first of small"), stacked["first"])
    if second:
        stacked["second"] -= stacked["first"][:, :, :, None] + stacked["first"][:, :, None, :]
        stacked["second"][:, :, range(space.dimension), range(space.dimension)] = 0.0
    estimate = {key: Estimate.from_replicates(value) for key, value in stacked.items()}
    outputs = output_names(model, estimate["mean"].value.size)
    runs = space.dimension * (2 if second else 1) + 2 + len(groups)
    return Indices(
        space.names, outputs, estimate["first"], estimate["total"], estimate["mean"],
        estimate["variance"], scrambles * 2**power * runs, "scrambled Sobol' points", estimate.get("second"),
        {tuple(space.names[i] for i in g): estimate[f"closed {k}"] for k, g in enumerate(groups)},
        constant_outputs(outputs, estimate["total"].value),
    )  # fmt: skip


def independent(space: ParameterSpace, of: str) -> None:
    """Refuse a space whose inputs depend on each other."""
    if getattr(space, "copula", None) is not None:
        raise ConfigError(
            f"Inputs of the space of {of} must be independent, got a copula; use kucherenko or shapley, whose indices "
            "make sense for dependent inputs."
        )


def _group(names: Sequence[str], known: tuple[str, ...]) -> tuple[int, ...]:
    missing = [name for name in names if name not in known]
    if isinstance(names, str) or not names or missing:
        raise ConfigError(f"Groups of closed of sobol must be lists of {', '.join(known)}, got {names!r}.")
    return tuple(sorted(known.index(name) for name in set(names)))


def _replicate(
    rows: Rows,
    space: ParameterSpace,
    power: int,
    second: bool,
    groups: Sequence[tuple[int, ...]],
    seed: tuple[int, int],
) -> dict[str, Array]:
    """Return the estimates of one scrambling."""
    from scipy.stats import qmc

    d = space.dimension
    rng = np.random.default_rng(seed)
    unit = open_unit(qmc.Sobol(2 * d, scramble=True, rng=rng).random_base2(power))
    A, B = space.from_unit(unit[:, :d]), space.from_unit(unit[:, d:])
    yA, yB = rows(A), rows(B)
    centre = 0.5 * (yA.mean(axis=0) + yB.mean(axis=0))
    variance = 0.5 * ((yA - centre) ** 2 + (yB - centre) ** 2).mean(axis=0)
    flat = variance <= 1e-30 * np.maximum(centre**2, 1e-300)
    scale = 2.0 * np.where(flat, 1.0, variance)

    def half(u: Array, v: Array) -> Array:
        difference = u - v
        share: Array = np.einsum("ij,ij->j", difference, difference) / len(u) / scale
        return share

    def mixed(base: Array, other: Array, columns: Sequence[int]) -> Array:
        """Evaluate `base` with some columns of `other`; base comes back as it was."""
        kept = base[:, columns]
        base[:, columns] = other[:, columns]
        base.flags.writeable = False  # a model that writes into its rows must not spoil the next ones
        y = rows(base)
        base.flags.writeable = True
        base[:, columns] = kept
        return y

    first, total, small = (np.empty((centre.size, d)) for _ in range(3))
    with_b = []
    for i in range(d):
        y = mixed(A, B, [i])
        first[:, i], total[:, i] = 1.0 - half(yB, y), half(yA, y)
        small[:, i] = 2.0 * np.einsum("ij,ij->j", yB - centre, y - yA) / len(y) / scale
        if second:
            with_b.append(y)
    found = {"mean": centre, "variance": variance, "first": first, "total": total, "first of small": small}
    for k, group in enumerate(groups):
        found[f"closed {k}"] = 1.0 - half(yB, mixed(A, B, list(group)))
    if second:
        with_a = [mixed(B, A, [i]) for i in range(d)]
        pairs = np.zeros((centre.size, d, d))
        for i, j in combinations(range(d), 2):
            both = 1.0 - 0.5 * (half(with_b[i], with_a[j]) + half(with_b[j], with_a[i]))
            pairs[:, i, j] = pairs[:, j, i] = both
        found["second"] = pairs
    for key, value in found.items():
        if key not in ("mean", "variance"):
            value[flat] = 0.0
    return found


def sobol_of_pce(model: Pce, *, second: bool = True, closed: Sequence[Sequence[str]] = ()) -> Indices:
    """Return the indices of a polynomial chaos expansion, exact, from its coefficients.

    Parameters
    ----------
    model : Pce
        The expansion.
    second : bool
        Whether second-order indices are wanted.
    closed : sequence of groups of input names
        Groups whose joint share of the variance is wanted: that of the terms of these inputs alone.
    """
    names = tuple(p.name for p in model.inputs)
    groups = [tuple(names[i] for i in _group(group, names)) for group in closed]
    return Indices(
        names, tuple(p.name for p in model.outputs), Estimate(model.sobol_first()), Estimate(model.sobol_total()),
        Estimate(model.mean), Estimate(model.variance), 0, "coefficients of the expansion",
        Estimate(model.sobol_second()) if second else None, {g: Estimate(_inside(model, g)) for g in groups},
    )  # fmt: skip


def _inside(model: Pce, group: Sequence[str]) -> Array:
    """Return the share (outputs,) of the terms that have inputs of the group alone."""
    parts = [model.sobol(*names) for size in range(1, len(group) + 1) for names in combinations(group, size)]
    share: Array = np.sum(parts, axis=0)
    return share


def sobol_of_kriging(
    model: Kriging, space: ParameterSpace, *, second: bool = True, closed: Sequence[Sequence[str]] = ()
) -> Indices:
    """Return the indices of a Kriging or PC-Kriging model, projected on polynomials (`mor.project`).

    Parameters
    ----------
    model : Kriging
        The model.
    space : ParameterSpace
        Laws of the inputs, independent.
    second, closed
        As in `sobol_of_pce`.

    Returns
    -------
    Indices
        Without intervals; a note says which share of the variance the polynomials leave out.
    """
    expansion = project(model, space)
    left = ", ".join(f"{e:.1e} of {p.name}" for e, p in zip(expansion.loo, expansion.outputs, strict=True))
    found = sobol_of_pce(expansion, second=second, closed=closed)
    return replace(found, method="projection of Kriging", notes=(f"share of the variance left out: {left}",))


def sobol_from_data(
    data: Dataset, space: ParameterSpace | None = None, *, replicates: int = 50, seed: int = 0
) -> Indices:
    """Return the indices of given rows: of an expansion fitted to them, with intervals by bootstrap over the rows.

    Parameters
    ----------
    data, space
        Rows, and the laws of their inputs (by default those that the data record); the rows need not be a special
        design.
    replicates : int
        Refits on resampled rows (Dubreuil et al. 2014).
    seed : int
        Seed of the resampling.
    """
    from mor.reduced.fit_data import space_of
    from mor.reduced.pce.bootstrap import bootstrap
    from mor.reduced.pce.fit import fit_pce

    whole(replicates, "replicates", "sobol_from_data", 2)
    space = space_of(data, space, "sobol_from_data")
    independent(space, "sobol_from_data")
    constant = [p.name for p, spread in zip(data.outputs, np.ptp(data.Y, axis=0), strict=True) if spread == 0.0]
    if constant:
        raise ConfigError(
            f"Outputs of the data of sobol_from_data must vary, got constant ones ({', '.join(constant)}); leave them "
            "out."
        )
    model = fit_pce(data, space)
    ensemble = bootstrap(model, data, replicates=replicates, seed=seed)
    one = sobol_of_pce(model, second=False)
    assert one.first is not None and one.total is not None
    first = Estimate.from_bootstrap(one.first.value, np.stack([m.sobol_first() for m in ensemble.models]))
    total = Estimate.from_bootstrap(one.total.value, np.stack([m.sobol_total() for m in ensemble.models]))
    return Indices(
        one.inputs, one.outputs, first, total, one.mean, one.variance, len(data), "expansion of given data",
    )  # fmt: skip
