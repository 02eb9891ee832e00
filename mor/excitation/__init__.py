"""What drives a model: records from file and synthetic signals."""
