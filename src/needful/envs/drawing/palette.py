"""The colours that all pictures share, so that a colour means the same everywhere."""

from __future__ import annotations

INK = "#22252b"
FAINT = "#c9ced6"
PAPER = "#ffffff"
DESK = "#f3f4f6"

RED = "#d1495b"
ORANGE = "#ee964b"
GREEN = "#2a9d6f"
BLUE = "#2f6db5"
GOLD = "#f2b705"
GREY = "#8d949f"
