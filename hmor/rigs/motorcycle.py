"""The physical side of the motorcycle: the motor that stands in for the engine's shaft, and the transmission."""

from __future__ import annotations

from hmor.rigs.catalogue import PhysicalSide
from hmor.studies.motorcycle.ampc import motor, redrawn
from mor.models.motorcycle import ecvt
from mor.models.motorcycle.transmission import IDLE
from rt_runtime import Loop


def motorcycle_ecvt(rate: float, draws: int = 1) -> PhysicalSide:
    """A motor whose a0 is drawn anew every 0.25 s drives the transmission; its load is the output speed that comes in.

    Commands: torque of the motor in Nm and speed of the output shaft in rpm. Measured: torque that the motor gives,
    speed of the engine side, torque at the output shaft.

    Parameters
    ----------
    rate
        Ticks per s.
    draws
        Seed of the motor.
    """
    loop, dt = Loop(rate), 1.0 / rate
    loop.constant("command", 0.0, unit="Nm")
    loop.constant("w_vd", 0.0, unit="rpm")
    for name, unit in {"a0": "1/s2", "torque": "Nm", "tau_vd": "Nm"}.items():
        loop.signal(name, unit=unit)
    loop.signal("w_en", unit="rpm", initial=IDLE)  # what it says of itself before the first command
    loop.add("draws", redrawn(draws), outputs=["a0"])
    loop.add("motor", motor().block(dt=dt, update="start"), inputs=["command", "a0"], outputs=["torque"])
    driven = ecvt().block(dt=dt, update="start", fresh=["tau_en"])
    loop.add("ecvt", driven, inputs=["torque", "w_vd"], outputs=["w_en", "tau_vd"])
    return PhysicalSide(loop, ("command", "w_vd"), ("torque", "w_en", "tau_vd"))
