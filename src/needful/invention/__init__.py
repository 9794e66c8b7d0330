"""Invent predicates from the features of states, demonstrations and, optionally, a simulator."""
