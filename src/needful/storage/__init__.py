"""File formats, their readers and their atomic writers."""
