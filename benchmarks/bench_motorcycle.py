"""The full-order motorcycle: real-time factor, the loop against plain numba loops, RK4 against Rosenbrock."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np

from mor.models.motorcycle import body, brake, ecvt, engine, hybrid, scenario
from mor.models.motorcycle.brake import SUBSTEPS
from mor.substructures import OdeSubstructure
from rt_runtime import Loop, Table
from rt_runtime.checks import Floats

DT = 1e-4
EVERY = 10
RECORD = ["w_en", "tau_vd", "w_vd", "w_rw", "w_fw", "v", "x", "tau_en", "tau_rw", "tau_fw"]


@cache
def numba_motorcycle() -> Callable[[int], Floats]:
    """The same right-hand sides, the same order of a tick and the same arithmetic, written as loops for numba.

    Parameters are arguments, as they are in the loop: frozen into the code, numba folds them and gains about 15 %.
    """
    from numba import njit

    parts = [body(), ecvt(), engine(), brake("rear"), brake("front")]
    f_body, f_ecvt, f_engine, f_brake, _ = (part.system.compiled for part in parts)
    values = tuple(np.array([p.value for p in part.parameters]) for part in parts)
    starts = tuple(part.initial() for part in parts)
    times, thr_table, force_table = scenario().time, scenario()["thr"].copy(), scenario()["F_br"].copy()

    @njit(error_model="numpy")
    def rk4(f, t, x, u, p, h, k, total, trial, first, y):  # type: ignore[no-untyped-def]
        n = x.size
        f(t, x, u, p, k, first)
        for i in range(n):
            total[i] = k[i]
            trial[i] = x[i] + 0.5 * h * k[i]
        f(t + 0.5 * h, trial, u, p, k, y)
        for i in range(n):
            total[i] += 2.0 * k[i]
            trial[i] = x[i] + 0.5 * h * k[i]
        f(t + 0.5 * h, trial, u, p, k, y)
        for i in range(n):
            total[i] += 2.0 * k[i]
            trial[i] = x[i] + h * k[i]
        f(t + h, trial, u, p, k, y)
        for i in range(n):
            x[i] += h / 6.0 * (total[i] + k[i])

    @njit(error_model="numpy")
    def interpolate(t, values, at):  # type: ignore[no-untyped-def]
        while at + 2 < times.size and t >= times[at + 1]:
            at += 1
        w = min(max((t - times[at]) / (times[at + 1] - times[at]), 0.0), 1.0)
        return values[at] + w * (values[at + 1] - values[at]), at

    @njit(error_model="numpy")
    def run(ticks, p0, p1, p2, p3, p4, s0, s1, s2, s3, s4):  # type: ignore[no-untyped-def]
        x0, x1, x2, x3, x4 = s0.copy(), s1.copy(), s2.copy(), s3.copy(), s4.copy()
        u0, u1, u2, u3, u4 = np.zeros(3), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
        y0, y1, y2, y3, y4 = np.zeros(5), np.zeros(2), np.zeros(1), np.zeros(1), np.zeros(1)
        k, total, trial, scratch = np.zeros(14), np.zeros(14), np.zeros(14), np.zeros(5)
        record = np.zeros((ticks // EVERY, 10))
        at = 0
        for tick in range(ticks):
            t = tick * DT
            thr, at = interpolate(t, thr_table, at)
            force, at = interpolate(t, force_table, at)
            u0[0], u0[1], u0[2] = y1[1], y3[0], y4[0]
            if tick > 0:
                rk4(f_body, t - DT, x0, u0, p0, DT, k, total, trial, scratch, scratch)
            f_body(t, x0, u0, p0, k, y0)
            u1[0], u1[1] = y2[0], y0[0]
            if tick > 0:
                rk4(f_ecvt, t - DT, x1, u1, p1, DT, k, total, trial, scratch, scratch)
            f_ecvt(t, x1, u1, p1, k, y1)
            u2[0], u2[1] = thr, y1[0]
            rk4(f_engine, t, x2, u2, p2, DT, k, total, trial, y2, scratch)
            u3[0], u3[1] = force, y0[1]
            u4[0], u4[1] = force, y0[2]
            h = DT / SUBSTEPS
            rk4(f_brake, t, x3, u3, p3, h, k, total, trial, y3, scratch)
            rk4(f_brake, t, x4, u4, p4, h, k, total, trial, y4, scratch)
            for s in range(1, SUBSTEPS):
                rk4(f_brake, t + s * h, x3, u3, p3, h, k, total, trial, scratch, scratch)
                rk4(f_brake, t + s * h, x4, u4, p4, h, k, total, trial, scratch, scratch)
            if tick % EVERY == 0:
                row = record[tick // EVERY]
                row[0], row[1] = y1[0], y1[1]
                for i in range(5):
                    row[2 + i] = y0[i]
                row[7], row[8], row[9] = y2[0], y3[0], y4[0]
        return record

    return lambda ticks: run(ticks, *values, *starts)  # type: ignore[no-any-return]


def whole(quick: bool) -> dict[str, object]:
    """The 45 s scenario in the loop and in numba, taking turns; the best of each."""
    duration = 24.0 if quick else 45.0
    ticks = round(duration / DT)
    plain = numba_motorcycle()
    plain(EVERY)
    model = hybrid()
    wall, loop_time, numba_time = [], [], []
    for _ in range(3 if quick else 5):
        loop = model.loop()
        loop.record(RECORD, every=EVERY)
        begin, cpu = time.perf_counter(), time.process_time()
        record = loop.run(duration)
        wall.append(time.perf_counter() - begin)
        loop_time.append(time.process_time() - cpu)
        cpu = time.process_time()
        other = plain(ticks)
        numba_time.append(time.process_time() - cpu)
    scale = np.abs(other).max(axis=0)
    return {
        "simulated_s": duration,
        "wall_s": min(wall),
        "real_time_factor": duration / min(wall),
        "real_time_factor_by_cpu_time": duration / min(loop_time),
        "loop_cpu_s": min(loop_time),
        "plain_numba_cpu_s": min(numba_time),
        "loop_over_numba": min(loop_time) / min(numba_time),
        "loop_over_numba_goal_at_most": 1.2,
        "largest_difference_of_the_two": float((np.abs(record.values - other) / scale).max()),
    }


def integration(quick: bool) -> dict[str, object]:
    """The front brake in the scenario by RK4 and by Rosenbrock: time per tick, error against RK4 with 20 sub-steps."""
    driven = hybrid().run(28.0, record=["F_br", "w_fw"], every=1)
    u = np.column_stack([driven["F_br"], driven["w_fw"]])[200_000:]
    part = brake("front")
    reference = part.integrated_by("rk4", 20).simulate(u, dt=DT)["tau_fw"]
    results: dict[str, object] = {}
    steps = [("rk4", 3), ("rk4", 4), ("rosenbrock", 1), ("rosenbrock", 2)]
    methods = {f"{method}_{substeps}": (method, substeps) for method, substeps in steps}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(3 if quick else 7):
        for name, (method, substeps) in methods.items():
            seconds[name].append(_per_tick(part.integrated_by(method, substeps), u))
    for name, (method, substeps) in methods.items():
        torque = part.integrated_by(method, substeps).simulate(u, dt=DT)["tau_fw"]
        error = np.sqrt(np.sum((torque - reference) ** 2) / np.sum(reference**2))
        results[f"brake_{name}_us_per_tick"] = 1e6 * min(seconds[name])
        results[f"brake_{name}_nrmse"] = float(error)
    return results


def _per_tick(part: OdeSubstructure, u: Floats) -> float:
    loop = Loop(1 / DT)
    for name in ("F", "w", "tau"):
        loop.signal(name)
    loop.add("u", Table(np.arange(len(u)) * DT, u), outputs=["F", "w"])
    loop.add("brake", part.block(dt=DT), inputs=["F", "w"], outputs=["tau"])
    loop.record([])
    cpu = time.process_time()
    loop.run(len(u) * DT)
    return (time.process_time() - cpu) / len(u)


def stiffness() -> dict[str, object]:
    """Why the brakes need sub-steps: the eigenvalues at 50 N."""
    found: dict[str, object] = {}
    for side in ("front", "rear"):
        part = brake(side)
        eigenvalues = np.linalg.eigvals(part.jacobian(*part.points[0]))
        stiffest = eigenvalues[np.abs(eigenvalues).argmax()]
        found[f"{side}_brake_stiffest_eigenvalue"] = f"{stiffest.real:.0f} +- {abs(stiffest.imag):.0f}i rad/s"
        found[f"{side}_brake_largest_rk4_step_us"] = 1e6 * part.largest_step()
        found[f"{side}_brake_sub_steps_needed"] = int(np.ceil(DT / part.largest_step()))
    return found


def run(quick: bool) -> dict[str, object]:
    return whole(quick) | stiffness() | integration(quick)
