"""Time integrators for structural models, linear or with any restoring force."""

from mor.integrators.alpha import generalized_alpha as generalized_alpha
from mor.integrators.alpha import hht_alpha as hht_alpha
from mor.integrators.alpha import newmark as newmark
from mor.integrators.alpha import wbz_alpha as wbz_alpha
from mor.integrators.explicit import central_difference as central_difference
from mor.integrators.explicit import rk4 as rk4
from mor.integrators.motion import Motion as Motion
from mor.integrators.motion import ground_load as ground_load
from mor.integrators.partitioned import PartitionedMotion as PartitionedMotion
from mor.integrators.partitioned import partitioned as partitioned
from mor.integrators.splitting import OperatorSplitting as OperatorSplitting
from mor.integrators.splitting import operator_splitting as operator_splitting
