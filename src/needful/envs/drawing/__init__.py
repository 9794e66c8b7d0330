"""Pictures of states and of plans."""
