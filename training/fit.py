"""Fit a network: several restarts of one trainer, the best on the validation data comes back finished."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mor.reduced.ffnn import Ffnn
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from training.config import FfnnConfig
from training.trainers import levenberg
from training.trainers.checkpoint import claim, load_state, save_state
from training.trainers.correlated import Correlated
from training.trainers.levenberg import State
from training.trainers.log import Log
from training.trainers.network import Layout
from training.trainers.progress import Update, bar
from training.trainers.scaled import Samples, Scaled, scale

_CHUNK = 20_000  # rows whose Jacobian is held at once
_SAVE_SECONDS = 2.0
_FREE = ("iterations", "seconds", "restarts")  # settings a resumed fit may change


@dataclass(frozen=True)
class Rows:
    """The least-squares problem of a network on scaled rows."""

    layout: Layout
    X: Array
    Y: Array
    noise: Correlated | None = None

    @property
    def n_residuals(self) -> int:
        """Rows times outputs."""
        return self.Y.size

    def error(self, theta: Array) -> float:
        """Return the sum of squared residuals."""
        with np.errstate(over="ignore", invalid="ignore"):
            errors = self.layout.forward(theta, self.X) - self.Y
            value = sum(float(np.sum(self._white(errors[part], part) ** 2)) for part in self._parts())
        return value if math.isfinite(value) else math.inf

    def normal(self, theta: Array) -> tuple[float, Array, Array]:
        """Return (sum of squared residuals, J'J, J'r), gathered over chunks of rows."""
        n = self.layout.size
        error, JJ, Jr = 0.0, np.zeros((n, n)), np.zeros(n)
        for part in self._parts():
            y, J, _ = self.layout.linearise(theta, self.X[part])
            J = self._white(J.reshape(len(y), -1), part).reshape(-1, n)
            r = self._white(y - self.Y[part], part).ravel()
            error += float(r @ r)
            JJ += J.T @ J
            Jr += J.T @ r
        return error, JJ, Jr

    def _parts(self) -> list[slice]:
        return [slice(at, at + _CHUNK) for at in range(0, len(self.X), _CHUNK)]

    def _white(self, values: Array, part: slice) -> Array:
        return values if self.noise is None else self.noise.white(values, part)


@dataclass(frozen=True)
class Outcome:
    """One restart: the parameters, the score they are ranked by, and what to tell of them."""

    theta: Array
    score: float
    facts: dict[str, float | int]


def fit_ffnn(
    train: Samples,
    *,
    valid: Samples | None = None,
    config: FfnnConfig | None = None,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    importance: ArrayLike | None = None,
    noise: Correlated | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Ffnn:
    """Fit a network to samples and return it finished.

    `valid` ranks the restarts (and stops adam early); without it the lm trainer ranks by its own noise estimate
    E_D / (N - gamma). `domain` = (lower, upper) of the inputs, scaled to [-1, 1]; default: the extent of `train`.
    `importance` (n_out,) lets some outputs count less than others (1).
    `folder` takes checkpoints and logs (restart_<k>/metrics.csv, TensorBoard events); `resume=True` goes on with a fit
    that was interrupted there, to the same bits as if it never had been. The facts of the fit are in `Ffnn.origin`.

    Parameters
    ----------
    config
        Settings; the defaults of `FfnnConfig` when left out.
    noise
        How errors of the training rows are correlated (trainer lm); independent and alike when left out.
    progress
        Show a line that follows the fit.
    """
    config = config or FfnnConfig()
    if valid is None and config.trainer == "adam":
        raise ConfigError("valid of a fit with trainer 'adam' must be given: it decides when to stop.")
    data = scale(train, valid, domain, importance)
    layout = data.layout(config.hidden, config.activation)
    if data.Y.size < layout.size:
        warnings.warn(
            f"{data.Y.size} values for {layout.size} parameters: more rows or fewer hidden neurons will serve better.",
            stacklevel=2,
        )
    place = None if folder is None else Path(folder)
    if place is not None:
        settings = {k: v for k, v in config.plain().items() if k not in _FREE}
        claim(place, settings | {"data": data.fingerprint(), "correlated": noise is not None}, resume=resume)
    if config.trainer == "adam":
        import training.trainers.adam  # noqa: F401  (loading torch is not part of the time a fit is given)
    deadline = None if config.seconds is None else time.perf_counter() + config.seconds
    outcomes: list[Outcome] = []
    with bar(progress, config.restarts * config.iterations, "fit network") as update:
        for restart in range(config.restarts):
            if outcomes and deadline is not None and time.perf_counter() > deadline:
                break
            where = None if place is None else place / f"restart_{restart}"

            def shifted(done: float, text: str, base: int = restart * config.iterations, k: int = restart) -> None:
                update(base + done, f"restart {k + 1}: {text}")

            outcomes.append(_restart(data, layout, config, restart, deadline, where, resume, shifted, noise))
    best = min(range(len(outcomes)), key=lambda k: outcomes[k].score)
    return data.network(layout, outcomes[best].theta, _origin(config, outcomes, best))


def _restart(
    data: Scaled,
    layout: Layout,
    config: FfnnConfig,
    restart: int,
    deadline: float | None,
    folder: Path | None,
    resume: bool,
    update: Update,
    noise: Correlated | None,
) -> Outcome:
    theta = layout.initial(np.random.default_rng([config.seed, restart]))
    if config.trainer == "adam":
        from training.trainers.adam import run_adam

        theta, facts = run_adam(
            layout, data, theta, config, seed=[config.seed, restart], deadline=deadline, folder=folder, resume=resume,
            update=update,
        )  # fmt: skip
        return Outcome(theta, facts["valid_mse"], facts)
    judge = (lambda theta: _mse(layout, theta, data)) if data.X_valid.size else None
    state = run_levenberg(Rows(layout, data.X, data.Y, noise), theta, config, judge, deadline, folder, resume, update)
    train_mse = state.error / data.Y.size
    facts = {
        "iterations": state.iteration,
        "alpha": state.alpha,
        "beta": state.beta,
        "effective_parameters": state.gamma,
        "train_mse": train_mse,
    }
    if judge is None:
        return Outcome(state.theta, state.error / max(data.Y.size - state.gamma, 1e-9), facts)
    facts["valid_mse"] = judge(state.theta)
    return Outcome(state.theta, facts["valid_mse"], facts)


def run_levenberg(
    problem: levenberg.Problem,
    theta: Array,
    config: FfnnConfig,
    judge: Callable[[Array], float] | None,
    deadline: float | None,
    folder: Path | None,
    resume: bool,
    update: Update,
) -> State:
    """Run one restart with log, checkpoints and progress; go on from the checkpoint of `folder` on `resume`.

    `judge(theta)` is the error on the validation data, for the log.
    """
    file = None if folder is None else folder / "checkpoint.npz"
    if resume and file is not None and file.exists():
        state = load_state(file)
    else:
        state = levenberg.start(theta, problem)
    log = None
    if folder is not None:
        columns = ("train_mse", "valid_mse", "alpha", "beta", "effective_parameters", "damping")
        log = Log(folder, columns, after=state.iteration)
    saved = time.perf_counter()

    def after(now: State) -> None:
        nonlocal saved
        if now.iteration % 10 and not now.done:
            return
        mse = now.error / problem.n_residuals
        update(now.iteration, f"mse {mse:.2e}, {now.gamma:.1f} effective parameters")
        if log is None or file is None:
            return
        valid = math.nan if judge is None else judge(now.theta)
        log.write(
            now.iteration,
            {
                "train_mse": mse, "valid_mse": valid, "alpha": now.alpha, "beta": now.beta,
                "effective_parameters": now.gamma, "damping": now.mu,
            },
        )  # fmt: skip
        if time.perf_counter() - saved > _SAVE_SECONDS:
            log.flush()
            save_state(file, now)
            saved = time.perf_counter()

    try:
        state = levenberg.iterate(
            state, problem, iterations=config.iterations, bayesian=config.bayesian, deadline=deadline, after=after
        )
    finally:
        if log is not None:
            log.close()
    if file is not None:
        save_state(file, state)
    return state


def _mse(layout: Layout, theta: Array, data: Scaled) -> float:
    return float(np.mean((layout.forward(theta, data.X_valid) - data.Y_valid) ** 2))


def _origin(config: FfnnConfig, outcomes: list[Outcome], best: int) -> dict[str, object]:
    """Tell how the network came to be; the mean squared errors are those of outputs scaled to [-1, 1]."""
    return {
        "trainer": config.trainer,
        "seed": config.seed,
        "restart": best,
        **outcomes[best].facts,
        "scores": [outcome.score for outcome in outcomes],
    }
