"""Adam with early stopping, through Lightning: module, data module and trainer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from rt_runtime.checks import Array
from rt_runtime.errors import MissingExtra
from training.config import FfnnConfig
from training.trainers.network import Layout
from training.trainers.progress import Update
from training.trainers.scaled import Scaled

try:
    import lightning.pytorch as L
    import torch
    from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
except ImportError as error:
    raise MissingExtra(f"trainer 'adam' needs torch and lightning ({error}); install hybrid-mor[train].") from error


_SAVE_EPOCHS = 25


class FfnnModule(L.LightningModule):  # type: ignore[misc]
    """The network of a layout as torch layers in double precision, with mean squared error and Adam."""

    def __init__(self, layout: Layout, theta: Array, learning_rate: float) -> None:
        super().__init__()
        self.layout = layout
        self.learning_rate = learning_rate
        self.losses: list[torch.Tensor] = []
        layers: list[torch.nn.Module] = []
        weights, biases = layout.unpack(theta)
        for W, b in zip(weights, biases, strict=True):
            linear = torch.nn.Linear(W.shape[1], W.shape[0], dtype=torch.float64)
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(W)))
                linear.bias.copy_(torch.from_numpy(np.ascontiguousarray(b)))
            layers += [linear, _activation(layout.activation)]
        self.network = torch.nn.Sequential(*layers[:-1])

    @property
    def theta(self) -> Array:
        """The parameters as one flat vector."""
        parts = [p.detach().numpy().ravel() for p in self.network.parameters()]
        return np.concatenate(parts).astype(np.float64)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the outputs at scaled inputs."""
        out: torch.Tensor = self.network(X)
        return out

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _: int) -> torch.Tensor:
        """Return the mean squared error of a mini-batch."""
        loss = torch.nn.functional.mse_loss(self.network(batch[0]), batch[1])
        self.losses.append(loss.detach())
        return loss

    def on_train_epoch_end(self) -> None:
        """Log the mean error of the epoch; once, because a log call costs as much as a step of a small network."""
        self.log("train_mse", torch.stack(self.losses).mean())
        self.losses.clear()

    def validation_step(self, batch: tuple[torch.Tensor, torch.Tensor], _: int) -> None:
        """Log the mean squared error on the validation rows."""
        loss = torch.nn.functional.mse_loss(self.network(batch[0]), batch[1])
        self.log("valid_mse", loss, batch_size=len(batch[0]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam."""
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


class Batches:
    """Mini-batches of the rows as they stand."""

    def __init__(self, X: Array, Y: Array, batch: int) -> None:
        self.X, self.Y, self.batch = torch.from_numpy(X), torch.from_numpy(Y), batch

    def order(self) -> torch.Tensor:
        """Return the order of the rows in the next pass."""
        return torch.arange(len(self.X))

    def __len__(self) -> int:
        return -(-len(self.X) // self.batch)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        order = self.order()
        for at in range(0, len(order), self.batch):
            rows = order[at : at + self.batch]
            yield self.X[rows], self.Y[rows]


class Shuffled(Batches):
    """Mini-batches in an order that depends on seed and epoch alone, so that a resumed fit meets the same ones."""

    def __init__(self, X: Array, Y: Array, batch: int, seed: Sequence[int]) -> None:
        super().__init__(X, Y, batch)
        self.seed, self.epoch = list(seed), 0
        self.sampler = self  # where Lightning looks for `set_epoch`

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass."""
        self.epoch = epoch

    def order(self) -> torch.Tensor:
        """Return a permutation drawn from seed and epoch."""
        return torch.from_numpy(np.random.default_rng([*self.seed, self.epoch]).permutation(len(self.X)))


class FfnnData(L.LightningDataModule):  # type: ignore[misc]
    """Scaled training and validation rows; the validation rows are one batch."""

    def __init__(self, data: Scaled, batch: int, seed: Sequence[int]) -> None:
        super().__init__()
        self.train = Shuffled(data.X, data.Y, batch, seed)
        self.valid = Batches(data.X_valid, data.Y_valid, len(data.X_valid))

    def train_dataloader(self) -> Batches:
        """Return the shuffled mini-batches."""
        return self.train

    def val_dataloader(self) -> Batches:
        """Return the validation rows."""
        return self.valid


class _Best(Callback):  # type: ignore[misc]
    """Keep the parameters of the best epoch in memory (and in the checkpoint), and tell how it goes."""

    def __init__(self, update: Update) -> None:
        self.update, self.score, self.weights = update, float("inf"), {}  # type: ignore[var-annotated]

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        score = float(trainer.callback_metrics["valid_mse"])
        if score < self.score:
            self.score = score
            self.weights = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        if trainer.current_epoch % 10 == 0:
            self.update(trainer.current_epoch, f"validation mse {score:.2e}")

    def state_dict(self) -> dict[str, Any]:
        return {"score": self.score, "weights": self.weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.score, self.weights = state["score"], state["weights"]


def run_adam(
    layout: Layout,
    data: Scaled,
    theta: Array,
    config: FfnnConfig,
    *,
    seed: Sequence[int],
    deadline: float | None,
    folder: Path | None,
    resume: bool,
    update: Update,
) -> tuple[Array, dict[str, float | int]]:
    """Train from `theta`; return the parameters of the best epoch on the validation rows, and the facts."""
    module = FfnnModule(layout, theta, config.learning_rate)
    best = _Best(update)
    callbacks: list[Callback] = [EarlyStopping(monitor="valid_mse", patience=config.patience, mode="min"), best]
    loggers: list[Any] = []
    begun = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        keep = ModelCheckpoint(
            dirpath=folder, filename="last", every_n_epochs=_SAVE_EPOCHS, enable_version_counter=False
        )
        callbacks.append(keep)
        place = str(folder)
        loggers = [CSVLogger(place, name="", version=""), TensorBoardLogger(place, name="", version="")]
        last = folder / "last.ckpt"
        begun = last if resume and last.exists() else None
    with quiet():
        trainer = L.Trainer(
            max_epochs=config.iterations,
            max_time=None if deadline is None else timedelta(seconds=max(deadline - time.perf_counter(), 1e-3)),
            accelerator="cpu",
            devices=1,
            callbacks=callbacks,
            logger=loggers,
            log_every_n_steps=_SAVE_EPOCHS,
            enable_checkpointing=folder is not None,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        trainer.fit(module, FfnnData(data, config.batch, seed), ckpt_path=begun, weights_only=True)
    module.load_state_dict(best.weights or module.state_dict())
    facts: dict[str, float | int] = {
        "iterations": int(trainer.current_epoch),
        "train_mse": float(np.mean((layout.forward(module.theta, data.X) - data.Y) ** 2)),
        "valid_mse": float(np.mean((layout.forward(module.theta, data.X_valid) - data.Y_valid) ** 2)),
    }
    return module.theta, facts


def _activation(name: str) -> torch.nn.Module:
    return {
        "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU, "softplus": torch.nn.Softplus,
    }[name]()  # fmt: skip


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what Lightning says about accelerators and loader workers: neither concerns a network this small."""
    import logging

    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
