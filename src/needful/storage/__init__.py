"""File formats, with atomic writes."""
