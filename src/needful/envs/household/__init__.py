"""Household activities in houses of our own making, simulated by MuJoCo."""
