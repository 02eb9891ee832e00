"""Write a fitted model for another host: ONNX bundle, plain C, FMU."""

from export.control.writer import WrittenController as WrittenController
from export.control.writer import write_controller as write_controller
from export.parity import Parity as Parity
from export.parity import verify as verify
from export.writer import write as write
