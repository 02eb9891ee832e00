"""Errors of reduced models and of tracking, with their pictures."""
