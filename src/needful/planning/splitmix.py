"""SplitMix64: a sequence of 64-bit numbers that any language reproduces bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

_MASK = (1 << 64) - 1


def splitmix64(seed: int) -> Iterator[int]:
    """Yield the endless sequence that belongs to a seed (Steele, Lea and Flood, OOPSLA 2014)."""
    state = seed & _MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield mixed ^ (mixed >> 31)
