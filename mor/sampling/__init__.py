"""Parameter spaces and designs of experiments."""
