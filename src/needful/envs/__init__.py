"""Environments: one domain a file, the contract they keep, its checker and the catalogue."""
