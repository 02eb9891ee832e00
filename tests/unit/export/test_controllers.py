"""Controllers as C and FMU: the core's own bits over a long run, fixed memory, and sentences for what cannot be written."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from export import write_controller
from export.c.compiler import compile_c, find_compiler
from export.control.golden import core_run
from export.engines import CEngine
from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    AdaptiveMpc,
    Extrapolator,
    FromState,
    Gain,
    Horizon,
    Identification,
    KalmanFilter,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    Mpc,
    PiLead,
    Polynomial,
    PredictionModel,
    TrackingMpc,
)
from rt_runtime.errors import ConfigError
from rt_runtime.safety.monitor import Command

DT = 1e-3
PLANT = PredictionModel(
    np.array([[1.6, -0.7, 0.05], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    np.array([[1.0], [0.0], [0.0]]),
    np.array([[0.03, 0.02, 0.0]]),
    np.array([[0.5], [0.4], [0.3]]),
    DT,
)
TWO = PredictionModel(np.diag([0.9, 0.8]), np.array([[0.1, 0.02], [0.03, 0.2]]), np.eye(2), 0.2 * np.eye(2), DT)
HORIZON = Horizon(12, 10.0, 0.05, control=6, bounds=(-1.0, 1.0), rate_limit=0.3, rate_unit="per interval", preview=True)
SECTION = [[0.1, 0.2, 0.1, 1.0, -0.5, 0.2]]
KINDS = {
    "mpc": lambda: Mpc(PLANT, HORIZON),
    "two_channels": lambda: Mpc(TWO, Horizon(5, 3.0, 0.1, bounds=(-0.5, 0.7), max_iterations=4)),
    "tracking": lambda: TrackingMpc(PLANT, HORIZON, preview=Polynomial(3, 12, 0.5)),
    "tracking_two": lambda: TrackingMpc(TWO, Horizon(20, 3.0, 0.1, control=10, bounds=(-0.5, 0.7)), preview=Polynomial(1, 4)),
    "tracking_state": lambda: TrackingMpc(
        TWO, Horizon(5, 3.0, 0.1, bounds=(-0.5, 0.7)), preview=FromState(0.1 * np.arange(30.0).reshape(5, 2, 3) - 1.0)
    ),
    "adaptive": lambda: AdaptiveMpc(
        Identification([-1.6, 0.7, -0.05], [0.03, 0.02], drift=1e-8, covariance=1e-3), HORIZON, dt=DT
    ),
    "late": lambda: AdaptiveMpc(
        Identification([-0.9], [0.1], forgetting=0.99), Horizon(6, 3.0, 0.1, bounds=(-1.5, 1.5)), dt=DT, largest_age=0.0
    ),
    "kalman": lambda: KalmanFilter(PLANT),
    "pi_lead": lambda: PiLead(2.0, 95.0, dt=DT, lead=([50.8, 8565.0], [1.0, 8570.0]), bounds=(-1.0, 1.0)),
    "feedforward": lambda: ModelBasedCompensator(SECTION, dt=DT),
    "model_based": lambda: ModelBasedCompensator(
        SECTION * 2, dt=DT, feedback=([[0.5, 0.1], [0.0, 0.3]], [[0.1], [0.2]], [[0.3, 0.1]], [[0.05]]),
        adaptation=ModelReferenceAdaptation(50.0, 0.1, corner=30.0),
    ),
    "adaptive_compensation": lambda: AdaptiveCompensation(
        AdaptedGain(1.0, 10.0), AdaptedGain(0.01, 5.0, 0.0, 0.1), dt=DT, low_pass=SECTION
    ),
    "extrapolator": lambda: Extrapolator(order=3, spacing=2, leads=[1.0, 2.5], channels=2),
}  # fmt: skip
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler was found (cc, gcc, clang or CC)")


@needs_compiler
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_c_repeats_the_core_bit_for_bit_over_a_long_run(tmp_path: Path, kind: str) -> None:
    controller = KINDS[kind]()
    written = write_controller(controller, tmp_path / kind, name="ctl", size=2.0, dt=DT, targets=("c",))
    assert written.differences == {"c": 0.0} and written.ok
    files = {p.name: p.read_bytes() for p in (tmp_path / kind / "c").iterdir() if "_mex" not in p.name}
    engine = CEngine("ctl", files, controller.n_out, "float64", str(find_compiler()))
    assert engine.replay() == 0  # the program with the golden vectors agrees too
    rng = np.random.default_rng(5)
    u = (
        np.cumsum(rng.normal(size=(4000, controller.n_in)), axis=0) * 0.02
        + rng.normal(size=(4000, controller.n_in)) * 0.3
    )
    np.testing.assert_array_equal(engine.run(u), core_run(controller, (), DT, u))


@needs_compiler
@pytest.mark.parametrize("kind", ["mpc", "two_channels", "tracking", "adaptive"])
def test_c_repeats_the_core_beside_targets_of_sixteen_decades(tmp_path: Path, kind: str) -> None:
    """Rounding decides there what the quadratic programme does: moves into the bounds, feasible moves, holds."""
    controller = KINDS[kind]()
    write_controller(controller, tmp_path / kind, name="ctl", size=2.0, dt=DT, targets=("c",))
    files = {p.name: p.read_bytes() for p in (tmp_path / kind / "c").iterdir() if "_mex" not in p.name}
    engine = CEngine("ctl", files, controller.n_out, "float64", str(find_compiler()))
    rng = np.random.default_rng(6)
    size = 10.0 ** rng.uniform(-2, 14, size=(2000, 1))
    u = size * rng.choice([-1.0, 1.0], (2000, controller.n_in)) * rng.uniform(0.5, 1.0, (2000, controller.n_in))
    y = core_run(controller, (), DT, u)
    np.testing.assert_array_equal(engine.run(u), y)
    assert np.isfinite(y).all()


@needs_compiler
@pytest.mark.parametrize("kind", ["mpc", "two_channels", "tracking", "tracking_state", "adaptive", "late"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_holds_the_command_and_is_told_in_core_and_c(
    tmp_path: Path, kind: str, number: float
) -> None:
    controller = KINDS[kind]()
    write_controller(controller, tmp_path / kind, name="ctl", size=2.0, dt=DT, targets=("c",))
    files = {p.name: p.read_bytes() for p in (tmp_path / kind / "c").iterdir() if "_mex" not in p.name}
    engine = CEngine("ctl", files, controller.n_out, "float64", str(find_compiler()))
    rng = np.random.default_rng(7)
    u = 0.3 * rng.normal(size=(60, controller.n_in))
    u[:, -1] = np.where(kind == "late", 0.0, u[:, -1])  # the age
    u[20, 0] = number  # a reference: once
    u[40, 1 if kind == "late" else -1] = number  # a measurement (or the numerical state): the estimate is lost
    y = core_run(controller, (), DT, u)
    np.testing.assert_array_equal(engine.run(u), y)
    command, status = y[:, : controller.n_out - 2], y[:, controller.n_out - 1]
    if kind in ("adaptive", "late"):
        command, status = y[:, :1], y[:, 2]
    assert np.isfinite(command).all() and (command[20] == command[19]).all()
    assert status[19] != 3.0 and status[20] == 3.0 and status[40] == 3.0
    controller.step(0.0, u[40])
    assert controller.fault != 0
    controller.reset()
    assert controller.fault == 0


@needs_compiler
@pytest.mark.parametrize("kind", ["mpc", "tracking"])
def test_the_golden_run_reaches_the_bounds(tmp_path: Path, kind: str) -> None:
    write_controller(KINDS[kind](), tmp_path / "mpc", size=2.0, targets=("c",))
    y = np.load(tmp_path / "mpc" / "golden.npz")["y"]
    assert (np.abs(y[:, 0]) == 1.0).any() and (y[:, 1] > 0).mean() > 0.1


@needs_compiler
def test_limits_are_those_of_the_monitor_and_fmus_repeat_it_all(tmp_path: Path) -> None:
    limits = [Command("wanted", "command", -0.4, 0.5, 40.0, rest=0.1)]
    written = write_controller(
        KINDS["adaptive"](), tmp_path / "a", limits=limits, targets=("c", "fmu", "fmu3"), size=2.0,
        units=["m"] * 14 + ["", "", *[""] * 6],
    )  # fmt: skip
    assert written.differences == {"c": 0.0, "fmu": 0.0, "fmu3": 0.0}
    y = np.load(tmp_path / "a" / "golden.npz")["y"][:, 0]
    assert y.min() == -0.4 and y.max() == 0.5
    assert np.abs(np.diff(np.concatenate([[0.1], y]))).max() <= 40.0 * DT + 1e-15
    description = json.loads((tmp_path / "a" / "controller.json").read_text())
    assert description["limits"][0]["rest"] == 0.1 and description["inputs"][0] == {
        "name": "reference_ahead_1",
        "unit": "m",
    }


def test_the_fmu_is_valid_for_fmpy_and_steps_as_a_substructure(tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    from mor.sources import FmuSubstructure

    controller = KINDS["pi_lead"]()
    write_controller(controller, tmp_path / "pi", name="pi", targets=("fmu",))
    file = tmp_path / "pi" / "fmu" / "pi.fmu"
    assert validate_fmu(str(file)) == []
    assert float(fmpy.read_model_description(str(file)).defaultExperiment.stepSize) == DT
    u = np.random.default_rng(1).normal(size=(100, 2))
    run = FmuSubstructure(file).simulate(u, dt=DT)
    np.testing.assert_array_equal(run["command"], core_run(controller, (), DT, u)[:, 0])


@needs_compiler
def test_a_bare_c_host_needs_no_heap(tmp_path: Path) -> None:
    write_controller(KINDS["adaptive"](), tmp_path / "a", name="ctl", targets=("c",))
    source = (tmp_path / "a" / "c" / "ctl.c").read_text()
    assert "malloc" not in source and "calloc" not in source
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed; it lists what an object file needs")
    target = tmp_path / "ctl.o"
    compile_c([tmp_path / "a" / "c" / "ctl.c"], target, compiler=str(find_compiler()), options=("-O2", "-c"))
    listed = subprocess.run([nm, "-u", str(target)], capture_output=True, text=True, check=True).stdout.split()
    needed = {name for name in listed if name != "U" and "STACK" not in name.upper() and "chk" not in name}
    assert needed <= {"sqrt", "memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}


@pytest.mark.parametrize(
    ("controller", "given", "words"),
    [
        (Gain(2.0), {}, "controller of write_controller must be one of Mpc, TrackingMpc, AdaptiveMpc, .* got Gain"),
        (KINDS["pi_lead"](), {"targets": ("matlab",)}, "targets of write_controller must be some of c, fmu, fmu3"),
        (KINDS["pi_lead"](), {"name": "double"}, "Name of a controller must be a C identifier"),
        (KINDS["pi_lead"](), {"units": ["m"]}, "units of write_controller must be 3, of reference, measured, command"),
        (KINDS["kalman"](), {"limits": [Command("a", "b", -1, 1, 1)]}, "limits .* at most one per command .*, 0, got 1"),
        (KINDS["extrapolator"](), {}, "dt of write_controller must be a positive number"),
        (KINDS["pi_lead"](), {"size": float("nan")}, "size of write_controller must be finite"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(tmp_path: Path, controller, given: dict, words: str) -> None:  # type: ignore
    with pytest.raises(ConfigError, match=words):
        write_controller(controller, tmp_path / "x", **({"targets": ("c",)} | given))
    assert not (tmp_path / "x").exists()


def test_a_folder_of_somebody_else_is_never_touched(tmp_path: Path) -> None:
    write_controller(KINDS["pi_lead"](), tmp_path / "x", targets=("c",))
    with pytest.raises(ConfigError, match="already holds an export"):
        write_controller(KINDS["pi_lead"](), tmp_path / "x", targets=("c",))
    write_controller(KINDS["pi_lead"](), tmp_path / "x", targets=("c",), overwrite=True)
    (tmp_path / "x" / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match=r"got other files \(mine\.txt\)"):
        write_controller(KINDS["pi_lead"](), tmp_path / "x", targets=("c",), overwrite=True)
    assert (tmp_path / "x" / "mine.txt").read_text() == "keep"
