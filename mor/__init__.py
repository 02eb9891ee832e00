"""Describe full-order models, sample them, fit reduced models and judge them."""

from mor.memory import Memory as Memory
from mor.reduced import ReducedModel as ReducedModel
