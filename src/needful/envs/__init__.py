"""Environments: the contract, its checker, the catalogue, and one file per analytic domain."""
