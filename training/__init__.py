"""Fit neural networks; the only package that knows torch."""
