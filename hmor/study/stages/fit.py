"""From the samples of a part to a reduced model: data, split, fit, judgement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hmor.study.file import Model, Study
from hmor.study.train import STOCHASTIC, FfnnSettings, PceSettings
from mor.campaign import Store
from mor.campaign.store import is_store
from mor.data.dataset import Dataset
from mor.hybrid.latent import detrend, observed
from mor.reduced.base import ReducedModel
from mor.reduced.history import split_runs
from mor.validation.validate import Validation, validate
from rt_runtime.errors import ConfigError

Table = list[dict[str, Any]]


def model_data(study: Study, model: Model, file: str | None = None) -> tuple[Dataset, float | None]:
    """Return the rows a model learns from and, for trajectories, their step in s; `file` stands for another data file.

    With memory the trajectories of the store (or the runs of the file, which then need a column of time) are read,
    else the numbers.
    """
    name = file or study.parts[model.source].data
    if model.section.memory is not None:
        return _runs(study, model, name)
    data = Dataset.load(_existing(study.place / name)) if name else part_rows(study, model.source)
    return _with_outputs(known_data(study, model.source, data), model), None


def known_data(study: Study, part: str, data: Dataset) -> Dataset:
    """Return samples as a laboratory knows them: without latent variables, drift removed."""
    section = study.parts[part]
    if section.parameters is not None and section.stochastic(study.place):
        data = observed(data, section.parameters.names)
    for output, reading in section.detrend.items():
        data = detrend(data, output, reading)
    return data


def repeated_points(study: Study, model: Model) -> Dataset | None:
    """Return the runs of the part that repeats points for a stochastic model; None without one."""
    part = model.section.repeated
    if part is None:
        return None
    return _with_outputs(known_data(study, part, finished_store(study, part).dataset()), model)


def part_rows(study: Study, name: str) -> Dataset:
    """Return the numbers sampled of a part: its data file, the finished tests of its table, or its campaign."""
    part = study.parts[name]
    if part.data:
        return Dataset.load(_existing(study.place / part.data))
    if part.table is None:
        return finished_store(study, name).dataset()
    from mor.uncertainty import entered

    assert part.parameters is not None
    return entered(_existing(study.place / part.table), part.parameters, part.outputs)


def split(study: Study, model: Model, data: Dataset) -> tuple[Dataset, Dataset, Dataset]:
    """Return the shares for training, validation and test."""
    part = study.parts[model.source]
    if part.shuffle:
        return data.split(*part.split, seed=study.study.seed)
    owner = np.arange(len(data)) if data.run is None else data.run
    units = np.unique(owner)
    cuts = [round(part.split[0] * len(units)), round((part.split[0] + part.split[1]) * len(units))]
    first, second, third = (data.take(np.isin(owner, piece)) for piece in np.split(units, cuts))
    return first, second, third


def fit(
    study: Study, model: Model, *, folder: Path | None = None, resume: bool = False, progress: bool = False
) -> tuple[ReducedModel, Table]:
    """Fit one model; return it with the results table of a selection (empty when there was none)."""
    section, settings = model.section, model.section.settings
    data, dt = model_data(study, model)
    train, valid, _ = split(study, model, data)
    if section.memory is not None and section.memory.mirrored:
        train, valid, data = train.mirrored(), valid.mirrored(), data.mirrored()
    domain = _domain(study, model, data)
    if section.memory is not None:
        assert dt is not None
        history = section.memory.history(data.inputs, data.outputs, dt, section.gate, study.place)
        given: dict[str, Any] = section.memory.fit_arguments()
        if isinstance(settings, PceSettings):
            from mor import fit_pce_memory

            return fit_pce_memory(train, history, valid=valid, domain=domain, **settings.arguments(), **given), []
        from training import MemoryConfig, fit_ffnn_memory

        assert isinstance(settings, FfnnSettings)
        config = MemoryConfig(settings.config(), **given)
        remembering = fit_ffnn_memory(
            train, history, valid=valid, config=config, domain=domain, folder=folder, resume=resume, progress=progress
        )
        return remembering, []

    def opened(rows: Dataset) -> Dataset:
        return rows if section.gate is None else section.gate.open(rows)

    if not isinstance(settings, FfnnSettings):
        from mor import fit_glam, fit_kriging, fit_pce, fit_pck, fit_spce

        space = study.parts[model.source].parameters
        if space is None:
            raise ConfigError(
                f"parameters of part '{model.source}' must be given: the laws of the inputs of {model.path}."
            )
        if section.kind in STOCHASTIC:
            emulator: Any = fit_glam if section.kind == "glam" else fit_spce
            return emulator(_joined(train, valid), space, **settings.arguments()), []
        function: Any = {"pce": fit_pce, "kriging": fit_kriging, "pck": fit_pck}[section.kind]
        found, table = function(opened(_joined(train, valid)), space, **settings.arguments()), Table()
    else:
        found, table = _network(
            settings, opened(train), opened(valid), domain=domain, folder=folder, resume=resume, progress=progress
        )
    return found if section.gate is None else section.gate.around(found), table


def _network(settings: FfnnSettings, train: Dataset, valid: Dataset, **options: Any) -> tuple[ReducedModel, Table]:
    from training import fit_ffnn, select_ffnn

    if not settings.candidates:
        return fit_ffnn(train, valid=valid, config=settings.config(), **options), []
    result = select_ffnn(
        train, valid=valid, config=settings.config(), hidden=settings.candidates, activations=settings.activations,
        seeds=settings.seeds or [settings.seed], **options,
    )  # fmt: skip
    return result.model, result.table


def finished_store(study: Study, part: str) -> Store:
    """Return the campaign of a part, which must be there and complete."""
    path = study.store(part)
    if not is_store(path):
        raise ConfigError(f"Samples of part '{part}' must be in {path}, found none; run: hmor sample {study.called}")
    store = Store(path)
    if store.open:
        raise ConfigError(
            f"Store {path} has {len(store.open)} of {len(store.design)} samples open; run hmor sample to the end first."
        )
    return store


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ConfigError(f"Data file {path} of the study does not exist; write it with Dataset.save.")
    return path


def _with_outputs(data: Dataset, model: Model) -> Dataset:
    if not model.section.outputs:
        return data
    names = [p.name for p in data.outputs]
    missing = [name for name in model.section.outputs if name not in names]
    if missing:
        raise ConfigError(
            f"outputs of model {model.path} must be among those of the data ({', '.join(names)}), got "
            f"{', '.join(missing)}."
        )
    at = [names.index(name) for name in model.section.outputs]
    return Dataset(data.X, data.Y[:, at], data.inputs, [data.outputs[i] for i in at], run=data.run)


def _runs(study: Study, model: Model, name: str | None) -> tuple[Dataset, float]:
    """Return trajectories as runs and their common step."""
    assert model.section.memory is not None
    signals, outputs = model.section.memory.columns(model.section.outputs, study.place)
    if name is None:
        runs = [run for _, run in finished_store(study, model.source).trajectories()]
        if not runs:
            raise ConfigError(
                f"Samples of part '{model.source}' have no trajectories, which the memory of {model.path} needs; "
                "return them."
            )
        steps = np.concatenate([np.diff(run.time) for run in runs])
        data = Dataset.from_trajectories(runs, signals, outputs)
    else:
        whole = Dataset.load(_existing(study.place / name))
        if "time" not in whole.names:
            raise ConfigError(f"Data file {name} must have the column 'time' for a model with memory.")
        steps = np.concatenate([np.diff(run["time"]) for run in split_runs(whole)])
        unit = {p.name: p.unit for p in (*whole.inputs, *whole.outputs)}
        missing = [n for n in (*signals, *outputs) if n not in unit]
        if missing:
            raise ConfigError(f"Data file {name} must have the columns of {model.path}, missing {', '.join(missing)}.")
        columns = [{n: unit[n] for n in names} for names in (signals, outputs)]
        X, Y = (np.column_stack([whole[n] for n in names]) for names in columns)
        data = Dataset(X, Y, *columns, run=whole.run)
    dt = float(np.median(steps))
    if np.abs(steps - dt).max() > 1e-6 * dt:
        raise ConfigError(
            f"Trajectories for a model with memory must have one even step, got {steps.min():g} to {steps.max():g} s."
        )
    return data, dt


def _domain(study: Study, model: Model, data: Dataset) -> tuple[Any, Any]:
    """Return the bounds of the inputs: as the model says, else of a bounded law, else of the data."""
    names = [p.name for p in data.inputs]
    unknown = [name for name in model.section.domain if name not in names]
    if unknown:
        raise ConfigError(f"domain of {model.path} must name inputs ({', '.join(names)}), got {', '.join(unknown)}.")
    space = study.parts[model.source].parameters
    laws = {} if space is None else dict(zip(space.names, space.marginals, strict=True))
    lower, upper = [], []
    for name, column in zip(names, data.X.T, strict=True):
        low, high = float(column.min()), float(column.max())
        law = laws.get(name)
        if law is not None and np.isfinite(law.lower) and np.isfinite(law.upper):
            low, high = float(law.lower), float(law.upper)
        low, high = model.section.domain.get(name, (low, high))
        lower.append(low)
        upper.append(high)
    return np.array(lower), np.array(upper)


def _joined(one: Dataset, two: Dataset) -> Dataset:
    """Put two shares together: polynomials and Kriging are chosen by leave-one-out and need no validation share."""
    return Dataset(np.vstack([one.X, two.X]), np.vstack([one.Y, two.Y]), one.inputs, one.outputs)


def load_model(study: Study, model: Model) -> ReducedModel:
    """Read a fitted model of the study."""
    path = study.model_file(model)
    if not path.is_file():
        raise ConfigError(f"Model {model.path} of the study is not fitted yet; run: hmor train {study.called}")
    return ReducedModel.load(path)


def held_out(study: Study, model: Model) -> Dataset | None:
    """Return what a model is judged on: the file `test` of its part, or the test share; None when that is empty."""
    file = study.parts[model.source].test
    if file is not None:
        return model_data(study, model, file)[0]
    if study.parts[model.source].split[2] == 0.0:
        return None
    return split(study, model, model_data(study, model)[0])[2]


def judge(study: Study, model: Model, fitted: ReducedModel, data: Dataset) -> Validation:
    """Judge a fitted model on data, with its time beside that of the full-order one if the part says so."""
    part = study.parts[model.source]
    train = split(study, model, model_data(study, model)[0])[0]
    against: Any = None
    if model.section.memory is not None and study.parts[model.part].substructure is not None:
        against = study.substructure(model.part)
    elif model.section.memory is None and part.against:
        against = _row_by_row(part.build(study.place), [p.name for p in fitted.inputs])
    return validate(fitted, data, against=against, training=train)


def _row_by_row(model: Any, names: list[str]) -> Any:
    def evaluate(X: Any) -> None:
        for row in X:
            model.evaluate(dict(zip(names, row.tolist(), strict=True)))

    return evaluate
