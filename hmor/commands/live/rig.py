"""`hmor rig`: play the physical side of a test over UDP, in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import JsonOption, rigs


def _share(what: str) -> Any:
    """Return the option of a fault that a fraction of the answers has."""
    return typer.Option(min=0.0, max=1.0, metavar="FRACTION", help=f"Fault: fraction of answers {what}.")


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("rig")
    def command(
        name: Annotated[
            str,
            typer.Argument(
                metavar="RIG",
                help="spring, benchmark_specimen, motorcycle_ecvt; three_storey, front_brake_run or rear_brake_run of "
                "the catalogue; or module:name of a substructure of your own.",
                autocompletion=rigs,
            ),
        ] = "spring",
        rate: Annotated[
            float, typer.Option(min=1.0, max=1e5, metavar="HZ", help="Ticks of the test per second.")
        ] = 1000.0,
        port: Annotated[
            int, typer.Option(min=0, max=65535, metavar="PORT", help="UDP port; 0 takes a free one and prints it.")
        ] = 0,
        host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
        key_file: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Key that both sides sign with; see --new-key.")
        ] = None,
        make_key: Annotated[
            Path | None, typer.Option("--new-key", metavar="FILE", help="Write a new key into a file and end.")
        ] = None,
        seconds: Annotated[
            float | None, typer.Option(min=0.0, metavar="SECONDS", help="End after so long; never if not given.")
        ] = None,
        sessions: Annotated[int, typer.Option(min=0, metavar="N", help="End after so many tests; 0: never.")] = 0,
        loss: Annotated[float, _share("dropped")] = 0.0,
        late: Annotated[float, _share("delayed")] = 0.0,
        late_by: Annotated[
            float, typer.Option(min=0, metavar="SECONDS", help="Fault: delay of late answers in s.")
        ] = 0.005,
        repeat: Annotated[float, _share("sent twice")] = 0.0,
        reorder: Annotated[float, _share("sent after their successors")] = 0.0,
        forge: Annotated[float, _share("accompanied by a forged one")] = 0.0,
        replay: Annotated[float, _share("accompanied by an old one")] = 0.0,
        nan_at: Annotated[
            int | None, typer.Option(min=0, metavar="TICK", help="Fault: from this tick on the first sensor gives nan.")
        ] = None,
        stuck_at: Annotated[
            int | None, typer.Option(min=0, metavar="TICK", help="Fault: from this tick on all sensors stand still.")
        ] = None,
        twin: Annotated[float, _share("accompanied by that of a second rig with the same key")] = 0.0,
        creep: Annotated[
            float, typer.Option(min=0, metavar="SECONDS", help="Fault: s by which answers come later with every s.")
        ] = 0.0,
        seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the faults.")] = 0,
        hold_after: Annotated[
            int, typer.Option(min=1, metavar="N", help="Watchdog: hold after so many missing commands.")
        ] = 10,
        lease: Annotated[
            float | None,
            typer.Option(min=1e-3, metavar="SECONDS", help="Watchdog: go to rest after so long without a command."),
        ] = None,
        ramp: Annotated[
            float, typer.Option(min=1e-3, metavar="SECONDS", help="Watchdog: time of the way to rest.")
        ] = 2.0,
        reset: Annotated[
            bool, typer.Option("--reset", help="Begin every test with a new specimen, not with the last one's.")
        ] = False,
        insecure: Annotated[
            bool, typer.Option("--insecure", help="Listen for other machines without a key: anybody can move the rig.")
        ] = False,
        protocol: Annotated[
            int,
            typer.Option(min=1, max=2, metavar="VERSION", help="Version of the rig protocol; 1 for a loop of before."),
        ] = 2,
        setting: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="NAME=VALUE", help="A setting of the rig, if it has any; may be repeated."),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Play the physical side of a test over UDP.

        Runs until Ctrl-C (or --seconds, --sessions), with faults on purpose if wanted. The other side is hmor run with
        a study whose actuator has kind "udp" and the same port. One test at a time holds the rig; when its commands
        stop, the rig holds, goes to rest and switches off. The specimen stays as a test left it. For example:

        \b
            hmor rig --new-key rig.key
            hmor rig spring --port 5005 --key-file rig.key
            hmor rig spring --port 5005 --stuck-at 2000
        """
        from hmor.rigs.key import new_key, read_key

        if make_key is not None:
            new_key(make_key)
            print(f"Wrote {make_key}.", file=sys.stderr)
            return
        from hmor.commands.simulate import read_settings
        from hmor.rigs.catalogue import find_rig, takes_settings
        from rt_runtime import ConfigError, Faults, Rig
        from rt_runtime.engine.stop_signals import StopSignals

        settings = read_settings(setting or [])
        if settings and not takes_settings(name, Path.cwd()):
            raise ConfigError(f"Rig {name!r} has no settings: --set {next(iter(settings))}=... would do nothing.")
        side = find_rig(name, rate, Path.cwd(), settings)
        key = read_key(key_file) if key_file is not None else b""
        nan_tick, stuck_tick = (-1 if tick is None else tick for tick in (nan_at, stuck_at))
        faults = Faults(loss, late, late_by, repeat, reorder, forge, replay, nan_tick, stuck_tick, seed, twin, creep)
        rig = Rig(
            side.loop, side.commands, side.measured, host=host, port=port, key=key, insecure=insecure,
            hold_after=hold_after, lease=lease, ramp=ramp, reset=reset, faults=faults, protocol=protocol,
        )  # fmt: skip
        ports = "; ".join(f"{k}: " + ", ".join(f"{n} [{u}]" for n, u in v.items()) for k, v in side.describe().items())

        def tell(text: str) -> None:
            print(text, file=sys.stderr, flush=True)

        with StopSignals() as signals:
            signals.ask = rig.stop
            tell(f"Rig '{name}' listens on {host}:{rig.port} ({ports}).")
            if not key and host != "127.0.0.1":
                tell("No key: anybody who reaches this port can move the rig.")
            ticks = rig.serve(seconds=3.2e7 if seconds is None else seconds, sessions=sessions, tell=tell)
        if as_json:
            print(json.dumps({"rig": name, "ticks": ticks, "traffic": rig.traffic}))
