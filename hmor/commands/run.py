"""`hmor run`: run the test of a study, against the clock or as fast as it can, and keep everything."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, study_argument
from hmor.pipelines import made
from rt_runtime.errors import Tripped

if TYPE_CHECKING:
    from rt_runtime import Record, Status


def run(path: Path, *, paced: bool | None, duration: float | None, show: bool) -> dict[str, Any]:
    """Run the test of a study file; return what `--json` prints."""
    from hmor.run_section import prepare
    from hmor.study import load_study
    from rt_runtime.actuators import UdpRig

    study = load_study(path)
    section = study.need("run", study.run)
    prepared = prepare(section, study.folder, study.study.seed)
    folder = prepared.folder(study.folder, study.study.name, path.read_text(encoding="utf-8"))
    against_the_clock = section.paced if paced is None else paced
    seconds = section.duration if duration is None else duration
    line = _Line(seconds * section.rate) if show and against_the_clock else None
    tripped = False
    try:
        record = prepared.loop.run(
            seconds, paced=against_the_clock, pacing=section.pacing.build(), folder=folder, status=line
        )
    except Tripped as trip:
        record, tripped = trip.record, True
    finally:
        if line:
            line.close()
    result = summary(record) | {
        "study": study.study.name,
        "folder": str(folder.path),
        "tripped": tripped,
        "paced": against_the_clock,
        "events": prepared.events(),
    }
    if isinstance(prepared.actuator, UdpRig):
        result["traffic"] = prepared.actuator.traffic
        result["round_trip_us"] = prepared.actuator.round_trips.summary_us()
    return result


def summary(record: Record) -> dict[str, Any]:
    """Return what a record says in a few numbers."""
    timing = record.timing
    result: dict[str, Any] = {"ended": record.ended, "ticks": record.ticks, "frames": len(record)}
    result["rate_hz"] = record.rate
    if timing is not None:
        result |= {"missed": timing.missed, "skipped": timing.skipped, "wake_us": timing.wake.summary_us()}
        result |= {"own_us": timing.own.summary_us(), "host": timing.host}
    return result | record.notes


class _Line:
    """One line on standard error that follows the run."""

    def __init__(self, ticks: float) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._live = Live(Text("starting"), console=Console(file=sys.stderr), refresh_per_second=10, transient=True)
        self._live.start()
        self._ticks = ticks

    def __call__(self, status: Status) -> None:
        percent = min(100.0, 100.0 * status.tick / self._ticks)
        state = "stopping" if status.stopping and status.state == "running" else status.state
        text = f"{state:8s} {percent:5.1f} %  tick {status.tick}  missed {status.missed}"
        self._live.update(self._text(text + (f"  frames lost {status.lost}" if status.lost else "")))

    def close(self) -> None:
        self._live.stop()


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("run")
    def command(
        study: Annotated[Path, study_argument("run")],
        paced: Annotated[
            bool | None,
            typer.Option(
                "--paced/--unpaced", help="Against the clock, or as fast as possible; the study's if not given."
            ),
        ] = None,
        duration: Annotated[
            float | None, typer.Option(min=1e-3, metavar="SECONDS", help="How long to test; the study's if not given.")
        ] = None,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Run the test of a study, against the clock or not.

        Every tick is kept in a folder of its own below STUDY.runs. Ctrl-C is a soft stop: the command goes to rest. The
        exit code is 0 after a test that ended by itself or by a soft stop, 3 after a trip. For example, with a rig that
        is played on this machine:

        \b
            hmor rig spring --port 5005 &
            hmor run docs/examples/spring_test.toml
        """
        result = made("run", study, folder, force=force, quick=quick, as_json=as_json)
        if result is not None:
            _leave(result, " It is kept; --force runs the test again.")
            return
        result = run(study, paced=paced, duration=duration, show=not as_json and sys.stderr.isatty())
        if as_json:
            print(json.dumps(result, indent=2))
        else:
            from rich.console import Console
            from rich.table import Table

            table = Table(title=result["ended"], title_justify="left", show_header=False)
            for key, value in result.items():
                if isinstance(value, dict):
                    value = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items())
                if key not in ("ended", "events"):
                    table.add_row(key, str(value))
            Console().print(table)
        _leave(result)


def _leave(result: Mapping[str, Any], hint: str = "") -> None:
    """After a trip, say its reason and end with its exit code."""
    if result["tripped"]:
        print(f"hmor: {result['ended']}{hint}", file=sys.stderr)
        raise typer.Exit(3)
