"""Procedural houses: floor plans, furniture, objects, and the activities that take place in them."""
