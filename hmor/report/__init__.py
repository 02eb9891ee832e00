"""The report of a study: its page, its pictures, and what is told of each step."""
