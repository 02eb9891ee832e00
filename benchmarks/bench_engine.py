"""What the engine costs beside code written by hand, and what it gains over Python. Ratios within one run."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mor import ode
from rt_runtime import Delay, Loop, Ode, StateSpace, Table, previous

RATE = 4096.0
K = 1e7 * np.array([[2.605, -2.313, 0.594], [-2.313, 3.256, -1.442], [0.594, -1.442, 0.927]]) / 1000.0
C = 1e4 * np.array([[1.408, -0.787, 0.044], [-0.787, 1.494, -0.635], [0.044, -0.635, 0.722]]) / 1000.0
Q = np.concatenate([K.ravel(), C.ravel()])
A = np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -C]])
B = np.concatenate([np.zeros(3), -np.ones(3)])[:, None]
OUT = np.hstack([np.eye(3), np.zeros((3, 3))])


def compile_by_hand(folder: str) -> ctypes.CDLL:
    source = Path(__file__).with_name("hand_written.cpp")
    library = Path(folder) / "hand_written.so"
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-std=c++20", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def side_by_side(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Fastest time of each job in s; the jobs take turns so that noise hits all alike."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def against_one_function(hand: ctypes.CDLL, ticks: int, repeats: int) -> dict[str, object]:
    block = StateSpace(A, B, OUT, dt=1 / RATE, initial=[1e-3, 0, 0, 0, 0, 0])
    loop = Loop(RATE)
    for name in ("x1", "x2", "x3", "late"):
        loop.signal(name)
    loop.add("frame", block, inputs=[previous("late")], outputs=["x1", "x2", "x3"])
    loop.add("delay", Delay(10), inputs=["x1"], outputs=["late"])
    core, _ = loop._build(ticks)

    from rt_runtime.blocks.discretise import zero_order_hold

    a, b, *_ = zero_order_hold(A, B, OUT, np.zeros((3, 1)), 1 / RATE)
    a, b, c = (np.ascontiguousarray(m) for m in (a, b, OUT))
    frames = np.zeros((ticks, 4))

    def pointer(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def by_hand() -> None:
        x = np.array([1e-3, 0, 0, 0, 0, 0])
        hand.linear_delay_record(pointer(a), pointer(b), pointer(c), pointer(x), ctypes.c_int64(ticks), pointer(frames))

    def in_the_loop() -> None:
        core.reset()
        core.run(ticks)

    best = side_by_side({"hand": by_hand, "loop": in_the_loop}, repeats)
    difference = np.abs(core.recorded - frames).max() / np.abs(frames).max()
    return {
        "loop_ns_per_tick": best["loop"] / ticks * 1e9,
        "one_function_ns_per_tick": best["hand"] / ticks * 1e9,
        "loop_over_one_function": best["loop"] / best["hand"],
        "loop_over_one_function_goal": 1.5,
        "loop_and_function_differ_by": float(difference),
    }


def frame_loop(block: Ode | StateSpace, ground: np.ndarray) -> Loop:
    loop = Loop(RATE)
    for name in ("a_g", "x1", "x2", "x3"):
        loop.signal(name)
    loop.add("ground", Table(np.arange(len(ground)) / RATE, ground), outputs=["a_g"])
    loop.add("frame", block, inputs=["a_g"], outputs=["x1", "x2", "x3"])
    loop.record(["x1", "x2", "x3"])
    return loop


def in_numpy(ground: np.ndarray) -> np.ndarray:
    """The same RK4 loop as a Python programmer writes it."""
    h, x, out = 1 / RATE, np.zeros(6), np.empty((len(ground), 3))
    column = B[:, 0]
    for k, a_g in enumerate(ground):
        out[k] = x[:3]
        load = column * a_g
        k1 = A @ x + load
        k2 = A @ (x + h / 2 * k1) + load
        k3 = A @ (x + h / 2 * k2) + load
        k4 = A @ (x + h * k3) + load
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return out


def against_python_and_cpp(hand: ctypes.CDLL, seconds: float, repeats: int) -> dict[str, object]:
    ground = np.random.default_rng(0).normal(size=round(seconds * RATE))

    @ode(
        states=["x1", "x2", "x3", "v1", "v2", "v3"],
        inputs=["a_g"],
        outputs=["x1", "x2", "x3"],
        parameters={f"q{i}": float(q) for i, q in enumerate(Q)},
    )
    def frame(t, x, u, q, dx, y):
        for i in range(3):
            force = 0.0
            for j in range(3):
                force += q[3 * i + j] * x[j] + q[9 + 3 * i + j] * x[3 + j]
            dx[i] = x[3 + i]
            dx[3 + i] = -force - u[0]
            y[i] = x[i]

    address = ctypes.cast(hand.frame_rhs, ctypes.c_void_p).value
    assert address is not None
    blocks = {
        "ode": frame.block(dt=1 / RATE),
        "cpp": Ode(address, n_in=1, n_out=3, initial=np.zeros(6), parameters=Q, dt=1 / RATE, owner=hand),
        "linear": StateSpace(A, B, OUT, dt=1 / RATE, method="rk4"),
    }
    cores = {name: frame_loop(block, ground)._build(len(ground))[0] for name, block in blocks.items()}

    def runner(name: str) -> Callable[[], None]:
        def run() -> None:
            cores[name].reset()
            cores[name].run(len(ground))

        return run

    best = side_by_side({name: runner(name) for name in cores} | {"numpy": lambda: in_numpy(ground)}, repeats)
    reference, numpy_time = in_numpy(ground), best["numpy"]
    difference = max(np.abs(core.recorded - reference).max() for core in cores.values()) / np.abs(reference).max()
    return {
        "frame_seconds_simulated": seconds,
        "frame_ode_s": best["ode"],
        "frame_numpy_s": numpy_time,
        "frame_speedup_over_numpy": numpy_time / best["ode"],
        "frame_speedup_over_numpy_goal": 100.0,
        "frame_linear_block_speedup_over_numpy": numpy_time / best["linear"],
        "ode_over_cpp_rhs": best["ode"] / best["cpp"],
        "ode_over_cpp_rhs_goal": 1.3,
        "frame_variants_differ_by": float(difference),
    }


def run(quick: bool) -> dict[str, object]:
    repeats = 5 if quick else 30
    with tempfile.TemporaryDirectory() as folder:
        hand = compile_by_hand(folder)
        one = against_one_function(hand, 50_000 if quick else 200_000, repeats)
        return one | against_python_and_cpp(hand, 4.0 if quick else 40.0, max(3, repeats // 6))
