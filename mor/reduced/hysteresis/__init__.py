"""Operators that remember hysteresis, and the compiled loop over them."""
