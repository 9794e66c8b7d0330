"""PDDL: names, writer and reader."""
