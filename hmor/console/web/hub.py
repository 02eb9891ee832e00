"""The clients of a console: who may order, who only looks, and what each of them is sent."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from hmor.console.web.source import Asking, Source

QUEUE, CLIENTS, COMMANDS_PER_SECOND, LONGEST = 8, 8, 20, 4096
FRAMES_PER_SECOND, LOOKS_PER_SECOND = 30, 6
STATE_EVERY = 6
"""Pictures between two messages of an unchanged state."""
WRONG_TOKENS, PAUSE, TOKEN_WITHIN = 5, 10.0, 2.0
UNAUTHORISED, FULL, TOO_LARGE = 4401, 4429, 4413
ORDERS = ("arm", "start", "hold", "resume", "stop", "trip", "note", "limit", "tune", "tick")


@dataclass(eq=False)
class Client:
    """One page: its socket, whether it came with the operator's token, and what waits to be sent."""

    socket: WebSocket
    may_order: bool
    waiting: deque[str | bytes] = field(default_factory=lambda: deque(maxlen=QUEUE))
    texts: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    times: deque[float] = field(default_factory=lambda: deque(maxlen=COMMANDS_PER_SECOND))
    heard: float = field(default_factory=time.monotonic)
    dropped: int = 0

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Queue a message: answers are kept, of pictures and states the oldest is dropped when eight wait."""
        if isinstance(message, dict) and message["kind"] in ("answer", "hello", "role", "log", "summary"):
            self.texts.append(json.dumps(message))
        else:
            self.dropped += len(self.waiting) == QUEUE
            self.waiting.append(message if isinstance(message, bytes) else json.dumps(message))
        self.ready.set()

    async def write(self) -> None:
        """Send what waits, one message after the other."""
        while True:
            await self.ready.wait()
            while self.texts or self.waiting:
                message = self.texts.popleft() if self.texts else self.waiting.popleft()
                if isinstance(message, bytes):
                    await self.socket.send_bytes(message)
                else:
                    await self.socket.send_text(message)
            self.ready.clear()

    def too_fast(self) -> bool:
        """Tell whether more than the allowed commands came in the last second, and count this one."""
        now = time.monotonic()
        full = len(self.times) == COMMANDS_PER_SECOND and now - self.times[0] < 1.0
        if not full:
            self.times.append(now)
        return full


class Hub:
    """Serves the pages of one run.

    Parameters
    ----------
    source
        The run.
    operator, viewer
        The two tokens.
    """

    def __init__(self, source: Source, operator: str, viewer: str) -> None:
        self.source, self._operator, self._viewer = source, operator, viewer
        self.clients: set[Client] = set()
        self.seat: Client | None = None  # who is at the desk
        self.orders, self.looks = Asking(source.folder), Asking(source.folder)
        self._wrong: list[float] = []
        self._told, self._state = 0.0, ""  # when pages last heard of the rules, and the last state they heard of
        self.left = time.monotonic()

    def role_of(self, token: Any) -> str:
        """Return "operator", "viewer" or nothing for a token; after five wrong ones nobody enters for a while."""
        now = time.monotonic()
        self._wrong = [t for t in self._wrong if now - t < PAUSE]
        text = token if isinstance(token, str) and token.isascii() else ""
        operator = hmac.compare_digest(text, self._operator)
        viewer = hmac.compare_digest(text, self._viewer)
        if len(self._wrong) >= WRONG_TOKENS:
            return ""
        if not operator and not viewer:
            self._wrong.append(now)
        return "operator" if operator else "viewer" if viewer else ""

    async def serve(self, socket: WebSocket) -> None:
        """Talk to one page until it goes."""
        await socket.accept()
        try:
            async with asyncio.timeout(TOKEN_WITHIN):
                first = json.loads(await socket.receive_text())
            role = self.role_of(first.get("token")) if isinstance(first, dict) else ""
        except (TimeoutError, ValueError, KeyError, WebSocketDisconnect):
            role = ""
        if not role or len(self.clients) >= CLIENTS:
            with contextlib.suppress(RuntimeError):
                await socket.close(FULL if role else UNAUTHORISED)
            return
        client = Client(socket, role == "operator")
        self.clients.add(client)
        writer: asyncio.Task[None] | None = None
        try:
            if client.may_order and self.seat is None:
                await self._sit(client)
            writer = asyncio.create_task(client.write())
            self._greet(client)
            await self._listen(client)
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            if writer is not None:
                writer.cancel()
            self.clients.discard(client)
            self.left = time.monotonic()
            if self.seat is client:
                self.seat = None
                self._tell_roles()

    async def _sit(self, client: Client) -> None:
        """Give a page the desk; the test hears of its operator before the page shows anything, and can miss it."""
        self.seat = client
        if self.source.live:
            await self.orders.ask({"do": "here"})

    def _greet(self, client: Client) -> None:
        source = self.source
        mode = "live" if source.live else "replay"
        client.send({"kind": "hello", "mode": mode, "role": self._role(client), "about": source.about})
        client.send(
            {"kind": "log", "events": source.events(source.look) if source.live else source.about.get("events", [])}
        )
        if "summary" in source.about:
            client.send({"kind": "summary", **source.about["summary"]})

    def _role(self, client: Client) -> str:
        if client is self.seat:
            return "operator"
        return "standby" if client.may_order else "viewer"

    def _tell_roles(self) -> None:
        for client in self.clients:
            client.send({"kind": "role", "role": self._role(client), "taken": self.seat is not None})

    async def _listen(self, client: Client) -> None:
        while True:
            text = await client.socket.receive_text()
            client.heard = time.monotonic()
            if len(text) > LONGEST:
                await client.socket.close(TOO_LARGE)
                return
            try:
                asked = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(asked, dict) and asked.get("do") != "here":
                answer = await self.order(client, asked)
                client.send({"kind": "answer", "id": asked.get("id"), "do": asked.get("do"), **answer})

    async def order(self, client: Client, asked: dict[str, Any]) -> dict[str, Any]:
        """Follow an order of a page, or say why not."""
        do = asked.get("do")
        if client.too_fast() and do != "trip":  # never too many of these
            return {"refused": True, "why": f"more than {COMMANDS_PER_SECOND} orders in a second"}
        if do == "take":
            return await self._take(client, bool(asked.get("sure")))
        if not client.may_order or (client is not self.seat and do != "trip"):  # who has the token may always trip
            who = "a viewer" if not client.may_order else "a page that is not at the desk"
            await self.orders.ask({"do": "note", "who": "console", "text": f"{who} tried {str(do)[:20]!r}: refused"})
            return {"refused": True, "why": "this page only looks; the desk must be taken first"}
        if do not in ORDERS:
            return {"refused": True, "why": "there is no such order"}
        answer = await self.orders.ask(asked)
        if self.source.live:
            self.say_state()  # at once, not with the next picture
        self.look_soon()
        return {key: answer[key] for key in ("ok", "refused", "why") if key in answer}

    async def _take(self, client: Client, sure: bool) -> dict[str, Any]:
        if not client.may_order:
            return {"refused": True, "why": "this address is for viewers"}
        if self.seat is not None and self.seat is not client and not sure:
            return {"ask": "Somebody is at the desk. Take over?"}
        await self._sit(client)
        await self.orders.ask({"do": "note", "who": "console", "text": "another page took over the desk"})
        self._tell_roles()
        return {"ok": True}

    def look_soon(self) -> None:
        """Look at the rules and events in the next round."""
        self._told = 0.0

    def say(self, message: dict[str, Any] | bytes) -> None:
        """Send a message to every page."""
        for client in self.clients:
            client.send(message)

    def say_state(self) -> None:
        """Send the state to every page."""
        message = self.source.state_message()
        self._state = self.source.state()
        self.say(message)

    async def pump(self) -> None:
        """Send pictures, states, rules and events while there are pages; until cancelled."""
        last_log, rounds = None, 0
        while True:
            await asyncio.sleep(1.0 / FRAMES_PER_SECOND)
            if not self.source.live or not self.clients:
                continue
            rounds += 1
            if (frames := self.source.frames()) is not None:
                self.say(frames)
            if (state := self.source.state()) != self._state or rounds % STATE_EVERY == 0:
                self.say_state()
            if state == "ended":
                await self._end()
                continue
            if time.monotonic() - self._told > 1.0 / LOOKS_PER_SECOND:
                self._told = time.monotonic()
                look = await self._look()
                log = self.source.events(look) if look else last_log
                if look and log != last_log:
                    last_log = log
                    self.say({"kind": "log", "events": log})

    async def _look(self) -> dict[str, Any] | None:
        known = self.source.look["events"]
        look = await self.looks.ask({"do": "look", "events": len(known)})
        if "refused" in look:
            return None
        look["events"] = known + look["events"]
        self.source.look = look
        self.say({"kind": "rules", "rules": look["rules"], "sheet": look["sheet"]})
        if self.seat is not None and time.monotonic() - self.seat.heard < 1.5:
            await self.looks.ask({"do": "here"})
        return look

    async def _end(self) -> None:
        """After the last tick: wait for the folder, then show the summary."""
        for _ in range(600):
            found = await asyncio.to_thread(self.source.finished)
            if found is not None:
                self.say({"kind": "log", "events": self.source.about["events"]})  # the last ones, a trip among them
                self.say({"kind": "summary", **found})
                return
            await asyncio.sleep(0.1)
        self.source.live = False
