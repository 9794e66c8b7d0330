"""Figures that compare methods: nodes created per task, and paired differences in success.

The nodes are those that abstract search creates (the paper's Figure 4). The paired comparison is between
`necessary` and other methods on the same tasks, as a forest plot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from needful.envs.drawing.palette import DARK_GREY, GREY
from needful.evaluation.records import RunRecord
from needful.paper.published import (
    OURS,
    POLICIES,
    in_column_order,
    in_paper_order,
    method_style,
    protocol_of,
)
from needful.reports.figure_canvas import SMALL_FONT_SIZE, group_panels, label_outer, method_panels
from needful.reports.runs import RunGroup, main_group, main_groups
from needful.reports.statistics import Interval, bootstrap_interval, mean
from needful.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAILED_NODES = 10**6  # the x value of unsolved tasks in domains that are not in the paper
VIOLIN_HALF_WIDTH = 0.4  # in units of the distance between two rows
MIN_VIOLIN_POINTS = 10  # for fewer points, no violin is drawn, as it would be misleading
MIN_BANDWIDTH = 0.07  # minimum bandwidth of the violin's kernel density, in powers of ten
MAX_OPAQUE_POINTS = 60  # more points would overlap, so they are drawn paler


def draw_nodes_created(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw a point for each task: its x value is the number of nodes that the search created.

    If a method solved at least `MIN_VIOLIN_POINTS` tasks, a violin shows the density of their points and a
    line marks their median. Unsolved tasks are drawn at the end of the x axis, beside the percentage of
    unsolved tasks. Learned policies do not search, so they are omitted.
    """
    searching = [group for group in main_groups(groups) if group.method not in POLICIES and group.records]
    if not searching:
        return None
    figure, panels, methods = group_panels(searching, row_height=0.3)
    for domain, panel in panels.items():
        end = _end_of_scale([group for group in searching if group.domain == domain])
        _prepare_scale(panel, end)
        for row, method in enumerate(methods):
            group = main_group(searching, domain, method)
            if group is not None:
                _draw_method(panel, group, row, end)
    label_outer(tuple(panels.values()), x="nodes created")
    return figure


def _end_of_scale(groups: Sequence[RunGroup]) -> int:
    """Return the end of the x axis: the number of nodes at which unsolved tasks are drawn.

    It is the larger of two numbers. One is the value in the paper's figure, or `FAILED_NODES` if the domain
    is not in the paper. The other is the lowest power of ten above the node counts of all solved tasks.
    """
    protocol = protocol_of(groups[0].domain)
    paper_end = protocol.failed_nodes if protocol else FAILED_NODES
    most = max((r.nodes_created for group in groups for r in group.records if r.solved), default=1)
    return max(paper_end, int(10 ** len(str(most))))


def _prepare_scale(axes: Axes, end: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.7, end * end**0.28)  # room for the percentages at the right
    last = round(math.log10(end))
    # Skip powers of ten whose labels would touch the label "failed" at the end of the x axis.
    powers = [power for power in range(0, last, 1 if last <= 4 else 2) if 6 * (last - power) > last]
    axes.set_xticks([10**power for power in powers] + [end])
    axes.set_xticklabels([f"$10^{power}$" for power in powers] + ["failed"])
    axes.minorticks_off()
    axes.axvline(end, color=GREY, linewidth=0.8, linestyle=":", zorder=0)


def _draw_method(axes: Axes, group: RunGroup, row: int, end: int) -> None:
    colour = method_style(group.method).colour
    # The x axis is logarithmic and has no 0: tasks with 0 nodes are drawn at 1.
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
        # Rasterized: thousands of points would make the SVG file huge.
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
        axes.text(end * 1.7, row, text, fontsize=SMALL_FONT_SIZE, color=DARK_GREY, va="center")


def _draw_violin(axes: Axes, logs: np.ndarray, row: int, colour: str) -> None:
    """Draw a violin: the kernel density of `logs`, the base-10 logarithms of the numbers of nodes.

    The x axis is logarithmic, so the density is that of the logarithms. The bandwidth follows Silverman's
    rule, but is at least `MIN_BANDWIDTH`.
    """
    bandwidth = max(MIN_BANDWIDTH, 1.06 * float(np.std(logs)) * len(logs) ** -0.2)
    positions = np.linspace(logs.min() - bandwidth, logs.max() + bandwidth, 100)
    density = np.exp(-0.5 * ((positions[:, np.newaxis] - logs) / bandwidth) ** 2).sum(axis=1)
    half_width = VIOLIN_HALF_WIDTH * density / density.max()
    axes.fill_between(
        10**positions, row - half_width, row + half_width, color=colour, alpha=0.25, linewidth=0
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference in success between two methods, on the tasks that both tried.

    Attributes:
        domain: the domain of the tasks.
        method, other: the compared methods.
        difference: the mean difference in percentage points, with its 95 % confidence interval. It is
            positive if `method` is better.
        seeds, tasks: the number of seeds that both methods ran, and the number of tasks over these seeds.
        wins, losses: the numbers of tasks that only `method` or only `other` solved.
    """

    domain: str
    method: str
    other: str
    difference: Interval
    seeds: int
    tasks: int
    wins: int
    losses: int


def compare(group: RunGroup, other: RunGroup) -> Comparison | None:
    """Compare two groups of runs on one domain; return None if they have no task in common.

    All tasks of a seed are solved with the same learned model, so they are not independent. The bootstrap
    for the confidence interval therefore resamples seeds, not tasks.
    """
    first, second = _by_seed(group), _by_seed(other)
    pairs: dict[int, list[tuple[bool, bool]]] = {}
    for seed in sorted(first.keys() & second.keys()):
        both = [
            (first[seed][task], second[seed][task]) for task in sorted(first[seed]) if task in second[seed]
        ]
        same = [(one.solved, other.solved) for one, other in both if not _are_different(one, other)]
        if same:
            pairs[seed] = same
    if not pairs:
        return None
    differences = [100.0 * mean([float(a) - float(b) for a, b in tasks]) for tasks in pairs.values()]
    rng = rng_for(0, "comparison", group.domain, group.method, other.method)
    all_pairs = [pair for tasks in pairs.values() for pair in tasks]
    return Comparison(
        group.domain,
        group.method,
        other.method,
        bootstrap_interval(differences, rng),
        seeds=len(pairs),
        tasks=len(all_pairs),
        wins=all_pairs.count((True, False)),
        losses=all_pairs.count((False, True)),
    )


def _are_different(one: RunRecord, other: RunRecord) -> bool:
    """Return whether two records with the same seed and task number certainly have different tasks.

    If a record has no digest of its task, the tasks count as equal.
    """
    return bool(one.task_digest and other.task_digest) and one.task_digest != other.task_digest


def _by_seed(group: RunGroup) -> dict[int, dict[int, RunRecord]]:
    return {run.job.seed: {record.task: record for record in run.records} for run in group.runs}


def compare_with_ours(groups: Sequence[RunGroup]) -> tuple[Comparison, ...]:
    """Compare our method, `necessary`, with every other method on each domain.

    `groups` has one group of runs per method and domain.
    """
    comparisons = []
    for other in groups:
        ours = main_group(groups, other.domain, OURS)
        if ours is not None and other.method != OURS:
            comparisons.append(compare(ours, other))
    return tuple(comparison for comparison in comparisons if comparison is not None)


def draw_paired_differences(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw the mean difference in success between `necessary` and each other method.

    A bar is the 95 % confidence interval. A hollow marker means that there is only one seed, and so no
    interval. The two numbers at the right count the tasks that only `necessary` solved, and the tasks that
    only the other method solved.
    """
    comparisons = compare_with_ours(main_groups(groups))
    if not comparisons:
        return None
    domains = in_paper_order(comparison.domain for comparison in comparisons)
    others = in_column_order(comparison.other for comparison in comparisons)
    figure, axes = method_panels(domains, others, row_height=0.22)
    lowest = _lowest_tick(comparisons)
    for panel, domain in zip(axes, domains, strict=True):
        panel.axvline(0, color=GREY, linewidth=0.9)
        for comparison in comparisons:
            if comparison.domain == domain:
                _draw_comparison(panel, others.index(comparison.other), comparison)
        panel.set_xlim(lowest - 7, 107)
        panel.set_xticks(range(lowest, 101, 50 if lowest < -50 else 25))
    label_outer(axes, x="difference, percentage points")
    return figure


def _lowest_tick(comparisons: Sequence[Comparison]) -> int:
    """Return the lowest tick of the x axis: 0, -25, -50 and so on.

    It is the largest of these numbers that leaves all intervals and all mean differences visible.
    """
    differences = [comparison.difference for comparison in comparisons]
    lowest = min(found.mean if found.low is None else found.low for found in differences)
    return min(0, 25 * math.floor(lowest / 25))


def _draw_comparison(axes: Axes, row: int, comparison: Comparison) -> None:
    style, found = method_style(comparison.other), comparison.difference
    if found.low is not None and found.high is not None:
        axes.plot([found.low, found.high], [row, row], color=style.colour, linewidth=2.2, alpha=0.6)
    fill = "full" if comparison.seeds > 1 else "none"
    axes.plot([found.mean], [row], style.marker, color=style.colour, markersize=5, fillstyle=fill)
    axes.annotate(
        f"{comparison.wins} : {comparison.losses}",
        (1.0, row),
        xycoords=axes.get_yaxis_transform(),
        xytext=(3, 0),
        textcoords="offset points",
        fontsize=SMALL_FONT_SIZE,
        color=DARK_GREY,
        va="center",
    )
