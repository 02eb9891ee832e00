"""`hmor export`: write the fitted models of a study as a bundle."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, study_argument
from hmor.pipelines import made
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from export import Parity
    from hmor.study import Study
    from mor.reduced import ReducedModel
    from rt_runtime.bundle import Bundle


def run(path: Path, *, overwrite: bool = False, check: bool = False) -> tuple[Bundle, list[Parity]]:
    """Write the bundle of a study file; with `check` ask every engine the golden questions."""
    from export import verify, write
    from hmor.study import load_study

    study = load_study(path)
    section = study.export_section()
    models = load_models(study)
    bundle = write(
        models,
        study.export_bundle(),
        targets=section.targets,
        precision=section.precision,
        validation=load_validation(study, models),
        provenance=provenance(study, models),
        overwrite=overwrite,
        seed=study.study.seed,
    )
    return bundle, verify(bundle, models) if check else []


def load_models(study: Study) -> dict[str, ReducedModel]:
    """Read the models [export] names, or the one of [train]; all that cannot be read are listed at once."""
    from hmor.fitting import load_model
    from mor.reduced import ReducedModel

    section = study.export_section()
    if section.models is None:
        return {section.name: load_model(study)}
    models, problems = {}, []
    for name, file in section.models.items():
        try:
            models[name] = ReducedModel.load(study.folder / file)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError.from_problems("[export] of the study", problems)
    return models


def load_validation(study: Study, models: dict[str, ReducedModel]) -> dict[str, Any]:
    """Return how the models were judged: from the file [export] names, or the model of [train] on its test data."""
    section = study.export_section()
    if section.validation is not None:
        return _read_validation(study.folder / section.validation, models)
    if section.models is not None:
        return {}
    from hmor.fitting import judge

    try:
        data, found = judge(study, models[section.name])
    except ConfigError as error:
        print(f"hmor: the bundle says nothing of errors: {error}", file=sys.stderr)
        return {}
    return {section.name: {"rows": len(data), "errors": found.errors}}


def _read_validation(file: Path, models: dict[str, ReducedModel]) -> dict[str, Any]:
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"File '{file}' with the validation of [export] must be JSON, got: {error}.") from None
    if not isinstance(results, dict) or not set(results) <= set(models):
        raise ConfigError(
            f"File '{file}' with the validation of [export] must be an object by model ({', '.join(models)})."
        )
    return results


def provenance(study: Study, models: dict[str, ReducedModel]) -> dict[str, Any]:
    """Say where the models come from: study, seed, campaign, and how each was fitted."""
    facts: dict[str, Any] = {"study": study.study.name, "seed": study.study.seed}
    if study.sample is not None:
        facts["sample"] = {
            "model": study.sample.model,
            "design": study.sample.design.model_dump(exclude_none=True),
        }
    headers = {name: model.header() for name, model in models.items()}
    steps = {name: header.get("step", header) for name, header in headers.items()}
    facts["fit"] = {name: step.get("origin") or step.get("fit") or {} for name, step in steps.items()}
    return facts


def parity_rows(results: list[Parity]) -> list[tuple[str, ...]]:
    """Return the comparison as rows of text."""
    rows = []
    for r in results:
        state = "skipped" if r.skipped else ("same" if r.ok else "DIFFERS")
        values = ["-" if v is None else f"{v:.2g}" for v in (r.rows, r.run)]
        rows.append((r.model, r.engine, *values, f"{r.tolerance:g}", state, r.note))
    return rows


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("export")
    def command(
        study: Annotated[Path, study_argument("export")],
        check: Annotated[
            bool,
            typer.Option("--verify", help="Let every engine repeat the golden vectors; exit code 1 if one differs."),
        ] = False,
        overwrite: Annotated[
            bool, typer.Option("--overwrite", help="Replace the bundle that is there; refused otherwise.")
        ] = False,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Write fitted models as ONNX, C and FMU in one bundle.

        The bundle is a folder beside the study file, STUDY.bundle unless [export] names another. For example:

        \b
            hmor export spring.toml --verify
            hmor info spring.bundle
        """
        if made("export", study, folder, force=force, quick=quick, as_json=as_json) is not None:
            return
        from hmor.bundle_view import bundle_content, bundle_text

        bundle, results = run(study, overwrite=overwrite, check=check)
        if as_json:
            print(json.dumps(bundle_content(bundle) | {"parity": [r.to_dict() for r in results]}, indent=2))
        else:
            from mor.space import text_table

            print(bundle_text(bundle))
            if results:
                head = ("model", "engine", "points", "free run", "tolerance", "", "")
                print("\nlargest relative difference from the golden vectors")
                print(text_table(head, parity_rows(results)))
        if any(not (r.ok or r.skipped) for r in results):
            raise typer.Exit(1)
