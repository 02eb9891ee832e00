"""The rig protocol, version 2, once more with struct and hashlib: an independent twin of the core's datagrams."""

from __future__ import annotations

import hashlib
import secrets
import socket
import struct
import zlib
from dataclasses import dataclass, replace

HELLO, WELCOME, COMMAND, MEASUREMENT, BYE, BUSY, CLAIM, GRANTED, RELEASED, NOTICE = range(1, 11)
IDLE, LIVE, HOLDING, RAMPING, OFF = range(5)
HEAD = struct.Struct("<4sBBBB16s16sQQqBBB5x")


@dataclass(frozen=True)
class Message:
    kind: int
    loop_nonce: bytes = bytes(16)
    rig_nonce: bytes = bytes(16)
    sequence: int = 0
    answers: int = 0
    values: tuple[float, ...] = ()
    state: int = 0
    flags: int = 0
    n_command: int = 1
    n_measured: int = 2
    sent_ns: int = 0
    version: int = 2

    def pack(self, key: bytes = b"") -> bytes:
        head = HEAD.pack(b"HMRG", self.version, self.kind, len(self.values), self.state, self.loop_nonce, self.rig_nonce,
                         self.sequence, self.answers, self.sent_ns, self.n_command, self.n_measured, self.flags)  # fmt: skip
        body = head + struct.pack(f"<{len(self.values)}d", *self.values)
        tag = tag_of(body, key)
        return body + tag + struct.pack("<II", zlib.crc32(body + tag), 0)


def tag_of(body: bytes, key: bytes) -> bytes:
    if not key:
        return bytes(16)
    short = key if len(key) <= 32 else hashlib.blake2s(key).digest()
    return hashlib.blake2s(body, key=short, digest_size=16).digest()


def unpack(data: bytes, key: bytes = b"") -> Message:
    """Read a datagram; every part of it must be as the page says."""
    magic, version, kind, count, state, own, theirs, sequence, answers, sent, n, m, flags = HEAD.unpack_from(data)
    assert magic == b"HMRG" and version == 2 and len(data) == 96 + 8 * count
    body, tag = data[:-24], data[-24:-8]
    assert tag == tag_of(body, key)
    assert data[-8:] == struct.pack("<II", zlib.crc32(body + tag), 0)
    values = struct.unpack(f"<{count}d", body[72:])
    return Message(kind, own, theirs, sequence, answers, values, state, flags, n, m, sent)


class FakeLoop:
    """The loop's side, message by message, for a test that wants to misbehave."""

    def __init__(self, port: int, key: bytes = b"", n_command: int = 1, n_measured: int = 2) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(5.0)
        self.key = key
        self.base = Message(HELLO, secrets.token_bytes(16), n_command=n_command, n_measured=n_measured)
        self.sent: list[bytes] = []
        self.sequence = 0

    def send(self, message: Message) -> None:
        self.sent.append(message.pack(self.key))
        self.socket.send(self.sent[-1])

    def ask(self, message: Message) -> Message:
        """Send, and return the first answer that is not a notice."""
        self.send(message)
        while (answer := unpack(self.socket.recv(2000), self.key)).kind == NOTICE:
            pass
        return answer

    def open(self) -> Message:
        """Get the session; return what was granted."""
        welcome = self.ask(self.base)
        assert welcome.kind == WELCOME, welcome
        self.base = replace(self.base, rig_nonce=welcome.rig_nonce)
        granted = self.ask(replace(self.base, kind=CLAIM))
        assert granted.kind == GRANTED and granted.rig_nonce == welcome.rig_nonce
        return granted

    def command(self, *values: float) -> Message:
        self.sequence += 1
        return self.ask(replace(self.base, kind=COMMAND, sequence=self.sequence, values=values))

    def close(self, *, to_rest: bool = False) -> None:
        assert self.ask(replace(self.base, kind=BYE, values=(float(to_rest),))).kind == RELEASED
        self.socket.close()


class FakeRig:
    """The rig's side, as long as `serve` is called; `answer` says what goes back for a command."""

    def __init__(self, key: bytes = b"") -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.02)
        self.port = self.socket.getsockname()[1]
        self.key = key
        self.nonce = secrets.token_bytes(16)
        self.sequence = 0
        self.commands: list[Message] = []
        self.running = True

    def serve(self) -> None:
        while self.running:
            try:
                data, peer = self.socket.recvfrom(2000)
            except TimeoutError:
                continue
            if data[4] != 2:
                continue
            for reply in self.answer(unpack(data, self.key)):
                self.socket.sendto(reply.pack(self.key), peer)
        self.socket.close()

    def answer(self, asked: Message) -> list[Message]:
        back = replace(asked, rig_nonce=self.nonce, values=(0.25, 1.5), state=LIVE, sequence=0)
        if asked.kind == HELLO:
            return [replace(back, kind=WELCOME, state=IDLE)]
        if asked.kind == CLAIM:
            return [replace(back, kind=GRANTED)]
        if asked.kind == BYE:
            return [replace(back, kind=RELEASED, values=())]
        self.commands.append(asked)
        return self.measure(asked, back)

    def measure(self, asked: Message, back: Message) -> list[Message]:
        self.sequence += 1
        return [replace(back, kind=MEASUREMENT, sequence=self.sequence, answers=asked.sequence, sent_ns=0)]
