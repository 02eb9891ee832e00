"""Sensitivity of the outputs of a part: errors, moments and indices of surrogates over the number of samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hmor.sensitivity.section import SensitivitySection
from hmor.study.file import Study
from hmor.study.loading import import_object
from hmor.study.stages.fit import finished_store, known_data, part_rows
from mor import Dataset, Kriging, ParameterSpace, Pce, ReducedModel, fit_kriging, fit_pce, fit_pck, project
from mor.uncertainty import Indices, fit_best, kucherenko, propagate, sobol, sobol_from_data, sobol_of_pce
from mor.uncertainty.evaluation import as_rows
from rt_runtime.errors import ConfigError

Result = dict[str, Any]
# Kriging by the likelihood: lengths that minimise the leave-one-out error of few samples make the error too small.
FITS: dict[str, Callable[..., ReducedModel]] = {
    "pce": fit_pce, "kriging": partial(fit_kriging, estimator="likelihood"), "pck": fit_pck,
}  # fmt: skip
SIZES = (15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
_EFFECT = 41  # points of an effect curve
_BINS = 40
_NEW = 2**13  # new points whose predictions make a distribution


def analyse_part(study: Study, section: SensitivitySection, name: str) -> Result:
    """Return the sensitivity analysis of one part of a study, from its finished samples."""
    space = study.need(f"parts.{name}.parameters", study.parts[name].parameters)
    truth = None if section.truth is None else import_object(section.truth, study.place)
    rows = part_rows(study, name)
    part = study.parts[name]
    missing = 0 if part.table or part.data else len(finished_store(study, name).design) - len(rows)
    return analyse(known_data(study, name, rows), space, section, truth) | {"failed": missing}


def analyse(data: Dataset, space: ParameterSpace, section: SensitivitySection, truth: object | None = None) -> Result:
    """Return errors, moments and indices of the surrogates over the number of samples, as plain values.

    Parameters
    ----------
    data : Dataset
        The samples, in the order of their design.
    space : ParameterSpace
        Laws of the inputs.
    section : SensitivitySection
        What is wanted.
    truth : model, optional
        A model without noise, for indices found directly.
    """
    constant, data = _complete(data)
    inputs, outputs = list(space.names), [p.name for p in data.outputs]
    _check_published(section.published, inputs, outputs)
    sizes = _sizes(section.sizes, space.dimension, len(data))
    kinds: tuple[str, ...] = ("kriging",) if space.copula is not None else section.surrogates
    curves: Result = {o: {kind: {"loo": [], "mean": [], "std": [], "first": [], "total": []} for kind in kinds}
                      for o in outputs}  # fmt: skip
    seconds, models, indices = {}, {}, {}
    for n in sizes:
        rows = data.take(np.arange(n))
        for kind in kinds:
            start = time.process_time()
            models[kind] = FITS[kind](rows, space)
            seconds[kind] = round(time.process_time() - start, 3)
            indices[kind] = indices_of(models[kind], space)
            for o, output in enumerate(outputs):
                _extend(curves[output][kind], models[kind], indices[kind], o)
    found = {kind: one.plain() for kind, one in indices.items()}
    if "pce" in kinds:
        found["pce"] = sobol_from_data(data, space).plain() | {"second": found["pce"]["second"]}
    direct = None if truth is None else _direct(truth, space, section.base, tuple(outputs))
    return {
        "rows": len(data), "inputs": inputs, "outputs": outputs, "constant": constant,
        "dependent": space.copula is not None,
        "units": {p.name: p.unit for p in (*data.inputs, *data.outputs)}, "sizes": sizes, "curves": curves,
        "fit_seconds": seconds, "indices": found, "truth": None if direct is None else direct.plain(),
        "noise": {o: {kind: _noise(models[kind], k) for kind in kinds} for k, o in enumerate(outputs)},
        "effects": _effects(models[kinds[0]], space), "density": _densities(models, data, space),
        "published": _beside(section.published, direct or indices[kinds[-1]]),
        "comparison": _comparison(data, space) if section.compare else None,
    }  # fmt: skip


def indices_of(model: ReducedModel, space: ParameterSpace) -> Indices:
    """Return the indices of a fitted surrogate: from coefficients, by projection, or of dependent inputs."""
    if space.copula is not None:
        return kucherenko(model, space, n=2**12)
    return sobol_of_pce(_expansion(model, space))


def _expansion(model: ReducedModel, space: ParameterSpace) -> Pce:
    if isinstance(model, Pce):
        return model
    assert isinstance(model, Kriging)
    return project(model, space)


def _complete(data: Dataset) -> tuple[list[str], Dataset]:
    """Return the names of the outputs that do not vary, and the data without them."""
    if not data.outputs:
        raise ConfigError("Samples of a sensitivity analysis must be numbers, got none; give the part quantities.")
    varying = np.flatnonzero(np.ptp(data.Y, axis=0) > 0.0)
    if varying.size == 0:
        names = ", ".join(p.name for p in data.outputs)
        raise ConfigError(f"Outputs of a sensitivity analysis must vary, got constant ones ({names}).")
    constant = [p.name for i, p in enumerate(data.outputs) if i not in varying]
    return constant, Dataset(data.X, data.Y[:, varying], data.inputs, [data.outputs[i] for i in varying])


def _sizes(wanted: tuple[int, ...], dimension: int, rows: int) -> list[int]:
    least = dimension + 4
    if rows < least:
        raise ConfigError(
            f"Samples of a sensitivity analysis of {dimension} inputs must be at least {least}, got {rows}; "
            "sample more."
        )
    return [n for n in wanted or SIZES if least <= n < rows] + [rows]


def _extend(curve: dict[str, list[Any]], model: ReducedModel, indices: Indices, o: int) -> None:
    """Add what one fit says of output o."""
    assert indices.first is not None and indices.total is not None
    curve["loo"].append(float(model.loo[o]))  # type: ignore[attr-defined]
    curve["mean"].append(float(indices.mean.value[o]))
    curve["std"].append(float(np.sqrt(max(indices.variance.value[o], 0.0))))
    curve["first"].append(indices.first.value[o].tolist())
    curve["total"].append(indices.total.value[o].tolist())


def _direct(truth: object, space: ParameterSpace, base: int, outputs: tuple[str, ...]) -> Indices:
    """Return the indices of the named outputs of a model."""
    rows, known = as_rows(truth, space, "[sensitivity] truth"), [p.name for p in getattr(truth, "outputs", ())]
    missing = [name for name in outputs if name not in known]
    if missing:
        raise ConfigError(
            f"truth of [sensitivity] must have the outputs {', '.join(outputs)}, got {', '.join(known) or 'none'}."
        )
    columns = [known.index(name) for name in outputs]
    indices = sobol if space.copula is None else kucherenko
    return replace(indices(lambda X: rows(X)[:, columns], space, n=base), outputs=outputs)


def _noise(model: ReducedModel, o: int) -> float:
    """Return the standard deviation of the noise that a surrogate found in output o."""
    said: Any = model.describe()["fit"]["outputs"][o]
    return float(said.get("noise_std", 0.0))


def _effects(model: ReducedModel, space: ParameterSpace) -> Result:
    """Return E[y | x_i] - E[y] of each output and input, {output: {input: {x, y}}}; none for dependent inputs."""
    if space.copula is not None:
        return {}
    expansion = _expansion(model, space)
    found: Result = {p.name: {} for p in expansion.outputs}
    for name, marginal in zip(space.names, space.marginals, strict=True):
        low, high = (float(v) for v in marginal.ppf([0.005, 0.995]))
        x = np.linspace(low, high, _EFFECT)
        for p, y in zip(expansion.outputs, expansion.effect(name, x).T, strict=True):
            found[p.name][name] = {"x": x.tolist(), "y": y.tolist()}
    return found


def _densities(models: Mapping[str, ReducedModel], data: Dataset, space: ParameterSpace) -> Result:
    """Return histograms of the samples and of predictions at new points: {output: {edges, samples, kind}}."""
    new = {kind: propagate(model, space, n=_NEW, seed=1).sample for kind, model in models.items()}
    found: Result = {}
    for o, port in enumerate(data.outputs):
        columns = {"samples": data.Y[:, o]} | {kind: Y[:, o] for kind, Y in new.items()}
        low, high = (float(f(data.Y[:, o])) for f in (np.min, np.max))
        edges = np.linspace(low - 0.05 * (high - low), high + 0.05 * (high - low), _BINS + 1)
        found[port.name] = {"edges": edges.tolist()} | {
            name: (np.histogram(y, edges)[0] / (y.size * (edges[1] - edges[0]))).tolist() for name, y in columns.items()
        }
    return found


def _check_published(published: Mapping[str, tuple[str, ...]], inputs: list[str], outputs: list[str]) -> None:
    for output, ranking in published.items():
        strangers = [name for name in ranking if name not in inputs]
        if output not in outputs or strangers:
            raise ConfigError(
                f"published of [sensitivity] must be rankings of {', '.join(inputs)} by output ({', '.join(outputs)}), "
                f"got {output} = {list(ranking)}."
            )


def _beside(published: Mapping[str, tuple[str, ...]], found: Indices) -> Result:
    """Return published rankings beside our order of the same inputs."""
    table = {}
    for output, ranking in published.items():
        ours = [name for name in found.ranking(output) if name in ranking]
        table[output] = {"published": list(ranking), "ours": ours, "agrees": ours == list(ranking)}
    return table


def _comparison(data: Dataset, space: ParameterSpace) -> Result:
    """Return {kind: error of each output, seconds} by cross-validation, networks included, and the best kind."""
    from training import ffnn_surrogate

    kinds = ("kriging",) if space.copula is not None else tuple(FITS)
    found = fit_best(data, space, kinds=(*kinds, "ffnn"), others={"ffnn": ffnn_surrogate})
    rows = {kind: dict(zip(found.outputs, map(float, errors), strict=True)) | {"fit_s": found.seconds[kind]}
            for kind, errors in found.errors.items()}  # fmt: skip
    return {"best": found.kind, "errors": rows}
