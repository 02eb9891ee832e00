"""The kinds of substructure: linear, ODE, static map, reduced or random model, external function, any block."""

from mor.substructures.differential import OdeSubstructure as OdeSubstructure
from mor.substructures.functions import BlockSubstructure as BlockSubstructure
from mor.substructures.functions import ExternalSubstructure as ExternalSubstructure
from mor.substructures.functions import StaticSubstructure as StaticSubstructure
from mor.substructures.linear import LinearSubstructure as LinearSubstructure
from mor.substructures.random import RandomSubstructure as RandomSubstructure
from mor.substructures.random import quantile_part as quantile_part
from mor.substructures.reduced import BundleSubstructure as BundleSubstructure
from mor.substructures.reduced import ReducedSubstructure as ReducedSubstructure
