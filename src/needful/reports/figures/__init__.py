"""One file per figure."""
