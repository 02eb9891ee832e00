"""The rig of a study as a site: its loop follows the targets that a client sends."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from hmor.gateway.server import SiteServer
from hmor.gateway.sites import RigSite
from rt_runtime import Desk, Loop, Monitor, Tripped
from rt_runtime.blocks.target_path import TargetPath
from rt_runtime.bundle.rom import LoadedBundle
from rt_runtime.errors import ConfigError

SETTINGS = ("positions", "forces", "wanted", "stiffness", "step", "predict", "tolerance", "settle")


def target_path(loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any]) -> None:
    """Numerical side of `hmor serve STUDY`: targets come from OpenSees, `wanted` follows them.

    Settings: positions and forces (names of measured signals), wanted (names it writes, default wanted or wanted_1 ..),
    stiffness (initial, n by n), step (s between targets at this speed), and predict, tolerance, settle of TargetPath.
    """
    unknown = sorted(set(settings) - set(SETTINGS))
    lacking = [name for name in ("positions", "forces", "stiffness", "step") if name not in settings]
    if unknown or lacking:
        what = f"unknown: {unknown[0]}" if unknown else f"missing: {lacking[0]}"
        raise ConfigError(
            "settings of hmor.gateway.rig:target_path must have positions, forces, stiffness and step and may have "
            f"wanted, predict, tolerance and settle; {what}."
        )
    positions, forces = list(settings["positions"]), list(settings["forces"])
    n = len(positions)
    if len(forces) != n or n == 0:
        raise ConfigError(f"forces of target_path must be as many as positions, {n}, got {len(forces)}.")
    names = list(settings.get("wanted", ["wanted"] if n == 1 else [f"wanted_{i}" for i in range(1, n + 1)]))
    more = {key: float(settings[key]) for key in ("predict", "tolerance", "settle") if key in settings}
    path = TargetPath(n, step=float(settings["step"]), dt=1 / loop.rate, **more)
    units = {signal.name: signal.unit for signal in loop.signals}
    for name, position in zip(names, positions, strict=True):
        loop.signal(name, unit=units.get(position, ""))
    for name in ("path.phase", "path.reached"):
        loop.signal(name)
    loop.add("path", path, inputs=[*positions, *forces], outputs=[*names, "path.phase", "path.reached"])


def serve_rig(file: str, options: dict[str, Any], *, sessions: int) -> dict[str, Any]:
    """Run the test of a study and serve its rig until the clients are gone, the time is over, or it trips."""
    from hmor.study.file import load_study
    from hmor.study.stages.execute import prepare_study, summary

    study = load_study(file)
    run = study.need("run", study.run)
    if not run.paced:
        raise ConfigError("run.paced of a study that is served must be true: the rig goes by the clock.")
    with ExitStack() as stack:
        prepared = prepare_study(study, stack)
        path = next((b for b in prepared.loop.blocks.values() if isinstance(b, TargetPath)), None)
        if path is None:
            raise ConfigError(
                "run.loop of a study that is served must add a TargetPath, for example hmor.gateway.rig:target_path."
            )
        if prepared.channel is not None:
            stack.enter_context(prepared.channel)
        monitor = prepared.loop.blocks["monitor"]
        assert isinstance(monitor, Monitor)
        site = RigSite(path, run.settings["stiffness"], stopped=lambda: monitor.tripped_at >= 0)
        server = stack.enter_context(SiteServer(site, **options, tell=_tell))
        _tell(f"Rig of '{study.study.name}' ({site.dof} DOF) listens on port {server.port}.")
        desk = Desk(live=False)
        ending = threading.Thread(target=_stop_behind, args=(server.start(sessions), desk), daemon=True)
        ending.start()
        base = study.place / run.folder if run.folder else study.folder / "run"
        folder = prepared.folder(base, study.text())
        tripped = False
        try:
            record = prepared.loop.run(run.duration, paced=True, pacing=run.pacing, folder=folder, desk=desk)
        except Tripped as trip:
            record, tripped = trip.record, True
        site.ended = record.ended  # a client that waits for a target is closed with this sentence
        result = summary(record) | {"folder": str(folder.path), "tripped": tripped, "port": server.port}
    server.join()
    return result | {"sessions": [vars(session) for session in server.sessions]}


def _stop_behind(clients: threading.Thread, desk: Desk) -> None:
    """Stop the test softly when the last client has gone."""
    clients.join()
    desk.begun.wait()
    desk.order("stop", who="site", text="the last client has gone")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
