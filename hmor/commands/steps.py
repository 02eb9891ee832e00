"""`hmor sample`, `sensitivity`, `train`, `validate`, `export` and `report`: the steps of a study, each made once."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, StudyArgument, study_argument

if TYPE_CHECKING:
    from hmor.sensitivity.adaptive import Goal


def make(
    group: str,
    study: str,
    folder: Path | None,
    *,
    force: bool,
    quick: bool,
    as_json: bool,
    leave_out: tuple[str, ...] = (),
    parts: Mapping[str, Any] | None = None,
    retry: bool = False,
    overwrite: bool = False,
    adaptive: Goal | None = None,
) -> dict[str, Any]:
    """Make a step, print and return its result; an interruption keeps what is finished."""
    from hmor.study.stages.pipeline import run_step
    from hmor.views.tables import show

    try:
        result = run_step(
            group, study, folder, force=force, quick=quick, parts=parts, retry=retry, overwrite=overwrite,
            adaptive=adaptive,
        )  # fmt: skip
    except KeyboardInterrupt:
        print("hmor: interrupted; what is finished is safe, run the command again to go on.", file=sys.stderr)
        raise typer.Exit(130) from None
    show(group, result, as_json=as_json, leave_out=leave_out)
    return result


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""

    @app.command("sample")
    def sample(
        study: Annotated[str, study_argument("[parts.NAME]")],
        retry: Annotated[bool, typer.Option("--retry-failed", help="Repeat the samples that failed.")] = False,
        executor: Annotated[
            str | None,
            typer.Option(metavar="WHERE", help="processes, serial or dask://host:port; the study's if not given."),
        ] = None,
        workers: Annotated[
            int | None, typer.Option(min=1, metavar="N", help="Number of processes; one per CPU if not given.")
        ] = None,
        adaptive: Annotated[
            bool, typer.Option("--adaptive", help="Go on from the design at the points that help most.")
        ] = False,
        until: Annotated[
            str | None, typer.Option(metavar="loo=ERROR", help="When --adaptive ends; loo=1e-3 if not given.")
        ] = None,
        batch: Annotated[
            int | None, typer.Option(min=1, metavar="N", help="Points that --adaptive adds at once; 1 if not given.")
        ] = None,
        most: Annotated[
            int | None, typer.Option(min=1, metavar="N", help="Points at which --adaptive gives up; 200 if not given.")
        ] = None,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Run the full-order models of the parts on their designs.

        Every sample is kept in a store, runs/NAME/samples/PART, those that failed with their reason. Started again
        after an interruption, it goes on where it stopped. For example:

        \b
            hmor sample spring.toml --workers 4
            hmor info runs/spring/samples/spring
            hmor sample plate_gsa --adaptive --until loo=1e-2 --batch 5

        A part with a table is tested by hand: the command writes the tests to the table, and results are entered there.
        Exit code 1 when --adaptive did not reach its error.
        """
        from hmor.sensitivity.adaptive import goal, unreached

        wanted = goal(adaptive, until, batch, most)
        how = {name: value for name, value in (("executor", executor), ("workers", workers)) if value is not None}
        _refuse_idle_workers(study, quick, how)
        hidden = ("kind", "design", "parameters", "model", "open", "trajectories", "damaged_lines")
        result = make(
            "sample", study, folder, force=force, quick=quick, as_json=as_json, leave_out=hidden, parts=how,
            retry=retry, adaptive=wanted,
        )  # fmt: skip
        if missed := unreached(result):
            print(f"hmor: {missed}", file=sys.stderr)
            raise typer.Exit(1)

    @app.command("sensitivity")
    def sensitivity(
        study: Annotated[str, study_argument("[parts.NAME] whose samples are numbers, and [sensitivity] if wanted")],
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Say which inputs of the sampled parts matter.

        Surrogates are fitted to growing numbers of samples; their errors, moments and Sobol' indices show which inputs
        matter and whether the samples are enough. hmor sample comes before; hmor report draws it. A study needs no
        section [sensitivity]; with one it says how. For example:

        \b
            hmor sample plate_gsa
            hmor sensitivity plate_gsa
        """
        from hmor.study.stages.pipeline import run_step

        result = run_step("sensitivity", study, folder, force=force, quick=quick, changes={"sensitivity": {}})
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from hmor.sensitivity.page import text
        from hmor.study.file import load_study

        labels = load_study(study, folder, quick=quick).report.labels
        print("\n\n".join(text(name, part, labels) for name, part in result.items()))

    @app.command("train")
    def train(
        study: Annotated[str, study_argument("[parts.NAME.models.KIND]")],
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Fit the reduced models to the samples of their parts.

        Writes runs/NAME/models; hmor sample comes before. An interrupted fit goes on where it stopped. For example:

        \b
            hmor train spring.toml
            hmor validate spring.toml
        """
        make("train", study, folder, force=force, quick=quick, as_json=as_json)

    @app.command("validate")
    def validate(
        study: Annotated[str, study_argument("[parts.NAME.models.KIND]")],
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Judge the fitted models on samples they have not seen.

        Prints errors and cost; those that a hybrid model uses are also judged in its scenario. The exit code is 1 when
        a model is worse than its max_nrmse.
        """
        result = make("validate", study, folder, force=force, quick=quick, as_json=as_json, leave_out=("sobol",))
        for name, row in result.items():
            if not row["passed"]:
                worst = row.get("worst_nrmse", row.get("scenario", {}).get("nrmse"))
                print(
                    f"hmor: NRMSE of {name} must be at most {row['max_nrmse']:g}, got {worst:.4g}; sample more, or "
                    "choose another model.",
                    file=sys.stderr,
                )
        if not all(row["passed"] for row in result.values()):
            raise typer.Exit(1)

    @app.command("export")
    def export(
        study: Annotated[str, study_argument("[export] or fitted models")],
        overwrite: Annotated[
            bool, typer.Option("--overwrite", help="Replace a bundle there that this study did not write.")
        ] = False,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Write fitted models as ONNX, C and FMU in one bundle.

        Every engine repeats the golden vectors; the exit code is 1 if one differs. For example:

        \b
            hmor export spring.toml
            hmor info runs/spring/bundle
        """
        result = make("export", study, folder, force=force, quick=quick, as_json=as_json, overwrite=overwrite,
                      leave_out=("parity",))  # fmt: skip
        if not as_json and result["parity"]:
            from mor.sampling.space import text_table

            print("largest relative difference from the golden vectors")
            print(
                text_table(
                    ("model", "engine", "points", "free run", "tolerance", "", ""), parity_rows(result["parity"])
                )
            )
        if any(not (row["ok"] or skipped(row)) for row in result["parity"]):
            raise typer.Exit(1)

    @app.command("report")
    def report(
        study: StudyArgument,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Write the report of a study, or of one run, as one HTML page.

        Of a study it shows what there is: parts and their samples, reduced models, hybrid models, control, real time,
        exports, and says which steps are not made. Of the folder of a run it is the test as an engineer files it: who
        and when, pre-test sheet, events, pictures, tracking, energy, timing; print it to PDF from the browser. For
        example:

        \b
            hmor report motorcycle_brakes --quick
            hmor report runs/spring_test/run/20260101-120000
        """
        if Path(study).is_dir():
            from hmor.report.run import run_report

            result = {"page": str(run_report(Path(study)))}
            print(json.dumps(result) if as_json else result["page"])
            return
        make("report", study, folder, force=force, quick=quick, as_json=as_json)


def skipped(row: dict[str, Any]) -> bool:
    """Tell whether an engine could not be asked."""
    return row["rows"] is None and row["run"] is None


def parity_rows(results: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the comparison of engines as rows of text."""
    rows = []
    for r in results:
        state = "skipped" if skipped(r) else ("same" if r["ok"] else "DIFFERS")
        values = ["-" if v is None else f"{v:.2g}" for v in (r["rows"], r["run"])]
        rows.append((r["model"], r["engine"], *values, f"{r['tolerance']:g}", state, r["note"]))
    return rows


def _refuse_idle_workers(study: str, quick: bool, how: dict[str, Any]) -> None:
    """Refuse --workers where no part is sampled by processes of this machine."""
    from hmor.study.file import load_study
    from rt_runtime.errors import ConfigError

    if "workers" not in how:
        return
    parts = load_study(study, quick=quick, parts=how).parts
    if parts and all(part.executor != "processes" for part in parts.values()):
        used = ", ".join(sorted({part.executor for part in parts.values()}))
        raise ConfigError(
            f"--workers of hmor sample is the number of processes of executor 'processes', got executor '{used}', "
            "where it would do nothing; leave it out."
        )
