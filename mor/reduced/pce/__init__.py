"""Polynomial chaos expansions: basis, fits, error bars."""
