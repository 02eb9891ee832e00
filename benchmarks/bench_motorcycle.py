"""The full-order motorcycle: real-time factor, the loop against plain numba loops, what each part costs and errs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np

from mor.models.motorcycle import body, brake, ecvt, engine, hybrid, scenario
from mor.models.motorcycle.hydraulic_brake import SUBSTEPS, friction_of_speed
from mor.substructures import OdeSubstructure
from rt_runtime import Loop, Table
from rt_runtime.checks import Array

DT = 1e-4
EVERY = 10
BRAKE_METHODS = (("rk4", SUBSTEPS), ("rk4", 4), ("rosenbrock", 1), ("rosenbrock", 2))
RECORD = ["w_en", "tau_vd", "w_vd", "w_rw", "w_fw", "v", "x", "tau_en", "tau_rw", "tau_fw"]


@cache
def numba_motorcycle() -> Callable[[int], Array]:  # noqa: C901  (one function is what numba compiles best)
    """The same right-hand sides, the same order of a tick and the same arithmetic, written as loops for numba.

    Parameters are arguments, as they are in the loop: frozen into the code, numba folds them and gains about 15 %.
    """
    from numba import njit

    parts = [body(), ecvt(), engine(), brake("rear"), brake("front")]
    f_body, f_ecvt, f_engine, f_brake, _ = (part.system.compiled for part in parts)
    values = tuple(part.system.numbers([p.value for p in part.parameters]) for part in parts)
    starts = tuple(part.initial() for part in parts)
    held = njit(friction_of_speed, error_model="numpy", forceinline=True)
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
    def ab2(f, t, x, u, p, k, before, trial, y, scratch, started):  # type: ignore[no-untyped-def]
        n = x.size
        f(t, x, u, p, k, y)
        if started:
            for i in range(n):
                x[i] += DT * (1.5 * k[i] - 0.5 * before[i])
                before[i] = k[i]
            return
        for i in range(n):
            trial[i] = x[i] + DT * k[i]
            before[i] = k[i]
        f(t + DT, trial, u, p, k, scratch)
        for i in range(n):
            x[i] += 0.5 * DT * (before[i] + k[i])

    @njit(error_model="numpy")
    def body_outputs(x, p, y):  # type: ignore[no-untyped-def]
        y[0] = p[19] * x[10] * 9.549296585513721
        y[1] = x[10] * 9.549296585513721
        y[2] = x[11] * 9.549296585513721
        y[3] = x[1]
        y[4] = x[0]

    @njit(error_model="numpy")
    def interpolate(t, values, at):  # type: ignore[no-untyped-def]
        while at + 2 < times.size and t >= times[at + 1]:
            at += 1
        w = min(max((t - times[at]) / (times[at + 1] - times[at]), 0.0), 1.0)
        return values[at] + w * (values[at + 1] - values[at]), at

    @njit(error_model="numpy")
    def run(ticks, p0, p1, p2, p3, p4, s0, s1, s2, s3, s4):  # type: ignore[no-untyped-def]
        x0, x1, x2, x3, x4 = s0.copy(), s1.copy(), s2.copy(), s3.copy(), s4.copy()
        u0, u1, u2, u3, u4 = np.zeros(3), np.zeros(2), np.zeros(2), np.zeros(5), np.zeros(5)
        h3, h4 = u3[2:], u4[2:]  # what depends on the wheel speed alone
        y0, y1, y2, y3, y4 = np.zeros(5), np.zeros(2), np.zeros(1), np.zeros(1), np.zeros(1)
        k, total, trial, scratch = np.zeros(14), np.zeros(14), np.zeros(14), np.zeros(5)
        before0, before1, before2 = np.zeros(14), np.zeros(2), np.zeros(2)
        record = np.zeros((ticks // EVERY, 10))
        at = 0
        for tick in range(ticks):
            t = tick * DT
            thr, at = interpolate(t, thr_table, at)
            force, at = interpolate(t, force_table, at)
            u0[0], u0[1], u0[2] = y1[1], y3[0], y4[0]
            if tick > 0:
                ab2(f_body, t - DT, x0, u0, p0, k, before0, trial, scratch, scratch, tick > 1)
            body_outputs(x0, p0, y0)
            u1[0] = y2[0]  # of the last tick, and so is the speed in u1[1] until the step is done
            if tick > 0:
                ab2(f_ecvt, t - DT, x1, u1, p1, k, before1, trial, scratch, scratch, tick > 1)
            u1[1] = y0[0]
            f_ecvt(t, x1, u1, p1, k, y1)
            u2[0], u2[1] = thr, y1[0]
            ab2(f_engine, t, x2, u2, p2, k, before2, trial, y2, scratch, tick > 0)
            u3[0], u3[1] = force, y0[1]
            u4[0], u4[1] = force, y0[2]
            held(u3, p3, h3)
            held(u4, p4, h4)
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


def parts(quick: bool) -> dict[str, object]:
    """Time per tick of every part by each method that could integrate it, under the inputs it meets in the scenario."""
    driven = hybrid().run(24.0, record=["thr", "F_br", *RECORD], every=1)
    rounds, rows = (5, slice(80_000, 120_000)) if quick else (9, slice(60_000, 240_000))
    methods = {
        "engine": [(engine(), "rk4", 1), (engine(), "ab2", 1)],
        "ecvt": [(ecvt(), "rk4", 1), (ecvt(), "ab2", 1)],
        "body": [(body(), "rk4", 1), (body(), "ab2", 1)],
        "brake": [(brake("front"), method, substeps) for method, substeps in BRAKE_METHODS],
    }
    loops, blanks = {}, {}
    for name, choices in methods.items():
        u = np.column_stack([driven[port.name] for port in choices[0][0].inputs])[rows]
        blanks[name] = _loop(None, u)
        for part, method, substeps in choices:
            loops[f"{name}_{method}_{substeps}"] = _loop(part.integrated_by(method, substeps), u)
    best = {key: min(_seconds(loop, rows) for _ in range(rounds)) for key, loop in (loops | blanks).items()}
    return {f"{key}_ns_per_tick": 1e9 * (best[key] - best[key.split("_")[0]]) for key in loops}


def _loop(part: OdeSubstructure | None, u: Array) -> Loop:
    """A table and a part that reads it; without the part it tells what the table costs."""
    loop = Loop(1 / DT)
    names = [f"u{i}" for i in range(u.shape[1])]
    for name in names:
        loop.signal(name)
    loop.add("u", Table(np.arange(len(u)) * DT, u), outputs=names)
    if part is not None:
        outputs = [f"y{i}" for i in range(len(part.outputs))]
        for name in outputs:
            loop.signal(name)
        update = "start" if part.direct < {port.name for port in part.inputs} else "end"  # as the hybrid model has it
        block = part.block(dt=DT, update=update, fresh=sorted(part.direct))
        loop.add("part", block, inputs=names, outputs=outputs)
    loop.record([])
    return loop


def _seconds(loop: Loop, rows: slice) -> float:
    cpu = time.process_time()
    loop.run((rows.stop - rows.start) * DT)
    return (time.process_time() - cpu) / (rows.stop - rows.start)


def errors(quick: bool) -> dict[str, object]:
    """NRMSE in percent of the parts by AB2 (as built) and by RK4 with the same step, against RK4 with an eighth of it.

    And of the front brake's torque by each of its methods, against RK4 with 20 sub-steps.
    """
    duration = 24.0 if quick else 45.0
    model = hybrid()
    shared = {part().name: part().integrated_by("rk4") for part in (engine, ecvt, body)}
    by_rk4 = model
    for name, part in shared.items():
        by_rk4 = by_rk4.swap(name, part)
    names = ["v", "w_en", "tau_vd"]
    reference = by_rk4.run(duration, dt=DT / 8, every=8 * EVERY, record=names)
    found: dict[str, object] = {}
    for method, chosen in (("ab2", model), ("rk4", by_rk4)):
        result = chosen.run(duration, record=names)
        found |= {f"{name}_by_{method}_nrmse_percent": 100 * _nrmse(result[name], reference[name]) for name in names}
    driven = model.run(24.0 if quick else 28.0, record=["F_br", "w_fw"], every=1)
    u = np.column_stack([driven["F_br"], driven["w_fw"]])[200_000:]
    exact = brake("front").integrated_by("rk4", 20).simulate(u, dt=DT)["tau_fw"]
    for method, substeps in BRAKE_METHODS:
        torque = brake("front").integrated_by(method, substeps).simulate(u, dt=DT)["tau_fw"]
        found[f"brake_{method}_{substeps}_nrmse_percent"] = 100 * _nrmse(torque, exact)
    return found


def _nrmse(y: Array, reference: Array) -> float:
    return float(np.sqrt(np.sum((y - reference) ** 2) / np.sum(reference**2)))


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
    return whole(quick) | parts(quick) | errors(quick) | stiffness()
