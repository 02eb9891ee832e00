"""Tracking controllers: MPC, adaptive MPC, compensators."""
