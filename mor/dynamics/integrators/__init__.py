"""Time integrators for structural models, linear or with any restoring force."""

from mor.dynamics.integrators.alpha import generalized_alpha as generalized_alpha
from mor.dynamics.integrators.alpha import hht_alpha as hht_alpha
from mor.dynamics.integrators.alpha import newmark as newmark
from mor.dynamics.integrators.alpha import wbz_alpha as wbz_alpha
from mor.dynamics.integrators.explicit import central_difference as central_difference
from mor.dynamics.integrators.explicit import rk4 as rk4
from mor.dynamics.integrators.motion import Motion as Motion
from mor.dynamics.integrators.motion import ground_load as ground_load
from mor.dynamics.integrators.partitions import PartitionedMotion as PartitionedMotion
from mor.dynamics.integrators.partitions import partitioned as partitioned
from mor.dynamics.integrators.splitting import OperatorSplitting as OperatorSplitting
from mor.dynamics.integrators.splitting import operator_splitting as operator_splitting
