"""Demonstrations: who shows how to solve a task, and collecting what they show."""
