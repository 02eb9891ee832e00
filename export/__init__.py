"""Write a fitted model for another host: ONNX bundle, plain C, FMU."""

from export.writer import write as write
