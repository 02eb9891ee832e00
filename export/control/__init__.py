"""Controllers of the loop as C99 and as FMU, for hosts without Python."""
