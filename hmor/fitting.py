"""From a study to a reduced model: its data, their split, the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hmor.study import Study
from hmor.train_section import TrainSection
from mor.campaign import Store
from mor.campaign.store import is_store
from mor.dataset import Dataset
from mor.history import split_runs
from mor.judging import Validation, validate
from mor.memory import Memory
from mor.reduced import ReducedModel
from rt_runtime.errors import ConfigError


def study_data(study: Study, file: str | None = None) -> tuple[Dataset, float | None]:
    """Return the rows a study learns from and, for trajectories, their step in s; `file` stands for another data file.

    With [train.memory] the trajectories of the store (or the runs of the file, which then need a column of time) are
    read, else the numbers.
    """
    train = study.need("train", study.train)
    name = file or train.data
    if train.memory is not None:
        return _runs(study, train, name)
    data = Dataset.load(_existing(study.folder / name)) if name else _store(study).dataset()
    return _with_outputs(data, train), None


def split(study: Study, data: Dataset) -> tuple[Dataset, Dataset, Dataset]:
    """Return the parts for training, validation and test."""
    return data.split(*study.need("train", study.train).split, seed=study.study.seed)


def fit(
    study: Study, *, folder: Path | None = None, resume: bool = False, progress: bool = False
) -> tuple[ReducedModel, list[dict[str, Any]]]:
    """Fit the model of a study; return it with the results table of a selection (empty when there was none)."""
    section = study.need("train", study.train)
    data, dt = study_data(study)
    train, valid, _ = split(study, data)
    domain = _domain(study, section, data)
    seed = study.study.seed
    gate = None if section.gate is None else section.gate.gate()
    if section.memory is not None:
        assert dt is not None
        history = section.memory.history(data.inputs, data.outputs, dt, gate)
        if section.kind == "pce":
            from mor import fit_pce_memory

            return fit_pce_memory(train, valid, history, domain=domain), []
        from training import fit_ffnn_memory

        config = section.memory.config(section.ffnn.config(seed))
        remembering = fit_ffnn_memory(
            train, valid, history, config, domain=domain, folder=folder, resume=resume, progress=progress
        )
        return remembering, []
    if section.kind == "pce":
        from mor import fit_pce

        sample = study.need("sample", study.sample)
        return fit_pce(_joined(train, valid), sample.space(), gate=gate, **section.pce.arguments()), []
    from training import fit_ffnn, select_ffnn

    network = section.ffnn
    if network.candidates:
        result = select_ffnn(
            train, valid, network.config(seed), hidden=network.candidates, activations=network.activations,
            seeds=network.seeds or [seed], domain=domain, gate=gate, folder=folder, resume=resume, progress=progress,
        )  # fmt: skip
        return result.model, result.table
    model = fit_ffnn(
        train, valid, network.config(seed), domain=domain, gate=gate, folder=folder, resume=resume, progress=progress
    )
    return model, []


def _store(study: Study) -> Store:
    path = study.sample_store()
    if not is_store(path):
        raise ConfigError(f"Store {path} of the study does not exist; run hmor sample first, or name [train] data.")
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


def _with_outputs(data: Dataset, train: TrainSection) -> Dataset:
    if train.outputs is None:
        return data
    names = [p.name for p in data.outputs]
    missing = [name for name in train.outputs if name not in names]
    if missing:
        raise ConfigError(
            f"outputs of [train] must be among those of the data ({', '.join(names)}), got {', '.join(missing)}."
        )
    at = [names.index(name) for name in train.outputs]
    return Dataset(data.X, data.Y[:, at], data.inputs, [data.outputs[i] for i in at], run=data.run)


def _runs(study: Study, train: TrainSection, name: str | None) -> tuple[Dataset, float]:
    """Return trajectories as runs and their common step."""
    assert train.memory is not None and train.outputs is not None
    if name is None:
        runs = [run for _, run in _store(study).trajectories()]
        if not runs:
            raise ConfigError("Samples of the study have no trajectories, which [train.memory] needs; return them.")
        steps = np.concatenate([np.diff(run.time) for run in runs])
        data = Dataset.from_trajectories(runs, train.memory.signals, train.outputs)
    else:
        whole = Dataset.load(_existing(study.folder / name))
        if "time" not in whole.names:
            raise ConfigError(f"Data file {name} must have the column 'time' for a model with memory.")
        steps = np.concatenate([np.diff(run["time"]) for run in split_runs(whole)])
        unit = {p.name: p.unit for p in (*whole.inputs, *whole.outputs)}
        missing = [n for n in (*train.memory.signals, *train.outputs) if n not in unit]
        if missing:
            raise ConfigError(f"Data file {name} must have the columns of [train], missing {', '.join(missing)}.")
        columns = [{n: unit[n] for n in names} for names in (train.memory.signals, train.outputs)]
        X, Y = (np.column_stack([whole[n] for n in names]) for names in columns)
        data = Dataset(X, Y, *columns, run=whole.run)
    dt = float(np.median(steps))
    if np.abs(steps - dt).max() > 1e-6 * dt:
        raise ConfigError(
            f"Trajectories for a model with memory must have one even step, got {steps.min():g} to {steps.max():g} s."
        )
    return data, dt


def _domain(study: Study, section: TrainSection, data: Dataset) -> tuple[Any, Any]:
    """Return the bounds of the inputs: as [train] says, else of a bounded law, else of the data."""
    names = [p.name for p in data.inputs]
    unknown = [name for name in section.domain if name not in names]
    if unknown:
        raise ConfigError(f"domain of [train] must name inputs ({', '.join(names)}), got {', '.join(unknown)}.")
    laws = {} if study.sample is None else study.sample.parameters
    lower, upper = [], []
    for name, column in zip(names, data.X.T, strict=True):
        low, high = float(column.min()), float(column.max())
        law = laws.get(name)
        if law is not None and np.isfinite(law.lower) and np.isfinite(law.upper):
            low, high = float(law.lower), float(law.upper)
        low, high = section.domain.get(name, (low, high))
        lower.append(low)
        upper.append(high)
    return np.array(lower), np.array(upper)


def _joined(one: Dataset, two: Dataset) -> Dataset:
    """Put two parts together: a polynomial is chosen by leave-one-out and needs no validation part."""
    return Dataset(np.vstack([one.X, two.X]), np.vstack([one.Y, two.Y]), one.inputs, one.outputs)


def load_model(study: Study) -> ReducedModel:
    """Read the fitted model of a study."""
    path = study.model_file()
    if not path.is_file():
        raise ConfigError(f"Model {path} of the study does not exist; run hmor train first.")
    return ReducedModel.load(path)


def judge(study: Study, model: ReducedModel, *, against: bool = False) -> tuple[Dataset, Validation]:
    """Judge the model of a study on the data [validate] names, by default the test part of the split."""
    file = study.validate_.data
    train, _, test = split(study, study_data(study)[0])
    data = test if file is None else study_data(study, file)[0]
    return data, validate(model, data, against=full_order(study, model) if against else None, training=train)


def full_order(study: Study, model: ReducedModel) -> Any:
    """Return the model of [sample] as a function of rows, to compare the time with; None for a model with memory."""
    if isinstance(model, Memory) or study.sample is None:
        return None
    whole = study.sample_model()
    names = [p.name for p in model.inputs]

    def evaluate(X: Any) -> None:
        for row in X:
            whole.evaluate(dict(zip(names, row.tolist(), strict=True)))

    return evaluate
