"""Export: generated C beside a hand-written loop, size and speed of the ONNX graphs, parity, time to write."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from export import write
from export.c.compiler import compile_c, find_compiler
from export.engines import CEngine, OnnxEngine
from export.fmu.host import FmuHost
from mor.data.ports import Port
from mor.marginals import Uniform
from mor.reduced.base import ReducedModel
from mor.reduced.ffnn import Ffnn
from mor.reduced.memory import MemoryModel
from mor.reduced.pce.basis import index_set, recurrence_table
from mor.reduced.pce.model import Pce
from rt_runtime.bundle.read import Bundle, difference
from rt_runtime.bundle.rom import Rom

LOWER, UPPER = np.array([0.0, -5.0]), np.array([50.0, 49.0])
PORTS = (Port("F_br", "N"), Port("w_rw", "rad/s"))
TORQUE = (Port("tau_rw", "N m"),)

TIMER = r"""
#include "network.h"
#include "polynomial.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

#define POINTS 1000
static double points[POINTS][2];
static const double W1[10][2] = {%(W1)s}, B1[10] = {%(B1)s}, W2[10] = {%(W2)s}, B2 = %(B2)s;

void hand(const double *u, double *y);
void hand(const double *u, double *y)
{
    double sum = B2;
    int i;
    for (i = 0; i < 10; ++i)
        sum += W2[i] * tanh(B1[i] + W1[i][0] * u[0] + W1[i][1] * u[1]);
    *y = sum;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    double best[3] = {1e9, 1e9, 1e9}, worst = 0.0, sink = 0.0, y = 0.0, z = 0.0;
    int i, round, which;
    for (i = 0; i < POINTS; ++i) {
        points[i][0] = 0.05 * i;
        points[i][1] = -5.0 + 0.054 * ((i * 7) %% POINTS);
        network_step(points[i], 0, &y);
        hand(points[i], &z);
        worst = fmax(worst, fabs(y - z));
    }
    for (round = 0; round < %(rounds)d; ++round)
        for (which = 0; which < 3; ++which) {
            const double start = seconds();
            double taken;
            for (i = 0; i < POINTS; ++i) {
                if (which == 0)
                    hand(points[i], &y);
                else if (which == 1)
                    network_step(points[i], 0, &y);
                else
                    polynomial_step(points[i], 0, &y);
                sink += y;
            }
            taken = (seconds() - start) / POINTS;
            if (taken < best[which])
                best[which] = taken;
        }
    printf("%%.17g %%.17g %%.17g %%.17g %%.17g\n", best[0], best[1], best[2], worst, sink);
    return 0;
}
"""


def network() -> Ffnn:
    rng = np.random.default_rng(5)
    return Ffnn(
        (rng.normal(size=(10, 2)), rng.normal(size=(1, 10))), (rng.normal(size=10), rng.normal(size=1)), PORTS, TORQUE,
        (LOWER, UPPER), (np.array([-40.0]), np.array([300.0])),
    )  # fmt: skip


def polynomial(degree: int = 10) -> Pce:
    indices = index_set(2, degree)
    laws = tuple(Uniform(a, b) for a, b in zip(LOWER, UPPER, strict=True))
    coefficients = np.random.default_rng(8).normal(size=(len(indices), 1)) * 0.6 ** indices.sum(axis=1)[:, None]
    return Pce(
        PORTS, TORQUE, (LOWER, UPPER), (LOWER + UPPER) / 2.0, (UPPER - LOWER) / 2.0, np.zeros(2),
        recurrence_table(laws, degree), indices, 40.0 * coefficients, np.zeros(1),
    )  # fmt: skip


def network_with_memory() -> MemoryModel:
    """A lag with a pole of 0.9999: what is wrong in one step is remembered for ten thousand."""
    inputs = (*PORTS, Port("tau_rw_lag1", "N m"))
    rng = np.random.default_rng(6)
    step = Ffnn(
        (rng.normal(size=(10, 3)) * [1.0, 1.0, 0.0], 1e-4 * rng.normal(size=(1, 10))),
        (rng.normal(size=10), np.zeros(1)), inputs, TORQUE, (np.append(LOWER, -50.0), np.append(UPPER, 200.0)),
        (np.array([-50.0]), np.array([200.0])), skip=np.array([[1e-5, 1e-5, 0.9999]]),
    )  # fmt: skip
    return MemoryModel.around(step, PORTS, dt=1e-4, input_lags=0, output_lags=1, bounds=([-50.0], [200.0]))


def fastest(job: Callable[[], object], repeat: int) -> float:
    """Return the shortest wall time of a job in s."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - start)
    return best


def text(values: np.ndarray) -> str:
    rows = ["{" + ", ".join(repr(float(v)) for v in row) + "}" for row in values] if values.ndim == 2 else []
    return ", ".join(rows or [repr(float(v)) for v in values])


def c_speed(bundle: Bundle, model: Ffnn, folder: Path, compiler: str, rounds: int) -> dict[str, object]:
    weights, biases, _ = model.folded
    source = TIMER % {
        "W1": text(weights[0]), "B1": text(biases[0]), "W2": text(weights[1][0]), "B2": float(biases[1][0]),
        "rounds": rounds,
    }  # fmt: skip
    (folder / "timer.c").write_text(source)
    for name, content in bundle.content.items():
        if name.startswith("c/") and "_main" not in name:
            (folder / name[2:]).write_bytes(content)
    program = compile_c(
        [folder / name for name in ("timer.c", "network.c", "polynomial.c")], folder / "timer", compiler=compiler,
        options=("-O2", "-D_POSIX_C_SOURCE=199309L"),
    )  # fmt: skip
    out = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    hand, generated, pce, worst, _ = map(float, out)
    return {
        "c_network_hand_written_ns": 1e9 * hand,
        "c_network_generated_ns": 1e9 * generated,
        "c_polynomial_degree_10_ns": 1e9 * pce,
        "c_network_generated_over_hand_written": generated / hand,
        "c_network_goal": 1.2,
        "c_polynomial_over_network": pce / generated,
        "c_polynomial_goal": 10.0,
        "c_network_difference_from_hand_written": worst,
    }


def onnx_speed(bundle: Bundle, repeat: int) -> dict[str, object]:
    x = np.array([[20.0, 10.0]])
    sessions = {name: OnnxEngine(model.onnx, None).session for name, model in bundle.models.items()}
    best = {name: float("inf") for name in sessions}
    for _ in range(repeat):
        for name, session in sessions.items():

            def many(session: object = session) -> None:
                for _ in range(200):
                    session.run(None, {"u": x})  # type: ignore[attr-defined]

            best[name] = min(best[name], fastest(many, 1) / 200)
    import onnx

    nodes = {name: len(onnx.load_model_from_string(m.onnx).graph.node) for name, m in bundle.models.items()}
    return {
        "onnx_network_nodes": nodes["network"],
        "onnx_polynomial_degree_10_nodes": nodes["polynomial"],
        "onnx_polynomial_nodes_goal": 60,
        "onnxruntime_network_us": 1e6 * best["network"],
        "onnxruntime_polynomial_us": 1e6 * best["polynomial"],
        "onnxruntime_polynomial_over_network": best["polynomial"] / best["network"],
        "onnxruntime_polynomial_goal": 3.0,
    }


def parity(
    bundle: Bundle, models: dict[str, ReducedModel], compiler: str | None, rows: int, steps: int
) -> dict[str, object]:
    """Largest relative differences over random points of the domain and a free run."""
    worst = {"onnxruntime": 0.0, "rt_runtime": 0.0, "c": 0.0, "fmu": 0.0}
    rng = np.random.default_rng(17)
    for name, model in models.items():
        entry = bundle.models[name]
        memory = isinstance(model, MemoryModel)
        if isinstance(model, MemoryModel):
            u = np.clip(rng.normal(size=(steps // 50 + 1, 2)).repeat(50, axis=0)[:steps] * 20.0 + 20.0, LOWER, UPPER)
            expected = model.rollout(u)
        else:
            u = rng.uniform(LOWER, UPPER, (rows, 2))
            expected = model.predict(u)
        engine = OnnxEngine(entry.onnx, model.initial if isinstance(model, MemoryModel) else None)
        rom = Rom(entry)
        answers = {
            "onnxruntime": engine.run(u) if memory else engine.rows(u),
            "rt_runtime": rom.rollout(u) if memory else rom.predict(u),
        }
        if compiler is not None:
            files = {n.split("/")[-1]: bundle.content[n] for n in entry.description["c"]}
            compiled = CEngine(name, files, 1, "float64", compiler)
            answers["c"] = compiled.run(u) if memory else compiled.rows(u)
            with FmuHost(bundle.content[f"fmu/{name}.fmu"], 2, 1) as host:
                answers["fmu"] = host.run(u, 1e-4)
        for key, got in answers.items():
            worst[key] = max(worst[key], difference(got, expected))
    return {
        "parity_points": rows,
        "parity_free_run_steps": steps,
        **{f"parity_{key}": value for key, value in worst.items()},
        "parity_goal_onnxruntime_and_rt_runtime": 1e-9,
        "parity_goal_c_and_fmu": 1e-12,
    }


def run(quick: bool) -> dict[str, object]:
    """Measure everything in one process."""
    models: dict[str, ReducedModel] = {
        "network": network(), "polynomial": polynomial(), "lag": network_with_memory(),
    }  # fmt: skip
    compiler = find_compiler()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        bundle = write(models, folder / "all", targets=("onnx", "c", "fmu", "fmu3"))
        static = write({k: models[k] for k in ("network", "polynomial")}, folder / "static", targets=("onnx", "c"))
        times = {
            f"write_{name}_onnx_and_c_s": fastest(
                lambda model=model: write(model, folder / "one", targets=("onnx", "c"), overwrite=True), 3
            )
            for name, model in models.items()
        }
        results: dict[str, object] = times | {"write_goal_s": 1.0}
        if compiler is not None:
            results |= {
                "write_network_fmu_s": fastest(
                    lambda: write(models["network"], folder / "one", targets=("fmu",), overwrite=True), 2
                ),
                "write_fmu_goal_s": 10.0,
            }
            results |= c_speed(static, models["network"], folder, compiler, 100 if quick else 1000)  # type: ignore[arg-type]
        results |= onnx_speed(static, 10 if quick else 50)
        results |= parity(bundle, models, compiler, *((10_000, 20_000) if quick else (100_000, 450_000)))
    return results
