"""Write and read PDDL domains, problems and plans."""
