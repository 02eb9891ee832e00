"""Ports, trajectories, datasets and their files."""
