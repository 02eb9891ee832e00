"""FMUs, version 2 and 3, from a reduced model."""
