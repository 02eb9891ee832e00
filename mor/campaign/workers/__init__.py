"""Where the samples of a campaign are evaluated: here, in processes, on a cluster."""
