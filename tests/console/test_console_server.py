"""Who may come in to a console and what he may do there: every rule of its door."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hmor.console.web import hub as hubs
from hmor.console.web.hub import Client, Hub
from hmor.console.web.serve import FILES, HEADERS, build, our_names, serve
from hmor.console.web.source import Source
from rt_runtime import Command, ConfigError, Loop, RunFolder, StartStop, Table, protect
from tests.fixtures.desk import ENVIRONMENT, HMOR, addresses

OURS = "127.0.0.1:8123"
ORIGIN = {"origin": f"http://{OURS}", "host": OURS}


class Told:
    """Stands for the control socket of a test."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(question)
        return {"ok": True, "secret": "not for the page"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    loop = Loop(500.0)
    loop.signal("wanted", unit="m")
    loop.add("table", Table([0.0, 0.1, 0.2], [[0.0], [0.01], [0.0]]), outputs=["wanted"])
    protect(
        loop, [Command("wanted", "command", -0.1, 0.1, rate=1.0)], manners=StartStop(soft_start=0.0, soft_stop=0.05)
    )
    path = tmp_path_factory.mktemp("console") / "run"
    loop.run(0.2, folder=RunFolder(path))
    return path


@pytest.fixture
def hub(run: Path) -> Hub:
    made = Hub(Source(run), "operator-token", "viewer-token")
    made.orders = Told()  # type: ignore[assignment]
    return made


@pytest.fixture
def client(hub: Hub) -> Iterator[TestClient]:
    with TestClient(build(hub, frozenset({OURS})), base_url=f"http://{OURS}") as made:
        yield made


def enter(client: TestClient, token: str) -> Any:
    """Open the socket and give a token; the first answer is the hello."""
    session = client.websocket_connect("/socket", headers=ORIGIN)
    socket = session.__enter__()
    socket.send_text(json.dumps({"token": token}))
    return session, socket


def answer(socket: Any) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = json.loads(socket.receive_text())
        if message["kind"] == "answer":
            return message


def test_only_listed_files_are_served_each_with_the_headers_that_lock_it_in(client: TestClient) -> None:
    for path in FILES:
        found = client.get(path)
        assert found.status_code == 200 and all(found.headers[name] == value for name, value in HEADERS.items())
        foreign = [word for word in ("//cdn", "fonts.", "googleapis") if word in found.text]
        assert not foreign
    for path in ("/../hub.py", "/uPlot.LICENSE", "/static/desk.js", "/api/kept/frames.json", "/api/kept/..%2Frun.json"):
        assert client.get(path, headers={"authorization": "Bearer viewer-token"}).status_code == 404


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:1", "127.0.0.1", ""])
def test_a_foreign_host_is_turned_away_on_every_path(client: TestClient, host: str) -> None:
    for path in ("/", "/api/frames"):
        assert client.get(path, headers={"host": host}).status_code == 421
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket", headers=ORIGIN | {"host": host}):
        pass


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_socket_needs_our_own_origin(client: TestClient, origin: str | None) -> None:
    headers = {"host": OURS} | ({} if origin is None else {"origin": origin})
    with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect("/socket", headers=headers):
        pass
    assert closed.value.code == 1008
    if origin:
        assert client.get("/", headers=headers).status_code == 421


@pytest.mark.parametrize(
    "first", ['{"token": "wrong"}', "{}", "[1]", "no json", '{"token": 7}', '{"token": "\\u00e9"}']
)
def test_a_wrong_token_is_closed_out(client: TestClient, first: str) -> None:
    with client.websocket_connect("/socket", headers=ORIGIN) as socket:
        socket.send_text(first)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
    assert closed.value.code == hubs.UNAUTHORISED


def test_no_token_in_time_is_closed_out(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "TOKEN_WITHIN", 0.05)
    with client.websocket_connect("/socket", headers=ORIGIN) as socket, pytest.raises(WebSocketDisconnect) as closed:
        socket.receive_text()
    assert closed.value.code == hubs.UNAUTHORISED


def test_after_five_wrong_tokens_nobody_enters_for_a_while(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub.role_of("operator-token") == "operator" and hub.role_of("viewer-token") == "viewer"
    for _ in range(hubs.WRONG_TOKENS):
        assert hub.role_of("guess") == ""
    assert hub.role_of("operator-token") == ""
    monkeypatch.setattr(hubs, "PAUSE", 0.0)
    assert hub.role_of("operator-token") == "operator"


def test_history_and_files_need_a_token(client: TestClient, run: Path) -> None:
    query = "/api/frames?signals=wanted&from=0&to=1&n=10"
    assert client.get(query).status_code == 401 and client.get("/api/kept/run").status_code == 401
    good = {"authorization": "Bearer viewer-token"}
    found = client.get(query, headers=good).json()
    assert max(found["high"][0]) == pytest.approx(0.01) and len(found["t"]) <= 10
    assert client.get("/api/frames?signals=nothing&from=0&to=1", headers=good).status_code == 400
    assert client.get("/api/frames?signals=wanted&from=x&to=1", headers=good).status_code == 400
    assert client.get("/api/kept/run", headers=good).content == (run / "run.json").read_bytes()


def test_history_of_a_test_that_goes_on_reads_the_frames_it_shows(tmp_path: Path) -> None:
    ticks = np.delete(np.arange(5000), slice(2000, 2100))  # some were lost
    frames = np.column_stack([ticks.astype("<i8").view("<f8"), np.sin(0.01 * ticks)])
    (tmp_path / "frames.bin").write_bytes(frames.tobytes() + b"half")
    signals = [{"name": "x", "unit": "m", "initial": 0.0}]
    (tmp_path / "frames.json").write_text(json.dumps({"signals": signals, "rate_hz": 1000.0, "every": 1}))
    source = Source(tmp_path)
    assert isinstance(source._on_disk(1)[0], np.memmap)  # an hour of frames is not loaded for a minute of it
    found = source.history(["x"], 1.995, 2.105, 1000)
    assert np.round(1000.0 * np.array(found["t"])).tolist() == [*range(1995, 2000), *range(2100, 2105)]
    assert found["low"][0] == found["high"][0] == frames[1995:2005, 1].tolist()
    assert source.history(["x"], 6.0, 7.0, 10) == {"t": [], "low": [], "high": []}


def test_a_viewer_is_refused_and_logged_and_the_operator_is_heard(client: TestClient, hub: Hub) -> None:
    told = hub.orders.asked  # type: ignore[attr-defined]
    viewing, viewer = enter(client, "viewer-token")
    assert json.loads(viewer.receive_text())["role"] == "viewer"
    viewer.send_text('{"id": 1, "do": "trip"}')
    assert answer(viewer)["refused"] and told[-1] == {
        "do": "note",
        "who": "console",
        "text": "a viewer tried 'trip': refused",
    }
    viewer.send_text('{"id": 2, "do": "take"}')
    assert "for viewers" in answer(viewer)["why"]
    ordering, operator = enter(client, "operator-token")
    assert json.loads(operator.receive_text())["role"] == "operator"
    operator.send_text('{"id": 3, "do": "hold"}')
    assert answer(operator) == {"kind": "answer", "id": 3, "do": "hold", "ok": True}  # and nothing else of the answer
    operator.send_text('{"id": 4, "do": "look"}')
    assert answer(operator)["why"] == "there is no such order"

    waiting, second = enter(client, "operator-token")
    assert json.loads(second.receive_text())["role"] == "standby"
    second.send_text('{"id": 5, "do": "hold"}')
    assert answer(second)["refused"]
    second.send_text('{"id": 6, "do": "take"}')
    assert "Take over?" in answer(second)["ask"]
    second.send_text('{"id": 7, "do": "take", "sure": true}')
    assert answer(second)["ok"] and "took over" in told[-1]["text"]
    operator.send_text('{"id": 8, "do": "hold"}')
    assert answer(operator)["refused"]
    for session in (waiting, ordering, viewing):
        session.__exit__(None, None, None)


def test_the_test_knows_of_its_operator_before_the_page_shows_anything(
    client: TestClient, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = hub.orders.asked  # type: ignore[attr-defined]
    monkeypatch.setattr(hub, "source", SimpleNamespace(live=True, about={}, look={}, events=lambda look: []))
    viewing, viewer = enter(client, "viewer-token")
    viewer.receive_text()
    assert told == []
    ordering, operator = enter(client, "operator-token")
    assert json.loads(operator.receive_text())["role"] == "operator"
    assert told == [{"do": "here"}]  # a console that hangs from now on is missed
    for session in (ordering, viewing):
        session.__exit__(None, None, None)


def test_a_flood_a_long_message_and_a_ninth_page_are_refused(client: TestClient, hub: Hub) -> None:
    first, socket = enter(client, "operator-token")
    for i in range(hubs.COMMANDS_PER_SECOND + 1):
        socket.send_text(json.dumps({"id": i, "do": "note", "text": "x"}))
    answers = [answer(socket) for _ in range(hubs.COMMANDS_PER_SECOND + 1)]
    assert "orders in a second" in answers[-1]["why"] and answers[0]["ok"]
    socket.send_text('{"id": 99, "do": "trip"}')
    assert answer(socket) == {"kind": "answer", "id": 99, "do": "trip", "ok": True}
    socket.send_text("not json")  # is left alone
    others = [enter(client, "viewer-token") for _ in range(hubs.CLIENTS - 1)]
    for _, other in others:
        other.receive_text()
    last, ninth = enter(client, "viewer-token")
    with pytest.raises(WebSocketDisconnect) as closed:
        ninth.receive_text()
    assert closed.value.code == hubs.FULL
    socket.send_text("x" * (hubs.LONGEST + 1))
    with pytest.raises(WebSocketDisconnect) as too_long:
        [socket.receive_text() for _ in range(100)]
    assert too_long.value.code == hubs.TOO_LARGE
    for session, _ in [*others, (last, ninth), (first, socket)]:
        session.__exit__(None, None, None)


def test_a_slow_page_loses_the_oldest_pictures_and_no_answer() -> None:
    async def fill() -> Client:
        client = Client(None, True)  # type: ignore[arg-type]
        for i in range(1000):
            client.send(bytes([i % 256]))
        client.send({"kind": "answer", "id": 1})
        return client

    client = asyncio.run(fill())
    assert len(client.waiting) == hubs.QUEUE and client.waiting[-1] == bytes([999 % 256])
    assert client.dropped == 1000 - hubs.QUEUE and len(client.texts) == 1


def test_a_page_that_comes_after_the_end_of_a_live_test_gets_its_summary(client: TestClient, hub: Hub) -> None:
    about = hub.source.about
    for name in ("events", "summary"):  # as a live test begins
        about.pop(name, None)
    assert hub.source.finished() is not None
    session, socket = enter(client, "viewer-token")
    kinds = [json.loads(socket.receive_text())["kind"] for _ in range(3)]
    session.__exit__(None, None, None)
    assert kinds == ["hello", "log", "summary"]


def test_whoever_has_the_operators_token_may_trip(client: TestClient, hub: Hub) -> None:
    told = hub.orders.asked  # type: ignore[attr-defined]
    ordering, operator = enter(client, "operator-token")
    operator.receive_text()
    waiting, second = enter(client, "operator-token")
    second.send_text('{"id": 1, "do": "trip"}')
    assert answer(second)["ok"] and told[-1]["do"] == "trip"
    for session in (waiting, ordering):
        session.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("host", "port", "scheme", "ours"),
    [
        ("127.0.0.1", 8123, "http", {"127.0.0.1:8123", "localhost:8123", "[::1]:8123"}),
        ("lab.example", 8123, "https", {"lab.example:8123"}),
        ("lab.example", 443, "https", {"lab.example:443", "lab.example"}),
        ("fe80::1", 8123, "https", {"[fe80::1]:8123"}),
    ],
)
def test_our_own_names(host: str, port: int, scheme: str, ours: set[str]) -> None:
    assert our_names(host, port, scheme) == ours


def test_an_origin_of_another_scheme_is_foreign(client: TestClient) -> None:
    assert client.get("/", headers={"host": OURS, "origin": f"https://{OURS}"}).status_code == 421
    assert client.get("/", headers={"host": OURS, "origin": f"http://{OURS}"}).status_code == 200


def certificate(folder: Path) -> list[str]:
    """Make a certificate for this machine; return the options that name it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    files = [str(folder / name) for name in ("cert.pem", "key.pem")]
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]]
    subprocess.run(command, check=True, capture_output=True)
    return ["--cert", files[0], "--key", files[1]]


def test_with_a_certificate_the_page_and_its_socket_are_encrypted(run: Path, tmp_path: Path) -> None:
    from websockets.sync.client import connect

    options = certificate(tmp_path)
    command = [*HMOR, "console", str(run), *options]
    console = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        _, viewer = addresses(console)
        at, _, token = viewer.partition("#")
        assert at.startswith("https://127.0.0.1:")
        known = ssl.create_default_context(cafile=options[1])
        origin = at.rstrip("/")
        with connect(f"wss{at[5:]}socket", ssl=known, origin=origin, open_timeout=60) as socket:  # type: ignore[arg-type]
            socket.send(json.dumps({"token": token}))
            assert json.loads(socket.recv(timeout=60))["kind"] == "hello"
        console.terminate()
        console.wait(60)
        assert console.stderr is not None and token not in console.stderr.read()  # printed once, never logged
    finally:
        console.kill()
        console.wait(60)
        assert console.stderr is not None
        console.stderr.close()


def test_all_addresses_at_once_have_no_name_of_their_own(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--host must be the one address or name that pages will use, got '0.0.0.0'"):
        serve(run, host="0.0.0.0", port=0, cert=tmp_path, key=tmp_path, leave=False)


def test_another_address_needs_a_certificate(run: Path) -> None:
    with pytest.raises(ConfigError, match=r"--cert and --key; or stay on 127.0.0.1 and use an SSH tunnel"):
        serve(run, host="0.0.0.0", port=0, cert=None, key=None, leave=False)
