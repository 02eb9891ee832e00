"""Reduced models as ONNX graphs."""
