"""The figure of task outcomes: the percentages of solved tasks and of each kind of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from needful.core.plans import Outcome
from needful.envs.drawing.palette import WHITE
from needful.evaluation.records import RunRecord
from needful.reports.figures.canvas import group_panels, label_outer, legend_below
from needful.reports.runs import RunGroup, main_group, main_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
