"""From states to abstract states, and abstract states as integers."""
