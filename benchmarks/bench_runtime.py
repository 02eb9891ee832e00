"""What running a bundle costs: ROMs beside onnxruntime and hand-written code, a full tick, the clock, the rig.

Own time per tick and counted work are what the engine answers for; wake-up latency and tails belong to the host and are
reported. Ratios are measured side by side in one run.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from export import write
from mor import Ffnn, Gate, fit_pce
from mor.data.ports import Port
from mor.problems.functions import brake_map
from rt_runtime import (
    Command,
    Drive,
    Loop,
    Pacing,
    Rom,
    Rule,
    Sensor,
    SimulatedActuator,
    StabilityWarning,
    StartStop,
    StateSpace,
    Sum,
    Table,
    UdpRig,
    load_bundle,
    protect,
)
from rt_runtime.rig.actuators import names_of

ROOT = Path(__file__).resolve().parents[1]


def network() -> Ffnn:
    rng = np.random.default_rng(5)
    weights = (rng.normal(size=(10, 2)), rng.normal(size=(1, 10)))
    biases = (rng.normal(size=10), rng.normal(size=1))
    ports = (Port("force", "N"), Port("speed", "rad/s")), (Port("torque", "N m"),)
    return Ffnn(weights, biases, *ports, ([-1.0, -1.0], [1.0, 1.0]), ([-1.0], [1.0]), "tanh", None)


def best_ns(job: object, n: int, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter_ns()
        job()  # type: ignore[operator]
        best = min(best, time.perf_counter_ns() - start)
    return best / n


def roms(folder: Path, repeats: int) -> dict[str, object]:
    import onnxruntime

    write(network(), folder / "net")
    loaded = load_bundle(folder / "net")
    rom = loaded.block()
    assert isinstance(rom, Rom)
    write(Gate("force", 0.5).around(network()), folder / "gate")
    gated = load_bundle(folder / "gate").block()
    assert isinstance(gated, Rom)
    model, n = rom.model, 20_000
    rows = np.random.default_rng(1).uniform(-1, 1, (n, 2))
    library = folder / "hand.so"
    source = Path(__file__).with_name("rom_by_hand.cpp")
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-std=c++20", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    hand = ctypes.CDLL(str(library))
    net = network()
    layers = {name: np.ascontiguousarray(a) for name, a in _arrays(model.onnx).items()}
    y, y_c = np.empty(n), np.empty(n)

    def pointer(a: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(a.ctypes.data)

    arrays = [pointer(layers[name]) for name in ("weights_1", "biases_1", "weights_2")]
    offset = ctypes.c_double(layers["biases_2"][0])

    def by_hand() -> None:
        hand.network_by_hand(*arrays, offset, pointer(rows), ctypes.c_int64(n), pointer(y))

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.onnx, options, providers=["CPUExecutionProvider"])
    some = [row[None, :].copy() for row in rows[:2000]]

    def by_python() -> None:
        for row in some:
            session.run(["y"], {"u": row})

    nanoseconds = ctypes.c_int64()
    found = sorted(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))

    def by_c_api() -> float:
        if not found:
            return float("nan")
        content = ctypes.create_string_buffer(model.onnx, len(model.onnx))
        code = hand.onnxruntime_c_api(str(found[0]).encode(), content, ctypes.c_size_t(len(model.onnx)), pointer(rows),
                                      ctypes.c_int64(n), pointer(y_c), ctypes.byref(nanoseconds))  # fmt: skip
        return nanoseconds.value / n if code == 0 else float("nan")

    core = behind = hand_ns = python = float("inf")
    c_api = float("nan")
    for _ in range(repeats):  # in turns, so that noise hits all alike
        core = min(core, best_ns(lambda: rom.run(rows), n, 1))
        behind = min(behind, best_ns(lambda: gated.run(rows), n, 1))
        hand_ns = min(hand_ns, best_ns(by_hand, n, 1))
        python = min(python, best_ns(by_python, len(some), 1))
        c_api = float(np.fmin(c_api, by_c_api()))
    expected = net.predict(rows)[:, 0]
    worst = max(float(np.abs(a - expected).max()) for a in (y, rom.run(rows)[:, 0]))
    function = brake_map()
    pce = fit_pce(function.dataset(200, seed=1), function.space, method="ols", degree=10, q=1.0)
    write(pce, folder / "pce")
    polynomial = load_bundle(folder / "pce").block()
    assert isinstance(polynomial, Rom)
    points = np.random.default_rng(2).uniform([0, 0], [50, 49], (n, 2))
    return {
        "network_core_ns": core,
        "network_behind_a_gate_ns": behind,
        "network_by_hand_ns": hand_ns,
        "network_onnxruntime_python_ns": python,
        "network_onnxruntime_c_api_ns": c_api if np.isfinite(c_api) else "not available",
        "network_faster_than_onnxruntime_python": python / core,
        "network_faster_than_onnxruntime_python_goal": 40,
        "network_faster_than_onnxruntime_c_api": c_api / core if np.isfinite(c_api) else "not available",
        "network_faster_than_onnxruntime_c_api_goal": 10,
        "network_over_by_hand": core / hand_ns,
        "network_over_by_hand_goal": 1.3,
        "network_differs_by": worst,
        "pce_degree_10_terms": len(pce.coefficients),
        "pce_degree_10_ns": best_ns(lambda: polynomial.run(points), n, repeats),
        "pce_degree_10_goal_ns": 500,
    }


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    import onnx
    from onnx import numpy_helper

    return {i.name: numpy_helper.to_array(i) for i in onnx.load_model_from_string(content).graph.initializer}


def full_loop(folder: Path, rate: float) -> Loop:
    """Two ROMs, a structure of six states, energy monitor, safety monitor and a simulated actuator."""
    if not (folder / "tick").exists():
        write(network(), folder / "tick")
    loaded = load_bundle(folder / "tick")
    dt = 1.0 / rate
    k = 1e7 * np.array([[2.605, -2.313, 0.594], [-2.313, 3.256, -1.442], [0.594, -1.442, 0.927]]) / 1000.0
    c = 1e4 * np.array([[1.408, -0.787, 0.044], [-0.787, 1.494, -0.635], [0.044, -0.635, 0.722]]) / 1000.0
    a = np.block([[np.zeros((3, 3)), np.eye(3)], [-k, -c]])
    b = np.block([[np.zeros((3, 2))], [-np.ones((3, 1)), np.array([[-1e-3], [0.0], [0.0]])]])
    loop = Loop(rate)
    states = ["x1", "x2", "x3", "v1", "v2", "v3"]
    for name in (*states, "ground", "measured", "rom_1", "rom_2", "feedback", "sw", "work", "dissipated"):
        loop.signal(name)
    for name in ("rig.age", "rig.status", "rig.sent"):
        loop.signal(name)
    actuator = SimulatedActuator([2.19e13], [29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13], dt=dt, noise=1e-6)
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", ["measured"]))
    t = np.linspace(0.0, 10.0, 2001)
    loop.add("ground", Table(t, 0.3 * np.sin(9.0 * t)), outputs=["ground"])
    loop.add("rom_1", loaded.block(), inputs=["measured", "ground"], outputs=["rom_1"])
    loop.add("rom_2", loaded.block(), inputs=["ground", "measured"], outputs=["rom_2"])
    loop.add("feedback", Sum("++"), inputs=["rom_1", "rom_2"], outputs=["feedback"])
    loop.add("frame", StateSpace(a, b, np.eye(6), dt=dt), inputs=["ground", "feedback"], outputs=states)
    energy = StabilityWarning(c, [[1.0, 0.0, 0.0]], margin=1.0)
    loop.add("energy", energy, inputs=[*states, "feedback"], outputs=["sw", "work", "dissipated"])
    rules = [
        Rule.within("displacement", "x1", 1.0),
        Rule.within("velocity", "v1", 10.0),
        Rule.within("force", "feedback", 1e6),
        Rule.tracking("tracking", "measured", "x1", 0.5),
        Rule("stability", "sw", upper=1e9),
        Rule.stale("stale", "rig.age", 10),
        Rule("overrun", "host.late", upper=1e9),
        Rule("stall", "host.elapsed", upper=10.0),  # in place of the default: the bench measures any host
    ]
    manners = StartStop(soft_start=0.01, soft_stop=0.01, trip=0.01)
    protect(loop, [Command("x1", "command", -0.5, 0.5, rate=10.0, measured="measured")], rules, manners=manners)
    loop.add("rig.write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
    return loop


def full_tick(folder: Path, quick: bool) -> dict[str, object]:
    rate, ticks = 4096.0, 200_000 if quick else 1_000_000
    loop = full_loop(folder, rate)
    core, _ = loop.build()
    core.reset()
    unpaced = best_ns(lambda: (core.reset(), core.run(ticks // 5)), ticks // 5, 3)
    pacing = Pacing(lock_memory=False)
    paced = full_loop(folder, rate).run(1.0 if quick else 10.0, paced=True, pacing=pacing, folder=folder / "tick_run")
    assert paced.timing is not None
    first, second = (full_loop(folder, rate).run(2.0).values.tobytes() for _ in range(2))
    return {
        "full_tick_own_p50_us": paced.timing.own.percentile_ns(50) / 1e3,
        "full_tick_own_p50_goal_us": 3.0,
        "full_tick_own_p99_us": paced.timing.own.percentile_ns(99) / 1e3,
        "full_tick_unpaced_us": unpaced / 1e3,
        "full_tick_two_runs_same_bits": first == second,
        "full_tick_ticks_counted": ticks,
        "full_tick_allocations": allocations(folder, ticks),
        "full_tick_allocations_goal": 0,
    }


COUNTING = """
import ctypes, sys
from pathlib import Path
from benchmarks.bench_runtime import full_loop
counter = ctypes.CDLL(None).allocation_count
counter.restype = ctypes.c_long
core, _ = full_loop(Path(sys.argv[1]), 4096.0).build()
def allocations(ticks):
    core.reset()
    before = counter()
    core.run(ticks)
    return counter() - before
allocations(100)
few = allocations(100)
print(allocations(int(sys.argv[2])) - few)
"""


def allocations(folder: Path, ticks: int) -> int:
    """Calls of malloc during `ticks` more ticks, counted by a library in front of the C library."""
    source = ROOT / "tests" / "realtime" / "count_allocations.c"
    library = folder / "count_allocations.so"
    subprocess.run(["g++", "-x", "c", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", COUNTING, str(folder), str(ticks)], env=environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    return int(done.stdout)


def clock(folder: Path, seconds: float) -> dict[str, object]:
    """The full loop at 10 kHz, alone and with every CPU busy."""
    result: dict[str, object] = {"paced_rate_hz": 10_000, "paced_seconds": seconds}
    for name, load in (("alone", 0), ("loaded", os.cpu_count() or 1)):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
        try:
            loop = full_loop(folder, 10_000.0)
            record = loop.run(seconds, paced=True, folder=folder / f"clock_{name}")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        timing = record.timing
        assert timing is not None
        result[f"paced_{name}_missed"] = timing.missed
        result[f"paced_{name}_ticks"] = timing.ticks
        for what, durations in (("wake", timing.wake), ("own", timing.own)):
            for key, value in durations.summary_us().items():
                result[f"paced_{name}_{what}_{key}_us"] = value
        result[f"paced_{name}_frames_lost"] = len(record) - record.ticks
        result["paced_host"] = "; ".join(f"{key} {words}" for key, words in timing.host.items())
    return result


RIG = """
from rt_runtime import Gain, Loop, Rig, StateSpace
loop = Loop(1000.0)
loop.constant("command", 0.0)
loop.signal("x")
loop.signal("force")
loop.add("lag", StateSpace([[-300.0]], [[300.0]], [[1.0]], dt=1e-3, update="start"), inputs=["command"], outputs=["x"])
loop.add("spring", Gain(1e5), inputs=["x"], outputs=["force"])
rig = Rig(loop, ["command"], ["x", "force"], key=bytes(32))
print(rig.port, flush=True)
rig.serve(seconds=300.0, sessions=1)
print(rig.traffic["lost"], flush=True)
"""


def rig(seconds: float) -> dict[str, object]:
    """A signed UDP rig in another process at 1 kHz."""
    process = subprocess.Popen([sys.executable, "-c", RIG], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        actuator = UdpRig(1, 2, port=int(process.stdout.readline()), key=bytes(32))
        loop = Loop(1000.0)
        for name in ("x", "force", "rig.age", "rig.status", "rig.sent", "wanted"):
            loop.signal(name)
        loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", ["x", "force"]))
        t = np.linspace(0.0, seconds, 4001)
        loop.add("target", Table(t, 0.01 * np.sin(6.0 * t)), outputs=["wanted"])
        any_host = "the bench measures any host"
        rules = [
            Rule("stale", "rig.age", upper=1000, reason=any_host),
            Rule("stall", "host.elapsed", upper=1.0, reason=any_host),
        ]
        protect(loop, [Command("wanted", "command", -0.05, 0.05, rate=1.0, measured="x")], rules)
        loop.add("rig.write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
        record = loop.run(seconds, paced=True)
        lost_there = int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
    assert record.timing is not None
    trips = actuator.round_trips
    return {
        "rig_rate_hz": 1000,
        "rig_ticks": record.ticks,
        "rig_commands_lost": lost_there,
        "rig_measurements_lost": actuator.traffic["lost"],
        "rig_lost_goal": 0,
        "rig_late_measurements": actuator.traffic["late"],
        "rig_oldest_measurement_ticks": float(record["rig.age"].max()),
        "rig_round_trip_p50_us": trips.percentile_ns(50) / 1e3,
        "rig_round_trip_p50_goal_us": 100,
        "rig_round_trip_p99_us": trips.percentile_ns(99) / 1e3,
        "rig_round_trip_max_us": trips.most_ns / 1e3,
        "rig_own_p50_us": record.timing.own.percentile_ns(50) / 1e3,
    }


def run(quick: bool) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return (
            roms(folder, 5 if quick else 25)
            | full_tick(folder, quick)
            | clock(folder, 2.0 if quick else 60.0)
            | rig(2.0 if quick else 60.0)
        )
