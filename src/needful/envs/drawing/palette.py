"""The colours that all pictures share, so that a colour means the same everywhere."""

from __future__ import annotations

INK = "#22252b"
FAINT = "#c9ced6"
PAPER = "#ffffff"
DESK = "#f3f4f6"

RED = "#d1495b"
ORANGE = "#ee964b"
GREEN = "#2a9d6f"
CYAN = "#7cc6d6"
BLUE = "#2f6db5"
PURPLE = "#7b5ea7"
GOLD = "#f2b705"
GREY = "#8d949f"


def mixed(one: str, other: str, share: float) -> str:
    """Return a colour between two; `share`, from 0 to 1, is how much of the other one is in it."""
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + bytes(round(a + (b - a) * share) for a, b in pairs).hex()
