"""Tests on a shake table: drive files by iteration, a hybrid test with an energy sink, compensators compared."""
