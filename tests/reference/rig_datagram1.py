"""Version 1 of the rig protocol, with struct and hmac: an independent twin, and both sides as they were then."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
import time
import zlib
from dataclasses import dataclass, replace

HELLO, WELCOME, COMMAND, MEASUREMENT, BYE = range(1, 6)
FORM = struct.Struct("<4sHBBQQQqq16d")


@dataclass(frozen=True)
class OldMessage:
    kind: int
    session: int = 0
    sequence: int = 0
    answers: int = 0
    values: tuple[float, ...] = ()
    count: int = 0
    sent_ns: int = 0
    answered_ns: int = 0
    version: int = 1

    def pack(self, key: bytes = b"") -> bytes:
        numbers = (*self.values, *(0.0,) * (16 - len(self.values)))
        head = (b"HMRG", self.version, self.kind, self.count, self.session, self.sequence, self.answers)
        body = FORM.pack(*head, self.sent_ns, self.answered_ns, *numbers)
        body += hmac.new(key, body, hashlib.sha256).digest() if key else bytes(32)
        return body + struct.pack("<II", zlib.crc32(body), 0)


def unpack_old(data: bytes, key: bytes = b"") -> OldMessage:
    """Read a datagram; every part of it must be as the page said then."""
    assert len(data) == 216 and data[208:] == struct.pack("<II", zlib.crc32(data[:208]), 0)
    magic, version, kind, count, session, sequence, answers, sent, answered, *values = FORM.unpack(data[:176])
    assert magic == b"HMRG"
    if version == 1:
        assert data[176:208] == (hmac.new(key, data[:176], hashlib.sha256).digest() if key else bytes(32))
    return OldMessage(kind, session, sequence, answers, tuple(values), count, sent, answered, version)


class OldLoop:
    """The loop's side of then."""

    def __init__(self, port: int, key: bytes = b"", n_command: int = 1, n_measured: int = 2) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(5.0)
        self.key, self.n_command, self.n_measured = key, n_command, n_measured
        self.own = secrets.randbits(32)
        self.session = self.sequence = 0
        self.sent: list[bytes] = []

    def send(self, message: OldMessage) -> None:
        self.sent.append(message.pack(self.key))
        self.socket.send(self.sent[-1])

    def hear(self) -> OldMessage:
        return unpack_old(self.socket.recv(2000), self.key)

    def hello(self) -> OldMessage:
        return OldMessage(HELLO, self.own << 32, values=(self.n_measured,), count=self.n_command)

    def open(self) -> tuple[float, ...]:
        """Get a session; return where the rig stands."""
        self.send(self.hello())
        welcome = self.hear()
        assert (welcome.kind, welcome.session >> 32, welcome.count) == (WELCOME, self.own, self.n_measured)
        assert welcome.values[0] == self.n_command
        self.session = welcome.session
        return welcome.values[1 : 1 + self.n_measured]

    def tell(self, *values: float) -> OldMessage:
        """Send a command; return it."""
        self.sequence += 1
        now = time.time_ns()
        sent = OldMessage(COMMAND, self.session, self.sequence, 0, values, len(values), now)
        self.send(sent)
        return sent

    def command(self, *values: float) -> OldMessage:
        sent, back = self.tell(*values), self.hear()
        assert (back.kind, back.session, back.answers) == (MEASUREMENT, self.session, sent.sequence)
        assert back.answered_ns == sent.sent_ns and back.count == self.n_measured
        return back

    def close(self) -> None:
        self.sequence += 1
        for _ in range(3):
            self.send(OldMessage(BYE, self.session, self.sequence, count=self.n_command))
        self.socket.close()


class OldRig:
    """The rig's side of then: a spring of 2 N/m that is where it is told to be, any number of commands."""

    def __init__(self, key: bytes = b"", n_command: int = 1) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.02)
        self.port = self.socket.getsockname()[1]
        self.key, self.n = key, n_command
        self.x = (0.25,) * n_command
        self.offered = self.session = self.sequence = self.byes = 0
        self.commands: list[OldMessage] = []
        self.running = True

    def serve(self) -> None:
        while self.running:
            try:
                data, peer = self.socket.recvfrom(2000)
            except TimeoutError:
                continue
            if len(data) != 216 or data[4:6] != b"\x01\x00":  # dropped without a word
                continue
            for reply in self.answer(unpack_old(data, self.key)):
                self.socket.sendto(reply.pack(self.key), peer)
        self.socket.close()

    def measured(self) -> tuple[float, ...]:
        return (*self.x, *(2.0 * x for x in self.x))

    def answer(self, asked: OldMessage) -> list[OldMessage]:
        if asked.kind == HELLO:
            if self.offered >> 32 != asked.session >> 32:
                self.offered = asked.session | secrets.randbits(32) | 1
            values = (float(self.n), *self.measured())[:16]
            return [OldMessage(WELCOME, self.offered, values=values, count=2 * self.n)]
        if asked.kind == BYE:
            self.byes += asked.session == self.session
            return []
        if asked.session == self.offered:
            self.session, self.offered, self.sequence = self.offered, 0, 0
        if asked.session != self.session:
            return []
        self.commands.append(asked)
        self.x = asked.values[: self.n]
        return self.measure(asked)

    def measure(self, asked: OldMessage) -> list[OldMessage]:
        self.sequence += 1
        back = replace(asked, kind=MEASUREMENT, sequence=self.sequence, answers=asked.sequence, count=2 * self.n)
        return [replace(back, values=self.measured(), answered_ns=asked.sent_ns, sent_ns=time.time_ns())]
