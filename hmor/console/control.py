"""The control socket of a running test: one line of JSON asks, one answers; only the same user may connect."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hmor.console.sheet import Sheet
from hmor.console.words import LARGEST, finite
from rt_runtime import Desk, Tunable
from rt_runtime.engine.desk import LEGAL
from rt_runtime.errors import ConfigError
from rt_runtime.files import replacing

SOCKET, LIVE = "control.sock", "live.json"
LONGEST = 4096
"""Bytes of one line at most."""
CLIENTS = 16

PLAIN = ("arm", "start", "hold", "resume", "stop", "trip")


class Control:
    """Answers the control socket of one run in threads of its own; the loop sees one word a tick of it.

    Parameters
    ----------
    desk
        The running loop.
    folder
        Of the run; the socket and live.json are made in it.
    about
        What a console must know of the test: names, units, rules, duration.
    sheet
        The pre-test sheet; arming is refused until it is complete. None: there is none.
    tunables
        What the operator may change.
    lost, lost_after
        What happens when the operator's page is gone for so many s: "nothing", "hold" or "ramp".
    """

    def __init__(
        self,
        desk: Desk,
        folder: Path,
        about: dict[str, Any],
        *,
        sheet: Sheet | None = None,
        tunables: Sequence[Tunable] = (),
        lost: str = "nothing",
        lost_after: float = 2.0,
    ) -> None:
        self.desk, self.folder, self.about, self.sheet = desk, folder, about, sheet
        self.tunables, self.lost, self.lost_after = tuple(tunables), lost, lost_after
        self._seen: float | None = None  # when the operator's page was last heard of
        self._server: socket.socket | None = None
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []
        self._clients: set[socket.socket] = set()

    def _begin(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads = [*(one for one in self._threads if one.is_alive()), thread]
        thread.start()

    def __enter__(self) -> Control:
        self._begin(self._serve)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for one in [*([self._server] if self._server else []), *self._clients]:  # ends whatever a thread waits for
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5.0)
        if self._server is not None:
            self._server.close()
        for name in (SOCKET, LIVE):
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()

    def _serve(self) -> None:
        while not self.desk.opened.wait(0.1):
            if self._ending.is_set():
                return
        try:
            self._server = listen(self.folder / SOCKET)
            live = str(self.desk.path) if self.desk.path else ""
            facts = self.about | {"live": live, "run": self.desk.run_id, "pid": os.getpid()}
            with replacing(self.folder / LIVE) as path:
                path.touch(0o600)
                path.write_text(json.dumps(facts) + "\n")
        except (OSError, ConfigError) as error:  # the test goes on without
            print(f"No control socket: {error}", file=sys.stderr)
            return
        self._begin(self._watch)
        while not self._ending.is_set():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            if len(self._clients) >= CLIENTS or not same_user(client):
                client.close()
                continue
            self._clients.add(client)
            self._begin(self._talk, client)

    def _talk(self, client: socket.socket) -> None:
        try:
            with client, client.makefile("rb") as lines:
                while line := lines.readline(LONGEST + 1):
                    if len(line) > LONGEST:
                        break
                    client.sendall(json.dumps(self.answer(line), allow_nan=False).encode() + b"\n")
        except OSError:
            pass
        finally:
            self._clients.discard(client)

    def ask(self, do: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Answer this process itself."""
        return self.answer(json.dumps({"do": do, **(arguments or {})}).encode())

    def answer(self, line: bytes) -> dict[str, Any]:
        """Do what a line asks for and return the answer."""
        try:
            asked = json.loads(line)
            if not isinstance(asked, dict) or not isinstance(asked.get("do"), str):
                raise ValueError
        except (ValueError, RecursionError):
            return {"id": None, "refused": True, "why": 'a line must be a JSON object with "do"'}
        number = asked.get("id") if isinstance(asked.get("id"), int | str) else None
        try:
            result = self._do(asked["do"], asked)
        except (TypeError, ValueError, OverflowError) as error:
            result = str(error)
        if isinstance(result, str):
            return {"id": number, "refused": True, "why": result} if result else {"id": number, "ok": True}
        return {"id": number, "ok": True, **result}

    def _do(self, do: str, asked: dict[str, Any]) -> str | dict[str, Any]:
        who = str(asked.get("who", "operator"))[:40]
        if do == "arm" and self.sheet is not None and (open_items := self.sheet.open()):
            return f"the pre-test sheet is not complete: {'; '.join(open_items)}"
        if do in PLAIN:
            return self.desk.order(do, who=who)
        special: dict[str, Callable[[], str | dict[str, Any]]] = {
            "look": lambda: self._look(int(asked.get("events", 0))),
            "here": self._here,
            "note": lambda: self._note(asked, who),
            "limit": lambda: self._limit(asked, who),
            "tune": lambda: self._tune(asked, who),
            "tick": lambda: self._tick(asked),
        }
        if do not in special:
            return f"{do!r} is no order; the orders are {', '.join([*PLAIN, *special])}"
        try:
            return special[do]()
        except KeyError as missing:
            return f"{missing} of '{do}' is missing"

    def _here(self) -> str:
        """Note that the operator's page is there."""
        self._seen = time.monotonic()
        return ""

    def _note(self, asked: dict[str, Any], who: str) -> str:
        """Keep a text with this tick; with `at`, it is about another time in s."""
        about = "" if asked.get("at") is None else f"at {asked['at']:.3f} s: "
        return self.desk.order("note", who=who, text=about + str(asked["text"])[:500])

    def _limit(self, asked: dict[str, Any], who: str) -> str:
        assert self.desk.monitor is not None
        names = [rule.name for rule in self.desk.monitor.rules]
        if asked["rule"] not in names:
            return f"{asked['rule']!r} is no rule of this test"
        i = names.index(asked["rule"])
        old = self.desk.monitor.shown()[i][3:5]
        new = [old[k] if asked.get(side) is None else float(asked[side]) for k, side in enumerate(("lower", "upper"))]
        if any(math.isnan(value) for value in new):
            return "a limit must be a number"
        new = [min(max(value, -LARGEST), LARGEST) for value in new]  # the bus holds finite numbers only
        text = f"{asked['rule']}: [{old[0]:g}, {old[1]:g}] to [{new[0]:g}, {new[1]:g}]"
        return self.desk.order("limit", float(i), *new, who=who, text=text)

    def _tune(self, asked: dict[str, Any], who: str) -> str:
        names = [t.name for t in self.tunables]
        if asked["name"] not in names:
            return f"{asked['name']!r} is no tunable of this test"
        i, value = names.index(asked["name"]), float(asked["value"])
        if not self.tunables[i].lower <= value <= self.tunables[i].upper:
            return f"{asked['name']} must lie between {self.tunables[i].lower:g} and {self.tunables[i].upper:g}"
        return self.desk.order("tune", float(i), value, who=who, text=f"{asked['name']} = {value:g}")

    def _tick(self, asked: dict[str, Any]) -> str:
        if self.sheet is None:
            return "this test has no pre-test sheet"
        return self.sheet.tick(int(asked["item"]), bool(asked.get("done", True)))

    def _look(self, since: int) -> dict[str, Any]:
        """Return what changes: events from number `since` on, rules, sheet, latency."""
        desk, monitor, paced = self.desk, self.desk.monitor, self.desk.paced
        rules = []
        for value, least, most, lower, upper, acting in monitor.shown() if monitor else ():
            rules.append([finite(v) for v in (value, least, most, lower, upper)] + [acting])
        events = monitor.events(desk.rate) if monitor and paced else []
        return {
            "state": desk.state,
            "rules": rules,
            "events": events[max(0, since) :],
            "orders": desk.orders[-200:],
            "sheet": self.sheet.rows() if self.sheet else None,
            "wake_us": paced.wake_ns(0.99) / 1e3 if paced else None,
            "operator": self._seen is not None and time.monotonic() - self._seen < self.lost_after,
        }

    def _watch(self) -> None:
        """Act when the operator's page has been there and is gone."""
        while not self._ending.wait(0.05):
            gone = self._seen is not None and time.monotonic() - self._seen > self.lost_after
            if not gone:
                continue
            order = {"hold": "hold", "ramp": "stop", "nothing": "note"}[self.lost]
            if order not in LEGAL[self.desk.state]:
                order = "note"
            if not self.desk.order(order, who="console", text="the operator's page is gone"):
                self._seen = None  # else again: a loop that stood still for a moment did not take it


def listen(path: Path) -> socket.socket:
    """Open a socket at `path` that only this user can reach, however long the path."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        with short_name(path) as name:
            server.bind(name)
    except OSError:
        server.close()
        raise
    finally:
        os.umask(before)
    server.listen(CLIENTS)
    return server


@contextlib.contextmanager
def short_name(path: Path) -> Any:
    """Give a name of a socket that fits into its address (108 bytes): through the open folder."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def same_user(client: socket.socket) -> bool:
    """Tell whether the other side of a local socket is a process of this user."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


class Telling:
    """A connection to the control socket of the run in `folder`.

    Parameters
    ----------
    folder
        Of the run.
    timeout
        Longest wait for an answer, in s.
    """

    def __init__(self, folder: Path, *, timeout: float = 5.0) -> None:
        path = folder / SOCKET
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            with short_name(path) as name:
                self._socket.connect(name)
        except OSError:
            self._socket.close()
            raise ConfigError(f"No test is running in {folder}: {path.name} does not answer.") from None
        self._lines = self._socket.makefile("rb")
        self._n = 0

    def ask(self, do: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send one order and return its answer."""
        self._n += 1
        try:
            self._socket.sendall(json.dumps({"id": self._n, "do": do, **(arguments or {})}).encode() + b"\n")
            line = self._lines.readline(1 << 22)
        except OSError:
            line = b""
        if not line:
            raise ConfigError("The test has ended, or does not answer.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Telling:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
