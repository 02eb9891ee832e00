"""Plain C from a reduced model."""
