"""Hybrid models: substructures wired into one loop."""
