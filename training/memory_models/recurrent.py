"""Fit a gated recurrent unit to long records: truncated backpropagation through time with Lightning.

All runs go side by side, chunk after chunk of time; the hidden state is handed on to the next chunk, the gradient not.
Each epoch ends with free runs of the validation records, which decide when to stop and which epoch is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.reduced.gru import GruStep
from mor.reduced.history import MemorySpec, split_runs
from mor.reduced.memory import MemoryModel, regressor_ports
from mor.reduced.ranges import memory_limits
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError, MissingExtra
from training.trainers.progress import Update, bar
from training.trainers.scaled import to_unit


@dataclass(frozen=True)
class GruConfig:
    """How to fit a recurrent unit.

    Parameters
    ----------
    units
        Size of the hidden state.
    chunk
        Steps through which the gradient goes back.
    epochs, patience
        At most so many passes over the runs, and so many without progress on the validation records.
    learning_rate
        Of Adam.
    seed
        Of the start.
    seconds
        Wall time, None for no limit.
    """

    units: int = 16
    chunk: int = 200
    epochs: int = 200
    patience: int = 25
    learning_rate: float = 5e-3
    seed: int = 0
    seconds: float | None = None

    def __post_init__(self) -> None:
        problems = [
            f"{name} of a recurrent fit must be a positive whole number, got {value!r}."
            for name, value in asdict(self).items()
            if name in ("units", "chunk", "epochs", "patience") and (not isinstance(value, int) or value < 1)
        ]
        if not isinstance(self.seed, int) or self.seed < 0:
            problems.append(f"seed of a recurrent fit must be a whole number, not negative, got {self.seed!r}.")
        if not 0.0 < self.learning_rate < float("inf"):
            problems.append(f"learning_rate of a recurrent fit must be positive, got {self.learning_rate!r}.")
        if self.seconds is not None and not self.seconds > 0.0:
            problems.append(f"seconds of a recurrent fit must be positive or None, got {self.seconds!r}.")
        if problems:
            raise ConfigError.from_problems("Recurrent fit", problems)


def fit_gru_memory(
    train: Dataset,
    memory: MemorySpec,
    *,
    valid: Dataset,
    config: GruConfig | None = None,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    progress: bool = False,
) -> MemoryModel:
    """Fit a recurrent unit that sees the signals, their lags and the operators of `memory`; return it finished.

    Parameters
    ----------
    train, valid
        Whole runs, sampled every `memory.dt` and starting from rest.
    memory
        What stands in front of the unit; filters, states and output lags are the unit's own task and refused.
    domain, bounds
        Of the signals and of the outputs, as in `fit_ffnn_memory`.
    config
        Settings; the defaults of `GruConfig` when left out.
    progress
        Show a line that follows the fit.
    """
    config = config or GruConfig()
    if memory.dt is None or memory.filters or memory.output_lags or memory.gate is not None:
        raise ConfigError(
            "memory of a recurrent fit must have dt and neither filters, output lags nor a gate: the unit remembers."
        )
    memory = memory.resolved(train)
    memory.check(valid)
    limits = memory_limits(memory, train, domain, bounds)
    low, high = train.Y.min(axis=0), train.Y.max(axis=0)
    sets = [_sequences(memory, data, limits.features, (low, high)) for data in (train, valid)]
    with bar(progress, config.epochs, "fit recurrent unit") as update:
        weights, facts = _train(sets[0], sets[1], config, update)
    n_y, m = len(memory.outputs), config.units
    hidden = tuple(Port(f"h{i}") for i in range(1, m + 1))
    outputs = (*memory.outputs, *hidden)
    inputs = regressor_ports(memory.signals, outputs, memory.input_lags, 1, memory.front.features)
    # the step sees all that comes back, outputs too: their columns have weight zero
    n_x = memory.n_exogenous + n_y
    one = np.ones(m)

    def widened(matrix: Array) -> Array:
        return np.hstack([matrix, np.zeros((len(matrix), n_y))])

    past = (np.minimum(limits.outputs[0], 0.0), np.maximum(limits.outputs[1], 0.0))
    step = GruStep(
        widened(weights["inner"]), weights["hidden"], weights["bias"], weights["hidden_bias"], weights["readout"],
        widened(weights["direct"]), weights["offset"], inputs, outputs,
        (np.concatenate([limits.features[0], past[0], -one]), np.concatenate([limits.features[1], past[1], one])),
        (low, high), {"trainer": "tbptt", "seed": config.seed, **facts},
    )  # fmt: skip
    assert len(inputs) == n_x + m
    return MemoryModel.around(
        step, memory.signals, dt=memory.dt, input_lags=memory.input_lags, output_lags=1,
        bounds=(np.concatenate([limits.outputs[0], -one]), np.concatenate([limits.outputs[1], one])), responses=n_y,
        operators=memory.operators,
    )  # fmt: skip


@dataclass(frozen=True)
class _Sequences:
    """Runs side by side, padded to the longest: X (runs, steps, n_x), Y (runs, steps, n_y), mask (runs, steps)."""

    X: Array
    Y: Array
    mask: Array


def _sequences(
    memory: MemorySpec, data: Dataset, features: tuple[Array, Array], span: tuple[Array, Array]
) -> _Sequences:
    runs = split_runs(data)
    longest, n = max(len(run) for run in runs), memory.n_exogenous
    X, Y = np.zeros((len(runs), longest, n)), np.zeros((len(runs), longest, len(memory.outputs)))
    mask = np.zeros((len(runs), longest))
    lower, upper = (b[:n] for b in features)
    for i, run in enumerate(runs):
        phi, target = memory.rows(run.X, run.Y, np.arange(len(run)))
        X[i, : len(run)] = to_unit(np.clip(phi[:, :n], lower, upper), lower, upper)
        Y[i, : len(run)] = to_unit(target, *span)
        mask[i, : len(run)] = 1.0
    return _Sequences(X, Y, mask)


def _train(
    train: _Sequences, valid: _Sequences, config: GruConfig, update: Update
) -> tuple[dict[str, Array], dict[str, float | int]]:
    """Return the weights of the best epoch and the facts of the fit."""
    try:
        import lightning.pytorch as L
        import torch
        from lightning.pytorch.callbacks import EarlyStopping
    except ImportError as error:
        raise MissingExtra(f"fit_gru_memory needs torch and lightning ({error}); install hybrid-mor[train].") from error
    from training.trainers.adam import quiet

    class Chunks:
        """Chunks of time of all runs, in order."""

        def __init__(self, data: _Sequences, length: int) -> None:
            self.parts = [torch.tensor(part, dtype=torch.float32) for part in (data.X, data.Y, data.mask)]
            self.length = length

        def __len__(self) -> int:
            return -(-self.parts[0].shape[1] // self.length)

        def __iter__(self) -> Iterator[Any]:
            for at in range(0, self.parts[0].shape[1], self.length):
                yield (at == 0, *(part[:, at : at + self.length] for part in self.parts))

    class Unit(L.LightningModule):  # type: ignore[misc]
        """The unit and its readout."""

        def __init__(self) -> None:
            super().__init__()
            n_x, n_y = train.X.shape[2], train.Y.shape[2]
            self.unit = torch.nn.GRU(n_x, config.units, batch_first=True)
            self.read = torch.nn.Linear(config.units + n_x, n_y)
            self.state: Any = None
            self.best: dict[str, Any] = {}
            self.score = float("inf")

        def error(self, batch: Any) -> Any:
            first, X, Y, mask = batch
            h, last = self.unit(X, None if first else self.state)
            self.state = last.detach()
            wrong = self.read(torch.cat([h, X], dim=2)) - Y
            return torch.sum(wrong**2 * mask[:, :, None]) / torch.clamp(mask.sum(), min=1.0)

        def training_step(self, batch: Any, _: int) -> Any:
            return self.error(batch)

        def validation_step(self, batch: Any, _: int) -> None:
            loss = self.error(batch)
            self.log("valid_mse", loss, batch_size=1)

        def on_validation_epoch_end(self) -> None:
            score = float(self.trainer.callback_metrics["valid_mse"])
            if score < self.score:
                self.score = score
                self.best = {name: tensor.clone() for name, tensor in self.state_dict().items()}
            update(self.current_epoch, f"validation mse {score:.2e}")

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=config.learning_rate)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a small unit is faster without threads waiting for each other
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(config.seed)
        module = Unit()
        trainer = L.Trainer(
            max_epochs=config.epochs, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, gradient_clip_val=1.0,
            max_time=None if config.seconds is None else timedelta(seconds=config.seconds),
            callbacks=[EarlyStopping(monitor="valid_mse", patience=config.patience, mode="min")],
        )  # fmt: skip
        try:
            trainer.fit(module, Chunks(train, config.chunk), Chunks(valid, valid.X.shape[1]))
        finally:
            torch.set_num_threads(threads)
    best = {name: tensor.double().numpy() for name, tensor in (module.best or module.state_dict()).items()}
    m, inside, past = config.units, best["unit.bias_ih_l0"], best["unit.bias_hh_l0"]
    bias = inside + np.concatenate([past[: 2 * m], np.zeros(m)])  # that of the candidate stands behind its gate
    weights = {
        "inner": best["unit.weight_ih_l0"], "hidden": best["unit.weight_hh_l0"], "bias": bias,
        "hidden_bias": past[2 * m :], "readout": best["read.weight"][:, :m], "direct": best["read.weight"][:, m:],
        "offset": best["read.bias"],
    }  # fmt: skip
    return weights, {"epochs": int(trainer.current_epoch), "valid_mse": module.score}
