"""Household activities in houses of our own making, simulated by MuJoCo."""

from needful.envs.household.engine import import_engine

import_engine()
