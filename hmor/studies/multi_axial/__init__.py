"""Studies with several coupled actuators: loading boxes, and the multi-axial benchmark."""
