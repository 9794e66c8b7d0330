"""Figures of task outcomes: success against demonstrations, planning time and objects; kinds of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from needful.core.plans import Outcome
from needful.envs.drawing.palette import DARK_GREY, WHITE
from needful.evaluation.records import RunRecord
from needful.paper.published import SUCCESS, in_column_order, in_paper_order, method_style, protocol_of
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.figure_canvas import (
    domain_panels,
    group_panels,
    label_outer,
    legend_below,
    method_line,
)
from needful.reports.runs import RunGroup, main_group, main_groups, success_percentages
from needful.reports.statistics import estimate, standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# The curve of each domain and method: groups of runs, sorted by their numbers of demonstrations.
Curves: TypeAlias = Mapping[tuple[str, str], Sequence[RunGroup]]
MIN_SECONDS = 1e-4
MAX_SIZE_CLASSES = 6
SEARCH_TIMEOUT = "timeout in search"
REFINEMENT_TIMEOUT = "timeout in refinement"

# Failures are sorted by the stage in which they occur, from learning to execution. The failures of one
# stage have shades of the same colour.
OUTCOME_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "solved": "#e4e6ea",
        "not learned": "#22252b",
        "no abstract plan": "#0b4f8a",
        "out of nodes": "#3b8bc9",
        SEARCH_TIMEOUT: "#a3cdee",
        "sampler exhausted": "#8a4a00",
        "not initiable": "#b86e14",
        "subgoal missed": "#de9b3c",
        "controller failed": "#f0c27a",
        REFINEMENT_TIMEOUT: "#f8e3bf",
        "horizon exceeded": "#b58db6",
        "environment failure": "#8e3b6f",
        "goal missed": "#5c1742",
    }
)


def draw_data_efficiency(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw a curve for each method that ran with several numbers of demonstrations.

    Points are means over seeds, and bars are standard errors. Faint points are single seeds. Stars are the
    means that the paper reports.
    """
    curves = learning_curves(groups)
    domains = in_paper_order(domain for domain, _ in curves)
    if not domains:
        return None
    figure, axes = domain_panels(domains, height=2.3)
    published = False
    for panel, domain in zip(axes, domains, strict=True):
        by_method = {method: curve for (name, method), curve in curves.items() if name == domain}
        demos = sorted({group.setting.demos for curve in by_method.values() for group in curve})
        panel.set_xticks(demos, [str(number) for number in demos])
        panel.set_xlim(0, 1.08 * max(demos))
        panel.set_ylim(-4, 109)
        for method, curve in by_method.items():
            _draw_learning_curve(panel, method, curve)
            published |= _draw_published(panel, domain, method, max(demos))
    label_outer(axes, "demonstrations", "tasks solved, %")
    handles = [method_line(method) for method in in_column_order(method for _, method in curves)]
    legend_below(figure, [*handles, _star(DARK_GREY, label="paper")] if published else handles)
    return figure


def learning_curves(groups: Sequence[RunGroup]) -> Curves:
    """Return a curve for each domain and method that ran with several numbers of demonstrations.

    A curve has one group of runs per number of demonstrations, all made by the same version of the code. If
    several groups have the same number of demonstrations, a group with the default planner is preferred,
    then the group with the most tasks. If several versions of the code have a curve, the curve with the
    most points is shown.
    """
    best: dict[tuple[str, str, str], dict[int, RunGroup]] = {}
    for group in groups:
        if group.records:
            curve = best.setdefault((group.domain, group.method, group.sources), {})
            known = curve.get(group.setting.demos)
            if known is None or _rank(group) > _rank(known):
                curve[group.setting.demos] = group
    longest: dict[tuple[str, str], dict[int, RunGroup]] = {}
    for (domain, method, _), curve in sorted(best.items(), key=lambda item: item[0]):
        if len(curve) > max(1, len(longest.get((domain, method), ()))):
            longest[domain, method] = curve
    return {key: tuple(curve[n] for n in sorted(curve)) for key, curve in longest.items()}


def _rank(group: RunGroup) -> tuple[bool, int]:
    return group.setting.planner == DEFAULT_PLANNER, len(group.records)


def _draw_learning_curve(axes: Axes, method: str, curve: Sequence[RunGroup]) -> None:
    style = method_style(method)
    demos, means, errors = [], [], []
    for group in curve:
        rates = success_percentages(group.runs)
        found = estimate(rates, standard_error)
        if found is not None:
            demos.append(group.setting.demos)
            means.append(found.mean)
            errors.append(found.spread or 0.0)
            axes.plot(demos[-1:] * len(rates), rates, ".", color=style.colour, alpha=0.25, zorder=1)
    axes.errorbar(demos, means, errors, color=style.colour, marker=style.marker, markersize=4, capsize=3)


def _draw_published(axes: Axes, domain: str, method: str, most_demos: int) -> bool:
    """Draw the mean success that the paper reports as a star, and return whether a star was drawn.

    Nothing is drawn if the paper reports no mean, or if the paper used more than `most_demos`
    demonstrations: the star would be beyond the end of the x axis.
    """
    protocol, published = protocol_of(domain), SUCCESS.get(domain, {}).get(method)
    if protocol is None or published is None or protocol.demos > most_demos:
        return False
    # The star is drawn behind the curve and is larger than the curve's points, so that both stay visible.
    star = _star(method_style(method).colour, zorder=1.5, size=15.0)
    star.set_data([protocol.demos], [published.mean])
    axes.add_line(star)
    return True


def _star(colour: str, label: str = "", zorder: float = 2.0, size: float = 12.0) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        linestyle="",
        marker="*",
        markersize=size,
        markerfacecolor=WHITE,
        markeredgecolor=colour,
        zorder=zorder,
        label=label,
    )


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
            _draw_survival_curve(panel, group)
        panel.set_xscale("log")
        panel.set_xlim(_start_of_axis(in_domain), 1.2 * max(group.setting.timeout for group in in_domain))
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


def _start_of_axis(groups: Sequence[RunGroup]) -> float:
    """Return the start of the time axis, in seconds.

    It is the largest power of ten that is not above the shortest time in which a task was solved.
    """
    first = min((solved_within(group)[0][1] for group in groups), default=MIN_SECONDS)
    return float(10.0 ** np.floor(np.log10(first)))


def _draw_survival_curve(axes: Axes, group: RunGroup) -> None:
    style = method_style(group.method)
    seconds, shares = solved_within(group)
    axes.step(seconds, shares, where="post", color=style.colour, linewidth=1.6)
    axes.plot(seconds[-1:], shares[-1:], style.marker, color=style.colour, markersize=5, clip_on=False)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Tasks of similar size: the mean number of objects, the percentage solved, and the number of tasks."""

    objects: float
    solved: float
    tasks: int


def draw_success_by_objects(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw for each method the percentage of solved tasks against the number of objects in a task.

    Larger points stand for more tasks.
    """
    from matplotlib.ticker import MaxNLocator

    classes = {(group.domain, group.method): size_classes(group.records) for group in main_groups(groups)}
    classes = {key: found for key, found in classes.items() if found}
    domains = in_paper_order(domain for domain, _ in classes)
    if not domains:
        return None
    methods = in_column_order(method for _, method in classes)
    figure, axes = domain_panels(domains, height=2.3)
    for panel, domain in zip(axes, domains, strict=True):
        for method in reversed(methods):  # The first method is drawn last, above the others.
            found = classes.get((domain, method), ())
            style = method_style(method)
            sizes, solved = [c.objects for c in found], [c.solved for c in found]
            areas = [12 + 60 * c.tasks / sum(o.tasks for o in found) for c in found]
            panel.plot(sizes, solved, color=style.colour, linewidth=1.2)
            panel.scatter(
                sizes, solved, areas, color=style.colour, marker=style.marker, linewidths=0, zorder=2
            )
        panel.set_ylim(-4, 109)
        sizes = [c.objects for (name, _), found in classes.items() if name == domain for c in found]
        panel.set_xlim(min(sizes) - 1, max(sizes) + 1)
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    label_outer(axes, "objects", "tasks solved, %")
    legend_below(figure, list(map(method_line, methods)))
    return figure


def size_classes(records: Sequence[RunRecord]) -> tuple[SizeClass, ...]:
    """Group tasks into at most six classes by their number of objects.

    The distinct numbers of objects are divided evenly among the classes: with 12 distinct numbers, each of
    the six classes gets two. Records without a number of objects are omitted.
    """
    counted = [record for record in records if record.objects > 0]
    sizes = sorted({record.objects for record in counted})
    found = []
    for chunk in np.array_split(sizes, min(MAX_SIZE_CLASSES, len(sizes)) or 1):
        members = [record for record in counted if record.objects in chunk]
        if members:
            mean_size = sum(record.objects for record in members) / len(members)
            solved = 100.0 * sum(record.solved for record in members) / len(members)
            found.append(SizeClass(mean_size, solved, len(members)))
    return tuple(found)


def draw_failures(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw a bar per method and domain; its parts are the percentages of tasks with each outcome."""
    from matplotlib.patches import Patch

    tried = [group for group in main_groups(groups) if group.records]
    if not tried:
        return None
    figure, panels, methods = group_panels(tried, row_height=0.22)
    for domain, panel in panels.items():
        for row, method in enumerate(methods):
            group = main_group(tried, domain, method)
            if group is not None:
                _draw_bar(panel, row, group.records)
        panel.set_xlim(0, 100)
    label_outer(tuple(panels.values()), x="tasks, %")
    seen = {outcome_label(record) for group in tried for record in group.records}
    legend_below(
        figure, [Patch(color=OUTCOME_COLOURS[name], label=name) for name in OUTCOME_COLOURS if name in seen]
    )
    return figure


def outcome_label(record: RunRecord) -> str:
    """Return the label of a task's outcome; a timeout's label names the stage: search or refinement."""
    if record.outcome == Outcome.TIMEOUT.value:
        return REFINEMENT_TIMEOUT if record.abstract_plans else SEARCH_TIMEOUT
    return record.outcome.replace("_", " ")


def _draw_bar(axes: Axes, row: int, records: Sequence[RunRecord]) -> None:
    counts, left = Counter(map(outcome_label, records)), 0.0
    for name, colour in OUTCOME_COLOURS.items():
        width = 100.0 * counts[name] / len(records)
        if width:
            axes.barh(row, width, 0.72, left, color=colour, edgecolor=WHITE, linewidth=0.4)
            left += width
