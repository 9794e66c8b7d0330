"""Success against the number of objects in a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from needful.evaluation.records import RunRecord
from needful.paper.domains import in_paper_order
from needful.paper.methods import in_column_order, method_style
from needful.reports.figures.canvas import domain_panels, label_outer, legend_below, method_line
from needful.reports.runs import RunGroup, main_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_SIZE_CLASSES = 6


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
