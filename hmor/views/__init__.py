"""What the command prints and the pages it writes."""
