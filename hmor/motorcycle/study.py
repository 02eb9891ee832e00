"""The steps of the motorcycle study and what each of them depends on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hmor.motorcycle.settings import BUILT_IN, MEMORY, SIDES, STATIC, Settings, load_settings
from hmor.pipeline import Pipeline, Step

STEPS = ("sample", "train", "validate", "export", "simulate", "run", "report")
Results = Mapping[str, Mapping[str, Any]]


def motorcycle_brakes(path: Path = BUILT_IN, folder: Path | None = None, *, quick: bool = False) -> Pipeline:
    """Return the pipeline of a study file; its results go to `folder`, by default runs/<name of the study>."""
    settings = load_settings(path)
    place = folder or Path("runs") / settings.study.name
    if quick:
        settings = settings.quickly()
    return Pipeline(settings.study.name, place, steps(settings, place))


def steps(settings: Settings, folder: Path) -> list[Step]:
    """Return all steps; nothing is imported that a step does not need before it is made."""
    from mor.models.motorcycle import brake
    from mor.models.motorcycle.model import hybrid

    part = settings.model_dump(mode="json")
    seed = settings.study.seed
    brakes = [brake(side).identity() for side in SIDES]
    bundle = "bundle/bundle.json"

    def sample(_: Results) -> dict[str, Any]:
        from hmor.motorcycle import brakes

        return brakes.sample(settings, folder)

    def train(_: Results) -> dict[str, Any]:
        from hmor.motorcycle import brakes

        return brakes.train(settings, folder)

    def validate(_: Results) -> dict[str, Any]:
        from hmor.motorcycle import brakes

        return brakes.validate(settings, folder)

    def export(given: Results) -> dict[str, Any]:
        from hmor.motorcycle import brakes

        return brakes.export(settings, folder, given["validate"])

    def simulate(_: Results) -> dict[str, Any]:
        from hmor.motorcycle import controlled, hybrids

        result = hybrids.simulate(settings, folder)
        if settings.simulate.controlled:
            result["controlled"] = controlled.simulate(settings, folder)
        return result

    def run(_: Results) -> dict[str, Any]:
        from hmor.motorcycle.realtime import run as make

        return make(settings, folder)

    def report(given: Results) -> dict[str, Any]:
        from hmor.motorcycle.report import report as make

        return make(settings, folder, given)

    data = tuple(f"data/{side}_{name}.nc" for side in SIDES for name in ("static", "train", "valid"))
    models = tuple(f"models/{side}_{kind}.npz" for side in SIDES for kind in (*STATIC, *MEMORY))
    ride = hybrid(dt=settings.simulate.step).identity()
    stand_ins = part["run"]["brakes"] if settings.simulate.controlled else None
    return [
        Step("sample", sample, {"sample": part["sample"], "step": part["simulate"]["step"], "seed": seed,
             "brakes": brakes}, files=data),
        Step("train", train, {"train": part["train"], "seed": seed}, ("sample",), models),
        Step("validate", validate, {"ride": ride}, ("train",)),
        Step("export", export, {"export": part["export"]}, ("train", "validate"), (bundle,)),
        Step("simulate", simulate, {"simulate": part["simulate"], "seed": seed, "ride": ride,
             "controlled": stand_ins}, ("export",), ("simulate/fom.nc",)),
        Step("run", run, {"run": part["run"], "ride": ride}, ("export",), ("run/tracking.nc",)),
        Step("report", report, {"settings": part}, tuple(name for name in STEPS if name != "report"),
             ("report/report.html",)),
    ]  # fmt: skip
