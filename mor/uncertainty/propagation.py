"""Propagate uncertain inputs: moments, quantiles, exceedance and failure probabilities, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from mor.sampling.space import ParameterSpace, open_unit, text_table
from mor.uncertainty.evaluation import Rows, as_rows
from mor.uncertainty.sensitivity.indices import Estimate, output_names
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Propagation:
    """The law of the outputs: moments and quantiles with 95 % intervals, and the sample they come from.

    mean, std: (outputs,); quantiles: (levels, outputs); exceedance: {(output, limit): Estimate of P(y > limit)}.

    Parameters
    ----------
    evaluations
        Runs of the model.
    """

    outputs: tuple[str, ...]
    mean: Estimate
    std: Estimate
    levels: tuple[float, ...]
    quantiles: Estimate
    sample: Array
    evaluations: int

    def exceedance(self, output: str, limit: float) -> Estimate:
        """Return P(output > limit) with its interval (Wilson's, which holds for rare events too)."""
        if output not in self.outputs:
            raise ConfigError(f"output of exceedance must be one of {', '.join(self.outputs)}, got {output!r}.")
        above = int(np.count_nonzero(self.sample[:, self.outputs.index(output)] > limit))
        return wilson(above, len(self.sample))

    def summary(self) -> str:
        """Return a table as text."""
        head = ("output", "mean", "+-", "std", "+-", *(f"{100 * q:g} %" for q in self.levels))
        rows = [
            (name, f"{self.mean.value[o]:.6g}", f"{self.mean.half_width[o]:.1e}", f"{self.std.value[o]:.6g}",
             f"{self.std.half_width[o]:.1e}", *(f"{v:.6g}" for v in self.quantiles.value[:, o]))
            for o, name in enumerate(self.outputs)
        ]  # fmt: skip
        return text_table(head, rows)

    def plot(self, path: str | Path) -> Path:
        """Draw the distributions of the outputs."""
        from mor.uncertainty.pictures import draw_distributions

        return draw_distributions({name: {"sample": self.sample[:, o]} for o, name in enumerate(self.outputs)}, path)


def wilson(hits: int, n: int) -> Estimate:
    """Return a share of hits with its 95 % interval (Wilson 1927)."""
    z = 1.959963984540054
    p = hits / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Estimate(np.array(p), np.array(max(centre - half, 0.0)), np.array(min(centre + half, 1.0)))


def propagate(
    model: object,
    space: ParameterSpace,
    *,
    n: int = 2**14,
    scrambles: int = 8,
    levels: Sequence[float] = (0.05, 0.5, 0.95),
    seed: int = 0,
) -> Propagation:
    """Propagate the law of the inputs through a model by quasi-Monte Carlo.

    Parameters
    ----------
    model : callable, ReducedModel or Evaluable
        As in `mor.uncertainty.sensitivity.sampled_indices`.
    space : ParameterSpace
        Law of the inputs; they may depend on each other.
    n : int
        Evaluations in all, rounded up to a power of two for each scrambling.
    scrambles : int
        Independent scramblings that the intervals come from.
    levels : sequence of float
        Probabilities of the quantiles.
    seed : int
        Seed of the scramblings.
    """
    from scipy.stats import qmc

    whole(n, "n", "propagate", 2)
    whole(scrambles, "scrambles", "propagate", 2)
    if not all(0.0 < q < 1.0 for q in levels):
        raise ConfigError(f"levels of propagate must lie between 0 and 1, got {tuple(levels)}.")
    rows = as_rows(model, space, "propagate")
    power = max(1, int(np.ceil(np.log2(max(n / scrambles, 2)))))
    samples = []
    for k in range(scrambles):
        sequence = qmc.Sobol(space.dimension, scramble=True, rng=np.random.default_rng((seed, k)))
        samples.append(rows(space.from_unit(open_unit(sequence.random_base2(power)))))
    sample = np.concatenate(samples)
    return Propagation(
        output_names(model, sample.shape[1]),
        Estimate.from_replicates(np.stack([y.mean(axis=0) for y in samples])),
        Estimate.from_replicates(np.stack([y.std(axis=0, ddof=1) for y in samples])),
        tuple(float(q) for q in levels),
        Estimate.from_replicates(np.stack([np.quantile(y, levels, axis=0) for y in samples])),
        sample,
        len(sample),
    )


def failure_probability(
    model: object,
    space: ParameterSpace,
    limit: float,
    *,
    output: int = 0,
    side: str = "above",
    method: str = "importance",
    n: int = 20_000,
    seed: int = 0,
) -> Estimate:
    """Return the probability that an output is beyond a limit, with its 95 % interval.

    Parameters
    ----------
    model, space
        As in `propagate`.
    limit : float
        In units of the output.
    output : int
        Which output.
    side : str
        "above": P(y > limit), "below": P(y < limit).
    method : str
        "monte_carlo", or "importance": the standard normal variables are sampled around the failure region, which the
        cross-entropy method (Rubinstein, Kroese 2004) finds step by step with a Gaussian density; for rare events with
        one failure region. Where it finds no failure at all, the interval is that of as many plain samples.
    n : int
        Evaluations of the final sample; importance sampling spends up to as many again on the way, and as many
        plain ones where it finds no failure.
    seed : int
        Seed of the samples.
    """
    from scipy.special import ndtr

    one_of(side, "side", "failure_probability", ("above", "below"))
    one_of(method, "method", "failure_probability", ("importance", "monte_carlo"))
    whole(n, "n", "failure_probability", 100)
    rows = as_rows(model, space, "failure_probability")
    sign = 1.0 if side == "above" else -1.0
    d, rng = space.dimension, np.random.default_rng(seed)

    def beyond(xi: Array) -> Array:
        """Distance beyond the limit at standard normal points."""
        y: Array = sign * (rows(space.from_unit(np.clip(ndtr(xi), 1e-15, 1.0 - 1e-15)))[:, output] - limit)
        return y

    if method == "monte_carlo":
        return wilson(int(np.count_nonzero(beyond(rng.standard_normal((n, d))) > 0.0)), n)
    centre, factor = _failure_region(beyond, d, max(500, n // 10), rng)
    xi = centre + rng.standard_normal((n, d)) @ factor.T
    z = np.linalg.solve(factor, (xi - centre).T).T
    log_ratio = -0.5 * np.sum(xi**2 - z**2, axis=1) + float(np.log(np.diag(factor)).sum())
    value = np.where(beyond(xi) > 0.0, np.exp(log_ratio), 0.0)
    if not value.any():  # nothing found is no proof that nothing is there: plain sampling bounds the probability
        return wilson(int(np.count_nonzero(beyond(rng.standard_normal((n, d))) > 0.0)), n)
    p, half = float(value.mean()), 1.959963984540054 * float(value.std(ddof=1)) / np.sqrt(n)
    return Estimate(np.array(p), np.array(max(p - half, 0.0)), np.array(min(p + half, 1.0)))


def _failure_region(
    beyond: Rows, d: int, n: int, rng: np.random.Generator, *, share: float = 0.1, steps: int = 10
) -> tuple[Array, Array]:
    """Return centre and Cholesky factor of a Gaussian that covers the failure region (cross-entropy steps)."""
    centre: Array = np.zeros(d)
    factor: Array = np.eye(d)
    for _ in range(steps):
        xi = centre + rng.standard_normal((n, d)) @ factor.T
        g = beyond(xi)
        level = min(0.0, float(np.quantile(g, 1.0 - share)))
        z = np.linalg.solve(factor, (xi - centre).T).T
        weight = np.where(g >= level, np.exp(-0.5 * np.sum(xi**2 - z**2, axis=1)), 0.0)
        if weight.sum() <= 0.0:
            raise ConfigError("Importance sampling found no failure; is the limit within what the model can reach?")
        weight /= weight.sum()
        centre = weight @ xi
        spread = (xi - centre).T @ ((xi - centre) * weight[:, None])
        if 1.0 / float(weight @ weight) < 2 * d + 2:  # too few effective points for a covariance
            spread = np.diag(np.maximum(np.diag(spread), 0.05))
        # Wider than the failure region itself: an importance density with light tails would miss a part of it.
        factor = np.asarray(np.linalg.cholesky(1.2 * spread + 0.05 * np.eye(d)), dtype=np.float64)
        if level >= 0.0:
            break
    return centre, factor


def reliability_index(probability: float) -> float:
    """Return beta = -Phi^-1(p), the index that codes of practice ask for."""
    return float(-ndtri(probability))
