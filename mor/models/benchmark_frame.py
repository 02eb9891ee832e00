"""The three-storey hybrid-test benchmark of Silva, Gomez, Maghareh, Dyke and Spencer (2020) and its four partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mor.data.ports import Parameter
from mor.dynamics.structure import LinearStructure
from mor.dynamics.transfer import TransferFunction
from mor.models.actuators import ServoHydraulic, actuator_part
from mor.models.frame import frame_part, plane_frame
from mor.substructures import BlockSubstructure, LinearSubstructure
from rt_runtime import StateSpace
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

RATE = 4096.0
"""Loop rate of the benchmark in Hz."""

CASES = {1: (1000.0, 0.05), 2: (1100.0, 0.04), 3: (1300.0, 0.03), 4: (1000.0, 0.03)}
"""Floor mass in kg and modal damping ratio of the four partitions."""

NOISE = (1.6e-5, 2.2)
"""Standard deviation per sample of the measured displacement in m and of the measured force in N."""

LIMITS = {"force": 8900.0, "stroke": 0.007, "velocity": 0.3}
"""Force in N, stroke in m and velocity in m/s that the laboratory's actuator can give."""


@dataclass(frozen=True)
class Specimen:
    """The physical part at the first floor: a spring-mass-dashpot in kg, Ns/m and N/m."""

    mass: float = 29.13
    damping: float = 2 * 0.0097 * (1.19e6 * 29.13) ** 0.5
    stiffness: float = 1.19e6

    def block(self, dt: float) -> StateSpace:
        """Return the block x -> f = m (x_k - 2 x_{k-1} + x_{k-2}) / dt^2 + c (x_k - x_{k-1}) / dt + k x_k."""
        m, c = self.mass / dt**2, self.damping / dt
        shift, entry = [[0.0, 0.0], [1.0, 0.0]], [[1.0], [0.0]]  # the state is (x_{k-1}, x_{k-2})
        return StateSpace(shift, entry, [[-2 * m - c, m]], [[m + c + self.stiffness]], dt=dt, method="discrete")


@dataclass(frozen=True, eq=False)
class BenchmarkFrame:
    """One partition: the whole frame, the specimen cut out of its first floor, and the actuator that moves it."""

    case: int
    reference: LinearStructure
    specimen: Specimen
    hydraulic: ServoHydraulic

    @property
    def numerical(self) -> LinearStructure:
        """The frame without the nominal specimen; the ground still pulls at the whole floor masses."""
        part = Specimen()
        return self.reference.minus(0, mass=part.mass, damping=part.damping, stiffness=part.stiffness)

    @property
    def plant(self) -> TransferFunction:
        """Displacement of the specimen over the command to the servo valve."""
        part = self.specimen
        return self.hydraulic.transfer_function(part.mass, part.damping, part.stiffness)

    def perturbed(self, *, seed: int) -> BenchmarkFrame:
        """Draw the physical side anew: specimen stiffness (s.d. 5e4 N/m), a3, b1 and b2 of the actuator."""
        stiffness = 1.19e6 + 5e4 * np.random.default_rng([seed, 1]).standard_normal()
        specimen = replace(self.specimen, stiffness=float(stiffness))
        return replace(self, specimen=specimen, hydraulic=self.hydraulic.perturbed(seed=seed))


def benchmark_structure(
    *, floor_mass: float = 1000.0, damping_ratio: float = 0.05, beam_length: float = 0.762, column_length: float = 0.635
) -> LinearStructure:
    """Build the whole three-storey, two-bay frame on pinned bases; lengths in m, mass in kg a floor."""
    return plane_frame(
        storeys=3,
        bays=2,
        floor_mass=floor_mass,
        column_length=column_length,
        beam_length=beam_length,
        column_inertia=2.520 * 0.0254**4,
        beam_inertia=255267e-12,
        modulus=200e9,
        damping_ratio=damping_ratio,
    )


def benchmark_frame(case: int) -> BenchmarkFrame:
    """Build partition `case` (1 to 4) of the benchmark."""
    if case not in CASES:
        raise ConfigError(f"case of the benchmark frame must be 1, 2, 3 or 4, got {case!r}.")
    floor_mass, damping_ratio = CASES[case]
    structure = benchmark_structure(floor_mass=floor_mass, damping_ratio=damping_ratio)
    return BenchmarkFrame(case, structure, Specimen(), ServoHydraulic())


def sample_controller_block(dt: float) -> StateSpace:
    """Return the public controller as one block: inputs target and measured, output command; bilinear rule at `dt`."""
    lead, pi = (part.discretise(dt, "tustin") for part in sample_controller())
    A = np.block([[lead.A, np.zeros((1, 1))], [pi.B @ lead.C, pi.A]])
    B = np.block([[lead.B, np.zeros((1, 1))], [pi.B @ lead.D, -pi.B]])
    C, D = np.hstack([pi.D @ lead.C, pi.C]), np.hstack([pi.D @ lead.D, -pi.D])
    return StateSpace(A, B, C, D, dt=dt, method="discrete")


def sample_controller() -> tuple[TransferFunction, TransferFunction]:
    """Return the public controller: lead 50.8 (s + 168.6) / (s + 8570) on the target, PI 2 + 95 / s on the error."""
    lead = TransferFunction([50.8, 50.8 * 168.6], [1.0, 8570.0])
    return lead, TransferFunction([2.0, 95.0], [1.0, 0.0])


def three_storey_part(*, name: str = "frame", method: str = "rk4") -> LinearSubstructure:
    """Make the three-storey frame with parameters beam_length, column_length, floor_mass and damping_ratio.

    Inputs `ground` and the reaction `force` at floor 1; outputs x_1, v_1, x_2, v_2, x_3, v_3.
    """

    def matrices(p: Mapping[str, float]) -> tuple[Array, Array, Array, Array]:
        structure = benchmark_structure(
            beam_length=p["beam_length"],
            column_length=p["column_length"],
            floor_mass=p["floor_mass"],
            damping_ratio=p["damping_ratio"],
        )
        return frame_part(structure, reactions={"force": 1}).matrices()

    template = frame_part(benchmark_structure(), reactions={"force": 1})
    parameters = (
        Parameter("beam_length", 0.762, "m", 1e-3),
        Parameter("column_length", 0.635, "m", 1e-3),
        Parameter("floor_mass", 1000.0, "kg", 1e-3),
        Parameter("damping_ratio", 0.05, "", 0.0, 1.0),
    )
    return LinearSubstructure(
        name, matrices, inputs=template.inputs, outputs=template.outputs, parameters=parameters, method=method
    )


def specimen_part(specimen: Specimen | None = None, *, name: str = "specimen") -> BlockSubstructure:
    """Make the benchmark's specimen: `displacement` in, `force` by backward differences out."""
    part = specimen or Specimen()

    parameters = (
        Parameter("mass", part.mass, "kg", 0.0),
        Parameter("damping", part.damping, "Ns/m", 0.0),
        Parameter("stiffness", part.stiffness, "N/m", 0.0),
    )
    return BlockSubstructure(
        name,
        lambda dt, p: Specimen(**p).block(dt),
        inputs={"displacement": "m"},
        outputs={"force": "N"},
        parameters=parameters,
    )


def sample_controller_part(*, name: str = "controller") -> BlockSubstructure:
    """Make the benchmark's public controller: `target` and `measured` in, `command` out."""
    return BlockSubstructure(
        name,
        lambda dt, p: sample_controller_block(dt),
        inputs={"target": "m", "measured": "m"},
        outputs={"command": "m"},
    )


def benchmark_parts(frame: BenchmarkFrame) -> tuple[LinearSubstructure, LinearSubstructure, BlockSubstructure]:
    """Return numerical side (reaction `force` at floor 1), actuator and specimen of a partition, for a hybrid model."""
    numerical = frame_part(frame.numerical, name="numerical", reactions={"force": 1})
    return numerical, actuator_part(frame.plant), specimen_part(frame.specimen)
