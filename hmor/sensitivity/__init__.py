"""Sensitivity analysis of a study, its section and pages; campaigns that choose their own points."""
