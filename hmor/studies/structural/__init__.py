"""Virtual tests of structures with one actuator: the published case studies behind the built-in study files."""
