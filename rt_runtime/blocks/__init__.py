"""Blocks of a loop: linear systems, integrators, filters, signals."""
