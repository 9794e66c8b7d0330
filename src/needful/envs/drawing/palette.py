"""The colours of all pictures, and a legend that explains colours in one line of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK_GREY = "#22252b"
LIGHT_GREY = "#c9ced6"
WHITE = "#ffffff"
BACKGROUND = "#f3f4f6"

RED = "#d1495b"
ORANGE = "#ee964b"
GREEN = "#2a9d6f"
CYAN = "#7cc6d6"
BLUE = "#2f6db5"
PURPLE = "#7b5ea7"
GOLD = "#f2b705"
GREY = "#8d949f"


def blend(first: str, second: str, fraction: float) -> str:
    """Return a mixture of two colours; `fraction`, from 0 to 1, is the weight of the second one."""
    pairs = zip(bytes.fromhex(first[1:]), bytes.fromhex(second[1:]), strict=True)
    return "#" + bytes(round(a + (b - a) * fraction) for a, b in pairs).hex()


def draw_legend(axes: Axes, meanings: Mapping[str, str]) -> None:
    """Draw a legend along the bottom of the axes; `meanings` maps each colour to its meaning."""
    # Making a legend takes longer than drawing most states, so pictures on the same axes share one legend.
    identity = f"legend {dict(meanings)}"
    known = axes.get_legend()
    if known is not None and known.get_gid() == identity:
        known.set_visible(True)
        return
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
    # The report page uses this id to recognise equal legends, and draws them only once.
    legend.set_gid(identity)
