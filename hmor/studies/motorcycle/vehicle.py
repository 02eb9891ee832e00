"""The numerical side of the motorcycle, wired once for virtual tests and for tests beside a rig."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mor import Substructure, Trajectory
from mor.models.motorcycle import body, engine
from rt_runtime import AdaptiveMpc, Extrapolator, Loop, Mpc, Table, previous
from rt_runtime._core import Block
from rt_runtime.engine.signal_names import Previous

WHEELS = {"rear": "rw", "front": "fw"}
UNITS = {"thr": "", "F_br": "N", "tau_rw": "Nm", "tau_fw": "Nm", "w_vd": "rpm", "w_rw": "rpm", "w_fw": "rpm"}
UNITS |= {"v": "m/s", "x": "m"}
MODEL = ("a1", "a2", "b1", "b2", "trace")
"""What the adaptive controller says of the model that it has identified."""


def add_vehicle(
    loop: Loop,
    ride: Trajectory,
    brakes: Mapping[str, Substructure],
    block: Callable[..., Block],
    drive: str | Previous,
    fresh: tuple[str, ...] = (),
) -> None:
    """Add driver, body and brakes.

    Parameters
    ----------
    loop
        Gets the signals and blocks.
    ride
        Throttle and lever force over time.
    brakes
        The parts `rear` and `front`; one with a longer step of its own runs in every n-th tick.
    block
        Makes the block of a part: block(part, update, fresh).
    drive
        Signal of the torque at the output shaft of the transmission.
    fresh
        Inputs of the body that are known of this tick already.
    """
    for name, unit in UNITS.items():
        loop.signal(name, unit=unit)
    for name in ("thr", "F_br"):
        loop.add(f"driver.{name}", Table(ride.time, ride[name]), outputs=[name])
    inputs = [drive, previous("tau_rw"), previous("tau_fw")]
    loop.add("body", block(body(), "start", fresh), inputs=inputs, outputs=["w_vd", "w_rw", "w_fw", "v", "x"])
    for end, wheel in WHEELS.items():
        part = brakes[end]
        loop.add(
            f"{end}_brake", block(part, "end", ()), inputs=["F_br", f"w_{wheel}"], outputs=[f"tau_{wheel}"],
            every=part.ticks(1.0 / loop.rate),
        )  # fmt: skip


def add_control(
    loop: Loop,
    control: tuple[Extrapolator, Mpc | AdaptiveMpc],
    block: Callable[..., Block],
    measured: list[str],
    command: str,
    every: int,
) -> list[str]:
    """Add engine, extrapolator of its torque and controller; return the signals of the controller beside its command.

    Parameters
    ----------
    loop
        Gets the signals and blocks.
    control
        Extrapolator of the target and controller.
    block
        Makes the block of a part: block(part, update, fresh).
    measured
        Signals that the controller reads beside the target.
    command
        Signal that it writes.
    every
        Ticks of a control interval.
    """
    extrapolator, controller = control
    ahead = [f"ahead{i}" for i in range(extrapolator.n_out)]
    extra = ["iterations", "status", *(MODEL if isinstance(controller, AdaptiveMpc) else ())]
    for name in ("target", *ahead):
        loop.signal(name, unit="Nm")
    for name in extra:
        loop.signal(name)
    loop.add("engine", block(engine(), "end", ()), inputs=["thr", "w_en"], outputs=["target"])
    loop.add("extrapolator", extrapolator, inputs=["target"], outputs=ahead)
    loop.add("controller", controller, inputs=[*ahead, *measured], outputs=[command, *extra], every=every)
    return extra
