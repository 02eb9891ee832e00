"""`hmor serve`: a site that the elements of OpenSees and OpenFresco talk to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import BUILT_IN, JsonOption, studies


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def serve(what: str, options: dict[str, Any], *, model: str | None, sessions: int) -> dict[str, Any]:
    """Serve a bundle, a "module:name", or a study: its rig, or a model of its bundle; return what `--json` prints."""
    from hmor.gateway.rig import serve_rig
    from hmor.gateway.server import SiteServer
    from hmor.study.file import load_study
    from rt_runtime.engine.stop_signals import StopSignals

    if what.endswith(".toml") or what in BUILT_IN:
        if model is None:
            return serve_rig(what, options, sessions=sessions)
        what = str(load_study(what).bundle())
    with SiteServer(_site(what, model), **options, tell=_tell) as server, StopSignals() as signals:
        signals.ask = server.stop
        _tell(
            f"Site '{what}' ({server.site.dof} DOF) listens on port {server.port} ({'UDP' if server.udp else 'TCP'})."
        )
        thread = server.start(sessions)
        while thread.is_alive() and not server.stopping:  # this thread is left to the signals
            thread.join(0.2)
        server.join()
        return {"port": server.port, "sessions": [vars(session) for session in server.sessions]}


def _site(what: str, model: str | None) -> Any:
    from hmor.gateway.sites import ModelSite, Site
    from hmor.study.loading import import_object
    from rt_runtime import Rom, load_bundle
    from rt_runtime.errors import ConfigError

    if ":" in what:
        made: Any = import_object(what, Path.cwd())
        made = made if isinstance(made, Site) or not callable(made) else made()
        if not isinstance(made, Site):
            raise ConfigError(f"{what} must be or return a Site (hmor.gateway.sites), got {made!r}.")
        return made
    block = load_bundle(what).block(model)
    assert isinstance(block, Rom)
    return ModelSite(block)


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("serve")
    def command(
        what: Annotated[
            str,
            typer.Argument(
                metavar="BUNDLE|STUDY|MODULE:NAME",
                help="A bundle, a study (its rig, or --model of its bundle), or a Site of a module.",
                autocompletion=studies,
            ),
        ],
        port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0: any free one.")] = 8090,
        udp: Annotated[bool, typer.Option("--udp", help="Datagrams (element option -udp) instead of TCP.")] = False,
        allow: Annotated[
            list[str] | None,
            typer.Option(metavar="ADDRESS", help="Another machine that may connect; nothing is signed or encrypted."),
        ] = None,
        model: Annotated[str | None, typer.Option(metavar="NAME", help="Which model of the bundle.")] = None,
        idle: Annotated[
            float, typer.Option(min=0.1, metavar="SECONDS", help="Give a client up that is silent for so long.")
        ] = 600.0,
        sessions: Annotated[int, typer.Option(min=0, metavar="N", help="End after so many clients; 0: never.")] = 0,
        as_json: JsonOption = False,
    ) -> None:
        """Be an experimental site for OpenSees and OpenFresco.

        OpenSees' element genericClient (or an OpenFresco client) sends trial displacements and gets forces: of a
        reduced model, or of a rig whose loop follows the targets. Listens on this machine only, unless --allow names
        others. For example:

        \b
            hmor serve runs/brakes/bundle --port 8090
            hmor serve rig_site.toml --udp
        """
        options = {"port": port, "udp": udp, "allow": tuple(allow or ()), "idle": idle}
        result = serve(what, options, model=model, sessions=sessions)
        if as_json:
            print(json.dumps(result))
