"""Fit networks with memory on trajectories, and choose their memory."""
