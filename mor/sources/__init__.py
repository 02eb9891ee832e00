"""Full-order models that others solve: OpenSees, FMUs, any executable, linear finite elements."""

from mor.sources.command import CommandFailure as CommandFailure
from mor.sources.command import CommandModel as CommandModel
from mor.sources.finite_elements import FiniteElementSubstructure as FiniteElementSubstructure
from mor.sources.finite_elements import RayleighDamping as RayleighDamping
from mor.sources.fmu import FmuSubstructure as FmuSubstructure
from mor.sources.opensees import OpenSeesStepper as OpenSeesStepper
from mor.sources.opensees import OpenSeesSubstructure as OpenSeesSubstructure
from mor.sources.opensees import SolverFailure as SolverFailure
from mor.sources.opensees import SourceRun as SourceRun
from mor.sources.opensees_engine import OpenSeesSolver as OpenSeesSolver
from mor.sources.opensees_library import opensees_installed as opensees_installed
from mor.sources.opensees_models.base_isolated import base_isolated_building as base_isolated_building
from mor.sources.opensees_models.pier import rc_pier as rc_pier
from mor.sources.opensees_models.steel import steel_frame as steel_frame
from mor.sources.opensees_ports import ElementForce as ElementForce
from mor.sources.opensees_ports import GroundAcceleration as GroundAcceleration
from mor.sources.opensees_ports import ImposedDisplacement as ImposedDisplacement
from mor.sources.opensees_ports import NodalForce as NodalForce
from mor.sources.opensees_ports import NodeMotion as NodeMotion
from mor.sources.opensees_ports import Reaction as Reaction
