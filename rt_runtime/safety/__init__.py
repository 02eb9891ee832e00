"""Rules on signals and the monitor that trips on them."""
