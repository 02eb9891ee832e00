"""Reduced models: what they are and how they are evaluated."""
