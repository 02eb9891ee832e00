"""Models of the pier without operators: filters, lags, GRU and LSTM, fitted to the same protocols."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hmor.studies.viaduct.piers import TESTED, protocols
from hmor.studies.viaduct.records import RECORDS, stored_one_pier
from hmor.studies.viaduct.runs import campaign
from mor import Dataset, LowPassMemory, MemorySpec, Port, nrmse
from mor.reduced.base import Array
from mor.reduced.history import split_runs
from training import FfnnConfig, GruConfig, MemoryConfig, fit_ffnn_memory, fit_gru_memory

KINDS = ("filters", "lags", "gru32", "lstm32")


def peer(kind: str) -> dict[str, object]:
    """Fit a model of the pier once; return its errors of the force under the three records, and the time of the fit."""
    dt = 1.0 / protocols(TESTED).rate
    train, valid = (with_rate(campaign(TESTED, which).mirrored(), dt) for which in ("train", "valid"))
    began = time.process_time()
    rollout = _fit(kind, train, valid, dt)
    results: dict[str, object] = {f"pier.{kind}.fit_cpu_s": time.process_time() - began}
    for name in RECORDS:
        full, _ = stored_one_pier(name)
        every = round(dt / full.time[1])
        u = np.column_stack([full["x1"][::every], np.gradient(full["x1"][::every], dt)])
        results[f"pier.{kind}.{name}.nrmse"] = nrmse(rollout(u)[:, 0], full["F1"][::every])
    return results


def _fit(kind: str, train: Dataset, valid: Dataset, dt: float) -> Callable[[Array], Array]:
    signals, F = train.inputs, train.outputs
    seen = MemorySpec(signals, F, dt, input_lags=1)
    if kind == "gru32":
        return fit_gru_memory(train, seen, valid=valid, config=GruConfig(32, epochs=60)).rollout
    if kind == "lstm32":
        return fit_lstm(train, valid, seconds=60.0)
    filters = tuple(LowPassMemory(of, T) for of in ("x", "v") for T in (0.05, 0.3, 2.0))
    spec = MemorySpec(signals, F, dt, filters=filters) if kind == "filters" else replace(seen, output_lags=1)
    config = MemoryConfig(FfnnConfig(hidden=(16, 16), restarts=1, iterations=60), rows=2000, iterations=15)
    return fit_ffnn_memory(train, spec, valid=valid, config=config).rollout


def with_rate(data: Dataset, dt: float) -> Dataset:
    """Return runs of x -> F with the velocity as a second input."""
    v = np.concatenate([np.gradient(run.X[:, 0], dt) for run in split_runs(data)])
    return Dataset(np.column_stack([data.X, v]), data.Y, [*data.inputs, Port("v", "m/s")], data.outputs, run=data.run)


def fit_lstm(train: Dataset, valid: Dataset, *, seconds: float) -> Callable[[Array], Array]:
    """Fit an LSTM of 32 units in plain torch; return the free run of the best epoch on `valid` within `seconds`."""
    import torch

    scale_x, scale_y = np.abs(train.X).max(axis=0), float(np.abs(train.Y).max())
    torch.manual_seed(0)
    torch.set_num_threads(1)  # as everything else here
    unit, read = torch.nn.LSTM(2, 32, batch_first=True), torch.nn.Linear(34, 1)
    both = torch.nn.ModuleList([unit, read])
    optimiser = torch.optim.Adam(both.parameters(), lr=5e-3)

    def tensors(data: Dataset) -> tuple[torch.Tensor, torch.Tensor]:
        runs = split_runs(data)
        X, Y = (np.stack([getattr(run, side) for run in runs]) for side in ("X", "Y"))
        return torch.tensor(X / scale_x, dtype=torch.float32), torch.tensor(Y / scale_y, dtype=torch.float32)

    def answer(x: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        h, state = unit(x, state)
        return read(torch.cat([h, x], dim=2)), state

    (X, Y), (X_valid, Y_valid) = tensors(train), tensors(valid)
    best, kept, began = np.inf, both.state_dict(), time.process_time()
    while time.process_time() - began < seconds:
        state = None
        for at in range(0, X.shape[1], 256):
            y, state = answer(X[:, at : at + 256], state)
            state = tuple(s.detach() for s in state)
            loss = torch.mean((y - Y[:, at : at + 256]) ** 2)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(both.parameters(), 1.0)
            optimiser.step()
        with torch.no_grad():
            score = float(torch.mean((answer(X_valid)[0] - Y_valid) ** 2))
        if score < best:
            best, kept = score, {name: tensor.clone() for name, tensor in both.state_dict().items()}
    both.load_state_dict(kept)

    def rollout(u: Array) -> Array:
        with torch.no_grad():
            y = answer(torch.tensor(u / scale_x, dtype=torch.float32)[None])[0][0]
        return np.asarray(y.numpy(), float) * scale_y

    return rollout
