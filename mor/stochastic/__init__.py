"""Stochastic responses: their Sobol' indices, and the calibration of a model from measured records."""

from mor.stochastic.calibration import Calibration as Calibration
from mor.stochastic.calibration import calibrate as calibrate
from mor.stochastic.indices import classical_indices as classical_indices
from mor.stochastic.indices import summary_indices as summary_indices
from mor.stochastic.indices import trajectory_indices as trajectory_indices
