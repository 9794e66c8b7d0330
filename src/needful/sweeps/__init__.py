"""Sweeps: many runs as jobs, executors that run them, stored results, and resuming."""
