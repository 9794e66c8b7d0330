"""One line below a picture that tells what its colours mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from needful.envs.drawing import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_legend(axes: Axes, meanings: Mapping[str, str]) -> None:
    """Write along the bottom of the axes what each colour means."""
    from matplotlib.patches import Patch

    legend = axes.legend(
        handles=[Patch(color=colour, label=meaning) for colour, meaning in meanings.items()],
        loc="lower center",
        ncols=len(meanings),
        frameon=False,
        fontsize=6,
        labelcolor=palette.GREY,
        borderpad=0.0,
        borderaxespad=0.0,
        handlelength=0.9,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    legend.set_gid(f"legend {dict(meanings)}")  # tells that it looks the same in all pictures
