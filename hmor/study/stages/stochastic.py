"""What a study tells of a stochastic emulator: tests of its law, indices of quantiles, and the repeated points."""

from __future__ import annotations

from typing import Any

import numpy as np

from hmor.study.file import Model, Study
from hmor.study.stages.fit import model_data, repeated_points
from mor.data.dataset import Dataset
from mor.reduced.base import ReducedModel
from mor.reduced.lambda_model.checks import check_emulator
from mor.reduced.lambda_model.emulator import StochasticEmulator
from mor.reduced.lambda_model.model import Glam
from mor.stochastic.indices import LEVELS, classical_indices, summary_indices
from mor.uncertainty.sensitivity.indices import Estimate

REPLICATES = 30


def judge_law(study: Study, model: Model, fitted: ReducedModel) -> dict[str, Any]:
    """Return tests, terms and indices of a fitted emulator as plain values."""
    assert isinstance(fitted, StochasticEmulator)
    data, space = model_data(study, model)[0], study.parts[model.source].parameters
    assert space is not None
    tests = check_emulator(fitted, data)
    found: dict[str, Any] = {
        "tests": {one.output: plain for one, plain in zip(tests.outputs, tests.plain(), strict=True)},
        "sentences": tests.sentences(),
    }
    if isinstance(fitted, Glam):
        found["terms"] = {p.name: fitted.terms(p.name) for p in fitted.outputs}
    again = repeated_points(study, model)
    if again is not None:
        found["repeated"] = _repeated(fitted, again)
    if space.copula is None:
        of = summary_indices(
            fitted,
            space,
            levels=LEVELS,
            moments=False,
            data=data if isinstance(fitted, Glam) else None,  # quantiles of an Spce are searched, not written down
            replicates=REPLICATES,
            n=2**10,
            seed=study.study.seed,
        )
        found["indices"] = {
            "first": _table(of.first, of.outputs, of.inputs),
            "total": _table(of.total, of.outputs, of.inputs),
        }
        plain = classical_indices(fitted, space, data=data, replicates=REPLICATES, n=2**10, seed=study.study.seed)
        found["classical"] = _table(plain.first, plain.outputs, plain.inputs) | {"notes": list(plain.notes)}
    return found


def _repeated(fitted: StochasticEmulator, data: Dataset) -> list[dict[str, Any]]:
    """Return for each repeated point how its runs lie in the law of the emulator (Kolmogorov, Smirnov)."""
    from scipy.stats import kstest

    points, at = np.unique(data.X, axis=0, return_inverse=True)
    found = []
    for k, x in enumerate(points):
        rows = np.flatnonzero(np.ravel(at) == k)
        U = fitted.cdf(data.X[rows], data.Y[rows])
        found.append(
            {
                "inputs": dict(zip((p.name for p in data.inputs), x.tolist(), strict=True)),
                "runs": len(rows),
                "p": {p.name: float(kstest(u, "uniform").pvalue) for p, u in zip(data.outputs, U.T, strict=True)},
                "responses": {p.name: data.Y[rows, o].tolist() for o, p in enumerate(data.outputs)},
            }
        )
    return found


def _table(estimate: Estimate | None, outputs: tuple[str, ...], inputs: tuple[str, ...]) -> dict[str, Any]:
    """Return {output: {input: [value, lower, upper]}}."""
    assert estimate is not None
    low = estimate.value if estimate.lower is None else estimate.lower
    high = estimate.value if estimate.upper is None else estimate.upper
    return {
        output: {name: [round(float(v[o, i]), 4) for v in (estimate.value, low, high)] for i, name in enumerate(inputs)}
        for o, output in enumerate(outputs)
    }
