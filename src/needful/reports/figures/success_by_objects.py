"""Success against the number of objects in a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from needful.evaluation.records import RunRecord
from needful.paper.domains import domain_title, in_paper_order
from needful.paper.methods import in_column_order, method_style
from needful.reports.figures.canvas import label_outer, legend_below, method_line, panels
from needful.reports.runs import RunGroup, main_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_SIZE_CLASSES = 6


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Tasks with about the same number of objects: the mean number, and the percentage solved."""

    objects: float
    solved: float
    tasks: int


def draw_success_by_objects(groups: Sequence[RunGroup]) -> Figure | None:
    """Draw the share of solved tasks for each method; larger points stand for more tasks."""
    from matplotlib.ticker import MaxNLocator

    classes = {(one.domain, one.method): size_classes(one.records) for one in main_groups(groups)}
    classes = {key: found for key, found in classes.items() if found}
    domains = in_paper_order(domain for domain, _ in classes)
    if not domains:
        return None
    methods = in_column_order(method for _, method in classes)
    figure, axes = panels([domain_title(domain) for domain in domains], height=2.3, shared_rows=True)
    for one, domain in zip(axes, domains, strict=True):
        for method in reversed(methods):  # the first is drawn last, above the others
            found = classes.get((domain, method), ())
            look = method_style(method)
            sizes, solved = [c.objects for c in found], [c.solved for c in found]
            areas = [12 + 60 * c.tasks / sum(o.tasks for o in found) for c in found]
            one.plot(sizes, solved, color=look.colour, linewidth=1.2)
            one.scatter(sizes, solved, areas, color=look.colour, marker=look.marker, linewidths=0, zorder=2)
        one.set_ylim(-4, 109)
        sizes = [c.objects for (place, _), found in classes.items() if place == domain for c in found]
        one.set_xlim(min(sizes) - 1, max(sizes) + 1)
        one.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    label_outer(axes, "objects", "tasks solved, %")
    legend_below(figure, list(map(method_line, methods)))
    return figure


def size_classes(records: Sequence[RunRecord]) -> tuple[SizeClass, ...]:
    """Return at most six classes of tasks by size; tasks whose objects nobody counted are left out.

    The numbers of objects that occur are shared out evenly, neighbours together.
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
