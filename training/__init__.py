"""Fit neural networks; the only package that knows torch."""

from training.config import FfnnConfig as FfnnConfig
from training.fit import fit_ffnn as fit_ffnn
