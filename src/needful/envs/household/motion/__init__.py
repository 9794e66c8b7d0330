"""Collision-free motion of the robot's base and hand."""
