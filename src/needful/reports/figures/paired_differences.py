"""Paired comparison of `necessary` with other methods on the same tasks, as a forest plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from needful.envs.drawing.palette import DARK_GREY, GREY
from needful.evaluation.records import RunRecord
from needful.paper.published import OURS, in_column_order, in_paper_order, method_style
from needful.reports.figures.canvas import SMALL_FONT_SIZE, label_outer, method_panels
from needful.reports.runs import RunGroup, main_group, main_groups
from needful.reports.statistics import Interval, bootstrap_interval, mean
from needful.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
