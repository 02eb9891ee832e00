"""Read a law from plain values, as they stand in study files and stores."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from mor.marginals.base import Marginal
from mor.marginals.classical import Beta, Exponential, Gamma, LogNormal, Normal, Uniform
from mor.marginals.numeric import Gumbel, Triangular, TruncatedNormal, Weibull
from mor.marginals.tabulated import Tabulated
from rt_runtime.errors import ConfigError

_KINDS: tuple[type[Marginal], ...] = (
    Uniform, Normal, LogNormal, Beta, Gamma, Exponential, Gumbel, Weibull, TruncatedNormal, Triangular, Tabulated,
)  # fmt: skip
LAWS: dict[str, type[Marginal]] = {kind.law: kind for kind in _KINDS}


def marginal_from(spec: Mapping[str, object], what: str = "marginal") -> Marginal:
    """Build a law from {"law": name, ...} with its own parameters, or mean and std, or mean and cv; `unit` optional.

    `what` names the owner in errors. The inverse of `Marginal.to_dict`.
    """
    law = spec.get("law")
    if law not in LAWS:
        raise ConfigError(f"law of {what} must be one of {', '.join(LAWS)}, got {law!r}.")
    kind = LAWS[str(law)]
    values = {key: value for key, value in spec.items() if key != "law"}
    build: Callable[..., Marginal] = kind
    if "mean" in values and "cv" in values:
        build = kind.from_mean_cv
    elif "mean" in values and "std" in values and kind is not Normal:
        build = kind.from_mean_std
    signature = inspect.signature(build)
    unknown = [key for key in values if key not in signature.parameters]
    needed = [
        name for name, p in signature.parameters.items() if p.default is inspect.Parameter.empty and name not in values
    ]
    if unknown or needed:
        raise ConfigError(
            f"Law {law} of {what} takes {', '.join(signature.parameters)}"
            + (f"; unknown: {', '.join(unknown)}" if unknown else "")
            + (f"; missing: {', '.join(needed)}" if needed else "")
            + "."
        )
    if kind is Tabulated:  # its parameters are lists, which it checks itself
        return build(**values)
    wrong = [key for key, value in values.items() if key != "unit" and not _is_number(value)]
    if wrong:
        raise ConfigError(f"{wrong[0]} of {what} must be a number, got {values[wrong[0]]!r}.")
    return build(**values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
