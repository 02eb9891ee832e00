"""Multi-axial tests: identification, kinematics, tracking, moment frame and multi-axial benchmark.

Settings were chosen on El Centro; Kobe and the perturbed plants (seeds 2026) only judge. Times are CPU times.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import butter, lfilter, sosfilt

from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial import loading_box, moment_frame, multi_axial_benchmark
from mor import lhs
from mor.dynamics.control_design import arx_parameters
from mor.dynamics.tracking_design import design_report, hybrid_radius, parallel
from mor.dynamics.transfer import StateSpaceMatrices
from mor.identification import fit_transfer_function, frequency_response
from mor.models.multi_axial.loading_box import actuators, platform
from mor.models.multi_axial.moment_frame import Column, numerical_part
from rt_runtime import ForwardKinematics, InverseKinematics, Loop, Noise, Table, Tripped

MOTIONS = Path(__file__).resolve().parents[1] / "../shared/data/ground_motions"
EL_CENTRO = MOTIONS / "elcentro_1940_ns_rths_benchmark.csv"
KOBE = MOTIONS / "kobe_1995_rths_benchmark.csv"
SEED = 2026


def identification() -> dict[str, Any]:
    """Worst error of the twelve actuators at 0.5 % noise, 0.3 to 50 Hz."""
    n, rate, found = 8192, 1000.0, {}
    rng = np.random.default_rng(SEED)
    noise = sosfilt(butter(8, 50 / (rate / 2), output="sos"), rng.normal(size=16 * n))
    spectrum = np.zeros(n // 2 + 1, complex)
    spectrum[1 : int(52 * n / rate)] = np.exp(2j * np.pi * rng.uniform(size=int(52 * n / rate) - 1))
    signals = {"welch": noise, "periodic": np.tile(np.fft.irfft(spectrum), 16)}
    f = np.linspace(0.3, 50.0, 400)
    for method, u in signals.items():
        errors, times = [], []
        for plant in (*actuators(1).values(), *actuators(2).values()):
            a, b = arx_parameters(plant, 1 / rate)
            y = lfilter(np.r_[0.0, b], np.r_[1.0, a], u)
            frf = frequency_response(u, y + 0.005 * y.std() * rng.normal(size=len(y)), rate, method=method, window=n)
            start = time.process_time()
            fit = fit_transfer_function(frf, poles=6, band=(0.3, 50.0))
            times.append(time.process_time() - start)
            errors.append(100 * np.max(np.abs(fit.model.response(f) / plant.response(f) - 1)))
        found[f"identification, {method}: worst error of 12 actuators (%)"] = float(max(errors))
        found[f"identification, {method}: three stages, median (ms)"] = 1e3 * float(np.median(times))
    return found


def kinematics(poses: int) -> dict[str, Any]:
    """Newton steps over the envelope, accuracy of warm steps, cost of both maps in a loop."""
    rng = np.random.default_rng(SEED)
    most, failed = 0, 0
    for box in (1, 2):
        given = platform(box)
        inverse = InverseKinematics(given)
        solvers = [ForwardKinematics(given, steps=k) for k in range(1, 9)]
        done = 0
        while done < poses:
            pose = rng.uniform(-1, 1, 6) * np.r_[np.full(3, 0.061), np.full(3, 1.15)] * rng.uniform()
            stroke = inverse.step(0.0, pose)
            if stroke[6] <= 0:
                continue
            done += 1
            for k, solver in enumerate(solvers, 1):
                solver.reset()
                if solver.step(0.0, stroke[:6])[6] < 1e-9:
                    most = max(most, k)
                    break
            else:
                failed += 1
    given = platform(1)
    inverse, forward = InverseKinematics(given), ForwardKinematics(given)
    t = np.arange(3000) * 1e-3
    path = np.sin(2 * np.pi * 3 * t)[:, None] * np.array([7e-3, 1e-4, 2e-3, 0.003, 0.002, 0.012])
    warm = max(np.abs(forward.step(0.0, inverse.step(0.0, w)[:6])[:6] - w).max() for w in path)
    return {
        f"kinematics: most Newton steps from rest to 1e-9 m, {poses} poses a device": most,
        "kinematics: poses not found": failed,
        "kinematics: error of 2 warm steps (m)": float(warm),
        "kinematics: inverse + forward with 2 steps (us a tick)": _cost(with_maps=True) - _cost(with_maps=False),
    }


def _cost(*, with_maps: bool) -> float:
    """CPU time of a tick in us, best of five runs."""
    loop = Loop(1000.0)
    for name in ("w[6]", "s[6]", "v[6]"):
        loop.signal(name)
    for name in ("margin", "residual", "pivot"):
        loop.signal(name)
    loop.add("noise", Noise([1e-4] * 6, seed=1), outputs=["w[6]"])
    if with_maps:
        given = platform(1)
        loop.add("inverse", InverseKinematics(given), inputs=["w[6]"], outputs=["s[6]", "margin"])
        loop.add("forward", ForwardKinematics(given), inputs=["s[6]"], outputs=["v[6]", "residual", "pivot"])
    loop.record(["w_1"], every=1000)
    return _best(loop, 50.0)


def _best(loop: Loop, seconds: float) -> float:
    times = []
    for _ in range(5):
        start = time.process_time()
        loop.run(seconds)
        times.append(time.process_time() - start)
    return 1e6 * min(times) / (seconds * loop.rate)


def controllers() -> dict[str, Any]:
    """Judgement of the controllers before a run, the whole test on perturbed plants, and the tick of the 6 x 6 one."""
    settings: dict[str, Any] = {}
    six = moment_frame.controllers("mpc", np.eye(6), settings)
    plant = parallel(list(actuators(1).values()))
    report = design_report(six, plant)
    part = numerical_part(0.02).discretise(loading_box.DT)
    pose = StateSpaceMatrices(part.A, part.B, part.C[:2], np.zeros((2, 3)), part.dt)
    arguments = {
        "stiffness": Column().stiffness,
        "force_inputs": [1, 2],
        "to_strokes": platform(1).jacobian()[:, [0, 5]],
    }
    design = lhs(moment_frame.SPACE, 10, seed=SEED)
    radii = [
        hybrid_radius(six, parallel(loading_box.perturbed(design.parameters(i))), pose, **arguments) for i in range(10)
    ]
    ticks = {}
    for kind in ("none", "mpc6"):  # the same loop with and without the controller, targets and noise as in a test
        case = moment_frame.Case(kind, closed=False, coupling_db=-20.0)
        options = Options()
        motion = ground_motion(options, scale=case.scale)
        loop = moment_frame.build(case, Table(motion.time, motion.values), {}, options)
        loop.record(["x_1"], every=1000)
        ticks[kind] = _best(loop, 20.0)
    return {
        "controllers: noise gain": report.noise_gain,
        "controllers: delay margin (ms)": 1e3 * report.delay_margin,
        "moment frame: largest pole, nominal": hybrid_radius(six, plant, pose, **arguments),
        "moment frame: largest pole of 10 perturbed plants": max(radii),
        "6 x 6 controller, 42 states: tick (us)": ticks["mpc6"] - ticks["none"],
        "moment frame, 6 x 6 controller: whole tick with the virtual box (us)": ticks["mpc6"],
    }


def frame(perturbed: int) -> dict[str, Any]:
    """Tracking of U_x and R_z and the largest response error, in percent."""
    found: dict[str, Any] = {}

    def note(name: str, values: dict[str, float], case: str) -> None:
        keys = [f"{case}_{key}" for key in ("ux", "rz", "response_1", "response_2", "response_3")]
        row = [values[key] for key in keys]
        found[f"moment frame, {name}: U_x, R_z, response (%)"] = f"{row[0]:.2f}, {row[1]:.2f}, {max(row[2:]):.2f}"

    for record, label in ((EL_CENTRO, "El Centro"), (KOBE, "Kobe")):
        for case in ("mpc", "mpc6_coupled", "yielding"):
            note(f"{case}, {label}", _frame({}, record, case, 0), case)
    design = lhs(moment_frame.SPACE, 10, seed=SEED)
    for record, label in ((EL_CENTRO, "El Centro"), (KOBE, "Kobe")):
        rows, unstable = [], 0
        for i in range(perturbed):
            try:
                rows.append(_frame(design.parameters(i), record, "mpc", 1 + i))
            except Tripped:
                unstable += 1
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        worst = {key: float(np.max([row[key] for row in rows])) for key in rows[0]}
        note(f"mean of {perturbed} plants 1 % off, {label}", mean, "mpc")
        note(f"worst of {perturbed} plants 1 % off, {label}", worst, "mpc")
        found[f"moment frame, {label}: unstable plants"] = unstable
    return found


def _frame(parameters: dict[str, float], record: Path, case: str, seed: int) -> dict[str, float]:
    return moment_frame.run(parameters, Options(seed=seed, record=record, settings={"case": case})).metrics


def benchmark(perturbed: int) -> dict[str, Any]:
    """J2 and J5 of both channels."""
    found: dict[str, Any] = {}
    for control in ("none", "adaptive", "mpc_diagonal", "mpc"):
        found |= _indices(control, {}, EL_CENTRO, 0, f"benchmark, {control}, El Centro")
    found |= _indices("mpc", {}, KOBE, 0, "benchmark, mpc, Kobe")
    design = lhs(multi_axial_benchmark.SPACE, 12, seed=SEED)
    rows = []
    for i in range(perturbed):
        options = Options(seed=1 + i, record=EL_CENTRO, settings={"control": "mpc"})
        metrics = multi_axial_benchmark.run(design.parameters(i), options).metrics
        rows.append([metrics["mpc_1_J2"], metrics["mpc_2_J2"]])
    mean, most = np.mean(rows, axis=0), np.max(rows, axis=0)
    found[f"benchmark, mpc, {perturbed} perturbed plants: mean J2 (%)"] = f"{mean[0]:.2f}, {mean[1]:.2f}"
    found[f"benchmark, mpc, {perturbed} perturbed plants: worst J2 (%)"] = f"{most[0]:.2f}, {most[1]:.2f}"
    return found


def _indices(control: str, parameters: dict[str, float], record: Path, seed: int, name: str) -> dict[str, str]:
    options = Options(seed=seed, record=record, settings={"control": control})
    metrics = multi_axial_benchmark.run(parameters, options).metrics
    return {
        f"{name}: {index}": ", ".join(f"{metrics[f'{control}_{i}_{index}']:.2f}" for i in (1, 2))
        for index in ("J1", "J2", "J5", "J7", "J8")
    }


def run(quick: bool) -> dict[str, Any]:
    """Measure everything; `quick` takes fewer poses and plants."""
    found = identification() | kinematics(200 if quick else 4000) | controllers()
    if EL_CENTRO.exists() and KOBE.exists():
        found |= frame(2 if quick else 10) | benchmark(2 if quick else 12)
    else:
        found["records"] = f"none at {MOTIONS}: moment frame and benchmark were left out"
    return found
