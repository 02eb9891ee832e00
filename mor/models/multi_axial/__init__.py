"""Structures and loading boxes of multi-axial hybrid tests."""
