"""The figures by name. A new one is a file of its own and an entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from needful.reports.figures.canvas import Drawing, as_files, house_style
from needful.reports.figures.data_efficiency import draw_data_efficiency
from needful.reports.figures.failures import draw_failures
from needful.reports.figures.nodes_created import draw_nodes_created
from needful.reports.figures.paired_differences import draw_paired_differences
from needful.reports.figures.success_by_objects import draw_success_by_objects
from needful.reports.figures.survival import draw_survival
from needful.reports.runs import RunGroup

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure: one line about it, what is to be seen, and what draws it (None: nothing to draw)."""

    title: str
    caption: str
    draw: Callable[[Sequence[RunGroup]], Figure | None]


FIGURES: Mapping[str, FigureSpec] = MappingProxyType(
    {
        "data": FigureSpec(
            "Success against demonstrations",
            "Means over seeds with standard errors; faint points are single seeds, stars are published.",
            draw_data_efficiency,
        ),
        "nodes": FigureSpec(
            "Nodes created by abstract search",
            "A point is a task of a seed; violins show the density of solved tasks, bars their median. "
            "Tasks that were not solved stand at the end of the scale with their share.",
            draw_nodes_created,
        ),
        "survival": FigureSpec(
            "Tasks solved within a time",
            "Share of all tasks of all seeds that were solved after so many seconds of planning.",
            draw_survival,
        ),
        "objects": FigureSpec(
            "Success against the number of objects",
            "Tasks of about the same size are taken together; larger points stand for more tasks.",
            draw_success_by_objects,
        ),
        "failures": FigureSpec(
            "What became of the tasks",
            "By stage: learning (black), search (blue), refinement (brown), execution (purple).",
            draw_failures,
        ),
        "comparisons": FigureSpec(
            "Necessary and the others on the same tasks",
            "Mean difference in success over seeds that both were run with, and its 95 % interval by "
            "resampling seeds; hollow: a single seed, so no interval. Right of zero Necessary is better. "
            "At the right: tasks that only Necessary solved : tasks that only the other one solved.",
            draw_paired_differences,
        ),
    }
)


def render_figure(name: str, groups: Sequence[RunGroup]) -> Drawing | None:
    """Return one of `FIGURES` as files, None if the results hold nothing to draw."""
    with house_style():
        figure = FIGURES[name].draw(groups)
        return None if figure is None else as_files(figure)
