"""The interactive HTML page about one or more runs."""
