"""What a signed rig costs: the authenticators beside each other, and the loop's own time per tick with a rig.

The tick is measured in CPU time of the loop's thread (the rig runs in another one), best of several runs; most of it is
the kernel's, for one send and one or two receives.
"""

from __future__ import annotations

import threading
import time

from rt_runtime import Drive, Gain, Link, Loop, Rig, Sensor, Table, UdpRig, _core
from rt_runtime.rig.actuators import link_names, names_of

KEY = bytes(range(32))


def tag_ns(mac: _core.HmacSha256 | _core.Blake2s, size: int, repeats: int) -> float:
    """Time of one tag over `size` bytes without what a call from Python costs, best of five."""
    data = bytes(size)

    def best(call: object, argument: bytes) -> float:
        times = []
        for _ in range(5):
            start = time.process_time_ns()
            for _ in range(repeats):
                call(argument)  # type: ignore[operator]
            times.append(time.process_time_ns() - start)
        return min(times) / repeats

    return best(mac.of, data) - best(_core.crc32, b"")


def tick_us(key: bytes, ticks: int, *, values: int = 2, link: bool = True) -> float:
    """CPU time of the loop's thread for one tick with a rig of `values` measured signals, best of ten runs."""
    specimen = Loop(1000.0)
    specimen.constant("command", 0.0)
    measured = [f"y{i}" for i in range(values)]
    for name in measured:
        specimen.signal(name)
    specimen.add("spring", Gain([[1.0 + i] for i in range(values)]), inputs=["command"], outputs=measured)
    rig = Rig(specimen, ["command"], measured, key=key, lease=60.0)
    server = threading.Thread(target=rig.serve, kwargs={"seconds": 600.0})
    server.start()
    actuator = UdpRig(1, values, port=rig.port, key=key)
    loop = Loop(1000.0)
    for name in (*measured, "rig.age", "rig.status", "rig.sent", "wanted", *link_names("rig")):
        loop.signal(name)
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", measured))
    if link:
        loop.add("rig.link", Link(actuator), outputs=link_names("rig"))
    loop.add("target", Table([0.0, 1.0], [0.0, 0.0]), outputs=["wanted"])
    loop.add("rig.write", Drive(actuator), inputs=["wanted"], outputs=["rig.sent"])
    core, _ = loop.build()
    core.start()
    core.reset()
    times = []
    for _ in range(10):
        start = time.thread_time()
        core.run(ticks)
        times.append(time.thread_time() - start)
    core.stop()
    rig.stop()
    server.join()
    return 1e6 * min(times) / ticks


def run(quick: bool) -> dict[str, object]:
    """Measure; `quick` with fewer repeats."""
    repeats, ticks = (2_000, 1_000) if quick else (50_000, 5_000)
    sha, blake = _core.HmacSha256(KEY), _core.Blake2s(KEY, 16)
    result: dict[str, object] = {}
    for values in (2, 32):
        size = 72 + 8 * values
        result[f"hmac_sha256_{values}_values_ns"] = tag_ns(sha, size, repeats)
        result[f"blake2s_{values}_values_ns"] = tag_ns(blake, size, repeats)
    rounds = range(2 if quick else 4)
    for name, options in {
        "tick_no_key_us": {"key": b""},
        "tick_key_us": {"key": KEY},
        "tick_key_without_link_us": {"key": KEY, "link": False},
        "tick_key_32_values_us": {"key": KEY, "values": 32},
    }.items():
        result[name] = min(tick_us(ticks=ticks, **options) for _ in rounds)  # type: ignore[arg-type]
    return result
