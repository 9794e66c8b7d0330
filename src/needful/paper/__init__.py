"""The paper's experiments, methods, domains and published numbers."""
