"""Compute abstract states, encode sets of atoms as integers, and find groundings of lifted atoms."""
