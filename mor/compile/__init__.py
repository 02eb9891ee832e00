"""Python right-hand sides compiled to C functions."""
