"""OPC UA as a slow channel beside a test: hydraulics, interlocks, temperatures. Not for control."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from rt_runtime import Loop
from rt_runtime.blocks.mail import Posted, Received
from rt_runtime.checks import Array, positive
from rt_runtime.errors import ConfigError, MissingExtra


class OpcUaChannel:
    """A thread that reads and writes nodes of an OPC UA server; the loop sees them as signals and never waits.

    Parameters
    ----------
    url : of the server, opc.tcp://host:port/path.
    read : {signal: node id} of nodes whose values become signals of the loop.
    write : {signal: node id} of signals of the loop whose values are written to nodes.
    every : s between two rounds.
    timeout : s for the connection and each round.

    Notes
    -----
    The signal `<name>.age` says how old the values are; let a rule act on it. A server that is lost is tried again.
    """

    def __init__(
        self,
        url: str,
        *,
        read: Mapping[str, str] | None = None,
        write: Mapping[str, str] | None = None,
        every: float = 0.1,
        timeout: float = 2.0,
        name: str = "opcua",
    ) -> None:
        if importlib.util.find_spec("asyncua") is None:
            raise MissingExtra("OpcUaChannel needs asyncua, which is not installed; pip install 'hybrid-mor[opcua]'.")
        if not isinstance(url, str) or not url.startswith("opc.tcp://"):
            raise ConfigError(f"url of OpcUaChannel must begin with opc.tcp://, got {url!r}.")
        self.url, self.name = url, name
        self.read, self.write = dict(read or {}), dict(write or {})
        if not self.read and not self.write:
            raise ConfigError("OpcUaChannel must read or write at least one node, got none.")
        self.every, self.timeout = (
            positive(every, "every", "OpcUaChannel"),
            positive(timeout, "timeout", "OpcUaChannel"),
        )
        self._received: Received | None = None
        self._posted: Posted | None = None
        self._stopping = threading.Event()
        self._first = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem = ""
        self.rounds = 0

    def add(self, loop: Loop, *, units: Mapping[str, str] | None = None) -> None:
        """Add the signals and blocks to a loop: what is read now, what is written by `add_writer` after its writers."""
        if self.read:
            for signal in self.read:
                loop.signal(signal, unit=(units or {}).get(signal, ""))
            loop.signal(f"{self.name}.age", unit="s")
            self._received = Received(len(self.read), dt=1 / loop.rate)
            loop.add(f"{self.name}.read", self._received, outputs=[*self.read, f"{self.name}.age"], timed=False)

    def add_writer(self, loop: Loop) -> None:
        """Add the block that takes the signals to write; call it behind the blocks that compute them."""
        if self.write:
            self._posted = Posted(len(self.write))
            loop.add(f"{self.name}.write", self._posted, inputs=list(self.write), timed=False)

    def start(self) -> None:
        """Connect and begin; raise ConfigError when the server or a node cannot be had."""
        self._stopping.clear()
        self._first.clear()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True, name="opcua")
        self._thread.start()
        self._first.wait(self.timeout + 10.0)
        if self.rounds == 0:
            self.stop()
            raise ConfigError(
                f"OPC UA server {self.url} must answer with the nodes asked for, got: {self.problem or 'nothing'}."
            )

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2 * self.timeout + 2.0)
            self._thread = None

    async def _live(self) -> None:
        from asyncua import Client

        while not self._stopping.is_set():
            try:
                async with Client(self.url, timeout=self.timeout) as client:
                    incoming = [client.get_node(node) for node in self.read.values()]
                    outgoing = [client.get_node(node) for node in self.write.values()]
                    await self._rounds(client, incoming, outgoing)
            except Exception as error:  # the network, the server, a node: said, and tried again
                kind = "" if isinstance(error, ConfigError) else f"{type(error).__name__} "
                self.problem = " ".join(f"{kind}{error}".split())[:200]
                self._first.set()
                if self.rounds == 0:
                    return
                await asyncio.sleep(self.every)

    async def _rounds(self, client: Any, incoming: list[Any], outgoing: list[Any]) -> None:
        from asyncua import ua

        kinds = [await node.read_data_type_as_variant_type() for node in outgoing]
        while not self._stopping.is_set():
            if incoming:
                values = self._numbers(await client.read_values(incoming))
                if self._received is not None and np.isfinite(values).all():
                    self._received.box.post(values)
            if outgoing and self._posted is not None:
                number, values = self._posted.box.read()
                if number:
                    pairs = zip(values.tolist(), kinds, strict=True)
                    variants = [ua.Variant(_as(kind, value), kind) for value, kind in pairs]
                    await client.write_values(outgoing, variants)
            self.rounds += 1
            self._first.set()
            await asyncio.sleep(self.every)

    def _numbers(self, values: list[Any]) -> Array:
        """Return the values of the nodes as numbers; a node without one is named."""
        for (signal, node), value in zip(self.read.items(), values, strict=True):
            if not isinstance(value, bool | int | float):
                raise ConfigError(f"node {node} of signal '{signal}' must hold a number, got {value!r:.60}")
        return np.array(values, dtype=float)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _as(kind: Any, value: float) -> Any:
    """Return a number as the type of a node: whole numbers and switches are rounded."""
    if kind.name == "Boolean":
        return value >= 0.5
    return value if kind.name in ("Double", "Float") else round(value)
