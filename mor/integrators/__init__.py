"""Step structural models through time."""
