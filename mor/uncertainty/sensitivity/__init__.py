"""Sensitivity indices: Sobol', Kucherenko, Shapley, Morris, HSIC, Borgonovo."""
