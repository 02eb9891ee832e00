"""Evaluate a model on a design, keep every result, survive a crash."""

from mor.campaign.models import QuantityModel as QuantityModel
from mor.campaign.models import SimulationModel as SimulationModel
from mor.campaign.run import run_design as run_design
from mor.campaign.store import Store as Store
