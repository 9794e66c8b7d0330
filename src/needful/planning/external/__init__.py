"""Searches by other people's programs, each started as a process of its own."""
