"""How much more `necessary` solves than other methods on the same tasks: a forest plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from needful.envs.drawing.palette import GREY, INK
from needful.reports.comparisons import Comparison, compare_with_ours
from needful.reports.domains import domain_title, in_paper_order
from needful.reports.figures.canvas import SMALL, label_outer, method_rows, panels
from needful.reports.methods import in_column_order, method_look
from needful.reports.runs import RunGroup, main_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_paired_differences(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw the mean difference to each other method, with its 95 % interval over seeds.

    A hollow marker has no interval, because it stands for a single seed. The numbers at the right are tasks
    that only `necessary` and only the other method solved.
    """
    found = compare_with_ours(main_groups(groups))
    if not found:
        return None
    domains = in_paper_order(one.domain for one in found)
    others = in_column_order(one.other for one in found)
    height = 0.8 + 0.22 * len(others)
    figure, axes = panels([domain_title(domain) for domain in domains], height, shared_rows=True)
    method_rows(axes, others)
    least = _least_tick(found)
    for axis, domain in zip(axes, domains, strict=True):
        axis.axvline(0, color=GREY, linewidth=0.9)
        for one in found:
            if one.domain == domain:
                _draw_comparison(axis, others.index(one.other), one)
        axis.set_xlim(least - 7, 107)
        axis.set_xticks(range(least, 101, 50 if least < -50 else 25))
    label_outer(axes, x="difference, percentage points")
    return figure


def _least_tick(found: Sequence[Comparison]) -> int:
    """Return a multiple of 25 below all differences, at most 0."""
    least = min(one.difference.mean if one.difference.low is None else one.difference.low for one in found)
    return min(0, 25 * math.floor(least / 25))


def _draw_comparison(axes: Axes, row: int, one: Comparison) -> None:
    look, found = method_look(one.other), one.difference
    if found.low is not None and found.high is not None:
        axes.plot([found.low, found.high], [row, row], color=look.colour, linewidth=2.2, alpha=0.6)
    fill = "full" if one.seeds > 1 else "none"
    axes.plot([found.mean], [row], look.marker, color=look.colour, markersize=5, fillstyle=fill)
    axes.annotate(
        f"{one.wins} : {one.losses}",
        (1.0, row),
        xycoords=axes.get_yaxis_transform(),
        xytext=(3, 0),
        textcoords="offset points",
        fontsize=SMALL,
        color=INK,
        va="center",
    )
