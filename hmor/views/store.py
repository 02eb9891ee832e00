"""A store of samples as plain values, for `hmor info`, `hmor sample` and the report."""

from __future__ import annotations

import math
from typing import Any

from mor.campaign import Store
from mor.data.dataset import Dataset


def store_content(store: Store) -> dict[str, Any]:
    """Return what is in a store as plain values."""
    return {
        "kind": "store",
        "path": str(store.path),
        "model": store.campaign["model"],
        "design": {"points": len(store.design), **store.campaign["design"]["made"]},
        "parameters": {name: _finite(law) for name, law in store.design.space.to_dict().items()},
        "finished": len(store.finished),
        "failed": [
            {"sample": f.index, "by": f.failure.kind, "reason": f.failure.reason, "parameters": f.parameters}
            for f in store.failed
        ],
        "open": len(store.open),
        "trajectories": store.with_trajectories,
        "damaged_lines": store.damaged,
        "model_seconds": store.seconds,
    }


def _finite(law: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity; an open bound is null
    return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in law.items()}


def output_figures(data: Dataset) -> dict[str, dict[str, Any]]:
    """Return unit, mean, standard deviation, smallest and largest value of each output."""
    return {
        port.name: {
            "unit": port.unit,
            "mean": float(data[port.name].mean()),
            "std": float(data[port.name].std(ddof=1)) if len(data) > 1 else 0.0,
            "min": float(data[port.name].min()),
            "max": float(data[port.name].max()),
        }
        for port in data.outputs
    }
