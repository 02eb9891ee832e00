"""Virtual tests of a study: hybrid models with full-order and reduced parts, and tests with actuator and controller."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from hmor.studies.base import Options, VirtualTest, mean_history
from hmor.study.file import ControlSection, HybridSection, Study, load_study
from hmor.study.loading import import_object
from mor import Design, HybridModel, Substructure, Trajectory, lhs, nrmse
from mor.hybrid.stored import StoredHybrid
from mor.substructures import BundleSubstructure
from rt_runtime import LoadedBundle, Loop, Tripped, load_bundle
from rt_runtime.errors import BundleError, ConfigError
from rt_runtime.files import replacing

Result = dict[str, Any]
FULL = "full"
"""The variant of a hybrid model in which no part is exchanged."""


def study_bundle(study: Study, signer: list[Path] | None = None) -> LoadedBundle:
    """Load the bundle of this study and no other; its models repeat their golden vectors first."""
    path = study.bundle()
    if not (path / "bundle.json").is_file():
        raise BundleError(f"Bundle of study '{study.study.name}' must be in {path}, found none; "
                          f"run: hmor export {study.called}")  # fmt: skip
    loaded = load_bundle(path, signer=signer)
    made_by = loaded.bundle.description["provenance"].get("study")
    if made_by != study.study.name:
        raise BundleError(
            f"Bundle in {path} must come from study '{study.study.name}', got one from {made_by!r}; run hmor export "
            "again or choose another folder."
        )
    return loaded


def exported_parts(
    study: Study,
    parts: Mapping[str, str],
    places: Mapping[str, Substructure] | None = None,
    signer: list[Path] | None = None,
) -> dict[str, Substructure]:
    """Return the exported models {place: "part.model"} as substructures, with as many outputs as those they replace."""
    if not parts:
        return {}
    loaded = study_bundle(study, signer)
    names = {path: name for name, path in study.exported().items()}
    found: dict[str, Substructure] = {}
    for place, path in parts.items():
        if path not in names:
            raise ConfigError(f"Model {path} must be exported to run in '{place}'; name it in export.models.")
        model = study.model(path)
        full = (places or {}).get(place)
        if full is None and study.parts[model.part].substructure is not None:
            full = study.substructure(model.part)
        outputs = None if full is None else len(full.outputs)
        found[place] = BundleSubstructure(names[path], loaded, names[path], outputs=outputs)
    return found


def full_hybrid(study: Study, section: HybridSection) -> HybridModel:
    """Return the full-order hybrid model."""
    found = import_object(section.model, study.place)
    if not isinstance(found, HybridModel):
        raise ConfigError(f"model of [hybrid] must be a HybridModel, got {type(found).__name__}.")
    unknown = [name for name in section.responses if name not in found.signals]
    if unknown:
        raise ConfigError(f"responses of [hybrid] must be signals ({', '.join(found.signals)}), got {unknown[0]!r}.")
    return found


def variants(study: Study, section: HybridSection) -> dict[str, HybridModel]:
    """Return the hybrid models by name, the full-order one first."""
    full = full_hybrid(study, section)
    models = {FULL: full}
    for name, parts in section.variants.items():
        model = full
        for place, part in exported_parts(study, parts, full.substructures).items():
            model = model.swap(place, named_as(part, full.substructures[place]))
        models[name] = model
    return models


def named_as(part: Substructure, full: Substructure) -> Substructure:
    """Return the part with the port names of the one it replaces, in their order, where its own are others.

    One reduced model may so stand in several places.
    """
    names: dict[str, str] = {}
    for own, other in ((part.inputs, full.inputs), (part.outputs, full.outputs)):
        if len(own) == len(other) and {p.name for p in own} != {p.name for p in other}:
            names |= {a.name: b.name for a, b in zip(own, other, strict=True)}
    return part.renamed(part.name, names)


def prototypes(section: HybridSection, seed: int) -> Design | None:
    """Return the prototypes, the same for every hybrid model; None for the nominal one alone."""
    if section.parameters is None or section.prototypes == 1:
        return None
    return lhs(section.parameters, section.prototypes, seed=seed)


def simulate_hybrid(study: Study, section: HybridSection) -> Result:
    """Run every variant on every prototype; compare the mean histories; time each of them alone."""
    models = variants(study, section)
    design = prototypes(section, study.study.seed)
    samples = [{}] if design is None else [design.parameters(i) for i in range(len(design))]
    means = {}
    for name, model in models.items():
        means[name] = _mean(model, samples, section.responses)
        print(f"  {name}: {len(samples)} prototypes", flush=True)
        save(means[name], study.folder / "simulate" / f"{name}.nc")
    truth = means[FULL]
    errors = {name: differences(mean, truth) for name, mean in means.items() if name != FULL}
    return {
        "prototypes": len(samples),
        "nrmse_percent": errors,
        "published_percent": section.published,
        "beats_published": {
            name: all(errors[name][signal] < value for signal, value in row.items())
            for name, row in section.published.items()
        },
        "peaks": {signal: float(np.abs(truth[signal]).max()) for signal in section.responses},
        "run_time": run_times(models, section.responses),
        "step_ns": step_times(study, models[FULL].dt),
    }


def save(history: Trajectory, path: Path) -> None:
    """Write a history; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        history.save(temporary)


def differences(mean: Trajectory, reference: Trajectory) -> dict[str, float]:
    """Return the NRMSE of each common signal in percent; one that stays zero in the reference is left out."""
    both = [name for name in mean.names if name in reference.names and np.any(reference[name])]
    return {name: 100 * nrmse(mean[name], reference[name]) for name in both}


def _mean(model: HybridModel, samples: list[dict[str, float]], responses: tuple[str, ...]) -> Trajectory:
    """Return the mean history over the prototypes; runs share the cores, the interpreter is free."""

    def one(parameters: Mapping[str, float]) -> Trajectory:
        return model.run(parameters=parameters, record=responses)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return mean_history(list(pool.map(one, samples)))


def _fastest(loops: Mapping[str, Loop], ticks: int, repeats: int = 3) -> dict[str, float]:
    """Time so many ticks of each loop, in turns, one at a time; the fastest of some repeats counts."""
    best = dict.fromkeys(loops, float("inf"))
    for _ in range(repeats):
        for name, loop in loops.items():
            start = time.perf_counter()
            loop.run(ticks / loop.rate)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def run_times(models: Mapping[str, HybridModel], responses: tuple[str, ...]) -> Result:
    """Time one nominal scenario of each hybrid model."""
    stored = {
        name: model.seconds
        for name, model in models.items()
        if isinstance(model, StoredHybrid) and model.response is not None
    }
    loops = {name: model.loop() for name, model in models.items() if name not in stored}
    for name, loop in loops.items():
        loop.record(list(responses), every=models[name].every)
    duration = models[FULL].duration or 1.0
    best = stored | _fastest(loops, round(duration / models[FULL].dt))
    return {
        name: {"wall_s": s, "real_time_factor": duration / s, "speedup_over_full": best[FULL] / s}
        for name, s in best.items()
    }


def step_times(study: Study, dt: float, ticks: int = 50_000) -> Result:
    """Time one step in ns of each part with a substructure, full-order and reduced, in the middle of its range.

    A reduced part with a longer step of its own is called less often than that; here a call counts.
    """
    found: Result = {}
    exported = set(study.exported().values())
    for name, part in study.parts.items():
        models = {model.name: model.path for model in study.models() if model.part == name and model.path in exported}
        if part.substructure is None or not models:
            continue
        full = study.substructure(name)
        reduced = exported_parts(study, models, dict.fromkeys(models, full))
        loaded = study_bundle(study).bundle.models
        key = next(key for key, path in study.exported().items() if path in models.values())
        middle = [0.5 * (signal.lower + signal.upper) for signal in loaded[key].inputs]
        loops = {}
        for kind, one in ({FULL: full} | reduced).items():
            step = dt * one.ticks(dt)
            loop = loops[kind] = Loop(1.0 / step)
            for port, value in zip(one.inputs, middle, strict=True):
                loop.constant(port.name, value, unit=port.unit)
            for port in one.outputs:
                loop.signal(port.name, unit=port.unit)
            names = [[p.name for p in ports] for ports in (one.inputs, one.outputs)]
            loop.add(kind, one.block(dt=step), inputs=names[0], outputs=names[1])
            loop.record([], every=ticks)
        found[name] = {kind: 1e9 * s / ticks for kind, s in _fastest(loops, ticks).items()}
    return found


def named_test(study: Study, section: ControlSection) -> VirtualTest:
    """Return the virtual test that a study names, whatever its settings are."""
    found = import_object(section.test, study.place)
    if not isinstance(found, VirtualTest):
        raise ConfigError(f"test of [control] must be a VirtualTest, got {type(found).__name__}.")
    return found


def virtual_test(study: Study, section: ControlSection) -> VirtualTest:
    """Return the virtual test of a study, after a check of its settings."""
    found = named_test(study, section)
    found.check(options(study, section))
    if section.prototypes > 1 and found.space is None:
        raise ConfigError(f"prototypes of [control] must be 1: test '{found.name}' has no uncertain parameters.")
    return found


def built_in_test(name: str) -> VirtualTest:
    """Return the virtual test of a built-in study."""
    study = load_study(name)
    return virtual_test(study, study.need("control", study.control))


def options(study: Study, section: ControlSection) -> Options:
    """Return how the test is run."""
    record = None if section.record is None else study.place / section.record
    if record is not None and not record.is_file():
        raise ConfigError(f"Record file must exist, got {record}.")
    return Options(study.study.seed, record, section.settings, keep=section.responses)


def simulate_control(study: Study, section: ControlSection) -> Result:
    """Run the virtual test, with its own parts and, where the study has some, with reduced ones, on equal prototypes.

    Responses are compared as mean histories, which are left out when a run diverged.
    """
    from dataclasses import replace

    from rich.console import Console
    from rich.progress import Progress

    test, plain = virtual_test(study, section), options(study, section)
    kinds = {FULL: plain}
    if section.parts:
        kinds["reduced"] = replace(plain, parts=exported_parts(study, section.parts))
    nominal: dict[str, Result | None] = {}
    spread, saved = {}, {}
    means: dict[str, Trajectory | None] = {}
    start = time.perf_counter()
    for name, how in kinds.items():
        try:
            first = test.simulate(how)
            nominal[name] = first.metrics
            path = study.folder / "simulate" / f"control_{name}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            if first.record is not None:
                saved[name] = str(first.record.save(path))
            if how.keep:
                means[name] = first.history(how.keep)
        except Tripped:
            nominal[name] = None
            means.pop(name, None)
        if section.prototypes > 1:
            with Progress(console=Console(stderr=True), transient=True) as progress:
                task = progress.add_task(f"{test.name}, {name}", total=section.prototypes)
                spread[name] = test.simulate_many(section.prototypes, how, done=lambda: progress.advance(task))  # noqa: B023
            means[name] = spread[name].mean_history
    summaries = {name: many.summary() for name, many in spread.items()}
    unstable = {name: (nominal[name] is None) + (spread[name].unstable if spread else 0) for name in kinds}
    compared = {
        "reduced_against_full": (means.get("reduced"), means.get(FULL)),
        "controlled_against_uncontrolled": (means.get(FULL), _uncontrolled(study)),
    }
    motion = "synthetic" if section.record is None else Path(section.record).name
    return {
        "test": test.name,
        "record": motion if test.ground_motion else None,
        "seed": study.study.seed,
        "settings": section.settings,
        "prototypes": section.prototypes,
        "unstable": unstable,
        "nominal": nominal,
        "stochastic": summaries,
        "published": {key: dict(value) for key, value in test.published.items()},
        "histograms": {
            name: {m: dict(zip(("density", "edges"), (a.tolist() for a in many.histogram(m)), strict=True))
                   for m in many.indices}
            for name, many in spread.items()
        },
        "nrmse_percent": {
            name: differences(one, other)
            for name, (one, other) in compared.items()
            if one is not None and other is not None and len(one) == len(other)
        },
        "records": saved,
        "wall_s": time.perf_counter() - start,
    }  # fmt: skip


def _uncontrolled(study: Study) -> Trajectory | None:
    """Return the mean history of the full-order hybrid model, if the study has one."""
    path = study.folder / "simulate" / f"{FULL}.nc"
    return Trajectory.load(path) if study.hybrid is not None and path.is_file() else None
