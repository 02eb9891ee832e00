"""The steps of a study: what each of them depends on, and what it does."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hmor.sensitivity.adaptive import Goal, by_hand, grow, refuse_trajectories
from hmor.sensitivity.section import SensitivitySection
from hmor.study.file import Model, Study, load_study
from hmor.study.loading import import_object
from hmor.study.stages.scenario import scenario_places
from hmor.study.stages.steps import Pipeline, Result, Results, Step
from hmor.study.train import STOCHASTIC
from mor.campaign.model import outputs_of
from mor.sampling.space import ParameterSpace
from rt_runtime.errors import ConfigError


def find_pipeline(
    study: str | Path,
    folder: Path | None = None,
    *,
    quick: bool = False,
    changes: Mapping[str, Any] | None = None,
    parts: Mapping[str, Any] | None = None,
    force: bool = False,
    retry: bool = False,
    overwrite: bool = False,
    adaptive: Goal | None = None,
) -> Pipeline:
    """Return the pipeline of a built-in study or a study file, as `load_study` reads it."""
    loaded = load_study(study, folder, quick=quick, changes=changes, parts=parts)
    found = pipeline(loaded, force=force, retry=retry, overwrite=overwrite, adaptive=adaptive)
    found.rebuild = partial(find_pipeline, study, folder, quick=quick, changes=changes, parts=parts, force=force)
    return found


def pipeline(
    study: Study, *, force: bool = False, retry: bool = False, overwrite: bool = False, adaptive: Goal | None = None
) -> Pipeline:
    """Return the steps that a study has; nothing is imported that a step does not need before it is made.

    Parameters
    ----------
    study
        The study.
    force
        Sample anew instead of going on with the stores that are there.
    retry
        Repeat the samples that failed.
    overwrite
        Replace a bundle that this study did not write.
    adaptive
        Let the campaigns go on at points of their own choice until this goal is reached.
    """
    steps = _steps(study, force, retry, overwrite, adaptive)
    found = Pipeline(study.study.name, study.folder, steps, called=study.called)
    made = tuple(name for name in found.steps if found.holds(name))
    missing = {name: found.made(name) for name in found.steps if name not in made}  # when, from other settings
    depends = {
        "report": study.report.model_dump(), "study": study.study.model_dump(), "missing": missing,
        "made": [found.made(name) for name in made],  # a test that is run again is another test
    }  # fmt: skip
    found.steps["report"] = Step("report", partial(_report, study, missing), depends, made, ("report/report.html",))
    return found


def _steps(study: Study, force: bool, retry: bool, overwrite: bool, adaptive: Goal | None) -> list[Step]:
    seed = study.study.seed
    models = list(study.models())
    if adaptive is not None:
        refuse_trajectories(study)
    steps = []
    for name, part in study.parts.items():
        if part.model is not None:
            depends = part.model_dump(
                include={"parameters", "design", "quantities", "keep_runs", "store", "latent", "replications", "common"}
            )
            depends |= {"model": part.build(study.place).identity(), "seed": seed}
            store = () if part.store else (f"samples/{name}",)
            make = partial(_sample, study, name, force, retry, adaptive)
            steps.append(Step(f"sample/{name}", make, depends, files=store))
        elif part.table is not None:
            depends = part.model_dump(include={"parameters", "design", "outputs"}) | {"seed": seed}
            depends["table"] = _file_facts(study, part.table)
            steps.append(Step(f"sample/{name}", partial(_by_hand, study, name, adaptive), depends))
    sampled = {step.name for step in steps}
    steps += _sensitivity_steps(study, sampled)
    for model in models:
        source = study.parts[model.source]
        depends = {
            "model": model.section.model_dump(),
            "split": [source.split, source.shuffle],
            "data": _file_facts(study, source.data),
            "laws": source.parameters,
            "detrend": source.detrend,
            "seed": seed,
        }
        if model.section.memory is not None and model.section.memory.spec is not None:
            depends["spec"] = import_object(model.section.memory.spec, study.place)
        needs = tuple({f"sample/{model.source}"} & sampled)
        file = f"models/{model.key}.npz"
        steps.append(Step(f"train/{model.key}", partial(_train, study, model), depends, needs, (file,), model.effort))
    scenario = None
    if study.hybrid is not None:
        from hmor.study.simulate import full_hybrid

        scenario = full_hybrid(study, study.hybrid).identity()
    for model in models:
        source = study.parts[model.source]
        places = scenario_places(study, model)
        depends = {"test": _file_facts(study, source.test), "against": source.against, "scenario": scenario,
                   "place": places[:1], "max_nrmse": model.section.max_nrmse}  # fmt: skip
        needs = (f"train/{model.key}", *({f"sample/{model.section.repeated}"} & sampled))
        kept = (f"validate/{model.key}.nc",) if places else ()
        steps.append(Step(f"validate/{model.key}", partial(_validate, study, model), depends, needs, kept, effort=1.0))
    bundle: tuple[str, ...] = ()
    if study.exported():
        chosen = [model for model in models if model.path in study.exported().values()]
        needs = tuple(f"{group}/{model.key}" for group in ("train", "validate") for model in chosen)
        files = {path: _file_facts(study, path) for path in study.exported().values() if path.endswith(".npz")}
        depends = {"export": study.export.model_dump(), "files": files}
        steps.append(
            Step("export", partial(_export, study, overwrite), depends, needs, _below(study, "bundle/bundle.json"))
        )
        bundle = ("export",)
    if study.hybrid is not None:
        depends = {"hybrid": study.hybrid.model_dump(), "scenario": scenario, "seed": seed}
        needs = bundle if study.hybrid.variants else ()
        steps.append(Step("simulate/hybrid", partial(_hybrid, study), depends, needs, ("simulate/full.nc",)))
    if study.control is not None:
        from hmor.study.simulate import virtual_test
        from mor.compile.code_hash import code_hash

        test = virtual_test(study, study.control)
        depends = {"control": study.control.model_dump(), "seed": seed, "code": code_hash(test.run),
                   "record": _file_facts(study, study.control.record)}  # fmt: skip
        needs = (bundle if study.control.parts else ()) + (("simulate/hybrid",) if study.hybrid is not None else ())
        steps.append(Step("simulate/control", partial(_control, study), depends, needs))
    if study.run is not None:
        needs = bundle if study.run.parts else ()
        steps.append(Step("run", partial(_run, study), {"run": study.run.model_dump()}, needs))
    return steps


def _sensitivity_steps(study: Study, sampled: set[str]) -> list[Step]:
    """Return a step for each part of [sensitivity]; without the section, for those analysed before."""
    section, made = study.sensitivity, study.folder / "steps" / "sensitivity"
    if section is None and not made.is_dir():
        return []
    section = section or SensitivitySection()
    steps = []
    for name in section.parts or [name for name in study.parts if gives_numbers(study, name)]:
        part = study.parts[name]
        depends = {"sensitivity": section.model_dump(), "laws": part.parameters, "data": _file_facts(study, part.data)}
        needs = tuple({f"sample/{name}"} & sampled)
        steps.append(Step(f"sensitivity/{name}", partial(_sensitivity, study, section, name), depends, needs))
    return steps


def gives_numbers(study: Study, name: str) -> bool:
    """Tell whether the samples of a part are numbers whose laws of inputs are known."""
    part = study.parts[name]
    if part.parameters is None:
        return False
    return part.model is None or bool(outputs_of(part.build(study.place)))


def _below(study: Study, path: str) -> tuple[str, ...]:
    """Return a path that must exist, unless the study puts its bundle elsewhere."""
    return () if study.export.bundle else (path,)


def _file_facts(study: Study, name: str | None) -> list[Any] | None:
    """Return what tells one state of an input file from another."""
    path = study.place / (name or "")
    return [name, path.stat().st_mtime_ns, path.stat().st_size] if name and path.is_file() else None


def run_step(
    group: str,
    study: str | Path,
    folder: Path | None,
    *,
    force: bool = False,
    quick: bool = False,
    changes: Mapping[str, Any] | None = None,
    parts: Mapping[str, Any] | None = None,
    retry: bool = False,
    overwrite: bool = False,
    adaptive: Goal | None = None,
) -> Result:
    """Make the steps of a command, options as in `find_pipeline`; return {item: result}, or the result of one step.

    What models print goes to standard error.
    """
    found = find_pipeline(
        study, folder, quick=quick, changes=changes, parts=parts, force=force, retry=retry, overwrite=overwrite,
        adaptive=adaptive,
    )  # fmt: skip
    with contextlib.redirect_stdout(sys.stderr):
        return found.run_group(group, force=force or retry or adaptive is not None)


def _sample(study: Study, name: str, force: bool, retry: bool, adaptive: Goal | None, _: Results) -> Result:
    from mor.campaign import Store, run_design
    from mor.campaign.store import is_store

    part, path = study.parts[name], study.store(name)
    if force and is_store(path):
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = is_store(path)
    if adaptive is not None:
        from hmor.views.store import output_figures, store_content

        said = grow(study, name, adaptive, retry)
        return store_content(Store(path)) | {"outputs": output_figures(Store(path).dataset())} | said
    try:
        data = run_design(
            part.build(study.place),
            part.make_design(study.study.seed, study.place),
            store=path,
            executor=part.executor,
            workers=part.workers,
            timeout=part.timeout,
            retry_failed=retry,
        )
    except ConfigError as error:
        if not begun:
            raise
        raise ConfigError(f"{str(error).rstrip('.')}; or begin anew: hmor sample {study.called} --force") from None
    from hmor.views.store import output_figures, store_content

    return store_content(Store(path)) | {"outputs": output_figures(data)}


def _by_hand(study: Study, name: str, adaptive: Goal | None, _: Results) -> Result:
    return by_hand(study, name, adaptive)


def _train(study: Study, model: Model, _: Results) -> Result:
    from hmor.study.stages.fit import fit

    folder = study.folder / "fit" / model.key
    start = time.perf_counter()
    try:
        fitted, table = fit(study, model, folder=folder, resume=True, progress=sys.stderr.isatty())
    except ConfigError as error:
        if "resumed" not in str(error):
            raise
        shutil.rmtree(folder)  # begun with other settings
        fitted, table = fit(study, model, folder=folder, progress=sys.stderr.isatty())
    file = study.model_file(model)
    file.parent.mkdir(parents=True, exist_ok=True)
    fitted.save(file)
    seconds = round(time.perf_counter() - start, 2)
    facts = fitted.describe()
    step = facts.get("step", facts)
    told: Result = {"kind": facts["kind"], "multiply_adds": facts["multiply_adds"], "bytes": facts["bytes"]}
    if "layers" in step:
        told["layers"] = "-".join(map(str, step["layers"]))
    told |= {k: step["origin"][k] for k in ("iterations", "train_mse", "valid_mse") if k in step.get("origin", {})}
    return told | {"seconds": seconds, "model": str(file), "candidates": table}


def _validate(study: Study, model: Model, _: Results) -> Result:
    from hmor.study.stages.fit import held_out, judge, load_model
    from hmor.study.stages.scenario import judge_on_scenario

    fitted = load_model(study, model)
    data = held_out(study, model)
    found: Result = {"rows": 0 if data is None else len(data)}
    if data is not None:
        result = judge(study, model, fitted, data)
        found |= result.to_dict() | {"worst_nrmse": result.worst()}
    scenario = judge_on_scenario(study, model, fitted)
    if scenario is not None:
        found["scenario"] = scenario
    if model.section.kind in STOCHASTIC:
        from hmor.study.stages.stochastic import judge_law

        found["law"] = judge_law(study, model, fitted)
    elif data is None and scenario is None:
        raise ConfigError(
            f"Model {model.path} must be judged on something: give split of part '{model.source}' a test share, a file "
            "test, or [hybrid] a variant with it."
        )
    space = study.parts[model.source].parameters
    if model.section.kind in ("pce", "kriging", "pck") and not fitted.states and space is not None:
        found["sobol"] = _sobol(fitted, space)
    limit = model.section.max_nrmse
    worst = found.get("worst_nrmse", (scenario or {}).get("nrmse"))
    return found | {"max_nrmse": limit, "passed": limit is None or (worst is not None and worst <= limit)}


def _sobol(model: Any, space: ParameterSpace) -> Result:
    """Return first-order and total indices: {output: {input: {first, total}}}, exact ones of an expansion."""
    from mor import Pce
    from mor.uncertainty import sobol, sobol_of_pce

    found = sobol_of_pce(model) if isinstance(model, Pce) else sobol(model, space, n=2**12)
    assert found.first is not None and found.total is not None
    return {
        output: {
            name: {"first": float(found.first.value[i, j]), "total": float(found.total.value[i, j])}
            for j, name in enumerate(found.inputs)
        }
        for i, output in enumerate(found.outputs)
    }


def _sensitivity(study: Study, section: SensitivitySection, name: str, _: Results) -> Result:
    from hmor.sensitivity.analyse import analyse_part

    return analyse_part(study, section, name)


def _export(study: Study, overwrite: bool, given: Results) -> Result:
    from export import verify, write
    from hmor.study.stages.fit import load_model
    from mor.reduced.base import ReducedModel

    models, validation, problems = {}, {}, []
    for name, path in study.exported().items():
        try:
            if path.endswith(".npz"):
                models[name] = ReducedModel.load(study.place / path)
            else:
                models[name] = load_model(study, study.model(path))
                judged = given[f"validate/{study.model(path).key}"]
                validation[name] = {k: judged[k] for k in ("rows", "errors", "scenario") if k in judged}
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError.from_problems("[export] of the study", problems)
    place = study.bundle()
    ours = study.export.bundle is None or (study.folder / "steps" / "export.json").is_file()
    if not (ours or overwrite) and (place / "bundle.json").exists():
        raise ConfigError(
            f"Folder {place} already holds a bundle that this study did not write; replace it with --overwrite, or "
            "name another in [export] bundle."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    bundle = write(
        models, place, targets=study.export.targets, precision=study.export.precision, validation=validation,
        provenance=_provenance(study, models), overwrite=True, seed=study.study.seed,
    )  # fmt: skip
    parity = [row.to_dict() for row in verify(bundle, models)] if study.export.verify else []
    from hmor.gateway.controllers import export_controller

    written = {name: export_controller(study, name, path) for name, path in study.export.controllers.items()}
    return {"bundle": str(place), "models": list(bundle.models), "parity": parity, "controllers": written}


def _provenance(study: Study, models: Mapping[str, Any]) -> dict[str, Any]:
    """Say where the models come from: study, seed, campaigns, and how each was fitted."""
    facts: dict[str, Any] = {"study": study.study.name, "seed": study.study.seed}
    facts["samples"] = {
        name: {"model": part.model, "design": part.design.model_dump(exclude_none=True)}
        for name, part in study.parts.items()
        if part.design is not None
    }
    steps = {name: model.header() for name, model in models.items()}
    steps = {name: header.get("step", header) for name, header in steps.items()}
    return facts | {"fit": {name: step.get("origin") or step.get("fit") or {} for name, step in steps.items()}}


def _hybrid(study: Study, _: Results) -> Result:
    from hmor.study.simulate import simulate_hybrid

    assert study.hybrid is not None
    return simulate_hybrid(study, study.hybrid)


def _control(study: Study, _: Results) -> Result:
    from hmor.study.simulate import simulate_control

    assert study.control is not None
    return simulate_control(study, study.control)


def _run(study: Study, _: Results) -> Result:
    from hmor.study.stages.execute import run_test

    return run_test(study)


def _report(study: Study, missing: dict[str, tuple[str, float] | None], given: Results) -> Result:
    from hmor.report.study import report

    return report(study, given, missing)
