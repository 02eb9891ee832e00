"""The kinds of substructure: linear, ODE, static map, reduced model, external function, any block of the runtime."""

from mor.substructures.differential import OdeSubstructure as OdeSubstructure
from mor.substructures.functions import BlockSubstructure as BlockSubstructure
from mor.substructures.functions import ExternalSubstructure as ExternalSubstructure
from mor.substructures.functions import StaticSubstructure as StaticSubstructure
from mor.substructures.linear import LinearSubstructure as LinearSubstructure
from mor.substructures.reduced import BundleSubstructure as BundleSubstructure
from mor.substructures.reduced import ReducedSubstructure as ReducedSubstructure
