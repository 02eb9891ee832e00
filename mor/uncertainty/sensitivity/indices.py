"""What a sensitivity analysis found: indices of every output and input, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mor.data.ports import Port
from mor.sampling.space import text_table
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers with their 95 % interval (lower, upper); no interval for exact ones.

    value, lower, upper have the same shape; replicates (k, ...) are what the interval was computed from; notes say in
    sentences what the numbers do not.
    """

    value: Array
    lower: Array | None = None
    upper: Array | None = None
    replicates: Array | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_replicates(cls, replicates: Array) -> Estimate:
        """Return mean and Student interval of independent, unbiased replicates (k, ...)."""
        from scipy.special import stdtrit

        k = len(replicates)
        value = replicates.mean(axis=0)
        if k < 2:
            return cls(value, replicates=replicates)
        half = float(stdtrit(k - 1, 0.975)) * replicates.std(axis=0, ddof=1) / np.sqrt(k)
        return cls(value, value - half, value + half, replicates)

    @classmethod
    def from_bootstrap(cls, value: Array, replicates: Array) -> Estimate:
        """Return the value of the sample with the 2.5 % and 97.5 % quantiles of its bootstrap replicates (k, ...)."""
        lower, upper = np.quantile(replicates, [0.025, 0.975], axis=0)
        return cls(value, lower, upper, replicates)

    @property
    def half_width(self) -> Array:
        """Half the width of the interval, zero where there is none."""
        if self.lower is None or self.upper is None:
            return np.zeros_like(self.value)
        half: Array = 0.5 * (self.upper - self.lower)
        return half


@dataclass(frozen=True, eq=False)
class Indices:
    """Sobol' indices: shares of the variance of each output.

    Attributes
    ----------
    inputs, outputs : tuple of str
        Names; arrays below are (outputs, inputs).
    first, total : Estimate or None
        First-order and total indices; None where the method has none.
    second : Estimate or None
        (outputs, inputs, inputs), symmetric with zero diagonal.
    closed : dict
        {(input, ...): Estimate (outputs,)}: variance explained by a group of inputs together.
    mean, variance : Estimate
        Moments of the outputs (outputs,).
    evaluations : int
        Runs of the model.
    method : str
        How they were found.
    notes
        Sentences on what the numbers do not say.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    first: Estimate | None
    total: Estimate | None
    mean: Estimate
    variance: Estimate
    evaluations: int
    method: str
    second: Estimate | None = None
    closed: Mapping[tuple[str, ...], Estimate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return a table as text, one row an output and input, with the notes below."""
        head = ["output", "input"]
        columns = [(name, e) for name, e in (("first", self.first), ("total", self.total)) if e is not None]
        head += [text for name, e in columns for text in ((name, "+-") if e.lower is not None else (name,))]
        rows = []
        for o, output in enumerate(self.outputs):
            for i, name in enumerate(self.inputs):
                cells = [output, name]
                for _, e in columns:
                    cells.append(f"{e.value[o, i]:.4f}")
                    if e.lower is not None:
                        cells.append(f"{e.half_width[o, i]:.1e}")
                rows.append(tuple(cells))
        return "\n".join([text_table(tuple(head), rows), *self.notes])

    def plain(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""

        def numbers(e: Estimate | None) -> dict[str, Any] | None:
            if e is None:
                return None
            found = {"value": e.value.tolist()}
            if e.lower is not None and e.upper is not None:
                found |= {"lower": e.lower.tolist(), "upper": e.upper.tolist()}
            return found

        return {
            "method": self.method,
            "evaluations": self.evaluations,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "first": numbers(self.first),
            "total": numbers(self.total),
            "second": numbers(self.second),
            "closed": [{"inputs": list(group), **(numbers(e) or {})} for group, e in self.closed.items()],
            "mean": numbers(self.mean),
            "variance": numbers(self.variance),
            "notes": list(self.notes),
        }

    def ranking(self, output: str | None = None) -> tuple[str, ...]:
        """Return the inputs of one output, most influential (largest total, else first) first."""
        o = self._output(output)
        of = self.total if self.total is not None else self.first
        assert of is not None
        return tuple(self.inputs[i] for i in np.argsort(-of.value[o], kind="stable"))

    def _output(self, output: str | None) -> int:
        if output is None and len(self.outputs) == 1:
            return 0
        if output not in self.outputs:
            raise ConfigError(f"output of Indices must be one of {', '.join(self.outputs)}, got {output!r}.")
        return self.outputs.index(output)

    def plot(self, path: str | Path) -> Path:
        """Draw bars with intervals, one panel an output, into the file `path` (its suffix says which kind)."""
        from mor.uncertainty.pictures import draw_bars

        return draw_bars({self.method: self}, path)


def constant_outputs(outputs: tuple[str, ...], total: Array) -> tuple[str, ...]:
    """Return a sentence for each output without any total index (outputs, inputs): it does not vary."""
    return tuple(
        f"Output '{name}' does not vary: its indices are 0."
        for name, row in zip(outputs, total, strict=True)
        if not row.any()
    )


def output_names(model: object, columns: int) -> tuple[str, ...]:
    """Return the names of a model's outputs, y1, y2, ... where it does not name them."""
    ports = getattr(model, "outputs", None) or ()
    if isinstance(getattr(model, "output", None), Port):
        ports = (model.output,)  # type: ignore[attr-defined]
    names = tuple(p.name for p in ports if isinstance(p, Port))
    return names if len(names) == columns else tuple(f"y{o + 1}" for o in range(columns))
