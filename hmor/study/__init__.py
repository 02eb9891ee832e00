"""The study file: its sections, and the work that each one asks for."""
