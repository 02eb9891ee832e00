"""Linear structures, transfer functions, integrators, stability and prediction models."""
