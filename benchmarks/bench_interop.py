"""Other people's worlds: OpenSees both ways, FMUs, exported controllers, MEX; times and differences in one run.

Times of OpenSees are the wall clock of its own steps (median, and the tenth percentile, which a loaded machine leaves
alone); the others are the best of several rounds. Nothing was tuned on these numbers.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from export import write, write_controller
from export.c.compiler import find_compiler
from export.control.golden import core_run
from export.engines import CEngine
from hmor.gateway.server import SiteServer
from hmor.gateway.sites import LinearSite
from mor.sources import FmuSubstructure, opensees_installed
from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    AdaptiveMpc,
    Horizon,
    Identification,
    KalmanFilter,
    Loop,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    Mpc,
    OpenSeesActuator,
    PiLead,
    Polynomial,
    PredictionModel,
    Table,
    TrackingMpc,
)
from rt_runtime._core import Block
from rt_runtime.rig.actuators import include_folder

ROOT = Path(__file__).resolve().parents[1]
HOST = Path(__file__).with_name("interop_host.c")
K = np.array([[3e4, -1e4], [-1.2e4, 2e4]])
C = np.array([[20.0, -5.0], [-4.0, 30.0]])
MASS, DT = [2.0, 3.0], 0.005


def newmark(p: np.ndarray) -> np.ndarray:
    """Average acceleration for M x'' + C x' + K x = p, rows p."""
    m, x, v, out = np.diag(MASS), np.zeros(2), np.zeros(2), []
    a, effective = np.linalg.solve(m, p[0]), m + 0.5 * DT * C + 0.25 * DT**2 * K
    for row in p[1:]:
        x_t, v_t = x + DT * v + 0.25 * DT**2 * a, v + 0.5 * DT * a
        a = np.linalg.solve(effective, row - C @ v_t - K @ x_t)
        x, v = x_t + 0.25 * DT**2 * a, v_t + 0.5 * DT * a
        out.append(x)
    return np.array(out)


def script(name: str, port: int, settings: dict[str, Any]) -> subprocess.Popen[str]:
    """Start a program of tests/fixtures with OpenSees in it."""
    command = [sys.executable, str(ROOT / "tests/fixtures" / name), str(port), json.dumps(settings)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def client(steps: int, *, udp: bool = False, quick: bool = True, integrator: str = "alphaos") -> dict[str, float]:
    """Let OpenSees step against a linear site; ms per step and the difference from Newmark."""
    load = 100 * np.sin(np.arange(steps + 2) * DT * 9)
    settings = {"udp": udp, "dof": 2, "dt": DT, "mass": MASS, "load": load.tolist(), "steps": steps}
    with SiteServer(LinearSite(K, C), udp=udp, quick=quick) as server:
        server.start(1)
        said, _ = script("opensees_client.py", server.port, settings | {"integrator": integrator}).communicate()
    told = json.loads(said.splitlines()[-1])
    times = np.cumsum(np.r_[0.0, np.full(steps, DT)]) / DT  # OpenSees adds its time up and interpolates the load there
    p = np.interp(times, np.arange(steps + 2), load)
    reference = newmark(p[:, None] * np.ones(2))
    milliseconds = 1e3 * np.array(told["seconds"])
    return {
        "median_ms": float(np.median(milliseconds)),
        "p10_ms": float(np.quantile(milliseconds, 0.1)),
        "difference": float(np.abs(np.array(told["x"]) - reference).max() / np.abs(reference).max()),
    }


def specimen(ticks: int) -> dict[str, float]:
    """Drive the actuator element of OpenSees; ms per tick of two steps."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = script("opensees_specimen.py", port, {"stiffness": 1e5, "ea": 1e9, "steps": 3 * ticks + 10})
    actuator = OpenSeesActuator(port, timeout=60.0)
    actuator.start()
    seconds = []
    for k in range(ticks):
        start = time.perf_counter()
        actuator.read(0.0)
        actuator.write(0.0, np.array([0.01 * np.sin(0.1 * k)]))
        seconds.append(time.perf_counter() - start)
    actuator.stop()
    process.wait(30.0)
    return {"median_ms": 1e3 * float(np.median(seconds)), "p10_ms": 1e3 * float(np.quantile(seconds, 0.1))}


def fmu(folder: Path, steps: int) -> dict[str, float]:
    """Step one of our FMUs in a block and in a host of plain C, the clock read twice per step in both."""
    from tests.reference.exported_models import network_with_memory

    write(network_with_memory(), folder / "bundle", name="brake", targets=("fmu",))
    part = FmuSubstructure(folder / "bundle/fmu/brake.fmu", real_time=True)
    block: Any = part.block(dt=1e-3)
    place, token = part.fmu.unpack() / part.fmu.inner_binary, str(part.fmu.description.guid)
    host = folder / "fmu_host"
    compiler = str(find_compiler())
    subprocess.run([compiler, "-std=gnu99", "-O2", str(HOST), "-o", str(host), "-ldl"], check=True)
    ours, direct = np.inf, np.inf
    for _ in range(5):  # in turns, so that both meet the same machine
        ours = min([ours, *(1e9 * float(block.step_times(steps).mean()) for _ in range(15))])
        said = subprocess.run([str(host), str(place), token, str(steps)], capture_output=True, text=True, check=True)
        direct = min(direct, float(said.stdout))
    return {"block_ns": ours, "direct_ns": direct, "ratio": ours / direct}


def controllers() -> dict[str, Block]:
    """Return every kind that can be exported; the predictive ones with preview, bounds and rates."""
    a = np.array([[1.6, -0.7, 0.05], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    model = PredictionModel(
        a, np.array([[1.0], [0.0], [0.0]]), np.array([[0.03, 0.02, 0.0]]), np.array([[0.5], [0.4], [0.3]]), 1e-3
    )
    horizon = Horizon(
        20, 10.0, 0.05, control=10, bounds=(-1.0, 1.0), rate_limit=0.3, rate_unit="per interval", preview=True
    )
    start = Identification([-1.6, 0.7, -0.05], [0.03, 0.02, 0.01], drift=1e-8, covariance=1e-3)
    section = [[0.1, 0.2, 0.1, 1.0, -0.5, 0.2]]
    feedback = ([[0.5, 0.1], [0.0, 0.3]], [[0.1], [0.2]], [[0.3, 0.1]], [[0.05]])
    return {
        "mpc": Mpc(model, horizon),
        "tracking_mpc": TrackingMpc(model, horizon, preview=Polynomial(3, 12, 0.5)),
        "adaptive_mpc": AdaptiveMpc(start, horizon, dt=1e-3),
        "kalman": KalmanFilter(model),
        "pi_lead": PiLead(2.0, 95.0, dt=1e-3, lead=([50.8, 8565.0], [1.0, 8570.0]), bounds=(-1.0, 1.0)),
        "model_based": ModelBasedCompensator(
            section * 2, dt=1e-3, feedback=feedback, adaptation=ModelReferenceAdaptation(50.0, 0.1, corner=30.0)
        ),
        "adaptive_compensation": AdaptiveCompensation(
            AdaptedGain(1.0, 10.0), AdaptedGain(0.01, 5.0, 0.0, 0.1), dt=1e-3, low_pass=section
        ),
    }


def core_ns(controller: Block, u: np.ndarray) -> float:
    """Time of the block in a loop beyond a loop without it, ns per tick, best of seven."""

    def loop(with_it: bool) -> Loop:
        one, ins = Loop(1000.0), [f"u{i}" for i in range(u.shape[1])]
        outs = [f"y{i}" for i in range(controller.n_out)] if with_it else []
        for name in (*ins, *outs):
            one.signal(name)
        one.add("table", Table(np.arange(len(u)) * 1e-3, u), outputs=ins)
        if with_it:
            one.add("controller", controller, inputs=ins, outputs=outs)
        one.record(ins[:1], every=len(u))
        return one

    def best(one: Loop) -> float:
        seconds = []
        for _ in range(7):
            start = time.process_time()
            one.run(len(u) * 1e-3)
            seconds.append(time.process_time() - start)
        return min(seconds)

    return 1e9 * (best(loop(True)) - best(loop(False))) / len(u)


def controller(folder: Path, name: str, block: Block, ticks: int) -> dict[str, Any]:
    """Export a controller, compare it with the core over `ticks` ticks, and time both."""
    place = folder / name
    written = write_controller(block, place, name="ctl", size=2.0, targets=("c", "fmu"), overwrite=True)
    compiler = str(find_compiler())
    files = {p.name: p.read_bytes() for p in (place / "c").iterdir() if "_mex" not in p.name}
    rng = np.random.default_rng(17)
    u = 2.0 * np.sin(np.cumsum(rng.normal(size=(ticks, block.n_in)), axis=0) * 0.01)
    y, core = CEngine("ctl", files, block.n_out, "float64", compiler).run(u), core_run(block, (), 1e-3, u)
    program = folder / f"{name}_host"
    flags = ["-std=gnu99", "-O3", "-ffp-contract=off", "-DCONTROLLER", f"-I{place / 'c'}"]
    subprocess.run([compiler, *flags, str(HOST), str(place / "c/ctl.c"), "-o", str(program), "-lm"], check=True)
    some = np.ascontiguousarray(u[:20_000])
    said = subprocess.run([str(program), str(len(some))], input=some.tobytes(), capture_output=True, check=True)
    ours, theirs = float(said.stdout), core_ns(block, some)
    return {
        "ticks": ticks,
        "difference": float((np.abs(y - core) / np.maximum(np.abs(core).max(axis=0), 1e-300)).max()),
        "golden": written.differences,
        **({"share_of_ticks_at_a_bound": float((core[:, 1] > 0).mean())} if "mpc" in name else {}),
        "c_ns": ours,
        "core_ns": theirs,
        "ratio": ours / theirs,
    }


def mex(folder: Path) -> float | str:
    """Let Octave run the MEX file of a controller over its golden vectors; the largest relative difference."""
    octave, mkoctfile = shutil.which("octave"), shutil.which("mkoctfile")
    if octave is None or mkoctfile is None:
        return "left out: octave and mkoctfile are not installed"
    place = folder / "adaptive_mpc"
    golden = np.load(place / "golden.npz")
    np.savetxt(folder / "u.txt", golden["u"], fmt="%.17g")
    sources = [str(place / "c" / name) for name in ("ctl_mex.c", "ctl.c")]
    command = [mkoctfile, "--mex", "-ffp-contract=off", f"-I{place / 'c'}", *sources, "-o", str(folder / "ctl_mex.mex")]
    subprocess.run(command, check=True, capture_output=True)
    (folder / "ask.m").write_text("u = load('u.txt'); y = ctl_mex(u); save('-ascii', '-double', 'y.txt', 'y');\n")
    subprocess.run([octave, "--no-gui", "-q", "ask.m"], cwd=folder, capture_output=True, timeout=300)
    y = np.loadtxt(folder / "y.txt", ndmin=2)
    return float((np.abs(y - golden["y"]) / np.maximum(np.abs(golden["y"]).max(axis=0), 1e-300)).max())


def ethercat(folder: Path, cycles: int) -> dict[str, Any] | str:
    """Time the EtherCAT example over virtual Ethernet: a command to the emulated slave (in Python) and its answer."""
    here, library = ROOT / "tests/fixtures/ethercat", folder / "ethercat.so"
    sources = [str(ROOT / "docs/examples/ethercat_actuator.c"), str(here / "raw_master.c")]
    flags = ["-std=gnu99", "-O2", "-shared", "-fPIC", f"-I{here}", f"-I{include_folder()}"]
    subprocess.run([str(find_compiler()), *flags, *sources, "-o", str(library), "-lm"], check=True)
    command = ["unshare", "-rn", sys.executable, str(here / "on_a_bus.py"), "cycles", str(library), str(cycles)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "left out: needs unshare and ip"
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else f"left out: {done.stderr[-200:]}"


def run(quick: bool) -> dict[str, object]:
    results: dict[str, object] = {}
    steps = 300 if quick else 2000
    if opensees_installed():
        results["client.tcp_alphaos"] = client(steps)
        results["client.tcp_newmark"] = client(steps, integrator="newmark")
        results["client.udp_alphaos"] = client(steps, udp=True)
        results["client.tcp_without_quick_acknowledgement"] = client(20, quick=False)
        results["specimen.actuator_element"] = specimen(steps)
    else:
        results["client"] = "left out: openseespy is not installed (extra opensees)"
    results["goal.client_ms"], results["goal.difference"] = 0.2, 1e-12
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        results["fmu"] = fmu(folder, 2000 if quick else 20_000)
        for name, block in controllers().items():
            results[f"controller.{name}"] = controller(folder, name, block, 10_000 if quick else 100_000)
        results["mex.difference"] = mex(folder)
        results["ethercat"] = ethercat(folder, 500 if quick else 5000)
    results["goal.ratio"] = 1.3
    return results
