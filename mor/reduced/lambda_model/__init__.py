"""Stochastic emulators: the law of a response at every point, by lambda distributions or one latent variable."""
