"""Actuators and the simulated rig."""
