"""Kriging and PC-Kriging: kernels, likelihood, search and the fitted model."""
