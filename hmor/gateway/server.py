"""Serve a site to one client after the other over TCP or UDP."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from hmor.gateway.protocol import N_SIZES, Action, Sizes, read_sizes
from hmor.gateway.sites import Site, SiteError
from rt_runtime import _core
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

LOOPBACK = "127.0.0.1"


@dataclass
class Session:
    """What a client did: messages, committed steps, and how it ended."""

    client: str
    messages: int = 0
    commits: int = 0
    ended: str = ""


@dataclass
class SiteServer:
    """A server around a site; one client at a time.

    Parameters
    ----------
    site : what answers.
    port : 0 for any free one; `port` then tells which.
    udp : datagrams instead of connections.
    allow : addresses that may connect; others are turned away. Without it the server listens on this machine only.
    idle : s without a message after which a client is given up.
    quick : acknowledge every piece at once; False shows what that is worth.
    tell : is called with a sentence when a client comes or goes.
    """

    site: Site
    port: int = 0
    udp: bool = False
    allow: Sequence[str] = ()
    idle: float = 600.0
    quick: bool = True
    tell: Callable[[str], None] = lambda text: None
    sessions: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        kind = socket.SOCK_DGRAM if self.udp else socket.SOCK_STREAM
        self._listening = socket.socket(socket.AF_INET, kind)
        self._stopping = threading.Event()
        host = "0.0.0.0" if [a for a in self.allow if not a.startswith("127.")] else LOOPBACK
        try:
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind((host, self.port))
            if not self.udp:
                self._listening.listen(4)
        except (OSError, OverflowError) as error:
            self._listening.close()
            raise ConfigError(f"Port {self.port} of the site cannot be opened: {error}; choose another.") from None
        self.port = int(self._listening.getsockname()[1])
        self._connection: socket.socket | None = None
        self._waiting = ("", 0)  # a client of UDP that knocked while another one was served
        self._thread: threading.Thread | None = None

    def serve(self, sessions: int = 0) -> None:
        """Serve clients until `stop`, or so many of them."""
        while not self._stopping.is_set() and (sessions == 0 or len(self.sessions) < sessions):
            found = self._next_client()
            if found is not None:
                self._session(*found)

    def _next_client(self) -> tuple[socket.socket, tuple[str, int]] | None:
        try:
            self._listening.settimeout(0.2)
            if self.udp:
                data, sender = (b"\1", self._waiting) if self._waiting[1] else self._listening.recvfrom(65_536)
                self._waiting = ("", 0)
                if len(data) != 1 or not self._allowed(sender[0]):
                    return None
                self._listening.sendto(data, sender)
                return self._listening, sender
            connection, sender = self._listening.accept()
        except TimeoutError:
            return None
        except OSError:  # closed by `stop`
            self._stopping.set()
            return None
        if not self._allowed(sender[0]):
            connection.close()
            self.tell(f"Turned away {sender[0]}: it is not allowed here; say --allow {sender[0]}.")
            return None
        return connection, sender

    def _allowed(self, address: str) -> bool:
        return address.startswith("127.") or address in self.allow

    def _session(self, connection: socket.socket, sender: tuple[str, int]) -> None:
        session = Session(f"{sender[0]}:{sender[1]}")
        self.tell(f"Client {session.client} is here.")
        self.site.reset()
        self._connection = connection
        channel = _core.SiteChannel(connection.fileno(), self.udp, *sender, self.idle, self.quick)
        try:
            if not self._stopping.is_set():  # set before the connection was known to `stop`
                self._answer(channel, session)
            session.ended = "ended the test"
        except (ConfigError, SiteError) as error:
            session.ended = f"was closed: {error}"
        except RuntimeError as error:  # the channel says what happened to the client
            session.ended = str(error)
        finally:
            session.messages, self._waiting = channel.messages, channel.waiting
            if not self.udp:
                connection.close()
        self.sessions.append(session)
        self.tell(f"Client {session.client} {session.ended.rstrip('.')}, after {session.commits} steps.")

    def _answer(self, channel: _core.SiteChannel, session: Session) -> None:
        site = self.site
        sizes = read_sizes(channel.receive(4 * N_SIZES), site.dof)
        channel.set_length(sizes.length, sum(sizes.sent))
        stiffness = site.stiffness()
        matrices = {Action.GET_INITIAL_STIFFNESS: stiffness, Action.GET_TANGENT: stiffness}
        matrices |= {Action.GET_DAMPING: site.damping(), Action.GET_MASS: site.mass()}
        for asked, matrix in matrices.items():
            channel.set_answer(asked, np.ascontiguousarray(matrix.T.ravel()))  # column by column
        while not self._stopping.is_set():
            action = channel.next()
            if action in (Action.END, Action.SHUTDOWN):
                return
            displacement, velocity, acceleration, _, at = sizes.split(channel.trial)
            site.trial(displacement, velocity, acceleration, float(at[0]) if len(at) else 0.0)
            if action == Action.COMMIT:
                site.commit()
                session.commits += 1
            else:
                channel.reply(_numbers(site, action, sizes, at))

    def start(self, sessions: int = 0) -> threading.Thread:
        """Serve in a thread."""
        thread = threading.Thread(target=self.serve, args=(sessions,), daemon=True, name="site")
        thread.start()
        self._thread = thread
        return thread

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def join(self) -> None:
        """Wait for the thread of `start` to end after `stop`."""
        if self._thread is not None:
            self._thread.join(5.0)

    def stop(self) -> None:
        """End the present session and listen no more."""
        self._stopping.set()
        for one in (self._connection, self._listening):
            if one is not None:
                with contextlib.suppress(OSError):  # not connected, or closed: it wakes the thread all the same
                    one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()
        self._listening.close()


def _numbers(site: Site, action: int, sizes: Sizes, at: Array) -> Array:
    """Return what an action without a fixed answer asks for."""
    zero = np.zeros(site.dof)
    answers: dict[int, Callable[[], Array]] = {
        Action.GET_FORCE: site.force,
        Action.GET_DISPLACEMENT: site.displacement,
        Action.GET_VELOCITY: lambda: zero,
        Action.GET_ACCELERATION: lambda: zero,
        Action.GET_TIME: lambda: at,
    }
    if action == Action.GET_ALL:
        order = (Action.GET_DISPLACEMENT, Action.GET_VELOCITY, Action.GET_ACCELERATION, Action.GET_FORCE)
        parts = [answers[k]() for k, n in zip((*order, Action.GET_TIME), sizes.wanted, strict=True) if n]
        return np.concatenate([np.zeros(0), *parts])
    if action not in answers:
        raise SiteError(f"the client asked for action {action}, which there is not")
    return np.ascontiguousarray(answers[action](), dtype=float)
