"""The built-in studies: a TOML file each, and the virtual tests that they name."""
