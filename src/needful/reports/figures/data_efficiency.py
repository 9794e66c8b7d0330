"""Success against the number of demonstrations (the paper's Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from needful.envs.drawing.palette import DARK_GREY, WHITE
from needful.paper.domains import in_paper_order, protocol_of
from needful.paper.methods import in_column_order, method_style
from needful.paper.published_numbers import SUCCESS
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.figures.canvas import domain_panels, label_outer, legend_below, method_line
from needful.reports.runs import RunGroup, success_percentages
from needful.reports.statistics import estimate, standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# The curve of each domain and method: groups of runs, sorted by their numbers of demonstrations.
Curves: TypeAlias = Mapping[tuple[str, str], Sequence[RunGroup]]


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
            _draw_curve(panel, method, curve)
            published |= _draw_published(panel, domain, method, max(demos))
    label_outer(axes, "demonstrations", "tasks solved, %")
    handles = [method_line(method) for method in in_column_order(method for _, method in curves)]
    legend_below(figure, [*handles, _star(DARK_GREY, label="paper")] if published else handles)
    return figure


def learning_curves(groups: Sequence[RunGroup]) -> Curves:
    """Return a curve for each domain and method that ran with several numbers of demonstrations.

    A curve has one group of runs per number of demonstrations. If several groups have the same number of
    demonstrations, a group with the default planner is preferred, then the group with the most tasks.
    """
    best: dict[tuple[str, str], dict[int, RunGroup]] = {}
    for group in groups:
        if group.records:
            curve = best.setdefault((group.domain, group.method), {})
            known = curve.get(group.setting.demos)
            if known is None or _rank(group) > _rank(known):
                curve[group.setting.demos] = group
    return {key: tuple(curve[n] for n in sorted(curve)) for key, curve in best.items() if len(curve) > 1}


def _rank(group: RunGroup) -> tuple[bool, int]:
    return group.setting.planner == DEFAULT_PLANNER, len(group.records)


def _draw_curve(axes: Axes, method: str, curve: Sequence[RunGroup]) -> None:
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
