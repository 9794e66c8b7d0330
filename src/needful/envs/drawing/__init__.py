"""Pictures and films of states and plans."""
