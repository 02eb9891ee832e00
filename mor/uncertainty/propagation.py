"""Propagate uncertain inputs: moments, quantiles, exceedance and failure probabilities, with intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path

import numpy as np
from scipy.special import betaincinv, ndtri

from mor.sampling.space import ParameterSpace, open_unit, text_table
from mor.uncertainty.evaluation import Rows, as_rows
from mor.uncertainty.sensitivity.indices import Estimate, output_names
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError

_SUPPORTED = 10.0  # failures of equal weight from which on an interval of importance sampling is trusted


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
        """Return P(output > limit) with its interval (`share`: it holds for rare events too)."""
        if output not in self.outputs:
            raise ConfigError(f"output of exceedance must be one of {', '.join(self.outputs)}, got {output!r}.")
        limit = _limit(limit, "exceedance")
        above = int(np.count_nonzero(self.sample[:, self.outputs.index(output)] > limit))
        return share(above, len(self.sample))

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


def _limit(limit: float, of: str) -> float:
    """Return a limit that outputs can be compared with."""
    if not (isinstance(limit, Real) and math.isfinite(limit)):
        raise ConfigError(f"limit of {of} must be a finite number, got {limit!r}.")
    return float(limit)


def share(hits: int, n: int) -> Estimate:
    """Return a share of hits with its 95 % interval (Clopper, Pearson 1934): it covers however rare they are."""
    return Estimate(np.array(hits / n), np.array(_lowest(hits, n)), np.array(_highest(hits, n)))


def _lowest(hits: float, n: int) -> float:
    """Return the share below which `hits` or more of n (they need not be whole) have a chance of 2.5 %."""
    return float(betaincinv(hits, n - hits + 1.0, 0.025)) if hits > 0.0 else 0.0


def _highest(hits: float, n: int) -> float:
    """Return the share above which `hits` or fewer of n have a chance of 2.5 %."""
    return float(betaincinv(hits + 1.0, n - hits, 0.975)) if hits < n else 1.0


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
        one failure region. Where it finds no failure at all, the interval is that of as many plain samples. What the
        sample cannot support is said in a warning and in `notes` of the result.
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
    whole(output, "output", "failure_probability", 0)
    limit = _limit(limit, "failure_probability")
    rows = as_rows(model, space, "failure_probability")
    sign = 1.0 if side == "above" else -1.0
    d, rng = space.dimension, np.random.default_rng(seed)

    def beyond(xi: Array) -> Array:
        """Distance beyond the limit at standard normal points."""
        Y = rows(space.from_unit(np.clip(ndtr(xi), 1e-15, 1.0 - 1e-15)))
        if output >= Y.shape[1]:
            raise ConfigError(f"output of failure_probability must be below {Y.shape[1]}, the outputs, got {output}.")
        distance: Array = sign * (Y[:, output] - limit)
        return distance

    if method == "monte_carlo":
        return share(int(np.count_nonzero(beyond(rng.standard_normal((n, d))) > 0.0)), n)
    centre, factor = _failure_region(beyond, d, max(500, n // 10), rng)
    xi = centre + rng.standard_normal((n, d)) @ factor.T
    z = np.linalg.solve(factor, (xi - centre).T).T
    log_ratio = -0.5 * np.sum(xi**2 - z**2, axis=1) + float(np.log(np.diag(factor)).sum())
    margin, ratio = beyond(xi), np.exp(log_ratio)
    if np.any(ratio[margin > 0.0] > 0.0):
        return weighted_failures(margin, ratio)
    # Nothing found is no proof that nothing is there: plain sampling bounds the probability.
    plain = share(int(np.count_nonzero(beyond(rng.standard_normal((n, d))) > 0.0)), n)
    return _noted(
        plain, f"Importance sampling found no failure in {n} samples; the interval is that of {n} plain ones."
    )


def weighted_failures(margin: Array, ratio: Array) -> Estimate:
    """Return the probability of failure with its 95 % interval from points of another density, at least one failed.

    K failures of weights w_i are worth m = (sum w_i)^2 / sum w_i^2 failures of the one weight w = sum w_i^2 / sum w_i
    (Kish 1965), and the interval is w times that of m hits among n (Clopper, Pearson 1934). Its upper end counts one
    failure more, as heavy as the heaviest or as the nearest miss (Fay, Feuer 1997, have the heaviest): of few failures
    the heaviest is often not seen, and at the edge of the failure region it weighs what a miss nearby would.

    Parameters
    ----------
    margin : (n,)
        How far each point is beyond the limit; positive ones failed.
    ratio : (n,)
        True density over the one that the points were drawn from.
    """
    n, failed = margin.size, margin > 0.0
    weight, hits = ratio[failed], int(np.count_nonzero(failed))
    heaviest = float(weight.max())
    more = heaviest if hits == n else max(heaviest, float(ratio[~failed][np.argmax(margin[~failed])]))
    effective, each = _alike(weight)
    effective_more, each_more = _alike(np.append(weight, more))
    found = [weight.sum() / n, each * _lowest(effective, n), each_more * _highest(effective_more - 1.0, n)]
    value, lower, upper = np.minimum(found, 1.0)
    p = Estimate(np.array(value), np.array(lower), np.array(upper))
    if effective >= _SUPPORTED and (hits < n or np.ptp(weight) == 0.0):
        return p
    if hits == n:
        return _noted(
            p,
            f"All {n} samples failed, with weights that differ {weight.max() / weight.min():.2g} times: where failure "
            "begins was not seen, and the interval may miss what is there; sample with the method 'monte_carlo' too.",
        )
    enough = math.ceil(n * _SUPPORTED / effective / 100.0) * 100
    return _noted(
        p,
        f"Importance sampling rests on {hits} of {n} samples, worth {effective:.1f} failures of equal weight: its "
        f"interval is rough below {_SUPPORTED:.0f}; n of {enough} or more would support one.",
    )


def _alike(weight: Array) -> tuple[float, float]:
    """Return how many failures of one weight are worth these ones, and that weight."""
    scaled = weight / weight.max()  # squares of very small weights would vanish
    total, squares = float(scaled.sum()), float(scaled @ scaled)
    return total**2 / squares, squares / total * float(weight.max())


def _noted(estimate: Estimate, sentence: str) -> Estimate:
    """Return the estimate with a sentence on what it does not say, and say it."""
    warnings.warn(sentence, stacklevel=3)
    return replace(estimate, notes=(*estimate.notes, sentence))


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
        # Few effective points leave the covariance to chance: as many as there are inputs count for no correlation.
        trust = 1.0 / (1.0 + d * float(weight @ weight))
        spread = trust * spread + (1.0 - trust) * np.eye(d)
        # Wider than the failure region itself: an importance density with light tails would miss a part of it.
        factor = np.asarray(np.linalg.cholesky(1.2 * spread + 0.05 * np.eye(d)), dtype=np.float64)
        if level >= 0.0:
            break
    return centre, factor


def reliability_index(probability: float) -> float:
    """Return beta = -Phi^-1(p), the index that codes of practice ask for."""
    return float(-ndtri(probability))
