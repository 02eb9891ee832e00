"""OPC UA as a slow channel: a real server on this machine, values both ways, a server that goes away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from hmor.gateway.opcua import OpcUaChannel
from rt_runtime import Gain, Loop
from rt_runtime.errors import ConfigError

asyncua = pytest.importorskip("asyncua", reason="asyncua is not installed; install the 'opcua' extra")


class Server:
    """A server with a pressure to read and a switch to write."""

    def __init__(self) -> None:
        self.ready, self.stop = threading.Event(), threading.Event()
        self.pressure, self.valve = 21e6, None
        self.url = ""
        self.thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self.thread.start()
        assert self.ready.wait(60.0)

    async def _live(self) -> None:
        server = asyncua.Server()
        await server.init()
        import socket

        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.url = f"opc.tcp://127.0.0.1:{port}/hmor"
        server.set_endpoint(self.url)
        space = await server.register_namespace("test")
        pressure = await server.nodes.objects.add_variable(f"ns={space};s=pressure", "pressure", self.pressure)
        valve = await server.nodes.objects.add_variable(f"ns={space};s=valve", "valve", False)
        await valve.set_writable()
        self.nodes = {"pressure": f"ns={space};s=pressure", "valve": f"ns={space};s=valve"}
        async with server:
            self.ready.set()
            while not self.stop.is_set():
                await pressure.write_value(self.pressure)
                self.valve = await valve.read_value()
                await asyncio.sleep(0.02)


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.stop.set()
    one.thread.join(30.0)


def until(condition, seconds: float = 30.0) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_values_go_both_ways_and_the_loop_never_waits(server: Server) -> None:
    channel = OpcUaChannel(
        server.url, read={"pressure": server.nodes["pressure"]}, write={"open_valve": server.nodes["valve"]}, every=0.02
    )
    loop = Loop(100.0)
    loop.constant("one", 1.0)
    loop.signal("open_valve")
    channel.add(loop, units={"pressure": "Pa"})
    loop.add("order", Gain(1.0), inputs=["one"], outputs=["open_valve"])
    channel.add_writer(loop)
    with channel:
        until(lambda: channel.rounds > 2)
        record = loop.run(0.1)
        assert record["pressure"][-1] == 21e6 and record["opcua.age"][-1] < 0.2
        until(lambda: server.valve is True)
        server.pressure = 5e6
        reached = channel.rounds + 10
        until(lambda: channel.rounds > reached)
        assert loop.run(0.1)["pressure"][-1] == 5e6
    before = channel.rounds
    time.sleep(0.1)
    assert channel.rounds == before  # the thread has ended


def test_a_server_that_is_lost_lets_the_age_grow(server: Server) -> None:
    channel = OpcUaChannel(server.url, read={"pressure": server.nodes["pressure"]}, every=0.02, timeout=0.5)
    loop = Loop(10.0)
    channel.add(loop)
    with channel:
        until(lambda: channel.rounds > 2)
        server.stop.set()
        server.thread.join(30.0)
        until(lambda: channel.problem != "")
        age = loop.run(5.0)["opcua.age"]
    assert age[0] == 0.0 and age[-1] > 4.0


def test_bad_input_is_a_sentence(server: Server) -> None:
    with pytest.raises(ConfigError, match=r"url of OpcUaChannel must begin with opc\.tcp://"):
        OpcUaChannel("http://x", read={"a": "i=1"})
    with pytest.raises(ConfigError, match="must read or write at least one node"):
        OpcUaChannel(server.url)
    with pytest.raises(ConfigError, match=r"OPC UA server opc\.tcp://127\.0\.0\.1:9/x must answer .* got: "):
        OpcUaChannel("opc.tcp://127.0.0.1:9/x", read={"a": "i=1"}, timeout=0.5).start()
    with pytest.raises(ConfigError, match="got: node ns=2;s=nothing of signal 'a' must hold a number, got None"):
        OpcUaChannel(server.url, read={"a": "ns=2;s=nothing"}).start()
