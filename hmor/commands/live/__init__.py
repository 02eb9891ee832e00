"""The commands of a running test: check the host, run, watch, give orders, play the rig."""
