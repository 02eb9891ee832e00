"""Write a fitted model for another host: ONNX bundle, plain C, FMU."""
