"""The steps of a study: how they are cached, what each depends on and what it does."""
