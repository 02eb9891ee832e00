"""`hmor identify`: fit the transfer function of an actuator to a record and write a page about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import JsonOption


def read_record(path: Path) -> tuple[float, dict[str, Any]]:
    """Return rate in Hz and columns by name of a record: netCDF as Record.save writes it, or CSV with a line of names.

    The first column of a CSV file is the time in s; its steps must be even to 0.1 %.
    """
    import numpy as np

    from rt_runtime import Record
    from rt_runtime.errors import ConfigError
    from rt_runtime.files import reading

    if not path.is_file():
        raise ConfigError(f"RECORD of hmor identify must be a file, found none at {path}.")
    if path.suffix == ".nc":
        record = Record.load(path)
        names = [signal.name for signal in record.signals]
        time, columns = record.time, {name: record[name] for name in names}
    else:
        with reading(f"Record {path}", "save it as CSV with a line of names"):
            head, *rows = path.read_text(encoding="utf-8-sig").splitlines()
        names = [name.strip() for name in head.split(",")]
        try:
            table = np.array([[float(cell) for cell in row.split(",")] for row in rows if row.strip()])
        except ValueError as error:
            raise ConfigError(f"Record {path} must hold numbers below its line of names, got: {error}.") from None
        if table.ndim != 2 or table.shape[1] != len(names) or len(names) < 3 or len(table) < 2:
            raise ConfigError(f"Record {path} must have the columns time, input and output, got {', '.join(names)}.")
        time, columns = table[:, 0], {name: table[:, i] for i, name in enumerate(names) if i}
    steps = np.diff(time)
    if not (steps.min() > 0 and steps.max() - steps.min() < 1e-3 * steps.mean()):
        raise ConfigError(
            f"Times of record {path} must be evenly spaced to 0.1 %, got steps from {steps.min():g} to {steps.max():g} "
            "s; resample it."
        )
    return float(1 / steps.mean()), columns


def identify(path: Path, *, poles: int, options: dict[str, Any]) -> dict[str, Any]:
    """Fit a model to a record; return it with its judgement as plain values, and the fit itself under "fit"."""
    import numpy as np

    from mor.identification import fit_transfer_function, frequency_response
    from rt_runtime.errors import ConfigError

    rate, columns = read_record(path)
    chosen = []
    for place, what in enumerate(("input", "output")):
        name = options[what] or list(columns)[place]
        if name not in columns:
            raise ConfigError(
                f"--{what} of hmor identify must be a column of {path}: {', '.join(columns)}; got {name!r}."
            )
        chosen.append(name)
    frf = frequency_response(
        columns[chosen[0]], columns[chosen[1]], rate,
        method=options["method"], window=options["window"], hold=options["hold"],
    )  # fmt: skip
    fit = fit_transfer_function(
        frf, poles=poles, zeros=options["zeros"], zeros_at_origin=options["zeros_at_origin"], band=options["band"]
    )
    return {
        "input": chosen[0],
        "output": chosen[1],
        "rate_hz": rate,
        "numerator": fit.model.numerator.tolist(),
        "denominator": fit.model.denominator.tolist(),
        "poles_hz": [[float(p.real), float(p.imag)] for p in fit.model.poles / (2 * np.pi)],
        "static_gain": fit.model.dc_gain,
        "delay_ms": 1e3 * fit.model.phase_delay(max(1.0, float(fit.frf.frequency[0]))),
        "error_percent": 100 * fit.error,
        "noise_floor_percent": 100 * fit.noise_floor,
        "coherence_least": float(fit.frf.coherence.min()),
        "invertible": fit.invertible,
        "notes": list(fit.notes),
        "problems": list(fit.problems),
        "fit": fit,
    }


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("identify")
    def command(
        record: Annotated[Path, typer.Argument(metavar="RECORD", help="CSV (time first) or netCDF of a record.")],
        poles: Annotated[int, typer.Option(help="Number of poles.")] = 6,
        zeros: Annotated[int, typer.Option(help="Number of zeros, those at the origin among them.")] = 0,
        zeros_at_origin: Annotated[int, typer.Option(help="Zeros at s = 0.")] = 0,
        input_: Annotated[
            str | None, typer.Option("--input", help="Column of the command; default: the first.")
        ] = None,
        output: Annotated[str | None, typer.Option(help="Column of the position; default: the second.")] = None,
        method: Annotated[
            str, typer.Option(help="welch (noise), or periodic (multisine of WINDOW samples).")
        ] = "welch",
        window: Annotated[int, typer.Option(help="Samples of a window or a period.")] = 8192,
        hold: Annotated[str, typer.Option(help="zoh: the command was held between samples; none.")] = "zoh",
        low: Annotated[float, typer.Option(help="Lowest frequency in Hz.")] = 0.3,
        high: Annotated[float, typer.Option(help="Highest frequency in Hz.")] = 50.0,
        report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page with pictures.")] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Fit the transfer function of an actuator to a record.

        One axis at a time, with the specimen attached. For example:

        \b
            hmor identify x1.csv --poles 6 --report x1.html
            hmor identify multisine.csv --method periodic --window 8192
        """
        options = {
            "zeros": zeros, "zeros_at_origin": zeros_at_origin, "input": input_, "output": output,
            "method": method, "window": window, "hold": hold, "band": (low, high),
        }  # fmt: skip
        found = identify(record, poles=poles, options=options)
        fit = found.pop("fit")
        if report is not None:
            from hmor.report.identification import write_page

            found["report"] = str(write_page(report, record.name, found, fit))
        if as_json:
            print(json.dumps(found, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        table = Table(title=f"{found['output']} over {found['input']}", title_justify="left", show_header=False)
        for name, value in found.items():
            if isinstance(value, float):
                table.add_row(name, f"{value:.6g}")
            elif isinstance(value, list) and value and isinstance(value[0], list):
                table.add_row(name, ", ".join(f"{a:.3g}{b:+.3g}i" if b else f"{a:.3g}" for a, b in value))
            elif isinstance(value, list):
                table.add_row(name, ", ".join(f"{v:.4e}" if isinstance(v, float) else v for v in value))
            else:
                table.add_row(name, str(value))
        Console().print(table)
