"""Nodes created by abstract search, task by task (the paper's Figure 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from needful.envs.drawing.palette import DARK_GREY, GREY
from needful.paper.domains import domain_title, in_paper_order, protocol_of
from needful.paper.methods import POLICIES, in_column_order, method_style
from needful.reports.figures.canvas import SMALL, label_outer, method_rows, panels
from needful.reports.runs import RunGroup, main_group, main_groups
from needful.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAILED_NODES = 10**6
VIOLIN_HALF_WIDTH = 0.4  # half of a violin's; rows are 1 apart
MIN_VIOLIN_POINTS = 10  # a violin of fewer would show what is not there
MIN_BANDWIDTH = 0.07  # of a bell, in powers of ten
MAX_OPAQUE_POINTS = 60  # more are drawn paler, because they lie upon each other


def draw_nodes_created(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw a point for each task and a violin with its median for each method.

    What failed stands at the end of the scale, with its share of the tasks. Policies create
    no nodes and are left out.
    """
    searching = [one for one in main_groups(groups) if one.method not in POLICIES and one.records]
    if not searching:
        return None
    domains = in_paper_order(group.domain for group in searching)
    methods = in_column_order(group.method for group in searching)
    height = 0.8 + 0.3 * len(methods)
    figure, axes = panels([domain_title(domain) for domain in domains], height, shared_rows=True)
    method_rows(axes, methods)
    for one, domain in zip(axes, domains, strict=True):
        end = _end_of_scale([group for group in searching if group.domain == domain])
        _prepare_scale(one, end)
        for row, method in enumerate(methods):
            group = main_group(searching, domain, method)
            if group is not None:
                _draw_method(one, group, row, end)
    label_outer(axes, x="nodes created")
    return figure


def _end_of_scale(groups: Sequence[RunGroup]) -> int:
    """Return where failures stand: where the paper puts them, or further on if solved tasks need more."""
    protocol = protocol_of(groups[0].domain)
    usual = protocol.failed_nodes if protocol else FAILED_NODES
    most = max((r.nodes_created for group in groups for r in group.records if r.solved), default=1)
    return max(usual, int(10 ** len(str(most))))


def _prepare_scale(axes: Axes, end: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.7, end * end**0.28)  # room for the shares behind the failures
    last = round(math.log10(end))
    # None that is so near to the end of a long scale that labels touch.
    powers = [power for power in range(0, last, 1 if last <= 4 else 2) if 6 * (last - power) > last]
    axes.set_xticks([10**power for power in powers] + [end])
    axes.set_xticklabels([f"$10^{power}$" for power in powers] + ["failed"])
    axes.minorticks_off()
    axes.axvline(end, color=GREY, linewidth=0.8, linestyle=":", zorder=0)


def _draw_method(axes: Axes, group: RunGroup, row: int, end: int) -> None:
    colour = method_style(group.method).colour
    # One node stands for none: the scale is logarithmic.
    solved = np.log10([max(1, record.nodes_created) for record in group.records if record.solved])
    failures = len(group.records) - len(solved)
    if len(solved) >= MIN_VIOLIN_POINTS:
        _draw_violin(axes, solved, row, colour)
        axes.plot(
            [10 ** np.median(solved)],
            [row],
            "|",
            color=DARK_GREY,
            markersize=11,
            markeredgewidth=1.4,
            zorder=3,
        )
    rng = rng_for(0, "jitter", group.domain, group.method)
    for logs, marker in ((solved, "o"), (np.full(failures, math.log10(end)), "x")):
        heights = row + rng.uniform(-0.55 * VIOLIN_HALF_WIDTH, 0.55 * VIOLIN_HALF_WIDTH, len(logs))
        # As a picture: thousands of points would make the SVG file huge.
        axes.plot(
            10**logs,
            heights,
            marker,
            color=colour,
            markersize=2.4,
            markeredgewidth=0.6 if marker == "x" else 0.0,
            alpha=0.4 if len(logs) > MAX_OPAQUE_POINTS else 0.8,
            rasterized=True,
        )
    if failures:
        share = 100 * failures / len(group.records)
        text = f"{share:.1f} %" if share < 1 else f"{share:.0f} %"
        axes.text(end * 1.7, row, text, fontsize=SMALL, color=DARK_GREY, va="center")


def _draw_violin(axes: Axes, logs: np.ndarray, row: int, colour: str) -> None:
    """Draw the density of logarithms: the axis is logarithmic, so that is what the eye compares.

    Every point is a bell as wide as Silverman's rule says, but wide enough to be seen.
    """
    width = max(MIN_BANDWIDTH, 1.06 * float(np.std(logs)) * len(logs) ** -0.2)
    spots = np.linspace(logs.min() - width, logs.max() + width, 100)
    density = np.exp(-0.5 * ((spots[:, np.newaxis] - logs) / width) ** 2).sum(axis=1)
    breadth = VIOLIN_HALF_WIDTH * density / density.max()
    axes.fill_between(10**spots, row - breadth, row + breadth, color=colour, alpha=0.25, linewidth=0)
