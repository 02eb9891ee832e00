"""What differs between two runs of one test: latent noise on parameters and sensors, and drift over a campaign.

A latent variable has one value in a run. It is drawn, not chosen, and an emulator of the response does not see it.
Here it is a parameter like any other, so that a campaign can store, resume and repeat it: `replicate` puts the drawn
values beside the points of a design, and `observed` takes them away again before a fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mor.data.dataset import Dataset
from mor.data.ports import Parameter
from mor.marginals import Marginal, Uniform
from mor.sampling.designs import Design
from mor.sampling.space import ParameterSpace, open_unit
from rt_runtime.checks import whole
from rt_runtime.errors import ConfigError

Drift = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Latent:
    """Laws and drifts of a hybrid model by name of a parameter ("M", "body.M") or of a signal that is measured.

    laws: one value a run; of a signal, the offset of its sensor. drift: (first, last) value of what is added to the
    parameter or the sensor in the first and in the last run of a campaign. defaults: the parameters of the model.
    signals: its signals with units.
    """

    laws: dict[str, Marginal]
    drift: dict[str, tuple[float, float]]
    defaults: Mapping[str, float]
    signals: Mapping[str, str]
    of: str

    def __post_init__(self) -> None:
        problems = []
        for key in (*self.laws, *self.drift):
            if (key in self.defaults) == (key in self.signals):
                what = "is both, write part.parameter" if key in self.defaults else "is neither"
                problems.append(
                    f"Latent '{key}' of {self.of} must be one of its parameters ({', '.join(self.defaults)}) or "
                    f"signals ({', '.join(self.signals)}), but {what}."
                )
        for key, law in self.laws.items():
            if not isinstance(law, Marginal):
                problems.append(f"Latent '{key}' of {self.of} must be a marginal such as Normal(0, 1), got {law!r}.")
        for key, ends in self.drift.items():
            if np.shape(ends) != (2,) or not np.isfinite(ends).all() or ends[0] == ends[1]:
                problems.append(f"Drift '{key}' of {self.of} must be its first and last value, got {ends!r}.")
        if problems:
            raise ConfigError.from_problems(f"Latent variables of {self.of}", problems)

    def identity(self) -> dict[str, Any]:
        """Return laws and drifts as plain values, nothing where there are none."""
        laws = {key: law.to_dict() for key, law in self.laws.items()}
        drift = {key: list(ends) for key, ends in self.drift.items()}
        return {"latent": laws, "drift": drift} if laws or drift else {}

    @property
    def sensors(self) -> tuple[str, ...]:
        """Signals that are read with an offset."""
        return tuple(dict.fromkeys(key for key in (*self.laws, *self.drift) if key in self.signals))

    @property
    def space(self) -> ParameterSpace | None:
        """Laws of the latent variables under the names a design gives them ("body.M" is body_M); None without."""
        laws = {key.replace(".", "_"): law for key, law in self.laws.items()}
        return ParameterSpace(laws) if laws else None

    @property
    def drifts(self) -> dict[str, tuple[float, float]]:
        """First and last values under the names a design gives them: M_drift."""
        return {f"{key.replace('.', '_')}_drift": ends for key, ends in self.drift.items()}

    def settle(self, given: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
        """Return parameters and offsets of sensors for `given` values; what is not given is at its mean, undrifted."""
        rest = dict(given)
        parameters: dict[str, float] = {}
        offsets: dict[str, float] = {}
        for key in dict.fromkeys((*self.laws, *self.drift)):
            name, law = key.replace(".", "_"), self.laws.get(key)
            base = law.mean if law is not None else self.defaults.get(key, 0.0)
            value = rest.pop(key, rest.pop(name, base)) + rest.pop(f"{name}_drift", 0.0)
            (offsets if key in self.signals else parameters)[key] = float(value)
        return parameters | rest, offsets


def default_values(parts: Mapping[str, Sequence[Parameter]]) -> dict[str, float]:
    """Return the values of the parameters of all parts, under their name and that of their part."""
    found: dict[str, float] = {}
    for name, parameters in parts.items():
        for p in parameters:
            found.setdefault(p.name, p.value)
            found[f"{name}.{p.name}"] = p.value
    return found


def draw(space: ParameterSpace | None, seed: int) -> dict[str, float]:
    """Draw one value of each latent variable."""
    return {} if space is None else dict(zip(space.names, space.sample(1, seed=seed)[0].tolist(), strict=True))


def latent_of(model: object) -> tuple[ParameterSpace | None, dict[str, tuple[float, float]]]:
    """Return laws and drifts of a model, or of the one it takes quantities from."""
    while not isinstance(getattr(model, "latent", None), Latent) and hasattr(model, "model"):
        model = model.model
    latent = getattr(model, "latent", None)
    return (latent.space, latent.drifts) if isinstance(latent, Latent) else (None, {})


def replicate(
    design: Design,
    latent: object,
    *,
    replications: int = 1,
    common: bool = False,
    seed: int = 0,
    drift: Drift | None = None,
) -> Design:
    """Put drawn latent variables beside the points of a design.

    Parameters
    ----------
    design : Design
        The points that are chosen.
    latent : ParameterSpace or model
        Laws of what is drawn, or a hybrid model (also inside a QuantityModel) that declares them.
    replications : int
        Runs at each point.
    common : bool
        Common random numbers: the same draws at every point, so that each replication is one trajectory.
    seed : int
        Seed of the draws.
    drift : mapping
        {name: (first, last)} of columns that run evenly from the first run of the campaign to the last.

    Returns
    -------
    Design
        With the columns of the design, the latent variables and the drifts; runs of one point follow each other.
    """
    whole(replications, "replications", "replicate", 1)
    laws, drifts = (latent, {}) if isinstance(latent, ParameterSpace) else latent_of(latent)
    drifts = {**drifts, **(drift or {})}
    if laws is None and not drifts:
        raise ConfigError(
            f"latent of replicate must be a ParameterSpace or a model with latent={{...}}, got {latent!r}."
        )
    if design.space.copula is not None:
        raise ConfigError("Inputs of the design of replicate must be independent, got a copula.")
    n, drawn = len(design) * replications, {} if laws is None else dict(laws)
    ramps: dict[str, Marginal] = {name: Uniform(min(ends), max(ends)) for name, ends in drifts.items()}
    twice = sorted({*design.space.names} & {*drawn, *ramps})
    if twice:
        raise ConfigError(f"Inputs of the design of replicate must not be latent too, got {', '.join(twice)}.")
    rows = replications if common else n
    z = open_unit(np.random.default_rng([seed, 23]).random((rows, len(drawn))))
    steps = np.linspace(0.0, 1.0, n) if n > 1 else np.zeros(1)
    columns = [np.repeat(design.unit, replications, axis=0), np.tile(z, (n // rows, 1))]
    columns += [(steps if first < last else 1.0 - steps)[:, None] for first, last in drifts.values()]
    made = {**design.made, "replications": replications, "common": common, "latent_seed": seed}
    return Design(ParameterSpace({**design.space, **drawn, **ramps}), np.hstack(columns), made)


def observed(data: Dataset, inputs: Sequence[str]) -> Dataset:
    """Return the data with the chosen inputs alone: what a laboratory would know of its runs."""
    names = [p.name for p in data.inputs]
    missing = [name for name in inputs if name not in names]
    if missing:
        raise ConfigError(f"inputs of observed must be among {', '.join(names)}, got {', '.join(missing)}.")
    at = [names.index(name) for name in inputs]
    return Dataset(data.X[:, at], data.Y, [data.inputs[i] for i in at], data.outputs, run=data.run)


def detrend(data: Dataset, output: str, on: str) -> Dataset:
    """Remove drift from an output by linear regression on a reading, counted from the first run.

        y = c + b (r - r_first) + quadratic functions of the inputs + noise,     y - b (r - r_first)  comes back

    What the inputs explain is regressed along with the drift: else it would look like noise, and b be less certain.

    Parameters
    ----------
    data : Dataset
        Rows in the order of the campaign.
    output, on : str
        The output to correct, and the output or input that shows the drift, such as the reading before a test.
    """
    outputs = [p.name for p in data.outputs]
    if output not in outputs or on not in data.names or on == output:
        raise ConfigError(
            f"output and on of detrend must be an output and another column ({', '.join(data.names)}), got "
            f"{output!r} and {on!r}."
        )
    reading, at = data[on] - data[on][0], outputs.index(output)
    if np.ptp(reading) == 0.0:
        raise ConfigError(f"Column '{on}' of detrend must vary to show a drift, got {data[on][0]:g} in every row.")
    others = [i for i, p in enumerate(data.inputs) if p.name != on and np.ptp(data.X[:, i]) > 0.0]
    X = data.X[:, others]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    A = np.column_stack(
        [reading / np.abs(reading).max(), np.ones(len(Z)), *([Z, Z**2] if len(Z) > 4 * Z.shape[1] else [])]
    )
    slope = np.linalg.lstsq(A, data.Y[:, at], rcond=None)[0][0] / np.abs(reading).max()
    Y = data.Y.copy()
    Y[:, at] -= slope * reading
    return Dataset(data.X, Y, data.inputs, data.outputs, run=data.run)
