"""Reference problems with known answers."""
