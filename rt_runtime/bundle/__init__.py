"""Reading, checking and running exported models."""
