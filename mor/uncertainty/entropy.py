"""The law that assumes least: largest entropy under known bounds and moments."""

from __future__ import annotations

import numpy as np

from mor.marginals import Beta, Exponential, LogNormal, Marginal, Normal, Tabulated, TruncatedNormal, Uniform
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_POINTS = 4001


def maximum_entropy(
    *,
    lower: float | None = None,
    upper: float | None = None,
    mean: float | None = None,
    std: float | None = None,
    mean_log: float | None = None,
    std_log: float | None = None,
    mean_log_rest: float | None = None,
    unit: str = "",
) -> Marginal:
    """Return the density of largest entropy - int f ln f under what is known.

    Parameters
    ----------
    lower, upper : float, optional
        Physical bounds.
    mean, std : float, optional
        Moments.
    mean_log, std_log : float, optional
        E ln x and the standard deviation of ln x of a positive input: lognormal.
    mean_log_rest : float, optional
        With `mean_log` on [0, 1]: E ln(1 - x): beta.
    unit : str
        Unit of the input.

    Returns
    -------
    Marginal
        bounds: uniform; x > lower and mean: exponential; mean and std: normal; bounds and mean: truncated exponential;
        bounds, mean and std: exp(a x + b x^2) on the interval.
    """
    logs = (mean_log, std_log, mean_log_rest)
    if any(v is not None for v in logs):
        return _of_logarithms(lower, upper, mean, std, logs, unit)
    if lower is not None and upper is not None:
        if not lower < upper:
            raise ConfigError(f"lower of maximum_entropy must be below upper, got {lower:g} and {upper:g}.")
        if mean is None:
            if std is not None:
                raise ConfigError("mean of maximum_entropy must be given with std, got none.")
            return Uniform(lower, upper, unit=unit)
        if not lower < mean < upper:
            raise ConfigError(f"mean of maximum_entropy must lie between {lower:g} and {upper:g}, got {mean:g}.")
        return _on_interval(lower, upper, mean, std, unit)
    if mean is None:
        raise ConfigError("maximum_entropy must know both bounds, or a mean; without them no law has largest entropy.")
    if std is None:
        if lower is None:
            raise ConfigError("maximum_entropy must know a lower bound or a std beside the mean.")
        if not mean > lower:
            raise ConfigError(f"mean of maximum_entropy must be above lower {lower:g}, got {mean:g}.")
        return Exponential(mean - lower, lower, unit=unit)
    if not std > 0:
        raise ConfigError(f"std of maximum_entropy must be positive, got {std:g}.")
    if lower is None and upper is None:
        return Normal(mean, std, unit=unit)
    raise ConfigError("maximum_entropy with mean and std must know both bounds or none, got one.")


def _of_logarithms(
    lower: float | None, upper: float | None, mean: float | None, std: float | None,
    logs: tuple[float | None, float | None, float | None], unit: str,
) -> Marginal:  # fmt: skip
    mean_log, std_log, rest = logs
    if mean_log is None or mean is not None or std is not None or (std_log is None) == (rest is None):
        raise ConfigError("maximum_entropy of logarithms must know mean_log with std_log, or with mean_log_rest, only.")
    if std_log is not None:
        return LogNormal(mean_log, std_log, unit=unit)
    if (lower, upper) not in ((None, None), (0.0, 1.0)):
        raise ConfigError("mean_log_rest of maximum_entropy must be that of an input on [0, 1].")
    assert rest is not None
    from scipy.optimize import root
    from scipy.special import digamma

    def error(p: Array) -> Array:
        a, b = np.exp(p)
        wrong: Array = np.array([digamma(a), digamma(b)]) - digamma(a + b) - [mean_log, rest]
        return wrong

    found = root(error, np.zeros(2), tol=1e-13)
    if not found.success:
        raise ConfigError(f"mean_log and mean_log_rest of maximum_entropy fit no beta law, got {mean_log:g}, {rest:g}.")
    a, b = np.exp(found.x)
    return Beta(float(a), float(b), unit=unit)


def _on_interval(lower: float, upper: float, mean: float, std: float | None, unit: str) -> Marginal:
    """Minimise ln Z(l) + l'm, Z = int exp(-l'g), by Newton steps; g = (t, t^2) of t in [-1, 1]."""
    half, centre = 0.5 * (upper - lower), 0.5 * (upper + lower)
    t = np.linspace(-1.0, 1.0, _POINTS)
    weight = np.full(_POINTS, 2.0 / (_POINTS - 1))
    weight[[0, -1]] *= 0.5
    moments = [(mean - centre) / half]
    g = [t]
    if std is not None:
        largest = np.sqrt((mean - lower) * (upper - mean))
        if not 0 < std < largest:
            raise ConfigError(
                f"std of maximum_entropy must be positive and below {largest:.4g}, the largest that bounds and mean "
                f"allow, got {std:g}."
            )
        moments.append((std / half) ** 2 + moments[0] ** 2)
        g.append(t**2)
    G, m, l = np.stack(g), np.array(moments), np.zeros(len(g))

    def value(l: Array) -> tuple[float, Array, Array]:
        level = -l @ G
        top = float(level.max())
        f = weight * np.exp(level - top)
        Z = float(f.sum())
        f /= Z
        average = G @ f
        spread = (G * f) @ G.T - np.outer(average, average)
        return np.log(Z) + top + float(l @ m), m - average, spread

    now, slope, curvature = value(l)
    for _ in range(200):
        step = np.linalg.solve(curvature + 1e-14 * np.eye(len(l)), slope)
        length = 1.0
        while length > 1e-10:
            new = value(l - length * step)
            if new[0] <= now + 1e-15:
                break
            length *= 0.5
        l = l - length * step
        now, slope, curvature = new
        if np.abs(slope).max() < 1e-13:
            break
    if len(l) == 2 and l[1] > 1e-9:  # a bell: the truncated normal has it in closed form
        sigma = half / np.sqrt(2.0 * l[1])
        return TruncatedNormal(float(centre - half * l[0] / (2.0 * l[1])), float(sigma), lower, upper, unit=unit)
    return Tabulated.from_log_density(-l @ G, centre + half * t, unit=unit)
