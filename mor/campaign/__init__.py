"""Evaluate a model on a design, keep every result, survive a crash."""

from mor.campaign.histories import HistoryModel as HistoryModel
from mor.campaign.run import run_design as run_design
from mor.campaign.simulation import QuantityModel as QuantityModel
from mor.campaign.simulation import SimulationModel as SimulationModel
from mor.campaign.store import Store as Store
