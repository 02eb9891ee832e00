"""Describe full-order models, sample them, fit reduced models and judge them."""

from mor.memory import Memory as Memory
from mor.ode import OdeSystem as OdeSystem
from mor.ode import ode as ode
from mor.ports import Parameter as Parameter
from mor.ports import Port as Port
from mor.reduced import ReducedModel as ReducedModel
