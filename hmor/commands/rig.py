"""`hmor rig`: play the physical side of a test over UDP, in a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from rt_runtime.errors import ConfigError


def new_key(path: Path) -> None:
    """Write 32 random bytes as hexadecimal digits into a new file that only its owner can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"Key file {path} must be new, but it is there; delete it first.") from None
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("rig")
    def command(
        name: Annotated[str, typer.Argument(help='A built-in rig, a catalogue problem, or "module:name".')] = "spring",
        rate: Annotated[float, typer.Option(min=1.0, max=1e5, help="Ticks per second of the test.")] = 1000.0,
        port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one and prints it.")] = 0,
        host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
        key_file: Annotated[Path | None, typer.Option(help="Key that both sides sign with.")] = None,
        make_key: Annotated[Path | None, typer.Option("--new-key", help="Write a new key file and end.")] = None,
        seconds: Annotated[float, typer.Option(min=0.0, help="End after so long.")] = 3.2e7,
        sessions: Annotated[int, typer.Option(min=0, help="End after so many tests; 0 never.")] = 0,
        loss: Annotated[float, typer.Option(help="Fraction of answers dropped.")] = 0.0,
        late: Annotated[float, typer.Option(help="Fraction of answers delayed.")] = 0.0,
        late_by: Annotated[float, typer.Option(help="Delay of late answers in s.")] = 0.005,
        repeat: Annotated[float, typer.Option(help="Fraction of answers sent twice.")] = 0.0,
        reorder: Annotated[float, typer.Option(help="Fraction of answers sent after their successors.")] = 0.0,
        forge: Annotated[float, typer.Option(help="Fraction of answers accompanied by a forged one.")] = 0.0,
        replay: Annotated[float, typer.Option(help="Fraction of answers accompanied by an old one.")] = 0.0,
        nan_at: Annotated[int, typer.Option(help="Tick from which the first sensor gives nan.")] = -1,
        stuck_at: Annotated[int, typer.Option(help="Tick from which all sensors stand still.")] = -1,
        seed: Annotated[int, typer.Option(min=0, help="Seed of the faults.")] = 0,
        as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    ) -> None:
        """Play a rig over UDP until a signal, with faults on purpose if wanted."""
        if make_key is not None:
            new_key(make_key)
            print(f"Wrote {make_key}.", file=sys.stderr)
            return
        from hmor.rigs import find_rig
        from hmor.run_section import read_key
        from rt_runtime import Faults, Rig

        side = find_rig(name, rate, Path.cwd())
        key = read_key(key_file) if key_file is not None else b""
        faults = Faults(loss, late, late_by, repeat, reorder, forge, replay, nan_at, stuck_at, seed)
        rig = Rig(side.loop, side.commands, side.measured, host=host, port=port, key=key, faults=faults)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: rig.stop())
        ports = "; ".join(f"{k}: " + ", ".join(f"{n} [{u}]" for n, u in v.items()) for k, v in side.describe().items())
        print(f"Rig '{name}' listens on {host}:{rig.port} ({ports}).", file=sys.stderr, flush=True)
        if not key and host != "127.0.0.1":
            print("No key: anybody who reaches this port can move the rig.", file=sys.stderr)

        def tell(text: str) -> None:
            print(text, file=sys.stderr, flush=True)

        ticks = rig.serve(seconds=seconds, sessions=sessions, tell=tell)
        if as_json:
            print(json.dumps({"rig": name, "ticks": ticks, "traffic": rig.traffic}))
