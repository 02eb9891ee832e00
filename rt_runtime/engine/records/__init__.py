"""What a run leaves behind: records, run folders, replay."""
