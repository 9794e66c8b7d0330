"""The colours that all pictures share, so that a colour means the same everywhere.

One line below a picture that tells what its colours mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#22252b"
FAINT = "#c9ced6"
PAPER = "#ffffff"
BACKGROUND = "#f3f4f6"

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


def draw_legend(axes: Axes, meanings: Mapping[str, str]) -> None:
    """Write along the bottom of the axes what each colour means."""
    from matplotlib.patches import Patch

    legend = axes.legend(
        handles=[Patch(color=colour, label=meaning) for colour, meaning in meanings.items()],
        loc="lower center",
        ncols=len(meanings),
        frameon=False,
        fontsize=6,
        labelcolor=GREY,
        borderpad=0.0,
        borderaxespad=0.0,
        handlelength=0.9,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    legend.set_gid(f"legend {dict(meanings)}")  # tells that it looks the same in all pictures
