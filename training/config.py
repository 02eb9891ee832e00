"""What a fit may be told."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mor.reduced.ffnn import ACTIVATIONS
from rt_runtime.errors import ConfigError

TRAINERS = ("lm", "adam")


@dataclass(frozen=True)
class FfnnConfig:
    """How to fit a network.

    `hidden`: neurons of each hidden layer. `trainer`: "lm" (Levenberg-Marquardt with Bayesian regularisation, for up to
    some thousand rows and parameters) or "adam" (mini-batches with early stopping, for more). `restarts` starts from
    different seeds are made and the best on the validation data is kept. `iterations`: at most so many steps (lm) or
    epochs (adam) a restart. `seconds`: wall time of the whole fit, None for no limit. `bayesian=False` leaves the
    regularisation out. `learning_rate`, `batch` and `patience` (epochs without progress) are for adam alone.

    Parameters
    ----------
    activation
        Activation of the hidden layers.
    seed
        Seed of the first start.
    """

    hidden: tuple[int, ...] = (10,)
    activation: str = "tanh"
    trainer: str = "lm"
    restarts: int = 10
    seed: int = 0
    iterations: int = 1000
    seconds: float | None = None
    bayesian: bool = True
    learning_rate: float = 1e-2
    batch: int = 32
    patience: int = 200

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        problems = [
            f"{name} of a fit must be a positive whole number, got {value!r}."
            for name, value in (
                ("restarts", self.restarts),
                ("iterations", self.iterations),
                ("batch", self.batch),
                ("patience", self.patience),
                *((f"hidden[{i}]", size) for i, size in enumerate(self.hidden)),
            )
            if not isinstance(value, int) or isinstance(value, bool) or value < 1
        ]
        if not self.hidden:
            problems.append("hidden of a fit must name at least one layer, got ().")
        if not isinstance(self.seed, int) or self.seed < 0:
            problems.append(f"seed of a fit must be a whole number, not negative, got {self.seed!r}.")
        if self.trainer not in TRAINERS:
            problems.append(f"trainer of a fit must be one of {', '.join(TRAINERS)}, got {self.trainer!r}.")
        if self.activation not in ACTIVATIONS:
            problems.append(f"activation of a fit must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}.")
        if self.seconds is not None and not self.seconds > 0.0:
            problems.append(f"seconds of a fit must be positive or None, got {self.seconds!r}.")
        if not 0.0 < self.learning_rate < float("inf"):
            problems.append(f"learning_rate of a fit must be positive, got {self.learning_rate!r}.")
        if problems:
            raise ConfigError.from_problems("Fit of a network", problems)

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain values, ready for JSON."""
        return asdict(self) | {"hidden": list(self.hidden)}
