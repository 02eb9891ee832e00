"""The loop, its clock, its records and the check of the host."""
