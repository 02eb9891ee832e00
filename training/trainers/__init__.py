"""The trainers: Adam, Levenberg-Marquardt, and what both need (data, checkpoints, logs)."""
