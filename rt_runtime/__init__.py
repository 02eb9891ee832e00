"""The engine: steps substructures, reduced models, controllers and actuators, with or without a clock."""

from rt_runtime.blocks import Delay as Delay
from rt_runtime.blocks import Filter as Filter
from rt_runtime.blocks import Gain as Gain
from rt_runtime.blocks import Noise as Noise
from rt_runtime.blocks import Ode as Ode
from rt_runtime.blocks import PythonBlock as PythonBlock
from rt_runtime.blocks import StateSpace as StateSpace
from rt_runtime.blocks import Sum as Sum
from rt_runtime.blocks import Table as Table
from rt_runtime.errors import BundleError as BundleError
from rt_runtime.errors import ConfigError as ConfigError
from rt_runtime.errors import MissingExtra as MissingExtra
from rt_runtime.errors import Tripped as Tripped
from rt_runtime.loop import Loop as Loop
from rt_runtime.loop import previous as previous
from rt_runtime.record import Record as Record
from rt_runtime.record import Signal as Signal
