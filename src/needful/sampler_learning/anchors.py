"""Parameters relative to features: where to paint, place or go is mostly said by an object.

A parameter often follows a feature of an argument: paint with the box's colour, place near the robot,
move to where the object is. Each parameter may have one such feature as its anchor; what is learned is
then the offset θ − v[anchor]. Offsets vary less than parameters and hold for objects never seen.
"""

from __future__ import annotations

import numpy as np

# What varies by less is constant, and follows nothing.
CONSTANT_RANGE = 1e-6
# A feature is an anchor only if offsets from it spread clearly less than the parameter itself.
LARGEST_SPREAD = 0.9
NO_ANCHOR = -1


def choose_anchors(inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return for each parameter the input whose offsets spread least, or `NO_ANCHOR`.

    Rows are examples. The spread is the standard deviation; of equal ones the first input counts.
    """
    anchors = np.full(parameters.shape[1], NO_ANCHOR)
    for place, column in enumerate(parameters.T):
        if np.ptp(column) < CONSTANT_RANGE:
            continue
        spreads = np.std(column[:, None] - inputs, axis=0)
        if spreads.min() < LARGEST_SPREAD * np.std(column):
            anchors[place] = int(np.argmin(spreads))
    return anchors


def anchor_values(inputs: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return the values that offsets are relative to, 0 where there is no anchor.

    `inputs` is one vector or a matrix of rows.
    """
    values: np.ndarray = np.where(anchors == NO_ANCHOR, 0.0, inputs.take(anchors, axis=-1))
    return values
