"""Approaches: methods that learn from demonstrations and then solve tasks. All have the same interface."""
