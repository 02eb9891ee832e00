"""Active learning: the next points where they help a Kriging model most, one by one or in batches.

A new point c lowers the variance of the model at x by cov(x, c)^2 / (var(c) + noise), whatever it will observe. The
gain of a candidate is the sum of that over the space, weighted by the squared leave-one-out error of the row nearest
to x: where the model was wrong, variance counts more. A batch is chosen greedily, each point as if the ones before it
had been observed, so that parallel rigs do not test the same thing twice. It ends by the leave-one-out error weighted
by coverage (`mor.uncertainty.stopping`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mor.campaign.model import Evaluable
from mor.campaign.run import run_design
from mor.campaign.store import Store, is_store
from mor.data.dataset import Dataset
from mor.data.ports import Port, as_ports
from mor.reduced.kriging.fit import fit_kriging
from mor.reduced.kriging.kernels import cross
from mor.reduced.kriging.model import Kriging
from mor.sampling.designs import Design, lhs, sobol
from mor.sampling.space import ParameterSpace
from mor.uncertainty.evaluation import as_rows
from mor.uncertainty.stopping import covered_loo
from rt_runtime.checks import Array, positive, whole
from rt_runtime.errors import ConfigError
from rt_runtime.files import write_file

_CANDIDATES = 512


def fit_likely(data: Dataset, space: ParameterSpace) -> Kriging:
    """Fit Kriging by the likelihood alone: lengths that minimise the leave-one-out error would stop too early."""
    return fit_kriging(data, space, estimator="likelihood")


def suggest(model: Kriging, space: ParameterSpace, n: int = 1, *, seed: int = 0) -> Array:
    """Return the next n points (n, inputs) to observe, in physical units, best first.

    Parameters
    ----------
    model : Kriging
        Fitted to what was observed so far; outputs count alike, each relative to its spread.
    space : ParameterSpace
        Law of the inputs.
    n : int
        Size of the batch.
    seed : int
        Seed of the candidates, scrambled Sobol' points.
    """
    whole(n, "n", "suggest", 1)
    X = sobol(space, _CANDIDATES, seed=seed, scramble=True).points
    Z = model._standard(X)
    residuals, _ = model.loo_residuals()
    spread = np.maximum(model.values.std(axis=0), 1e-300)
    gaps = ((Z[:, None, :] - model.points) / model.points.std(axis=0)) ** 2
    nearest = np.argmin(gaps.sum(axis=2), axis=1)
    C, weights = [], []
    for o, kernel in enumerate(model.kernel_names):
        v, u = model._parts(Z, o)
        K = cross(kernel, Z, Z, model.length[o], model._weight(o)) - v.T @ v + u.T @ u
        C.append(K * model.variance[o] / spread[o] ** 2)
        error = (residuals[:, o] / spread[o]) ** 2
        weights.append(1.0 + error[nearest] / max(float(error.mean()), 1e-300))
    noise = model.nugget * model.variance / spread**2
    chosen: list[int] = []
    for _ in range(n):
        gain = np.zeros(len(X))
        for K, w, nu in zip(C, weights, noise, strict=True):
            gain += (w @ K**2) / np.maximum(np.diag(K) + nu, 1e-14)
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        for K, nu in zip(C, noise, strict=True):
            K -= np.outer(K[:, best], K[best]) / max(float(K[best, best]) + float(nu), 1e-14)
    return X[chosen]


@dataclass(frozen=True, eq=False)
class Learned:
    """Model, rows, leave-one-out error after each batch as (rows, error), and whether `until` was reached.

    Parameters
    ----------
    model, data
        The model and the rows it was fitted to.
    history
        (rows, error) after each batch.
    """

    model: Kriging
    data: Dataset
    history: tuple[tuple[int, float], ...]
    reached: bool


def learn(
    model: object,
    space: ParameterSpace,
    outputs: Mapping[str, str],
    *,
    until: float = 1e-3,
    first: int | None = None,
    batch: int = 1,
    most: int = 200,
    fit: Callable[[Dataset, ParameterSpace], Kriging] = fit_likely,
    seed: int = 0,
) -> Learned:
    """Observe a model at the points that help most until the leave-one-out error is small enough.

    Parameters
    ----------
    model : callable, ReducedModel or Evaluable
        As in `mor.uncertainty.sensitivity.sampled_indices`.
    space : ParameterSpace
        Law of the inputs.
    outputs : mapping
        {name: unit}.
    until : float
        Largest leave-one-out error of any output, relative to its variance, rows weighted by coverage.
    first : int, optional
        Points of the first design, a maximin Latin hypercube; 4 a parameter and at least 10 by default.
    batch : int
        Points observed between two fits.
    most : int
        Points at which it gives up.
    fit : callable
        The Kriging fit.
    seed : int
        Seed of the first design and of the candidates.
    """
    positive(until, "until", "learn")
    whole(batch, "batch", "learn", 1)
    start = _start(space, first, "learn")
    whole(most, "most", "learn", start)
    rows = as_rows(model, space, "learn")
    X = lhs(space, start, seed=seed, criterion="maximin").points
    Y = rows(X)
    history: list[tuple[int, float]] = []
    while True:
        data = Dataset(X, Y, space.ports, dict(outputs), space=space)
        _check_varies(data, "learn")
        fitted = fit(data, space)
        error = covered_loo(fitted, space)
        history.append((len(X), error))
        if error <= until or len(X) >= most:
            return Learned(fitted, data, tuple(history), error <= until)
        new = suggest(fitted, space, min(batch, most - len(X)), seed=seed + len(X))
        X, Y = np.vstack([X, new]), np.vstack([Y, rows(new)])


def _start(space: ParameterSpace, first: int | None, of: str) -> int:
    """Return the size of a first design."""
    return max(10, 4 * space.dimension) if first is None else whole(first, "first", of, space.dimension + 2)


def run_adaptive(
    model: Evaluable,
    design: Design,
    *,
    store: str | Path,
    until: float = 1e-3,
    batch: int = 1,
    most: int = 200,
    fit: Callable[[Dataset, ParameterSpace], Kriging] = fit_likely,
    seed: int = 0,
    executor: str = "processes",
    workers: int | None = None,
    timeout: float | None = None,
    retry_failed: bool = False,
) -> Learned:
    """Run a campaign that goes on at the points that help most until the leave-one-out error is small enough.

    Every sample is kept in the store; started again after an interruption, or with a smaller `until`, it goes on from
    there.

    Parameters
    ----------
    model : Evaluable
        A model of a campaign whose outputs are numbers.
    design : Design
        The first points.
    store : path
        Folder of the campaign, as in `run_design`.
    until, batch, most, fit, seed
        As in `learn`.
    executor, workers, timeout, retry_failed
        As in `run_design`.
    """
    positive(until, "until", "run_adaptive")
    whole(batch, "batch", "run_adaptive", 1)
    whole(most, "most", "run_adaptive", 1)
    if is_store(Path(store)):
        before = Store(store).design
        if np.array_equal(before.unit[: len(design)], design.unit):  # else run_design says what differs
            design = before
    space, history = design.space, []
    while True:
        data = run_design(
            model, design, store=store, executor=executor, workers=workers, timeout=timeout, retry_failed=retry_failed
        )
        _check_varies(data, "run_adaptive")
        fitted = fit(data, space)
        error = covered_loo(fitted, space)
        history.append((len(data), error))
        if error <= until or len(design) >= most:
            return Learned(fitted, data, tuple(history), error <= until)
        new = suggest(fitted, space, min(batch, most - len(design)), seed=seed + len(design))
        made = design.made | {"adaptive": len(design.unit) + len(new)}
        design = Design(space, np.vstack([design.unit, space.to_unit(new)]), made)


@dataclass(frozen=True, eq=False)
class Laboratory:
    """Where a campaign run by hand stands: finished and open rows, error, and the model once all rows are entered.

    Parameters
    ----------
    path
        Folder of the campaign.
    done
        Number of finished rows.
    loo
        Leave-one-out error, None before the first model.
    reached
        Whether the error asked for was reached.
    """

    path: Path
    done: int
    open: int
    loo: float | None
    reached: bool
    model: Kriging | None


def laboratory(
    path: str | Path,
    space: ParameterSpace,
    outputs: Mapping[str, str],
    *,
    until: float = 1e-3,
    first: int | Design | None = None,
    batch: int = 5,
    most: int = 200,
    seed: int = 0,
) -> Laboratory:
    """Move a campaign of laboratory tests one step on: a table of tests is written, results are entered by hand.

    The first call writes `path`, a CSV table with the tests to run and empty cells for the results. Enter results (of
    all tests or of some), save, and call again: when no cell is empty, a model is fitted, and the next `batch` of tests
    is appended unless the leave-one-out error has reached `until`. Nothing that was entered is ever changed; started
    again, it goes on from the file.

    Parameters
    ----------
    path : path
        The table; three header lines (names, roles, units) as in `Dataset.to_csv`.
    space, outputs, until, batch, most, seed
        As in `learn`.
    first : int or Design, optional
        Number of tests of the first design, or the design itself.
    """
    positive(until, "until", "laboratory")
    whole(batch, "batch", "laboratory", 1)
    whole(most, "most", "laboratory", 1)
    target, ports = Path(path), as_ports(outputs, "outputs of laboratory")
    if not target.exists():
        if not isinstance(first, Design):
            first = lhs(space, _start(space, first, "laboratory"), seed=seed, criterion="maximin")
        _write(target, space, ports, first.points, [[""] * len(ports)] * len(first))
        return Laboratory(target, 0, len(first), None, False, None)
    X, Y, cells = _read(target, space, ports)
    empty = int(np.isnan(Y).any(axis=1).sum())
    if empty:
        return Laboratory(target, len(X) - empty, empty, None, False, None)
    data = Dataset(X, Y, space.ports, ports)
    _check_varies(data, f"laboratory ({target})")
    model = fit_likely(data, space)
    loo = covered_loo(model, space)
    if loo <= until or len(X) >= most:
        return Laboratory(target, len(X), 0, loo, loo <= until, model)
    new = suggest(model, space, min(batch, most - len(X)), seed=seed + len(X))
    _write(target, space, ports, np.vstack([X, new]), cells + [[""] * len(ports)] * len(new))
    return Laboratory(target, len(X), len(new), loo, False, model)


def entered(path: str | Path, space: ParameterSpace, outputs: Mapping[str, str]) -> Dataset:
    """Return the finished tests of a table of `laboratory`.

    Parameters
    ----------
    path
        Folder of the campaign.
    space, outputs
        Laws of the inputs; ports of the outputs.
    """
    target, ports = Path(path), as_ports(outputs, "outputs of laboratory")
    X, Y, _ = _read(target, space, ports)
    done = ~np.isnan(Y).any(axis=1)
    return Dataset(X[done], Y[done], space.ports, ports, space=space)


def _numbers(path: Path, rows: list[list[str]], names: Sequence[str], *, empty: bool) -> Array:
    """Return cells as numbers, NaN where they may be empty and are; what is no number is said with its place."""
    numbers = np.full((len(rows), len(names)), np.nan)
    for k, row in enumerate(rows):
        for j, cell in enumerate(row):
            if empty and not cell.strip():
                continue
            with suppress(ValueError):
                numbers[k, j] = float(cell)
            if not np.isfinite(numbers[k, j]):
                what, wanted = (
                    ("result", "a number, or empty until its test is done") if empty else ("input", "a number")
                )
                raise ConfigError(
                    f"Every {what} in {path} must be {wanted}, got {cell.strip()!r} as {names[j]} of test {k + 1}."
                )
    return numbers


def _check_varies(data: Dataset, of: str) -> None:
    """Refuse results that are all the same: an error of zero would end the tests."""
    if not np.ptp(data.Y, axis=0).any():
        names = ", ".join(p.name for p in data.outputs)
        raise ConfigError(f"Outputs of {of} must vary, got the same {names} in all {len(data)} tests.")


def _write(path: Path, space: ParameterSpace, ports: tuple[Port, ...], X: Array, cells: list[list[str]]) -> None:
    head = [
        [*space.names, *(p.name for p in ports)],
        ["input"] * space.dimension + ["output"] * len(ports),
        [*space.units, *(p.unit for p in ports)],
    ]
    rows = [[*(repr(v) for v in x), *row] for x, row in zip(X.tolist(), cells, strict=True)]
    write_file(path, "".join(",".join(row) + "\n" for row in [*head, *rows]))


def _read(path: Path, space: ParameterSpace, ports: tuple[Port, ...]) -> tuple[Array, Array, list[list[str]]]:
    """Return inputs, results (NaN for open ones) and the cells of the results as they were entered."""
    with open(path, newline="", encoding="utf-8-sig") as file:  # spreadsheets write a mark in front
        lines = [line for line in csv.reader(file) if line]
    names = [*space.names, *(p.name for p in ports)]
    if len(lines) < 4 or lines[0] != names or any(len(line) != len(names) for line in lines):
        raise ConfigError(
            f"{path} must begin with the line {','.join(names)} and have {len(names)} cells in every line, separated "
            "by commas; leave its header lines and columns as they were written."
        )
    units = [*space.units, *(p.unit for p in ports)]
    if [cell.strip() for cell in lines[2]] != units:
        raise ConfigError(f"Units in {path} must be {','.join(units)}, got {','.join(lines[2])}.")
    cells = [line[space.dimension :] for line in lines[3:]]
    X = _numbers(path, [line[: space.dimension] for line in lines[3:]], space.names, empty=False)
    return X, _numbers(path, cells, [p.name for p in ports], empty=True), cells
