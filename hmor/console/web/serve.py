"""The web server of a console: a fixed list of files, the socket of the pages, and the rules of who may come in."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from hmor.console.find import newest
from hmor.console.web.hub import LONGEST, Hub
from hmor.console.web.source import Source
from rt_runtime.engine.records.run_folder import DATA, RUN
from rt_runtime.errors import ConfigError

STATIC = Path(__file__).parent / "static"
FILES = {
    "/": ("index.html", "text/html"),
    "/desk.css": ("desk.css", "text/css"),
    "/wire.js": ("wire.js", "text/javascript"),
    "/plots.js": ("plots.js", "text/javascript"),
    "/desk.js": ("desk.js", "text/javascript"),
    "/rows.js": ("rows.js", "text/javascript"),
    "/uPlot.iife.min.js": ("uPlot.iife.min.js", "text/javascript"),
    "/uPlot.min.css": ("uPlot.min.css", "text/css"),
}
"""Everything that is served without a token."""
KEPT = {"record": DATA, "run": RUN, "report": "report.html"}
"""Files of a run that a page may fetch."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
LOCAL = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("", "0.0.0.0", "::")
USUAL_PORT = {"http": 80, "https": 443}
LEAVE_AFTER = 30.0

Scope = dict[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]


class Guard:
    """Lets in only what asks for us by our own name, and adds the headers that lock a page in.

    Parameters
    ----------
    app
        What is guarded.
    hosts
        Host headers that are ours, with their port.
    scheme
        "http", or "https" with a certificate.
    """

    def __init__(self, app: App, hosts: frozenset[str], scheme: str) -> None:
        self.app, self.hosts = app, hosts
        self.origins = {f"{scheme}://{host}" for host in hosts}

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Check one request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        given = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        origin = given.get("origin")
        same = scope["type"] == "http" if origin is None else origin in self.origins
        ours = given.get("host") in self.hosts and same
        if not ours:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            else:
                await PlainTextResponse("This address is not ours.", 421, headers=HEADERS)(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        await self.app(scope, receive, with_headers)


def build(hub: Hub, hosts: frozenset[str], scheme: str = "http") -> App:
    """Return the application of one run."""

    async def file(request: Request) -> Response:
        name, kind = FILES[request.url.path]
        return FileResponse(STATIC / name, media_type=kind)

    async def frames(request: Request) -> Response:
        if not allowed(hub, request):
            return PlainTextResponse("A token is needed.", 401)
        asked = request.query_params
        try:
            signals = [name for name in asked.get("signals", "").split(",") if name][:64]
            begin, end, n = float(asked["from"]), float(asked["to"]), min(int(asked.get("n", "1000")), 5000)
            found = await asyncio.to_thread(hub.source.history, signals, begin, end, n)
        except (KeyError, ValueError, OSError) as error:
            return PlainTextResponse(str(error), 400)
        return JSONResponse(found)

    async def kept(request: Request) -> Response:
        if not allowed(hub, request):
            return PlainTextResponse("A token is needed.", 401)
        name = KEPT.get(request.path_params["name"])
        if name == KEPT["report"] and (hub.source.folder / RUN).is_file():
            from hmor.report.run import run_report

            await asyncio.to_thread(run_report, hub.source.folder)
        if name is None or not (hub.source.folder / name).is_file():
            return PlainTextResponse("There is no such file yet.", 404)
        return FileResponse(hub.source.folder / name, filename=name)

    async def page(ws: WebSocket) -> None:
        await hub.serve(ws)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(hub.pump())
        yield
        task.cancel()

    routes = [Route(path, file) for path in FILES]
    routes += [Route("/api/frames", frames), Route("/api/kept/{name}", kept)]
    return Guard(Starlette(routes=[*routes, WebSocketRoute("/socket", page)], lifespan=lifespan), hosts, scheme)


def allowed(hub: Hub, request: Request) -> bool:
    """Tell whether a request carries one of the tokens."""
    return bool(hub.role_of(request.headers.get("authorization", "").removeprefix("Bearer ")))


def serve(folder: Path, *, host: str, port: int, cert: Path | None, key: Path | None, leave: bool) -> None:
    """Serve the console of a run until it is stopped; prints the addresses once."""
    import uvicorn

    if host not in LOCAL and (cert is None or key is None):
        raise ConfigError(
            f"A console on {host} can be reached by others and needs --cert and --key; or stay on 127.0.0.1 and use an "
            "SSH tunnel."
        )
    if host in ANYWHERE:
        raise ConfigError(f"--host must be the one address or name that pages will use, got {host!r} for all of them.")
    source = Source(wait_for(folder) if leave else newest(folder))
    operator, viewer = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, else asyncio leaves Nagle on
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # before the addresses are told: who is quicker than the server waits
    except OSError as error:
        raise ConfigError(f"Port {port} of {host} cannot be had ({error.strerror}); choose another --port.") from None
    port = listening.getsockname()[1]
    hub, scheme = Hub(source, operator, viewer), "https" if cert else "http"
    shown = f"{scheme}://{bracketed(host)}:{port}/"
    print(f"Console of {source.folder}\n  operator  {shown}#{operator}\n  viewer    {shown}#{viewer}", file=sys.stderr)
    config = uvicorn.Config(
        build(hub, our_names(host, port, scheme), scheme), log_level="error", access_log=False,
        ws="websockets-sansio", ws_max_size=LONGEST, ws_ping_interval=5.0, ws_ping_timeout=10.0,
        ws_per_message_deflate=False, server_header=False, date_header=False, ssl_certfile=cert, ssl_keyfile=key,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)

    async def run() -> None:
        watching = asyncio.create_task(leaves(hub, server)) if leave else None
        await server.serve(sockets=[listening])
        if watching:
            watching.cancel()

    asyncio.run(run())


def bracketed(host: str) -> str:
    """Return an address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def our_names(host: str, port: int, scheme: str) -> frozenset[str]:
    """Return the Host headers that mean this console; the usual port of a scheme may be left out."""
    names = [bracketed(name) for name in {host, *(LOCAL if host in LOCAL else ())}]
    plain = names if port == USUAL_PORT[scheme] else []
    return frozenset([*(f"{name}:{port}" for name in names), *plain])


async def leaves(hub: Hub, server: Any) -> None:
    """End the server some time after the test has ended and the last page has gone."""
    while hub.source.live or hub.clients or time.monotonic() - hub.left < LEAVE_AFTER:
        await asyncio.sleep(1.0)
        if hub.source.live and hub.source.status["ended"]:
            hub.source.finished()
    server.should_exit = True


def wait_for(folder: Path, seconds: float = 60.0) -> Path:
    """Wait until a test has begun in `folder`."""
    from hmor.console.control import LIVE

    until = time.monotonic() + seconds
    while not (folder / LIVE).is_file():
        if time.monotonic() > until:
            raise ConfigError(f"No test began in {folder} within {seconds:g} s.")
        time.sleep(0.05)
    return folder
