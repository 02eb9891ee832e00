"""Ready models: frames, plate, pendulum, dampers, actuators."""
