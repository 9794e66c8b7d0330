"""PDDL domains as operators: the way back from what `pddl` writes."""
