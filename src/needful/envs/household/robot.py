"""The robot's size and reach: a round mobile base with a floating hand, all in metres."""

from __future__ import annotations

RADIUS = 0.22
HEIGHT = 0.75

# What is nearer to the shoulder than REACH is within reach; the hand goes no further than HAND_RANGE.
SHOULDER = 0.7
REACH = 1.0
HAND_RANGE = 1.2

# How high its eye is: higher than tables, or their edges would hide what lies on them.
EYE = 1.0

# What the base keeps from everything around it where it stops.
CLEARANCE = 0.01

# The hand is a ball. Where the robot drives there must be some room around it, and what it holds is then
# over its body, with its bottom at this height.
HAND_RADIUS = 0.035
HAND_ROOM = 0.12
CARRY_HEIGHT = 0.8
