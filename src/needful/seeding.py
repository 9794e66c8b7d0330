"""Independent named streams of random numbers from one root seed."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(seed: int, *labels: str | int) -> int:
    """Return a 64-bit seed that depends only on the root seed and the labels."""
    text = "\x1f".join([str(int(seed)), *(str(label) for label in labels)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def rng_for(seed: int, *labels: str | int) -> np.random.Generator:
    """Return the random number generator for a root seed and labels, as in `rng_for(0, "tasks", 7)`.

    Generators with different labels are independent: drawing more numbers from one does not change another.
    """
    return np.random.Generator(np.random.PCG64(seed_for(seed, *labels)))
