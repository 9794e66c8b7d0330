"""The paper: its domains, methods, experiments and published numbers."""
