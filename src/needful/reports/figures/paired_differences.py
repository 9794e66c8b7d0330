"""How much more `necessary` solves than other methods on the same tasks: a forest plot.

Two methods compared on the very same tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from needful.envs.drawing.palette import DARK_GREY, GREY
from needful.evaluation.records import RunRecord
from needful.paper.domains import domain_title, in_paper_order
from needful.paper.methods import OURS, in_column_order, method_style
from needful.reports.figures.canvas import SMALL, label_outer, method_rows, panels
from needful.reports.runs import RunGroup, main_group, main_groups
from needful.reports.statistics import Interval, bootstrap_interval, mean
from needful.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more often one method solves a task than another, on tasks that both tried.

    Attributes:
        domain: where.
        method, other: which are compared.
        difference: in percentage points, positive if `method` is better, with a 95 % interval.
        seeds, tasks: how many seeds both were run with, and how many tasks in all.
        wins, losses: tasks that only `method` solved, and that only `other` solved.
    """

    domain: str
    method: str
    other: str
    difference: Interval
    seeds: int
    tasks: int
    wins: int
    losses: int


def compare(one: RunGroup, other: RunGroup) -> Comparison | None:
    """Compare two groups of one domain; None if no task was tried by both.

    All tasks of a seed are solved with the model learned from it, so they are no independent trials:
    whole seeds are resampled.
    """
    mine, theirs = _by_seed(one), _by_seed(other)
    pairs: dict[int, list[tuple[bool, bool]]] = {}
    for seed in sorted(mine.keys() & theirs.keys()):
        shared = sorted(mine[seed].keys() & theirs[seed].keys())
        if shared:
            pairs[seed] = [(mine[seed][task].solved, theirs[seed][task].solved) for task in shared]
    if not pairs:
        return None
    differences = [100.0 * mean([float(a) - float(b) for a, b in tasks]) for tasks in pairs.values()]
    rng = rng_for(0, "comparison", one.domain, one.method, other.method)
    every = [pair for tasks in pairs.values() for pair in tasks]
    return Comparison(
        one.domain,
        one.method,
        other.method,
        bootstrap_interval(differences, rng),
        seeds=len(pairs),
        tasks=len(every),
        wins=every.count((True, False)),
        losses=every.count((False, True)),
    )


def _by_seed(group: RunGroup) -> dict[int, dict[int, RunRecord]]:
    return {run.job.seed: {record.task: record for record in run.records} for run in group.runs}


def compare_with_ours(groups: Sequence[RunGroup]) -> tuple[Comparison, ...]:
    """Compare `necessary` with every other method of its domain; `groups` are those of a report."""
    found = []
    for other in groups:
        ours = main_group(groups, other.domain, OURS)
        if ours is not None and other.method != OURS:
            found.append(compare(ours, other))
    return tuple(one for one in found if one is not None)


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
    look, found = method_style(one.other), one.difference
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
        color=DARK_GREY,
        va="center",
    )
