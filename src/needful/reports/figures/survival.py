"""The share of solved tasks against the planning time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from needful.paper.domains import in_paper_order
from needful.paper.methods import in_column_order, method_style
from needful.reports.figures.canvas import domain_panels, label_outer, legend_below, method_line
from needful.reports.runs import RunGroup, main_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_SECONDS = 1e-4


def draw_survival(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw a curve per method: the percentage of tasks that were solved within x seconds of planning.

    The percentage is over all tasks of all seeds.
    """
    tried = [group for group in main_groups(groups) if group.records]
    if not tried:
        return None
    domains = in_paper_order(group.domain for group in tried)
    figure, axes = domain_panels(domains, height=2.3)
    for panel, domain in zip(axes, domains, strict=True):
        in_domain = [group for group in tried if group.domain == domain]
        for group in reversed(in_domain):  # The first method is drawn last, above the others.
            _draw_curve(panel, group)
        panel.set_xscale("log")
        panel.set_xlim(_start(in_domain), 1.2 * max(group.setting.timeout for group in in_domain))
        panel.set_ylim(-4, 109)
    label_outer(axes, "seconds of planning", "tasks solved, %")
    legend_below(figure, [method_line(name) for name in in_column_order(g.method for g in tried)])
    return figure


def solved_within(group: RunGroup) -> tuple[list[float], list[float]]:
    """Return the curve of a group of runs: times in seconds, and the percentage solved within each time."""
    seconds = sorted(max(r.seconds["total"], MIN_SECONDS) for r in group.records if r.solved)
    shares = [100.0 * number / len(group.records) for number in range(1, len(seconds) + 1)]
    end = max([group.setting.timeout, *seconds])
    return [MIN_SECONDS, *seconds, end], [0.0, *shares, shares[-1] if shares else 0.0]


def _start(groups: Sequence[RunGroup]) -> float:
    """Return the start of the time axis, in seconds.

    It is the largest power of ten that is not above the shortest time in which a task was solved.
    """
    first = min((solved_within(group)[0][1] for group in groups), default=MIN_SECONDS)
    return float(10.0 ** np.floor(np.log10(first)))


def _draw_curve(axes: Axes, group: RunGroup) -> None:
    style = method_style(group.method)
    seconds, shares = solved_within(group)
    axes.step(seconds, shares, where="post", color=style.colour, linewidth=1.6)
    axes.plot(seconds[-1:], shares[-1:], style.marker, color=style.colour, markersize=5, clip_on=False)
