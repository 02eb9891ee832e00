"""Physical sides that `hmor rig` can play, by name, and the numerical sides that go with them."""

from hmor.rigs.catalogue import PhysicalSide as PhysicalSide
from hmor.rigs.catalogue import benchmark_frame_side as benchmark_frame_side
from hmor.rigs.catalogue import benchmark_specimen as benchmark_specimen
from hmor.rigs.catalogue import sine_target as sine_target
from hmor.rigs.catalogue import spring as spring
