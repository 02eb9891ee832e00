"""Fit neural networks; the only package that knows torch."""

from mor.memory_limits import free_run_error as free_run_error
from training.config import FfnnConfig as FfnnConfig
from training.fit import fit_ffnn as fit_ffnn
from training.memory import MemoryConfig as MemoryConfig
from training.memory import fit_ffnn_memory as fit_ffnn_memory
from training.select import Selection as Selection
from training.select import select_ffnn as select_ffnn
from training.select import select_history as select_history
