"""Fit neural networks; the only package that knows torch."""

from mor.reduced.ranges import free_run_error as free_run_error
from mor.reduced.selection import Selection as Selection
from training.config import FfnnConfig as FfnnConfig
from training.fit import fit_ffnn as fit_ffnn
from training.memory_models.fit import MemoryConfig as MemoryConfig
from training.memory_models.fit import fit_ffnn_memory as fit_ffnn_memory
from training.memory_models.recurrent import GruConfig as GruConfig
from training.memory_models.recurrent import fit_gru_memory as fit_gru_memory
from training.memory_models.search import memory_candidates as memory_candidates
from training.memory_models.search import select_memory as select_memory
from training.select import select_ffnn as select_ffnn
from training.select import select_history as select_history
from training.surrogate import ffnn_surrogate as ffnn_surrogate
