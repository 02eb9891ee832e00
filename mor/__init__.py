"""Describe full-order models, sample them, fit reduced models and judge them."""
